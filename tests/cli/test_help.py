"""Help is quick because commands that were not asked for are listed only: the list stays whole."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import giantstep
from giantstep.cli.main import app, main


@pytest.mark.parametrize("words", ["--help", "explain --help", "predict --help", "study --help"])
def test_the_quick_help_is_the_whole_help(
    words: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["giantstep", *words.split()])

    def printed(command: Callable[[], None]) -> str:
        with pytest.raises(SystemExit) as end:
            command()
        assert end.value.code == 0
        return capsys.readouterr().out

    whole = printed(lambda: app(words.split(), prog_name="giantstep"))
    assert whole.startswith("Usage: giantstep")
    assert printed(main) == whole


def test_the_package_runs_as_a_module(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["giantstep", "--version"])
    program = Path(giantstep.__file__).with_name("__main__.py")
    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(program), run_name="__main__")
    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith("giantstep ")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        ("ex", ["explain"]),
        ("figure amp-s", ["amp-staircase"]),
        ("reproduce 2402.04", ["2402.04980"]),
        ("explain ex3", ["ex3a", "ex3b"]),
        ("predict kernel --target parity-t", ["parity-two", "parity-three"]),
        ("predict giant-step --activation gel", ["gelu"]),
        ("simulate giant-step --batches r", ["reused"]),
        ("cite amp-p", ["amp-parity"]),
    ],
)
def test_the_shell_gets_the_words_that_begin_so(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: str,
    offered: list[str],
) -> None:
    asked = {
        "_GIANTSTEP_COMPLETE": "complete_bash",
        "COMP_WORDS": f"giantstep {words}",
        "COMP_CWORD": str(len(words.split())),
    }
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit):
        main()
    assert capsys.readouterr().out.split() == offered
