"""`giantstep cite`: BibTeX of what is named, and one line where nothing is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import giantstep as gs
from giantstep.asking.table import LEARNERS
from giantstep.bibliography import PAPERS
from giantstep.cli.main import app
from giantstep.gallery.figures import NAMES, figure_named


def cite(*words: str) -> str:
    result = CliRunner().invoke(app, ["cite", *words])
    assert result.exit_code == 0, result.stderr
    return result.stdout


def test_giantstep_itself() -> None:
    assert cite().startswith("@software{giantstep")
    version = (Path(__file__).parents[2] / "CITATION.cff").read_text(encoding="utf-8")
    assert f"version: {gs.__version__}" in version
    assert f"version = {{{gs.__version__}}}" in cite()


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_every_learner(row: object) -> None:
    assert cite(row.name).count("@article") == len(row.references)  # type: ignore[attr-defined]


def test_figures_numbers_and_files(tmp_path: Path) -> None:
    named = next(name for name in NAMES if figure_named(name).references)
    assert cite(named).count("@article") == len(figure_named(named).references)
    assert cite("arXiv:2402.04980") == cite("2402.04980") == PAPERS["2402.04980"].bibtex + "\n"
    law = gs.predict(gs.RandomFeatures(ridge=0.1), "h1")
    path = tmp_path / "law.json"
    path.write_text(json.dumps(law.to_json()), encoding="utf-8")
    assert cite(str(path)) == law.cite() + "\n"


@pytest.mark.parametrize("what", ["nothing", "9999.99999"])
def test_unknown_words(what: str) -> None:
    result = CliRunner().invoke(app, ["cite", what])
    assert result.exit_code == 2
    assert what in result.stderr
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("text", ["not json", "[1]", "{}", '{"references": 3}'])
def test_files_without_papers(text: str, tmp_path: Path) -> None:
    path = tmp_path / "result.json"
    path.write_text(text, encoding="utf-8")
    result = CliRunner().invoke(app, ["cite", str(path)])
    assert result.exit_code == 2
    assert "names no papers" in result.stderr
