"""Every command that README, the pages and the help print runs, at sizes that take no time."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from giantstep.asking.table import LEARNERS, Learner
from giantstep.cli.main import app
from giantstep.cli.spectrum import COMMANDS
from giantstep.gallery.figure import Figure
from giantstep.gallery.rendering import Rendering
from giantstep.reports.page import Report

ROOT = Path(__file__).parents[2]
#: Studies need a file: tests/docs runs that page.
PAGES = [p for p in sorted((ROOT / "docs").glob("*.md")) if p.name != "studies.md"]
PAGES += sorted((ROOT / "docs").glob("methods/*.md"))
#: Options that make a command small, whatever it says itself.
SMALL = {"--dim": "24", "--seeds": "2", "--width": "6"}


def in_pages() -> list[str]:
    """The commands behind a dollar sign in README and in the pages, continued lines joined."""
    text = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "README.md", *PAGES))
    lines = text.replace("\\\n", " ").splitlines()
    return list(dict.fromkeys(line[2:] for line in lines if line.startswith("$ giantstep ")))


def in_help() -> list[str]:
    """The examples of the learners and of the spectra."""
    found = [f"giantstep predict {row.name} {row.example}" for row in LEARNERS]
    return [*found, *(f"giantstep spectrum {name} {row[3]}" for name, row in COMMANDS.items())]


def smaller(words: list[str], folder: Path) -> list[str]:
    """The same command at small sizes, writing into a folder."""
    found = [re.sub(r":\d+(log)?$", r":3\1", word) for word in words]
    for option, value in SMALL.items():
        if option in found and not (option == "--width" and "d" in found[found.index(option) + 1]):
            found[found.index(option) + 1] = value
    simulates = found[0] in ("simulate", "compare", "spectrum")
    if simulates and "--seeds" not in found:
        found += ["--seeds", "2"]
    if found[0] in ("compare", "spectrum"):
        found += ["--out", str(folder / "picture.png")]
    elif "--out" in found:
        found[found.index("--out") + 1] = str(folder / Path(found[found.index("--out") + 1]).name)
    return found


@pytest.fixture(autouse=True)
def no_figures_and_reports(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures and reports have tests of their own: here it counts that the words are right."""

    def render(figure: Figure, *how: Any, **more: Any) -> Rendering:
        return Rendering(figure.name, "", figure.references, {}, (), 0.0)

    def write_report(problem: Any, path: Path, **how: Any) -> Report:
        return Report(problem, path, (), 0.0)

    monkeypatch.setattr("giantstep.gallery.result.ask_theory_between", lambda *_, **__: None)
    monkeypatch.setattr("giantstep.gallery.rendering.render_figure", render)
    monkeypatch.setattr("giantstep.reports.page.write_report", write_report)


def run(command: str, folder: Path) -> str:
    words = smaller(shlex.split(command)[1:], folder)
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, f"{' '.join(words)}\n{result.stderr}"
    return result.stdout


@pytest.mark.parametrize("command", in_pages())
def test_pages(command: str, tmp_path: Path) -> None:
    run(command, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("command", in_help(), ids=lambda c: " ".join(c.split()[1:3]))
def test_help(command: str, tmp_path: Path) -> None:
    run(command, tmp_path)


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_an_example_of_simulate_is_understood(row: Learner) -> None:
    """Read only: the tests of the table run each example by `compare`, which simulates."""
    verb = get_command(app).commands["simulate"]
    asked = verb.commands[row.name].make_context(row.name, shlex.split(row.example))
    assert asked.params["seeds"] >= 1


@pytest.mark.parametrize("words", ["predict giant-step", "spectrum weights", "study run", "fit"])
def test_an_example_can_be_copied_from_the_help(words: str) -> None:
    shown = CliRunner(env={"COLUMNS": "80"}).invoke(app, [*words.split(), "--help"]).stdout
    example = shown.partition("Example:")[2].strip()
    assert example.startswith(f"giantstep {words}")
    lines = example.splitlines()
    assert all(line.endswith("\\") for line in lines[:-1])
    assert max(map(len, lines)) <= 80
    assert re.search(r"--[\w-]+$", example.replace("\\\n", " ").split("--help")[0]) is None
