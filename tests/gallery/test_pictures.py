"""Each picture is drawn, and says what its caption says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner

import giantstep as gs
from giantstep.asking.optimum import asked_optimum_words
from giantstep.cli.main import app
from giantstep.errors import GiantstepError
from giantstep.explanation.explain import explain
from giantstep.gallery import optimum, result
from giantstep.gallery.staircase import draw_staircase
from giantstep.gallery.style import WIDTHS


@pytest.mark.parametrize("target", ["h1 + He3(h1)*h2", "h1**2 * exp(-h1**2)", "sign(h1*h2*h3)"])
def test_staircases_are_drawn(target: str, tmp_path: Path) -> None:
    assert draw_staircase(explain(target), tmp_path / "stairs.png").stat().st_size > 10_000


def drawn_optimum(law: gs.Prediction, monkeypatch: pytest.MonkeyPatch, **how: Any) -> Figure:
    """The picture of an optimum, before it is written."""
    figures: list[Figure] = []
    monkeypatch.setattr(optimum, "save_figure", lambda figure, path: figures.append(figure))
    optimum.draw_optimum(law, ["ridge"], Path("best.png"), **how)
    return figures[0]


def test_the_curve_of_an_optimum_is_least_at_its_star(monkeypatch: pytest.MonkeyPatch) -> None:
    law = gs.predict(gs.Kernel(samples="2d"), "h1", noise=3.0, optimise=["ridge"])
    figure = drawn_optimum(law, monkeypatch, size="single")
    assert figure.get_figwidth() == WIDTHS["single"]
    curve, star = figure.axes[0].lines[:2]
    errors = np.asarray(curve.get_ydata(), float)
    assert np.ptp(errors) > 0.05
    # The curve passes through the star, where the last digits of both may differ.
    assert np.asarray(star.get_ydata(), float)[0] <= errors.min() * (1 + 1e-12)
    assert str(star.get_label()).startswith("best, ")


def test_an_optimum_at_the_edge_is_not_called_best(monkeypatch: pytest.MonkeyPatch) -> None:
    law = gs.predict(gs.Kernel(samples="2d"), "h1", noise=0.5, optimise=["ridge"])
    assert "at the edge of what was searched" in asked_optimum_words(law.prediction, ["ridge"])
    star = drawn_optimum(law, monkeypatch).axes[0].lines[1]
    assert str(star.get_label()).startswith("least at the end of the search")


def test_a_picture_needs_an_ending_and_a_place(tmp_path: Path) -> None:
    explanation = explain("h1")
    with pytest.raises(GiantstepError, match=r"\.png"):
        draw_staircase(explanation, tmp_path / "stairs.gif")
    (tmp_path / "file").write_text("")
    with pytest.raises(GiantstepError, match="is no folder"):
        draw_staircase(explanation, tmp_path / "file" / "stairs.png")


def test_a_metric_without_the_axis_of_the_others_is_drawn_by_its_places(tmp_path: Path) -> None:
    words = ["compare", "online-sgd", "--target", "h1", "--dim", "20", "--times", "1,2"]
    words += ["--until", "0.9", "--test-samples", "20", "--seeds", "2"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "p.png")])
    assert done.exit_code == 0, done.stderr
    assert (tmp_path / "p.png").stat().st_size > 0


def test_a_map_has_a_panel_for_each_direction(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = gs.GiantStep(samples="1d:8d:7", step_size="0.5:2:6")
    grid = gs.predict(settings, "h1 + h1*h2")
    figures: list[Any] = []
    monkeypatch.setattr(result, "save_figure", lambda figure, path: figures.append(figure) or path)
    result.draw_picture(grid, tmp_path / "map.png", metric="overlap")
    maps = [axes for axes in figures[0].axes if axes.get_xlabel() == "samples $n/d$"]
    assert [axes.get_title() for axes in maps] == ["direction = h1", "direction = h2"]
    first = result.draw(grid, metric="overlap")
    assert first.get_title() == "direction = h1"
    # One step on this target turns neurons to h1 alone.
    highest = [axes.collections[0].zmax for axes in (first, *maps)]
    assert highest[0] == highest[1] > 0.3 > highest[2]


def drawn_picture(answer: gs.Answer, monkeypatch: pytest.MonkeyPatch, **how: Any) -> Figure:
    """The picture of an answer, before it is written."""
    figures: list[Figure] = []
    monkeypatch.setattr(result, "save_figure", lambda figure, path: figures.append(figure) or path)
    result.draw_picture(answer, Path("picture.png"), **how)
    return figures[0]


def test_a_legend_does_not_lie_on_curves(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = gs.GiantStep(dim=150, samples="2d:6d:3", step_size="1,3")
    figure = drawn_picture(gs.predict(settings, "tanh(h1) + h1*h2"), monkeypatch)
    figure.draw_without_rendering()
    (panel,) = figure.axes
    legend = panel.get_legend()
    assert legend is not None
    assert len(panel.lines) == 5
    box = legend.get_window_extent()
    for line in panel.lines:
        curve = line.get_path().transformed(line.get_transform())
        assert not curve.intersects_bbox(box, filled=False)


def test_ticks_of_a_short_logarithmic_axis_are_plain_numbers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    law = gs.predict(gs.OnlineSgd(activation="tanh", times="1,2,4,8"), "tanh(h1)")
    (panel,) = drawn_picture(law, monkeypatch, metric="overlap").axes
    assert [tick.get_text() for tick in panel.get_xticklabels()] == ["1", "2", "5"]
    assert not panel.get_xticklabels(minor=True)
    # Time is in samples/d for some learners and that of a flow for others.
    assert panel.get_xlabel() == r"time $\tau$"


def test_a_title_does_not_break_words(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = gs.GiantStep(dim=80, samples="2d:8d:6", step_size="0.5:3:6")
    figure = drawn_picture(gs.predict(settings, "h1 + h1*h2"), monkeypatch, metric="overlap")
    title = figure.get_suptitle()
    assert "\n" in title
    assert "readout symmetric-sign" in title.splitlines()
