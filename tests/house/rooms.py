"""The rooms of the package and the order in which they may import one another.

The import test reads the order here, and ``make architecture`` writes docs/architecture.md from it.
"""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

import giantstep

ROOT = Path(giantstep.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "architecture.md"

#: A room may import the rooms before it, never those after it. Rooms on one line are strangers.
ORDER: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("files",),
    ("bibliography",),
    ("numerics",),
    ("language",),
    ("datasets",),
    ("settings",),
    ("answer",),
    ("measures", "channels"),
    ("learners", "theory"),
    ("asking",),
    ("explanation",),
    ("gallery",),
    ("talks",),
    ("reports",),
    ("estimators", "laboratory"),
    ("cli",),
    ("__main__",),
)

_HEAD = """# Architecture

A room is a folder or a file of `src/giantstep`. It may import the rooms above it in this list and
no others; rooms of one line do not know one another. `theory` and `learners` are such strangers,
and nothing that simulates reaches `theory`: they meet in `asking`, which is why it means something
when a simulation sits on its prediction.

This page is written by `make architecture` from the table that the import test reads.
"""


@cache
def sources() -> tuple[Path, ...]:
    """Every file of the package."""
    return tuple(sorted(ROOT.rglob("*.py")))


@cache
def tree(path: Path) -> ast.Module:
    """A file as Python reads it, read once for all the rules."""
    return ast.parse(path.read_text(encoding="utf-8"))


def summary(place: Path) -> str:
    """The first line of a room's docstring."""
    path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
    text = ast.get_docstring(tree(path)) or ""
    return text.splitlines()[0].rstrip(".")


def topics(place: Path) -> list[Path]:
    """The folders inside a room."""
    return sorted(path.parent for path in place.glob("*/__init__.py"))


def page() -> str:
    """The page, from the order and the docstrings."""
    lines = [_HEAD, "| room | what it is for |", "|---|---|"]
    for rooms in ORDER:
        for room in rooms:
            lines.append(f"| `{room}` | {summary(ROOT / room)} |")
    for room in ("language", "learners", "theory"):
        lines += ["", f"## Inside `{room}`", "", "| folder | what it is for |", "|---|---|"]
        lines += [f"| `{t.name}` | {summary(t)} |" for t in topics(ROOT / room)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
