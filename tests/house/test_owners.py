"""Ideas that were once in many places have one home."""

from __future__ import annotations

import ast

from house.rooms import ROOT, sources, tree

#: Where the range of a Gaussian integral ends, and why two places have a number of their own.
CUT_OFFS = {
    "numerics/quadrature.py": "the owner: 9 standard deviations",
    "numerics/grids.py": "10: Hermite polynomials of degree 8 multiply the density",
    "numerics/gegenbauer.py": "16: the law of a radius, not of a Gaussian",
}
NAMES = {"CUTOFF", "REACH", "_CUTOFF", "_REACH"}


def test_a_gaussian_ends_in_one_place() -> None:
    found = set()
    for file in sources():
        for node in tree(file).body:
            targets = node.targets if isinstance(node, ast.Assign) else []
            names = {target.id for target in targets if isinstance(target, ast.Name)}
            numbers = isinstance(getattr(node, "value", None), ast.Constant)
            if numbers and names & NAMES:
                found.add(str(file.relative_to(ROOT)))
    assert found == set(CUT_OFFS)


def test_preimages_and_symmetries_have_one_home() -> None:
    defined = {"monotone_pieces": set(), "bracketed_roots": set(), "target_invariant_basis": set()}
    for file in sources():
        for node in tree(file).body:
            if isinstance(node, ast.FunctionDef) and node.name in defined:
                defined[node.name].add(str(file.relative_to(ROOT)))
    assert defined == {
        "monotone_pieces": {"numerics/pieces.py"},
        "bracketed_roots": {"numerics/solve.py"},
        "target_invariant_basis": {"language/targets/symmetry.py"},
    }


#: Where a leap is compared with a number: trivial, easy and hard are decided there alone.
CLASSES = "theory/learnability/staircase.py"


def compared_leaps(module: ast.Module) -> list[int]:
    """Lines that compare the leap of a stair or of a staircase with a number."""
    found = []
    for node in ast.walk(module):
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.Attribute):
            numbers = [
                isinstance(right, ast.Constant) and right.value for right in node.comparators
            ]
            if node.left.attr in ("leap", "first_leap", "largest_leap") and any(numbers):
                found.append(node.lineno)
    return found


def test_the_class_of_a_stair_is_read_from_its_leap_in_one_place() -> None:
    assert compared_leaps(ast.parse("if stair.leap == 2:\n    pass")) == [1]
    places = {str(file.relative_to(ROOT)): compared_leaps(tree(file)) for file in sources()}
    assert not {name: lines for name, lines in places.items() if lines and name != CLASSES}


#: Where the number of a run becomes random numbers, and why it is not `learners/seeds.py` alone.
SEEDS = {
    "learners/seeds.py": "the owner: runs one by one",
    "learners/giant_step/simulation.py": "groups of runs in one compiled call",
    "learners/online_sgd/simulation.py": "groups of runs in one compiled call",
    "learners/giant_step/spectra.py": "one layer, whose seed its caller counts",
}


def test_runs_get_their_random_numbers_in_one_place() -> None:
    found = set()
    for file in (file for file in sources() if file.relative_to(ROOT).parts[0] == "learners"):
        for node in ast.walk(tree(file)):
            if isinstance(node, ast.ImportFrom) and node.module == "giantstep.numerics.seeds":
                found.add(str(file.relative_to(ROOT)))
    assert found == set(SEEDS)


def test_every_benchmark_has_rows_or_is_a_program() -> None:
    folder = ROOT.parents[1] / "benchmarks"
    main = ast.parse((folder / "__main__.py").read_text())
    (programs,) = (
        ast.literal_eval(node.value)
        for node in main.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "PROGRAMS"
    )
    without = {
        file.stem
        for file in folder.glob("[!_]*.py")
        if not any(getattr(node, "name", "") == "rows" for node in ast.parse(file.read_text()).body)
    }
    assert without == set(programs) - {"__main__"}
