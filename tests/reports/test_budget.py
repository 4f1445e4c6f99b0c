"""What a page leaves out so that nobody waits for it, and what it does not tell apart."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from report_sizes import TINY

import giantstep as gs
from giantstep.errors import NoTheory
from giantstep.explanation.explain import explain
from giantstep.language.problem import Problem
from giantstep.reports.parts import Context
from giantstep.reports.scale import QUICK, Scale
from giantstep.reports.sections import climbing, features, message_passing


def context(text: str, scale: Scale = TINY) -> Context:
    problem = Problem.of(text)
    return Context(problem, explain(problem, floors=True), scale, 0, lambda _: None)


def test_a_quick_page_of_three_directions_says_what_it_leaves_out() -> None:
    three = context("h1 + h1*h2*h3", QUICK)
    with pytest.raises(NoTheory, match="drawn without quick"):
        message_passing.build_section(three)
    small = dataclasses.replace(three, scale=dataclasses.replace(TINY, most_directions=2))
    section = features.build_section(small)
    assert any("take too long for this page" in note for note in section.notes)


def test_a_curve_ends_before_the_point_that_takes_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    two = gs.predict(gs.Amp(samples=["1d", "2d"]), "h1 + h2**2")

    def ended(*_: Any, cell_seconds: float, **__: Any) -> Any:
        assert cell_seconds == TINY.point_seconds
        laws = (two.predictions[0], *missing)
        return dataclasses.replace(
            two, predictions=laws[:2], failures={(1, None): "took longer than 20 s: give it more"}
        )

    monkeypatch.setattr(message_passing, "predict", ended)
    missing: tuple[Any, ...] = (None,)
    found = context("h1*h2 + h2*h3 + h1*h3")
    section = message_passing.build_section(found)
    assert "The curve ends at n = 0.25 d" in " ".join(section.notes)
    two = dataclasses.replace(two, predictions=(None, None))
    with pytest.raises(NoTheory, match="longer than 20 s; to wait for it: giantstep predict amp"):
        message_passing.build_section(found)


def test_directions_that_may_be_exchanged_are_one_in_words() -> None:
    class Noisy:
        """Runs in which h2 seems to rise first."""

        def mean(self, metric: str) -> np.ndarray:
            overlap = [[0.1, 0.1, 0.1], [0.12, 0.3, 0.14], [0.5, 0.6, 0.55]]
            return np.full((3, 3), 0.1) if metric == "baseline" else np.array(overlap)

        def sem(self, _: str) -> np.ndarray:
            return np.full((3, 3), 0.01)

    runs: Any = Noisy()
    found = explain("h1*h2 + h2*h3 + h1*h3")
    assert climbing._report_lead(found, runs).endswith("h1, h2 and h3 (0.55) after 2 steps.")
    apart = climbing._report_lead(explain("h2 + h1*h2 + h3**3*h1"), runs)
    assert "h2 (0.30) after 1 step; h1 (0.50) and h3 (0.55) after 2 steps." in apart
