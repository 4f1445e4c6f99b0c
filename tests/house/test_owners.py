"""Ideas that were once in many places have one home."""

from __future__ import annotations

import ast

from house.rooms import ROOT, sources, tree

#: Where the range of a Gaussian integral ends, and why two places have a number of their own.
CUT_OFFS = {
    "numerics/quadrature.py": "the owner: 9 standard deviations",
    "numerics/grids.py": "10: Hermite polynomials of degree 8 multiply the density",
    "numerics/gegenbauer.py": "16: the law of a radius, not of a Gaussian",
    "theory/spiked_features/conditional_features.py": "a window of tabulated panels",
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
    defined = {"monotone_pieces": set(), "bisected": set(), "invariant_basis": set()}
    for file in sources():
        for node in tree(file).body:
            if isinstance(node, ast.FunctionDef) and node.name in defined:
                defined[node.name].add(str(file.relative_to(ROOT)))
    assert defined == {
        "monotone_pieces": {"numerics/monotone.py"},
        "bisected": {"numerics/monotone.py"},
        "invariant_basis": {"targets/symmetry.py"},
    }
