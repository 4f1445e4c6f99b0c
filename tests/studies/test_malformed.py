"""Study files that are wrong: one line says what, and a stranger's code is not imported."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from cheap_learners import SUMS
from malformed import VALID, malformed
from processes import kept

from giantstep.asking import table
from giantstep.asking.studies.own_learners import Untrusted
from giantstep.asking.studies.study import Study
from giantstep.errors import GiantstepError, SettingsError
from giantstep.gallery.result import draw_picture

FILES = 300
GRID = 'problem = {target = "h1"}\nseeds = 1\nverbs = ["simulate"]\n'


def assert_one_line(error: GiantstepError) -> None:
    message = str(error)
    assert message.isprintable(), message
    assert len(message) < 700, message


def test_random_files_are_read_or_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "LEARNERS", (*table.LEARNERS, SUMS))
    rng = random.Random(11)
    path = tmp_path / "study.toml"
    outcomes = []
    for _ in range(FILES):
        path.write_bytes(malformed(rng))
        try:
            study = Study.read(path, trust=True)
            if study.size < 100:
                study.blocks()
            outcomes.append(True)
        except GiantstepError as error:
            assert_one_line(error)
            outcomes.append(False)
    # Both kinds must be there in number, or the files test nothing.
    assert FILES / 20 < sum(outcomes) < FILES / 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('learner = "kernel"\naxes = 0', "axes = 0 is no table"),
        ('learner = "kernel"\nsettings = 0', "settings = 0 is no table"),
        ('learner = "kernel"\nverbs = 0', "verbs = 0: use some of simulate, predict"),
        ('learner = "kernel"\nverbs = [["simulate"]]', "use some of simulate, predict"),
        ('learner = "kernel"\nproblem = 0', "problem = 0: give a target"),
        ("learner = 0", "learner = 0: give the name of a learner"),
        ('learner = "kernel"\nseeds = 1e400', "seeds = inf: give a whole number"),
        (
            f'learner = "kernel"\nproblem = {{target = "h1", noise = 1{"0" * 400}}}',
            r"problem\.noise has a whole number of 1329 bits",
        ),
        (f'learner = "kernel"\nsettings = {{dim = 0x{"f" * 5000}}}', r"settings\.dim has a whole"),
        ('learner = "kernel"\nsettings = {dim = 1979-05-27}', "neither a number nor a text"),
        (f'learner = "kernel"\nsettings = {{dim = 1{"0" * 5000}}}', "is not TOML"),
        (f'learner = "kernel"\nsettings = {"[" * 9000}', "is not TOML"),
        ('learner = "kernel"\nname = "a\\u001b[31mb"', "name of printable characters"),
        ('learner = "kernel"\nname = "a\\nb"', "name of printable characters"),
        (f'learner = "kernel"\nname = "{"a" * 101}"', "at most 100"),
        ('learner = {name = "mine"}', "learner has no summary"),
        (
            'learner = "kernel"\nproblem = {target = "h1", inputs = {law = []}}',
            r"inputs = \{'law': \[\]\} are unknown",
        ),
        ('learner = {name = "mine", package = 3}', r"learner\.package = 3: give a text"),
    ],
)
def test_the_wrong_field_is_named(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "study.toml"
    path.write_text(text)
    with pytest.raises(SettingsError, match=message) as caught:
        Study.read(path, trust=True).blocks()
    assert_one_line(caught.value)


@pytest.mark.parametrize(
    ("source", "place", "message"),
    [
        (None, "nowhere:Own", "ModuleNotFoundError"),
        ("class Own: ...", "settings:Missing", "AttributeError"),
        ("class Own: ...", "settings:Own", "derive it from giantstep.settings.options.Settings"),
        ("1 +", "settings:Own", "SyntaxError"),
        ("raise SystemExit(3)", "settings:Own", "SystemExit"),
        ("raise RuntimeError('a\\nb')", "settings:Own", "RuntimeError: a b"),
    ],
)
def test_a_learner_that_cannot_be_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str | None, place: str, message: str
) -> None:
    package = f"own_{abs(hash((source, place)))}"
    (tmp_path / package).mkdir()
    if source is not None:
        (tmp_path / package / "settings.py").write_text(source)
    monkeypatch.syspath_prepend(str(tmp_path))
    learner = {**VALID[-1]["learner"], "package": package, "settings": place}
    with pytest.raises(GiantstepError, match=message) as caught:
        Study.from_json({"name": "a", "learner": learner}, trust=True)
    assert_one_line(caught.value)


def test_a_learner_whose_source_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "own_unreadable"
    package.mkdir()
    (package / "settings.py").write_text("from cheap_learners.sums import Sums")
    (package / "simulation.py").write_text("def simulate(:")
    monkeypatch.syspath_prepend(str(tmp_path))
    learner = {
        **VALID[-1]["learner"],
        "package": package.name,
        "settings": "settings:Sums",
        "simulate": "simulation:simulate",
    }
    study = Study(name="a", learner=learner, problem="h1")
    with pytest.raises(GiantstepError, match=r"source of its simulate cannot be read \(SyntaxE"):
        study.blocks()


def test_a_stranger_s_learner_is_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sums: Callable[..., Study]
) -> None:
    package = tmp_path / "stranger"
    package.mkdir()
    (package / "sums.py").write_text("raise RuntimeError('it was imported')")
    monkeypatch.syspath_prepend(str(tmp_path))
    learner = {**VALID[-1]["learner"], "package": "stranger"}
    with pytest.raises(Untrusted, match=r"would import 'stranger\.sums'.*give trust"):
        Study.from_json({"name": "a", "learner": learner})
    assert "stranger.sums" not in sys.modules
    with pytest.raises(GiantstepError, match="it was imported"):
        Study.from_json({"name": "a", "learner": learner}, trust=True)

    results = kept(sums(seeds=1, verbs="simulate"), store=tmp_path / "s.sqlite", engine="inline")
    with pytest.raises(Untrusted):
        results.study()
    assert results.study(trust=True).learner == SUMS


def test_dollars_in_a_name_are_no_mathematics(tmp_path: Path, sums: Callable[..., Study]) -> None:
    axes = {"trouble": ["$x^{$", "$_$"], "centre": [1, 2]}
    study = sums(name="cost $x^{$ and [bold]", axes=axes, seeds=1, verbs="simulate")
    results = kept(study, store=tmp_path / "s.sqlite", engine="inline")
    answer = results.answer()
    assert draw_picture(answer, tmp_path / "a.png", x="trouble").stat().st_size > 1000
    assert draw_picture(answer, tmp_path / "b.png", x="centre").stat().st_size > 1000
