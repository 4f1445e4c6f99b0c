"""The noun: what a study is, from Python, from TOML, and the keys of its cells."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cheap_learners import SUMS
from cheap_learners.sums import Sums

from giantstep.asking.studies.code_version import code_version
from giantstep.asking.studies.study import Study
from giantstep.asking.table import Learner
from giantstep.errors import GiantstepError, SettingsError
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

TOML = """
learner = "giant-step"
seeds = 4
seed = 2
together = 3
verbs = ["simulate", "predict"]
problem = {target = "h1 + h1*h2", noise = 0.1, inputs = {law = "spiked", strength = "d^0.5"}}

[settings]
dim = 100

[axes]
samples = "1d:4d:4"
step_size = ["1", "d^0.5"]
ridge = "0.01:1:3log"
"""


def keys(study: Study) -> list[str]:
    return [key for block in study.blocks() for key in block.keys]


def test_a_study_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "phase.toml"
    path.write_text(TOML)
    study = Study.read(path)
    assert study.name == "phase"
    assert study.size == 4 * 2 * 3 * (4 + 1)
    blocks = study.blocks()
    assert sum(len(block.keys) for block in blocks) == study.size
    assert [block.seeds for block in blocks[:3]] == [(2,), (3, 4, 5), ()]
    assert blocks[0].coordinates == {"samples": "d", "step_size": 1, "ridge": 0.01}
    assert blocks[-1].coordinates == {"samples": "4d", "step_size": "d^0.5", "ridge": 1.0}
    assert blocks[3].settings["ridge"] == pytest.approx(0.1, rel=1e-12)
    assert blocks[0].problem["inputs"] == {"law": "spiked", "strength": "d^0.5"}


def test_python_and_toml_mean_the_same_cells(tmp_path: Path) -> None:
    path = tmp_path / "phase.toml"
    path.write_text(TOML)
    study = Study(
        name="another name",
        learner="giant-step",
        problem=Problem.of("h1 + h1*h2", noise=0.1, inputs=Spiked("d^0.5")),
        settings=GiantStep(dim=100),
        axes={
            "samples": ["d", "2d", "3d", "4d"],
            "step_size": [1, "d^0.5"],
            "ridge": "0.01:1:3log",
        },
        seeds=4,
        seed=2,
        together=3,
    )
    assert keys(study) == keys(Study.read(path))
    assert keys(Study.from_json(study.to_json(), trust=True)) == keys(study)


def test_axes_may_be_of_the_problem(sums: Callable[..., Study]) -> None:
    study = sums(problem={}, axes={"target": ["h1", "He2(h1)"], "noise": [0, 0.5]})
    texts = [(b.problem["target"], b.problem["noise"]) for b in study.blocks() if not b.seeds]
    assert texts == [("h1", 0.0), ("h1", 0.5), ("He2(h1)", 0.0), ("He2(h1)", 0.5)]


def test_a_changed_setting_is_a_new_cell(sums: Callable[..., Study]) -> None:
    study = sums(axes={"centre": [1, 2]})
    assert keys(sums(name="b", axes={"centre": [1, 2]})) == keys(study)
    assert not set(keys(sums(axes={"centre": [1, 2]}, settings={"dim": 11}))) & set(keys(study))
    assert not set(keys(sums(axes={"centre": [1, 2]}, problem="h1+h2"))) & set(keys(study))
    assert set(keys(sums(axes={"centre": [1, 2, 3]}))) > set(keys(study))
    assert set(keys(sums(axes={"centre": [1, 2]}, seeds=4))) & set(keys(study))


def test_keys_are_the_same_in_another_process(sums: Callable[..., Study]) -> None:
    code = (
        "from cheap_learners import SUMS\nfrom giantstep.asking.studies.study import Study\n"
        "s = Study(name='x', learner=SUMS, problem='h1', axes={'centre': [1, 2]}, seeds=3,"
        " together=2)\nprint(*[k for b in s.blocks() for k in b.keys])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "7"},
        cwd="/",
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == keys(sums(axes={"centre": [1, 2]}))


def test_the_version_follows_what_the_learner_imports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_learner"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "settings.py").write_text("class Own: ...\n")
    (package / "used.py").write_text("A = 1\n")
    (package / "unused.py").write_text("B = 1\n")
    (package / "theory.py").write_text("C = 1\n")
    (package / "learner.py").write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from own_learner import unused\n"
        "def simulate():\n    from . import used\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    roles = {"settings": "settings:Own", "simulate": "learner:simulate", "predict": "theory:C"}
    row = Learner(
        "own", "", metrics=(), theory="", references=(), example="", package="own_learner", **roles
    )

    def versions() -> tuple[str, str]:
        code_version.cache_clear()
        return code_version(row, "simulate"), code_version(row, "predict")

    before = versions()
    (package / "unused.py").write_text("B = 2\n")
    assert versions() == before
    (package / "used.py").write_text("A = 2\n")
    assert versions()[0] != before[0]
    assert versions()[1] == before[1]
    code_version.cache_clear()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"learner": "nobody"}, "learner = 'nobody' is unknown"),
        ({"axes": {"size": [1]}}, "sums has no setting .size."),
        ({"axes": {"samples": "4d"}}, "give a list of values, or a range"),
        ({"axes": {"samples": []}}, "axis samples is empty"),
        ({"axes": {"dim": "1d:2d:3"}}, "cannot depend on d"),
        ({"axes": {"samples": ["2d", "2.0d"]}}, "same value twice"),
        ({"axes": {"dim": [1.5]}}, "dim = 1.5 is not a whole number"),
        ({"settings": {"size": 1}}, "sums has no setting 'size'"),
        ({"problem": {"noise": 1}}, "problem has no target"),
        ({"problem": {"target": "h1", "law": 1}}, "problem has no field 'law'"),
        ({"problem": {"target": "h1", "inputs": "cube"}}, "inputs = 'cube' are unknown"),
        ({"seeds": 0}, "seeds = 0"),
        ({"verbs": ["compare"]}, "use some of simulate, predict"),
        ({"name": "a/b"}, "without slashes"),
        ({"axes": {"dim": "1:1000:1000", "samples": "1:10000:10000"}}, "over 2000000"),
    ],
)
def test_what_is_wrong_is_said(
    sums: Callable[..., Study], fields: dict[str, object], message: str
) -> None:
    with pytest.raises(GiantstepError, match=message):
        sums(**fields).blocks()


def _crooked(z: Any) -> Any:
    return z + 0.25 * z**3


def test_a_function_cannot_be_kept() -> None:
    study = Study(name="a", learner="giant-step", problem="h1", settings={"activation": _crooked})
    with pytest.raises(SettingsError, match=r"activation = .* cannot be kept in a store"):
        study.blocks()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read the study .*none\.toml"):
        Study.read(tmp_path / "none.toml")
    path = tmp_path / "bad.toml"
    path.write_text("learner = ")
    with pytest.raises(SettingsError, match="is not TOML"):
        Study.read(path)
    path.write_text('lerner = "x"')
    with pytest.raises(SettingsError, match="no field 'lerner'"):
        Study.read(path)
    path.write_text("seeds = 2")
    with pytest.raises(SettingsError, match="names no learner"):
        Study.read(path)


def test_a_settings_object_will_do(sums: Callable[..., Study]) -> None:
    assert keys(sums(settings=Sums(dim=11))) == keys(sums(settings={"dim": 11}))
    assert sums().learner is SUMS
