"""What is printed for many inputs, right and wrong: compared with the text that was looked at.

Run this file as a script to write the texts anew, and look at the difference. Numbers that are
computed are masked, so that rounding cannot fail a test; errors are compared letter by letter.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

import giantstep as gs
from giantstep.cli.main import app

FILE = Path(__file__).with_name("snapshots.txt")
_NUMBER = re.compile(r"(?<![\w.*^=/-])-?\d+(\.\d+)?(e[+-]?\d+)?(?![\w.:]*[a-zA-Z*^])")


def printed(line: str) -> str:
    """What a command prints, or what Python shows of an expression that begins with ``gs.``."""
    if line.startswith("gs."):
        return masked(repr(eval(line, {"gs": gs})))
    result = CliRunner(env={"COLUMNS": "80"}).invoke(app, shlex.split(line))
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    if result.exit_code == 2:
        assert result.stdout == ""
        assert len(result.stderr.splitlines()) == 1, line
        # What there is to choose from grows; which choice was wrong does not.
        return re.sub(r"(: |\? )use .*", r"\1use ...", result.stderr.rstrip()) + "\n[exit 2]"
    return masked(result.stdout.rstrip()) + f"\n[exit {result.exit_code}]"


def masked(text: str) -> str:
    """The text with computed numbers as #, and one space where columns were aligned.

    What a theory notes, and which papers it names, is for its own tests: here it counts that they
    are there.
    """
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        head = line.partition(":")[0]
        inside = head in ("note", "papers") or (inside and line.startswith("  "))
        if inside:
            if head in ("note", "papers") and f"{head}: ..." not in lines:
                lines.append(f"{head}: ...")
            continue
        is_about = line.startswith(("  ", "simulation:", "prediction:"))
        shown = re.sub(r"\d\.\d{3,}", "#", line) if is_about else _NUMBER.sub("#", line)
        lines.append(re.sub(r"(?<=\S) +", " ", shown).rstrip())
    return "\n".join(lines)


def read() -> dict[str, str]:
    """The texts of the file, by command."""
    parts = FILE.read_text(encoding="utf-8").split("\n\n$ ") if FILE.is_file() else []
    found = {}
    for part in parts:
        command, _, text = part.removeprefix("$ ").rstrip("\n").partition("\n")
        found[command] = text
    return found


SNAPSHOTS = read()


@pytest.mark.parametrize("line", SNAPSHOTS, ids=lambda line: line[:70])
def test_it_prints_what_was_looked_at(line: str) -> None:
    assert printed(line) == SNAPSHOTS[line]


def test_there_are_sixty_and_half_of_them_are_wrong() -> None:
    wrong = [text for text in SNAPSHOTS.values() if text.endswith("[exit 2]")]
    assert len(SNAPSHOTS) >= 60
    assert len(wrong) >= 30


if __name__ == "__main__":
    texts = "\n\n".join(f"$ {line}\n{printed(line)}" for line in SNAPSHOTS)
    FILE.write_text(texts + "\n", encoding="utf-8")
