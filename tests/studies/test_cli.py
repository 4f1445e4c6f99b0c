"""`giantstep study run|show|export|plot`."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer
from cheap_learners import SUMS
from typer.testing import CliRunner

from giantstep.asking import table
from giantstep.asking.studies import progress
from giantstep.asking.studies.records import Counts
from giantstep.cli import study

TOML = """
learner = "sums"
problem = {target = "h1"}
seeds = 3
[axes]
samples = "1d:3d:3"
trouble = ["none", "error"]
"""


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(table, "LEARNERS", (*table.LEARNERS, SUMS))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.toml").write_text(TOML)
    app = typer.Typer()
    study.register_study_commands(app)

    def invoke(*arguments: str, code: int = 0) -> Any:
        answer = CliRunner().invoke(app, ["study", *arguments])
        assert answer.exit_code == code, answer.output
        return answer

    return invoke


def test_run_show_export_and_plot(call: Any, tmp_path: Path) -> None:
    answer = call("run", "small.toml", "--workers", "1", "--json", code=1)
    counts = {"cells": 24, "done": 15, "no_theory": 0, "failed": 9}
    assert json.loads(answer.stdout)["counts"] == counts
    assert "try again: giantstep study run small.toml --retry" in answer.stderr

    again = call("run", "small", "--workers", "1", code=1)
    assert "15 of 24 cells done, 9 failed, kept in giantstep-studies.sqlite" in again.stderr
    assert again.stdout == ""

    assert "small: 15 of 24 cells done, 9 failed" in call("show").stdout
    assert json.loads(call("show", "--json").stdout)["studies"][0]["counts"] == counts
    shown = call("show", "small").stdout
    assert "total" in shown
    assert "theory" in shown
    assert "9 cells: RuntimeError: asked to fail" in shown
    assert len(json.loads(call("show", "small", "--json").stdout)["failures"]) == 9

    for form in ("csv", "parquet", "json"):
        call("export", "small", "--to", form)
        assert (tmp_path / f"small.{form}").stat().st_size > 0
    where = json.loads(call("export", "small", "--out", "a/b.csv", "--json").stdout)
    assert where == {"study": "small", "file": "a/b.csv", "cells": 24}

    call("plot", "small")
    call("plot", "small", "--x", "trouble", "--metric", "profile[1]", "--out", "p.pdf")
    assert (tmp_path / "small.png").stat().st_size > 1000
    assert (tmp_path / "p.pdf").stat().st_size > 1000
    assert "use samples, trouble" in call("plot", "small", "--x", "dim", code=2).stderr
    assert "use total" in call("plot", "small", "--metric", "risk", code=2).stderr


def test_what_is_wrong_is_said(call: Any) -> None:
    assert "is no file, and there is no store" in call("run", "nothing", code=2).stderr
    assert "cannot read the study" in call("run", "nothing.toml", code=2).stderr
    assert "there is no store" in call("show", code=2).stderr
    assert "use csv, parquet, json" in call("export", "small", "--to", "xls", code=2).stderr
    assert "use local, dask or inline" in call("run", "small.toml", "--engine", "x", code=2).stderr


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys, typer\nfrom giantstep.cli import study\n"
        "app = typer.Typer()\nstudy.register_study_commands(app)\n"
        "try:\n    app(['study', 'run', '--help'], prog_name='x')\nexcept SystemExit:\n    pass\n"
        "print('LOADED', *{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split("LOADED")[1].split())
    heavy = {"jax", "scipy", "sympy", "matplotlib", "pandas", "sklearn", "dask", "xarray"}
    assert not loaded & (heavy | {"numpy"})


def test_the_bar_is_drawn_only_where_somebody_looks(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with progress.study_progress_bar("quiet") as watch:
        assert watch is None
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "120")
    with progress.study_progress_bar("seen") as watch:
        watch(Counts(10, 2, 1, 1), False)
        watch(Counts(10, 5, 1, 2), True)
    drawn = capsys.readouterr()
    assert drawn.out == ""
    assert "8/10" in drawn.err
    assert "2 failed" in drawn.err
    assert "finishing what is running" in drawn.err


def test_a_store_is_checked_and_brought_up_to_date(call: Any, tmp_path: Path) -> None:
    assert "there is no store" in call("check", code=2).stderr
    call("run", "small.toml", "--engine", "inline", code=1)
    assert "small: 15 of 24 cells done, 9 failed" in call("check").stdout
    connection = sqlite3.connect(tmp_path / "giantstep-studies.sqlite")
    connection.execute("UPDATE cells SET numbers = x'00' WHERE status = 'done' AND rowid < 2")
    connection.commit()
    assert "1 damaged in the store, which the next run mends" in call("check", code=1).stdout
    assert json.loads(call("show", "--json").stdout)["studies"][0]["damaged"] == 1
    assert "14 of 24 cells done" in call("show", "small").stdout
    call("run", "small.toml", "--engine", "inline", code=1)
    assert "15 of 24 cells done" in call("check").stdout
    connection.execute("UPDATE members SET position = 99 WHERE position = 0")
    connection.commit()
    connection.close()
    assert "list of the cells of study 'small' is damaged" in call("check", code=1).stdout
    assert "damaged" in json.loads(call("show", "--json").stdout)["unreadable"]["small"]
