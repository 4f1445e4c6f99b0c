"""Each figure of the gallery, at reduced size: it is written, and its data bear its caption out."""

from __future__ import annotations

import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas
import pytest
from PIL import Image
from typer.testing import CliRunner

import giantstep
from giantstep.bibliography import cited_paper
from giantstep.cli.main import app
from giantstep.errors import GiantstepError
from giantstep.gallery.figure import MOST_WORDS
from giantstep.gallery.figures import NAMES, figure_named
from giantstep.gallery.panels import Side, curves_by_dimension, overlay_panels
from giantstep.gallery.papers import (
    drawn_elsewhere,
    figure_reproduction,
    figures_of_paper,
    reproduced_papers,
    reproduction_words,
)
from giantstep.gallery.rendering import STORE, render_figure
from giantstep.gallery.style import new_figure, save_animation
from giantstep.theory.learnability.sample_complexity import giant_step_samples, one_pass_samples

ROOT = Path(__file__).parents[2]
DATA = Path(giantstep.__file__).parent / "gallery" / "papers.toml"
#: Figures that were hard to read once.
REDRAWN = [
    "depth-adam",
    "langevin-parity",
    "depth-scenarios",
    "settings-1-2",
    "iterations",
    "kernel-vs-network",
    "floors",
    "flow-complexity",
    "grand-staircase",
    "polynomial-staircase",
    "growing-basis",
    "risk-bounds",
    "feature-spikes",
]
MOST_PANELS, MOST_CURVES = 3, 5


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_figure_shows_what_it_says(name: str, tmp_path: Path) -> None:
    figure = figure_named(name)
    assert figure.name == name
    done = render_figure(figure, "reduced", tmp_path / f"{name}.png")
    assert done.claims
    assert all(done.claims.values()), done.claims
    picture, data = done.files
    png = picture.read_bytes()
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    table = pandas.read_csv(data)
    assert len(table) > 1
    if name in REDRAWN:
        check_legible(figure.draw(table))
    assert "{" not in done.caption
    # `make docs` compares a picture of README with a fresh one column by column.
    kept = ROOT / "docs" / "pictures" / f"{name}.csv"
    assert not kept.exists() or list(pandas.read_csv(kept, nrows=1)) == list(table)


def check_legible(picture: Any) -> None:
    """Few panels, few curves in each, and no line through points that were simulated."""
    panels = [panel for panel in picture.axes if panel.get_label() != "<colorbar>"]
    assert len(panels) <= MOST_PANELS
    for panel in panels:
        lines = [line for line in panel.get_lines() if len(line.get_xdata()) > 2]
        assert len({line.get_color() for line in lines}) <= MOST_CURVES
        for line in lines:
            assert "None" in (str(line.get_marker()), line.get_linestyle()), line.get_label()


@pytest.mark.parametrize("name", NAMES)
def test_figure_has_three_sizes_and_a_reference(name: str) -> None:
    figure = figure_named(name)
    assert figure.sizes.keys() == {"reduced", "quick", "full"}
    assert figure.references
    assert 100 < len(figure.caption_at("full")) < 900


@pytest.mark.parametrize("name", NAMES)
def test_claims_say_plus_where_they_mean_it(name: str) -> None:
    """An allowance beyond standard errors is named so in the claim."""
    figure = figure_named(name)
    source = inspect.getsource(figure.claims)
    assert not re.search(r"standard errors (and|\+) [0-9]", source)


@pytest.mark.parametrize("name", NAMES)
def test_captions_say_why_a_claim_allows_more_than_standard_errors(name: str) -> None:
    figure = figure_named(name)
    source = re.sub(r'"\s+f?"', "", inspect.getsource(figure.claims))
    caption = figure.caption_at("full")
    for allowed in re.findall(r"standard errors plus ([0-9.]+(?: %)?)", source):
        assert re.search(rf"(allow|plus).* {re.escape(allowed)}", caption), allowed


def test_what_repetition_saves_is_said_as_theory_has_it() -> None:
    """He3 has leap 3: d^2 samples by one-pass SGD, d^3 in one giant step."""
    caption = figure_named("reused-batch").caption_at("full")
    assert (one_pass_samples(3), giant_step_samples(3)) == ("d^2", "d^3")
    assert "takes d^2 samples by one-pass SGD and d^3 in one giant step" in caption


def test_an_animation_moves_and_is_small(tmp_path: Path) -> None:
    def frames() -> Iterator[Any]:
        figure, panel = new_figure(2.0, 1.0)
        for place in range(3):
            panel.clear()
            panel.plot([place], [0], "o")
            yield figure

    save_animation(frames(), tmp_path / "moving.gif")
    with Image.open(tmp_path / "moving.gif") as picture:
        assert picture.n_frames == 3
    with Image.open(ROOT / "docs" / "pictures" / "hero.gif") as hero:
        assert hero.n_frames > 20
    assert (ROOT / "docs" / "pictures" / "hero.gif").stat().st_size < 1.5e6


