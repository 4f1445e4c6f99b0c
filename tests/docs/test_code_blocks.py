"""Every block of Python and every command in README and in the pages runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import matplotlib
import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
#: Written from the changes of the code, or tested by a file of its own.
LEFT_OUT = {"changelog.md", "architecture.md"}


def blocks(path: Path, language: str) -> list[str]:
    """The blocks of a page in that language."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def smaller(code: str) -> str:
    """The same code at sizes that take no time."""
    code = re.sub(r"dim=(\d{3,})", "dim=60", code)
    code = re.sub(r"(samples=\"\w+:\w+):\d+", r"\1:2", code)
    return re.sub(r"seeds=\d+", "seeds=2", code)


WITH_PYTHON = [p for p in PAGES if p.name not in LEFT_OUT and blocks(p, "python")]


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda p: p.name)
def test_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict[str, object] = {}
    for code in blocks(path, "python"):
        # Pages are read from the top: a block may use what an earlier one made.
        exec(compile(smaller(code), path.name, "exec"), names)


def test_the_study_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "studies.md"
    [study] = blocks(page, "toml")
    study = study.replace("[100, 200]", "[20, 30]").replace("seeds = 8", "seeds = 2")
    Path("leap-one.toml").write_text(study, encoding="utf-8")
    lines = "\n".join(blocks(page, "console")).splitlines()
    commands = [line.removeprefix("$ giantstep ") for line in lines if line.startswith("$ ")]
    assert len(commands) == 4
    for command in commands:
        inline = " --engine inline" if " run " in f" {command}" else ""
        result = CliRunner().invoke(app, shlex.split(command + inline))
        assert result.exit_code == 0, f"{command}\n{result.stderr}"
    assert Path("overlap.png").exists()
    assert Path("overlap.csv").exists()
