"""The arrows of the house: who may import whom, and what the command line must not import."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import giantstep

ROOT = Path(giantstep.__file__).parent

#: A room may import the rooms before it, never those after it. Rooms on one line are strangers.
ORDER = (
    {"errors"},
    {"bibliography"},
    {"numerics", "sizes"},
    {"targets"},
    {"activations", "inputs"},
    {"sweep"},
    {"places"},
    {"problem", "results"},
    {"datasets"},
    {"settings"},
    {"measures", "channels"},
    {"learners", "theory"},
    {"twins"},
    {"studies"},
    {"figures"},
    {"report"},
    {"estimators"},
    {"cli"},
)
LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    modules = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            modules += [node.module or ""] + [f"{node.module}.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    parts = [m.split(".") for m in modules if m.startswith("giantstep.")]
    return {p[1] for p in parts} & LEVEL.keys()


def sources() -> list[Path]:
    return [p for p in sorted(ROOT.rglob("*.py")) if p.parent != ROOT or p.name != "__init__.py"]


@pytest.mark.parametrize("path", sources(), ids=lambda p: str(p.relative_to(ROOT)))
def test_nothing_imports_upward(path: Path) -> None:
    room = room_of(path)
    assert room in LEVEL, f"{room} has no place in the order of rooms"
    for other in imported_rooms(path) - {room}:
        assert LEVEL[other] < LEVEL[room], f"{room} imports {other}, which stands above it"


def test_theory_and_learners_are_strangers() -> None:
    for path in sources():
        if room_of(path) == "theory":
            assert "learners" not in imported_rooms(path)
        if room_of(path) == "learners":
            assert "theory" not in imported_rooms(path)


def test_help_imports_nothing_heavy() -> None:
    heavy = {"jax", "scipy", "sympy", "matplotlib", "pandas", "sklearn"}
    code = (
        "import sys\n"
        "from giantstep.cli.main import app\n"
        "try:\n    app(['--help'], prog_name='giantstep')\nexcept SystemExit as end:\n"
        "    assert end.code == 0\n"
        "print('LOADED', *{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "explain" in done.stdout
    loaded = set(done.stdout.split("LOADED")[1].split())
    assert not loaded & heavy
