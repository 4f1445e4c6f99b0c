"""From a command to the code of a learner: few modules between, counted on the stack."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.asking.table import Learner, learner_to_ask
from giantstep.cli.main import app
from giantstep.estimators import GiantStepRegressor
from giantstep.gallery.figure import Sizes, Workbench
from giantstep.gallery.figures import figure_named

MOST_HOPS = 8
NUMERICS = "giantstep.numerics."
#: Rooms that keep the books of a question and its answer.
BOOKKEEPING = ("asking", "answer", "gallery")


def modules_on_the_stack() -> list[str]:
    """The modules of giantstep that called, the outermost first, each one once."""
    found: list[str] = []
    frame = sys._getframe()
    while frame.f_back:
        frame = frame.f_back
        found.append(frame.f_globals.get("__name__", ""))
    ours = [name for name in reversed(found) if name.startswith("giantstep.")]
    return list(dict.fromkeys(ours))


@pytest.fixture
def stacks(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """The stack at the first call of each role of a learner, which is then really done."""
    seen: dict[str, list[str]] = {}
    load = Learner.load

    def loaded(row: Learner, role: str) -> Any:
        found = load(row, role)
        if role not in ("simulate", "predict"):
            return found

        def called(*args: Any, **options: Any) -> Any:
            seen.setdefault(role, modules_on_the_stack())
            return found(*args, **options)

        return called

    monkeypatch.setattr(Learner, "load", loaded)
    return seen


def test_a_comparison_is_few_hops_from_the_learner(
    stacks: dict[str, list[str]], tmp_path: Path
) -> None:
    row = learner_to_ask("giant-step")
    words = ["compare", row.name, *shlex.split(row.smallest[0]), "--seeds", "2"]
    words += ["--out", str(tmp_path / "picture.png")]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    assert set(stacks) == {"simulate", "predict"}
    for role, modules in stacks.items():
        assert modules[0].startswith("giantstep.cli."), modules
        assert len(modules) <= MOST_HOPS, (role, modules)


def test_a_prediction_is_few_hops_from_its_theory(stacks: dict[str, list[str]]) -> None:
    row = learner_to_ask("online-sgd")
    result = CliRunner().invoke(app, ["predict", row.name, *shlex.split(row.smallest[0])])
    assert result.exit_code == 0, result.output
    assert list(stacks) == ["predict"]
    assert stacks["predict"][0].startswith("giantstep.cli.")
    assert len(stacks["predict"]) <= MOST_HOPS, stacks


def test_a_fit_is_few_hops_from_its_solvers() -> None:
    """The deepest stack over all calls of a numerical routine during a fit."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((60, 5))
    deepest: list[str] = []

    def watched(frame: Any, event: str, _: Any) -> None:
        nonlocal deepest
        if event == "call" and frame.f_globals.get("__name__", "").startswith(NUMERICS):
            modules = modules_on_the_stack()
            deepest = max(deepest, modules, key=len)

    sys.setprofile(watched)
    try:
        GiantStepRegressor().fit(rows, np.sin(rows[:, 0]))
    finally:
        sys.setprofile(None)
    assert deepest[0].startswith("giantstep.estimators."), deepest
    assert len(deepest) <= MOST_HOPS, deepest


def test_an_inline_figure_keeps_few_books(stacks: dict[str, list[str]], tmp_path: Path) -> None:
    figure = figure_named("small-batch")
    tiny = Sizes(points=2, dots=2, seeds=2)
    assert list(figure.rows(tiny, Workbench(tmp_path / "figures.sqlite")))
    assert set(stacks) == {"simulate", "predict"}
    for role, modules in stacks.items():
        books = [name for name in modules if name.split(".")[1] in BOOKKEEPING]
        assert any(name.endswith("small_batch") for name in books), role
        assert len(books) < MOST_HOPS, (role, books)
