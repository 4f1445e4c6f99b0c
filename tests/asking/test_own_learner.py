"""A learner of one's own: five files, no table of the tests, and everything works.

The files are those that CONTRIBUTING lists; what is asked of a learner of giantstep is asked of it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import typer
from typer.testing import CliRunner

import giantstep as gs
from giantstep.asking import table
from giantstep.asking.studies.study import Study
from giantstep.asking.table import Learner
from giantstep.cli import learners as commands
from giantstep.laboratory.describe import lab_controls

FILES = {
    "settings.py": '''
"""Settings of the average."""
from dataclasses import dataclass
from typing import ClassVar

from giantstep.settings.options import Settings, option


@dataclass(frozen=True, kw_only=True)
class Average(Settings):
    """The average of ``samples`` noisy measurements."""

    learner: ClassVar[str] = "average"
    samples: int = option(50, "measurements", kind=int, low=2)
    spread: float = option(1.0, "their standard deviation", kind=float, above=0)
''',
    "learner.py": '''
"""The average, measured."""
from giantstep.numerics.cost import Cost
from giantstep.learners.seeds import once_per_seed


@once_per_seed
def simulate(problem, settings, rng):
    """The squared error of an average, once per seed."""
    return {"squared_error": rng.normal(0, settings.spread, settings.samples).mean() ** 2}


def cost(problem, settings):
    """Room for the measurements."""
    return Cost(8 * settings.samples, 250 * settings.samples, "samples", "lower --samples")
''',
    "theory.py": '''
"""The average, computed."""
from giantstep.answer import Prediction


def predict(problem, settings):
    """The mean squared error of an average.

    Metrics: squared_error. Covers: all settings.
    Status: theorem.
    References: Gauss 1809.
    """
    return Prediction(
        learner="average",
        settings=settings.to_json(),
        metrics={"squared_error": settings.spread**2 / settings.samples},
        statuses={"squared_error": "theorem"},
        references=("Gauss 1809",),
    )
''',
    "__init__.py": '''
"""The declaration."""
from giantstep.asking.table import Learner

AVERAGE = Learner(
    name="average",
    summary="the average of noisy measurements",
    settings="settings:Average",
    simulate="learner:simulate",
    predict="theory:predict",
    cost="learner:cost",
    metrics=("squared_error",),
    theory="its mean squared error",
    references=("Gauss 1809",),
    example="--samples 100",
    smallest=("--samples 10",),
    has_target=False,
    package="giantstep_average",
)
''',
    "test_average.py": '''
"""The agreement."""
from agreeing import agrees
from giantstep_average.settings import Average

import giantstep as gs


def test_the_error_falls_as_one_over_n():
    settings = Average(samples=40)
    run, law = gs.simulate(settings, seeds=15_000), gs.predict(settings)
    agrees(run.metrics["squared_error"], law.metrics["squared_error"])
''',
}


def module(path: str) -> ModuleType:
    """A module of the tests, by its file."""
    file = Path(__file__).parents[1] / path
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec
    assert spec.loader
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made


@pytest.fixture
def row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Learner]:
    """The learner, in the table."""
    package = tmp_path / "giantstep_average"
    package.mkdir()
    for name, text in FILES.items():
        (package / name).write_text(text, encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(Path(__file__).parents[1] / "agreement")
    declared: Learner = importlib.import_module(package.name).AVERAGE
    everything = (*table.LEARNERS, declared)
    for name in ("asking.table", "cli.learners", "laboratory.describe"):
        monkeypatch.setattr(f"giantstep.{name}.LEARNERS", everything)
    lab_controls.cache_clear()
    yield declared
    lab_controls.cache_clear()
    for name in [name for name in sys.modules if name.startswith(package.name)]:
        del sys.modules[name]


def test_five_files_are_enough(row: Learner, tmp_path: Path) -> None:
    assert len(FILES) <= 5
    settings = row.load("settings")(samples=20)
    assert gs.simulate(settings, seeds=3).metrics["squared_error"].shape == (3,)
    assert gs.predict(settings).metrics["squared_error"] == pytest.approx(1 / 20)
    both = gs.compare(row.load("settings")(samples="10:30:3"), seeds=200)
    assert both.shape == (3,)
    assert both.agrees()
    study = Study(name="averages", learner=row, settings={}, axes={"samples": [10, 20]}, seeds=50)
    store = tmp_path / "averages.sqlite"
    found = study.run(store=store, engine="inline")
    assert found.agrees()
    app = typer.Typer()
    commands.register_learner_commands(app)
    words = ["compare", row.name, *row.example.split(), "--seeds", "20", "--json"]
    answer = CliRunner().invoke(app, words)
    assert answer.exit_code == 0, answer.output
    assert json.loads(answer.stdout)["prediction"]["squared_error"] == pytest.approx(0.01)


def test_what_is_asked_of_every_learner(row: Learner, tmp_path: Path) -> None:
    module("asking/test_table.py").test_a_row_names_code_that_exists(row)
    module("asking/test_shapes.py").test_the_smallest_settings_give_what_the_table_lists(row)
    module("asking/test_predictions.py").test_predictions_claim_what_their_sources_claim(row)
    module("learners/test_cost.py").test_every_learner_has_an_estimate(row)
    module("laboratory/test_answers.py").test_every_axis_that_is_offered_can_be_drawn(row)
    module("language/test_problem.py").test_no_setting_has_the_name_of_a_field_of_the_problem(row)
    importlib.import_module(f"{row.package}.test_average").test_the_error_falls_as_one_over_n()
