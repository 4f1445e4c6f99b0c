"""`giantstep report` at the command line: one object, one clear line, the right exit code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.language.problem import Problem
from giantstep.reports.page import Report
from giantstep.reports.parts import Section
from giantstep.reports.scale import FULL, QUICK


def run(*words: str) -> tuple[int, str, str]:
    result = CliRunner().invoke(app, list(words))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result.exit_code, result.stdout, result.stderr


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("foo(h1)",), "foo"),
        (("h1 + h3",), "h2"),
        (("exp(h1**2)",), "second moment"),
        (("h1", "--noise", "-1"), "noise"),
        (("h1", "--out", "/dev/null/x.html"), "is no folder"),
        (("h1", "--out", "."), "is a folder"),
    ],
)
def test_bad_input_gets_one_line(words: tuple[str, ...], expected: str) -> None:
    code, out, err = run("report", *words)
    assert code == 2
    assert out == ""
    assert len(err.strip().splitlines()) == 1
    assert expected in err


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the command asks for; the page itself is tested elsewhere."""
    seen: list[dict[str, Any]] = []

    def answer(problem: Problem, path: Path, **given: Any) -> Report:
        seen.append({"problem": problem, "path": path, **given})
        sections = (Section("a", "First", seconds=1.0), Section("b", "Second", skipped="no theory"))
        return Report(problem, path, sections, 2.0)

    monkeypatch.setattr("giantstep.reports.page.write_report", answer)
    return seen


def test_json_is_one_object(asked: list[dict[str, Any]]) -> None:
    code, out, _ = run("report", "-h1", "--noise", "0.5", "--quick", "--seed", "3", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["target"] == "-h1"
    assert answer["path"] == "report.html"
    assert answer["seconds"] == 2.0
    assert [section["key"] for section in answer["sections"]] == ["a", "b"]
    assert answer["skipped"] == {"b": "no theory"}
    assert asked[0]["scale"] is QUICK
    assert asked[0]["seed"] == 3
    assert asked[0]["problem"].noise == 0.5


def test_words_say_what_was_left_out(asked: list[dict[str, Any]]) -> None:
    code, out, _ = run("report", "h1", "--out", "page.html")
    assert code == 0
    assert out.splitlines() == [
        "  First (1.0 s)",
        "  Second (not shown: no theory)",
        "wrote page.html",
    ]
    assert asked[0]["scale"] is FULL
