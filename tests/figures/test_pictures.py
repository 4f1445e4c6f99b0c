"""Each picture is drawn, and says what its caption says."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from giantstep.errors import GiantstepError
from giantstep.figures.spiked_kernel import draw_spiked_kernel, risks_by_degree
from giantstep.figures.staircase import draw_staircase
from giantstep.theory.explanation import explain


def test_the_spike_opens_one_degree_after_another(tmp_path: Path) -> None:
    risks = risks_by_degree(np.array([0.3, 0.58, 0.75]))
    learned = {degree: risks[10**24, degree] < 0.01 for degree in (1, 2, 3)}
    assert learned[1].tolist() == [True, True, True]
    assert learned[2].tolist() == [False, True, True]
    assert learned[3].tolist() == [False, False, True]
    # At d = 300 the same transitions are smooth.
    assert 0.05 < risks[300, 2][1] < 0.6
    assert draw_spiked_kernel(tmp_path / "spiked.png", points=5).stat().st_size > 10_000


@pytest.mark.parametrize("target", ["h1 + He3(h1)*h2", "h1**2 * exp(-h1**2)", "sign(h1*h2*h3)"])
def test_staircases_are_drawn(target: str, tmp_path: Path) -> None:
    assert draw_staircase(explain(target), tmp_path / "stairs.png").stat().st_size > 10_000


def test_a_picture_needs_an_ending_and_a_place(tmp_path: Path) -> None:
    explanation = explain("h1")
    with pytest.raises(GiantstepError, match=r"\.png"):
        draw_staircase(explanation, tmp_path / "stairs.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(GiantstepError, match="cannot write"):
        draw_staircase(explanation, tmp_path / "file" / "stairs.png")
