"""The arrows of the house: who may import whom, and what the command line must not import."""

from __future__ import annotations

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest
from house.rooms import ORDER, PAGE, ROOT, page, sources, tree

from giantstep.asking.table import LEARNERS, Learner

LEVEL = {room: level for level, rooms in enumerate(ORDER) for room in rooms}


def room_of(path: Path) -> str:
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


@cache
def imported_modules(path: Path) -> frozenset[str]:
    modules = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: write absolute imports"
            modules += [node.module or ""] + [f"{node.module}.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            modules += [alias.name for alias in node.names]
    return frozenset(module for module in modules if module.startswith("giantstep."))


def imported_rooms(path: Path) -> set[str]:
    return {module.split(".")[1] for module in imported_modules(path)} & LEVEL.keys()


def closure(module: str) -> set[str]:
    """The module and all that it imports, directly or not, at the top or inside functions."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        path = ROOT.joinpath(*name.split(".")[1:])
        files = [f for f in (path.with_suffix(".py"), path / "__init__.py") if f.is_file()]
        if name in found or not files:
            continue
        found.add(name)
        # The front door names every room, and imports none before it is asked to.
        waiting += imported_modules(files[0]) | ({name.rpartition(".")[0]} - {"giantstep"})
    return found


def inside() -> list[Path]:
    """Every file but the front door."""
    return [path for path in sources() if path != ROOT / "__init__.py"]


def test_nothing_imports_upward() -> None:
    for path in inside():
        room, name = room_of(path), path.relative_to(ROOT)
        assert room in LEVEL, f"{room} has no place in the order of rooms"
        for other in imported_rooms(path) - {room}:
            assert LEVEL[other] < LEVEL[room], f"{name} imports {other}, which stands above it"


def test_the_architecture_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run make architecture"


def test_theory_and_learners_are_strangers() -> None:
    for path in inside():
        if room_of(path) == "theory":
            assert "learners" not in imported_rooms(path)
        if room_of(path) == "learners":
            assert "theory" not in imported_rooms(path)


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_no_simulation_can_reach_theory(row: Learner) -> None:
    reached = closure(row.module("simulate")) | closure("giantstep.asking.verbs")
    assert row.module("simulate") in reached
    assert "giantstep.settings.options" in reached
    assert not [module for module in reached if module.startswith("giantstep.theory")]
    # The same search finds theory where there is some.
    assert "giantstep.theory" in closure(row.module("predict"))


def test_no_simulation_runs_theory() -> None:
    code = """
import sys
from giantstep.asking.table import LEARNERS
from giantstep.asking.verbs import simulate
from smallest import asked_by
for row in LEARNERS:
    for text in row.smallest:
        settings, problem = asked_by(row, text)
        simulate(settings, seeds=2, **problem)
    print("RAN", row.name, *[name for name in sys.modules if name.startswith("giantstep.theory")])
"""
    command = [sys.executable, "-c", code]
    here = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=here, capture_output=True, text=True, check=True)
    lines = [line.split() for line in done.stdout.splitlines() if line.startswith("RAN")]
    assert lines == [["RAN", row.name] for row in LEARNERS]


def test_help_imports_nothing_heavy() -> None:
    heavy = {"jax", "scipy", "sympy", "matplotlib", "pandas", "sklearn"}
    code = (
        "import sys\n"
        "from giantstep.cli.main import main\n"
        "sys.argv = ['giantstep', '--help']\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    assert end.code == 0\n"
        "print('LOADED', *{m.split('.')[0] for m in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "explain" in done.stdout
    loaded = set(done.stdout.split("LOADED")[1].split())
    assert not loaded & heavy


#: Methods of named tuples, whose underscore keeps them apart from fields.
NAMED_TUPLE = ("_asdict", "_fields", "_make", "_replace")


def private_names_of_others(path: Path) -> list[str]:
    """Private names that a module takes from another one of the house."""
    found, imported = [], set()
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("giantstep"):
            imported |= {alias.asname or alias.name for alias in node.names}
            found += [alias.name for alias in node.names]
    for node in ast.walk(tree(path)):
        is_attribute = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
        if is_attribute and node.value.id in imported and node.attr not in NAMED_TUPLE:
            found.append(node.attr)
    return [name for name in found if name.startswith("_") and not name.startswith("__")]


def test_no_private_name_crosses_modules() -> None:
    taken = {str(path.relative_to(ROOT)): private_names_of_others(path) for path in inside()}
    assert not {name: names for name, names in taken.items() if names}
