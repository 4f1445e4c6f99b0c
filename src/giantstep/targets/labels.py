"""The values of a target that takes finitely many: signs, steps and what is made of them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from giantstep.targets.evaluate import NUMPY, evaluate
from giantstep.targets.language import FUNCTIONS
from giantstep.targets.tree import Call, Node, Variable, children, variables

#: More values than this are not listed.
MAX_VALUES = 256
_POINTS = 4000


def discrete_values(tree: Node) -> tuple[float, ...] | None:
    """The sorted values if the tree takes finitely many, else None.

    That they are finitely many is read off the tree. Which of them occur is found out by
    evaluating its signs and steps on many points, jointly where they share variables and
    independently where they do not.
    """
    atoms = _atoms(tree)
    if atoms is None:
        return None
    combinations = [joint_values(group) for group in sharing_variables(atoms)]
    if np.prod([len(rows) for rows in combinations], dtype=float) > 100 * MAX_VALUES:
        return None
    flat = [atom for group in sharing_variables(atoms) for atom in group]
    table = np.array([np.concatenate(rows) for rows in itertools.product(*combinations)])
    known = {atom: table[:, i] for i, atom in enumerate(flat)}
    with np.errstate(all="ignore"):
        values = np.broadcast_to(evaluate(tree, NUMPY, {}, known), len(table))
    distinct = np.unique(np.round(values, 12))
    return tuple(float(v) + 0.0 for v in distinct) if len(distinct) <= MAX_VALUES else None


def _atoms(node: Node) -> list[Node] | None:
    """The topmost signs and steps, or None if a variable is used outside of them."""
    if isinstance(node, Variable):
        return None
    if isinstance(node, Call) and FUNCTIONS[node.function].finite:
        return [node]
    below = [_atoms(child) for child in children(node)]
    if any(atoms is None for atoms in below):
        return None
    return list(dict.fromkeys(atom for atoms in below if atoms for atom in atoms))


def sharing_variables(atoms: Sequence[Node]) -> list[list[Node]]:
    """The atoms in groups: those in different groups depend on different variables."""
    groups: list[list[Node]] = []
    for atom in atoms:
        names = variables(atom)
        joined = [g for g in groups if any(names & variables(other) for other in g)]
        groups = [g for g in groups if g not in joined]
        groups.append([other for g in joined for other in g] + [atom])
    return groups


def joint_values(atoms: Sequence[Node]) -> np.ndarray:
    """The distinct rows of joint values that occur."""
    names = sorted({name for atom in atoms for name in variables(atom)})
    random = np.random.default_rng(0)
    cloud = (
        random.standard_normal((3, _POINTS, len(names))) * np.array([1.0, 2.0, 4.0])[:, None, None]
    )
    box = random.uniform(-9.0, 9.0, (_POINTS, len(names)))
    points = np.concatenate([*cloud, box])
    at = {name: points[:, i] for i, name in enumerate(names)}
    with np.errstate(all="ignore"):
        columns = [evaluate(atom, NUMPY, at) for atom in atoms]
    return np.unique(np.stack(columns, axis=1), axis=0)
