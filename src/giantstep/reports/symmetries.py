"""Symmetries of a target that can be said in a few words."""

from __future__ import annotations

from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import (
    Effect,
    exchangeable_target_directions,
    flipped_target,
)
from giantstep.reports.parts import listed

_WORDS = (("even", Effect(1, 0.0)), ("odd", Effect(-1, 0.0)))


def reported_symmetries(target: Target) -> tuple[str, ...]:
    """Parity in each direction, parity as a whole, and directions that may be exchanged.

    >>> reported_symmetries(Target("sign(h1*h2)"))
    ('odd in h1 and h2', 'even as a whole', 'the same when h1 and h2 are exchanged')
    """
    axes = range(target.rank)
    names = [f"h{i + 1}" for i in axes]
    alone = [flipped_target(target, [i]) for i in axes]
    found = []
    for word, wanted in _WORDS:
        such = [name for name, effect in zip(names, alone, strict=True) if effect == wanted]
        if such:
            found.append(f"{word} in {listed(such)}")
    if target.rank > 1:
        whole = flipped_target(target, axes)
        found += [f"{word} as a whole" for word, wanted in _WORDS if whole == wanted]
        found += [
            f"the same when {listed([names[i] for i in group])} are "
            + ("exchanged" if len(group) == 2 else "put in any order")
            for group in exchangeable_target_directions(target)
            if len(group) > 1
        ]
    return tuple(found)
