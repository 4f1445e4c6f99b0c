"""Every block of Python and every command in README and in the pages runs."""

from __future__ import annotations

import re
import shlex
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import matplotlib
import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.glob("*.md")), *sorted(DOCS.glob("methods/*.md"))]
#: Whose blocks a test below, or one of the lab, runs in its own way.
ON_THEIR_OWN = {"studies.md", "lab.md"}
#: Lines that need another machine, or that must not change this one; the Makefile installs.
NOT_HERE = re.compile(r"python3 -m venv |pip install |ssh -L ")


def blocks(path: Path, language: str) -> list[str]:
    """The blocks of a page in that language."""
    text = path.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def fences(path: Path) -> Iterator[tuple[str, str]]:
    """Every block of a page with its language, but for what Sphinx reads itself."""
    text = path.read_text(encoding="utf-8")
    for language, block in re.findall(r"^```([^\n]*)\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        if not language.startswith("{"):
            yield language, block


@pytest.mark.parametrize("path", PAGES, ids=lambda p: p.name)
def test_there_is_no_block_that_nobody_runs(path: Path) -> None:
    """Python and TOML run here, commands in tests/cli, the lab in tests/laboratory."""
    for language, block in fences(path):
        assert language in ("", "console", "python", "toml"), language
        if language in ("", "console"):
            for line in block.replace("\\\n", " ").splitlines():
                words = line.removeprefix("$ ")
                is_run = line.startswith("$ giantstep ") or words == "giantstep lab"
                assert is_run or NOT_HERE.match(words), line


def smaller(code: str) -> str:
    """The same code at sizes that take no time."""
    code = re.sub(r"dim=(\d{3,})", "dim=60", code)
    code = re.sub(r"(samples=\"\w+:\w+):\d+", r"\1:2", code)
    return re.sub(r"seeds=\d+", "seeds=2", code)


WITH_PYTHON = [p for p in PAGES if p.name not in ON_THEIR_OWN and blocks(p, "python")]


@pytest.mark.slow
@pytest.mark.parametrize("path", WITH_PYTHON, ids=lambda p: p.name)
def test_python_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("Agg")
    names: dict[str, object] = {}
    for code in blocks(path, "python"):
        # Pages are read from the top: a block may use what an earlier one made.
        exec(compile(smaller(code), path.name, "exec"), names)


@pytest.fixture
def slurm(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The scheduler of dask-jobqueue, whose workers are threads of this process, not jobs."""
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=0, processes=False, protocol="tcp://", dashboard_address=None
    ) as cluster:

        class SLURMCluster:
            scheduler_address = cluster.scheduler_address

            def __init__(self, *, cores: int, memory: str, walltime: str) -> None:
                pass

            def scale(self, *, jobs: int) -> None:
                cluster.scale(min(jobs, 1))

        module = types.ModuleType("dask_jobqueue")
        module.SLURMCluster = SLURMCluster  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "dask_jobqueue", module)
        yield


@pytest.mark.filterwarnings("ignore")
def test_the_study_of_the_page_runs(
    slurm: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    page = DOCS / "studies.md"
    [study] = blocks(page, "toml")
    study = study.replace("[100, 200]", "[20, 30]").replace("seeds = 8", "seeds = 2")
    Path("leap-one.toml").write_text(study, encoding="utf-8")
    lines = "\n".join(blocks(page, "console")).splitlines()
    commands = [line.removeprefix("$ giantstep ") for line in lines if line.startswith("$ ")]
    assert len(commands) == 5
    asked, cluster = blocks(page, "python")
    small = asked.replace("[100, 200]", "[20, 30]").replace("seeds=8", "seeds=2")
    exec(compile(small, page.name, "exec"), {})
    assert "simulation and prediction: giant-step" in capsys.readouterr().out
    exec(compile(cluster, page.name, "exec"), {})
    address = capsys.readouterr().out.strip()
    for command in commands:
        elsewhere = "--scheduler" in command
        engine = " --store other.sqlite" if elsewhere else " --engine inline"
        given = command.replace("tcp://login:8786", address)
        result = CliRunner().invoke(
            app, shlex.split(given + (engine if " run " in f" {given}" else ""))
        )
        assert result.exit_code == 0, f"{command}\n{result.stderr}"
    assert Path("overlap.png").exists()
    assert Path("overlap.csv").exists()
