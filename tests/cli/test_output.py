"""Lists of what there is, and what is done when output cannot be shown or written."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.cli.output import note_many_directions, run_command_line
from giantstep.language.targets import Target

PROGRAM = [sys.executable, "-c", "from giantstep.cli.main import main; main()"]
FULL = Path("/dev/full")


def test_a_terminal_without_all_letters(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="latin-1")
    monkeypatch.setattr(sys, "stdout", stream)
    run_command_line(lambda: print("é ≤ 1"))
    stream.flush()
    assert stream.buffer.getvalue() == b"\xe9 \\u2264 1\n"


@pytest.mark.skipif(not FULL.exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("words", [("--help",), ("learners",), ("learners", "--json")])
def test_a_full_disk_gets_one_line(words: tuple[str, ...]) -> None:
    with FULL.open("w") as full:
        done = subprocess.run(
            [*PROGRAM, *words], stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert done.returncode == 2
    assert done.stderr == "giantstep: cannot write the output: No space left on device\n"


def test_a_reader_that_leaves_gets_no_complaint() -> None:
    with subprocess.Popen(
        [*PROGRAM, "learners"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as program:
        assert program.stdout is not None
        assert program.stderr is not None
        program.stdout.close()
        assert "Traceback" not in program.stderr.read()


def test_a_file_that_cannot_be_used_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def open_it() -> None:
        (tmp_path / "none" / "x").read_text()

    with pytest.raises(SystemExit) as stopped:
        run_command_line(open_it)
    assert stopped.value.code == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "none/x': No such file or directory" in said


def test_other_errors_are_not_hidden() -> None:
    def broken() -> None:
        raise OSError("a fault of ours")

    with pytest.raises(OSError, match="a fault of ours"):
        run_command_line(broken)


def test_the_exit_code_of_a_command_is_kept() -> None:
    def stop() -> None:
        raise typer.Exit(3)

    with pytest.raises(typer.Exit) as stopped:
        run_command_line(stop)
    assert stopped.value.exit_code == 3


@pytest.mark.parametrize(
    ("words", "key", "holds"),
    [
        ("targets", "targets", "tree-he2"),
        ("figure --list", "figures", "one-step-risk"),
        ("figure --list --paper 2402.04980", "figures", "one-step-risk"),
        ("reproduce 2402.04980", "figures", "one-step-risk"),
    ],
)
def test_lists_are_told_as_text_and_as_json(words: str, key: str, holds: str) -> None:
    text, data = (CliRunner().invoke(app, [*words.split(), *more]) for more in ([], ["--json"]))
    assert (text.exit_code, data.exit_code) == (0, 0), text.output + data.output
    assert holds in text.stdout
    assert holds in str(json.loads(data.stdout)[key])


def test_the_demo_computes_nothing_for_a_folder_it_cannot_write(tmp_path: Path) -> None:
    """It explained the first target before it found that it could not draw it."""
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "file" / "out")])
    assert done.exit_code == 2
    assert done.stdout == ""
    assert "is no folder" in done.stderr


def test_the_demo_explains_and_reports(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("giantstep.cli.demo.SHOWCASE", ("sin(h1)",))
    reported = []
    monkeypatch.setattr(
        "giantstep.reports.page.write_report",
        lambda problem, page, **_: reported.append((problem.target.text, page)),
    )
    done = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert done.exit_code == 0, done.output
    assert "y = sin(h1)" in done.stdout
    assert (tmp_path / "staircase-1.png").stat().st_size > 0
    assert reported == [("h1 + h1*h2", tmp_path / "report.html")]


def test_many_directions_are_announced(capsys: pytest.CaptureFixture[str]) -> None:
    """Explaining twenty of them ran for minutes without a word."""
    note_many_directions(Target("h1*h2"))
    assert not capsys.readouterr().err
    note_many_directions(Target("+".join(f"h{i}" for i in range(1, 13))))
    assert "12 directions" in capsys.readouterr().err