@pytest.mark.parametrize("name", NAMES)
def test_what_stands_under_a_picture_is_short(name: str) -> None:
    figure = figure_named(name)
    for scale in figure.sizes:
        first, rest = figure.parts_of_caption(scale)
        assert f"{first} {rest}".strip() == figure.caption_at(scale)
        assert first.endswith(".")
        assert len(first.split()) <= MOST_WORDS


def test_figures_of_papers() -> None:
    assert "one-step-risk" in figures_of_paper("2402.04980")
    talks = (
        "2305.18270 2205.01445 2310.07891 2402.04980 2410.18938 2405.15480 2402.03220 2405.15459 "
        "2309.03843 2502.13961 1908.05355 2002.09339 2405.15699"
    )
    assert set(talks.split()) <= set(reproduced_papers())
    for number, entry in tomllib.loads(DATA.read_text(encoding="utf-8")).items():
        names = figures_of_paper(f"https://arxiv.org/pdf/{number}v2")
        assert set(entry) - {"elsewhere"} <= set(names), number
        assert drawn_elsewhere(number)
        lines = reproduction_words(number, *names)
        assert lines[0].endswith(cited_paper(number).title)
        assert [line.partition(":")[0] for line in lines[1:] if line[0] != " "] == list(names)
        units = [line for line in lines if line.startswith("  in our units: ")]
        assert len(set(units)) == len(units)
    with pytest.raises(GiantstepError, match=r"Cui et al. 2024, arXiv:2402\.04980"):
        figures_of_paper("1234.56789")
    with pytest.raises(GiantstepError, match=r"one-step-risk.* \(matched by content"):
        figure_reproduction("2402.04980", "fig2")


def test_the_caption_is_in_the_picture_or_beside_it(tmp_path: Path) -> None:
    figure = figure_named("staircases")
    inside = render_figure(figure, "reduced", tmp_path / "site")
    beside = render_figure(figure, "reduced", tmp_path / "paper", caption_inside=False)
    assert [path.suffix for path in inside.files] == [".png", ".pdf", ".csv"]
    assert beside.files[3].read_text().strip() == beside.caption
    assert inside.files[0].stat().st_size > beside.files[0].stat().st_size
    assert inside.files[1].read_bytes().startswith(b"%PDF")


def test_a_single_column_has_its_panels_below_one_another(tmp_path: Path) -> None:
    figure = figure_named("staircases")
    sizes = {}
    for size in (None, "single", "double"):
        render_figure(figure, "reduced", tmp_path / f"{size}.png", caption_inside=False, size=size)
        with Image.open(tmp_path / f"{size}.png") as picture:
            sizes[size] = picture.size
    assert sizes["single"][0] < sizes["double"][0]
    assert sizes["single"][1] > 1.3 * sizes["single"][0]
    assert sizes["double"][0] > 2 * sizes["single"][0]


@pytest.mark.parametrize("name", ["figure", "reproduce"])
def test_the_commands_take_a_size(name: str) -> None:
    shown = CliRunner().invoke(app, [name, "--help"]).output
    assert "--size" in shown
    assert "--no-caption" in shown


def test_curves_that_lie_on_one_another_are_both_seen() -> None:
    """A second line on a first is dashed, as is a dimension beyond what was simulated."""
    table = pandas.DataFrame(
        {"x": [1, 2] * 3, "dim": [10, 10, 20, 20, 30, 30], "y.theory": [1, 2, 1, 2, 3, 4]}
    )
    table = table.assign(**{"y": [1.0, 2, 1, 2, None, None], "y.sem": 0.1})
    panel = overlay_panels(table, Side("x"), Side("y"), curves=curves_by_dimension(10, 20, 30))[1][
        0
    ]
    styles = [line.get_linestyle() for line in panel.lines if str(line.get_label())[:1] == "$"]
    assert styles == ["-", "--", "--"]
    markers = [line.get_marker() for line in panel.lines]
    assert "s" not in markers
    small = overlay_panels(table, Side("x"), Side("y"), squares=("dim", "d"))[1][0]
    assert [line.get_marker() for line in small.lines].count("s") == 2


def test_one_picture_is_written_where_a_file_is_named(tmp_path: Path) -> None:
    done = render_figure(figure_named("staircases"), "reduced", tmp_path / "new" / "stairs.svg")
    assert [path.name for path in done.files] == ["stairs.svg", "stairs.csv"]
    assert "<svg" in done.files[0].read_text()[:600]


def test_unknown_figures_and_folders_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(GiantstepError, match="spiked-kernel"):
        figure_named("spiked")
    (tmp_path / "file").write_text("")
    with pytest.raises(GiantstepError, match="out ="):
        render_figure(figure_named(NAMES[0]), "reduced", tmp_path / "file")
    assert not (tmp_path / STORE).exists()
