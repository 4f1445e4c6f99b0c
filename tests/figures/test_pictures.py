"""Each picture is drawn, and says what its caption says."""

from __future__ import annotations

from pathlib import Path

import pytest

from giantstep.errors import GiantstepError
from giantstep.figures.staircase import draw_staircase
from giantstep.twins.explanation import explain


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
