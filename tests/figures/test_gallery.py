"""Each figure of the gallery, at reduced size: it is written, and its data bear its caption out."""

from __future__ import annotations

from pathlib import Path

import pandas
import pytest

from giantstep.errors import GiantstepError
from giantstep.figures.gallery import NAMES, figure_named
from giantstep.figures.rendering import STORE, render


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_figure_shows_what_it_says(name: str, tmp_path: Path) -> None:
    figure = figure_named(name)
    assert figure.name == name
    done = render(figure, "reduced", tmp_path)
    assert done.claims
    assert all(done.claims.values()), done.claims
    png, pdf = (path.read_bytes() for path in done.files[:2])
    assert png.startswith(b"\x89PNG")
    assert len(png) > 10_000
    assert pdf.startswith(b"%PDF")
    table = pandas.read_csv(done.files[2])
    assert len(table) > 1
    assert "{" not in done.caption


@pytest.mark.parametrize("name", NAMES)
def test_figure_has_three_sizes_and_a_reference(name: str) -> None:
    figure = figure_named(name)
    assert figure.sizes.keys() == {"reduced", "quick", "full"}
    assert figure.references
    assert 100 < len(figure.caption_at("full")) < 900


def test_unknown_figures_and_folders_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(GiantstepError, match="spiked-kernel"):
        figure_named("spiked")
    (tmp_path / "file").write_text("")
    with pytest.raises(GiantstepError, match="out ="):
        render(figure_named(NAMES[0]), "reduced", tmp_path / "file")
    assert not (tmp_path / STORE).exists()
