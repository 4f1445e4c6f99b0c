"""Symmetries of a target that can be said in a few words."""

from __future__ import annotations

import itertools

import numpy as np

from giantstep.report.parts import listed
from giantstep.targets import Target

_PROBES = 200


def symmetries(target: Target) -> tuple[str, ...]:
    """Parity in each direction, parity as a whole, and directions that may be exchanged.

    >>> symmetries(Target("sign(h1*h2)"))
    ('odd in h1 and h2', 'even as a whole', 'the same when h1 and h2 are exchanged')
    """
    random = np.random.default_rng(7)
    h = random.normal(size=(_PROBES, target.rank))
    z = random.normal(size=(_PROBES, target.noises))
    values = target.numpy(h, z)
    names = [f"h{i + 1}" for i in range(target.rank)]
    found = []
    for word, sign in (("even", 1.0), ("odd", -1.0)):
        axes = [
            name
            for i, name in enumerate(names)
            if _equal(
                target.numpy(h * np.where(np.arange(target.rank) == i, -1, 1), z), sign, values
            )
        ]
        if axes:
            found.append(f"{word} in {listed(axes)}")
    if target.rank > 1:
        flipped = target.numpy(-h, z)
        found += [
            f"{word} as a whole"
            for word, sign in (("even", 1.0), ("odd", -1.0))
            if _equal(flipped, sign, values)
        ]
        for i, j in itertools.combinations(range(target.rank), 2):
            order = list(range(target.rank))
            order[i], order[j] = j, i
            if _equal(target.numpy(h[:, order], z), 1.0, values):
                found.append(f"the same when {names[i]} and {names[j]} are exchanged")
    return tuple(found)


def is_odd(target: Target) -> bool:
    """Whether g(-h) = -g(h), for every noise inside the label.

    >>> is_odd(Target("sin(h1)")), is_odd(Target("h1 + h1*h2"))
    (True, False)
    """
    random = np.random.default_rng(7)
    h = random.normal(size=(_PROBES, target.rank))
    z = random.normal(size=(_PROBES, target.noises))
    return _equal(target.numpy(-h, z), -1.0, target.numpy(h, z))


def _equal(moved: np.ndarray, sign: float, values: np.ndarray) -> bool:
    return bool(np.allclose(moved, sign * values, rtol=1e-9, atol=1e-12))
