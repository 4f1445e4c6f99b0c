"""What `explain` says of repetition: which neurons learn a target from samples they see twice."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import numpy as np

from giantstep.targets.directions import directions_text
from giantstep.theory.dynamics.repetition import ACTIVATIONS, EVEN, LOOKAHEADS, ODD, Way

#: Activations whose best way is shown, at most.
SHOWN = 3
#: Why an activation may learn nothing, by its parity.
_BY_PARITY = (
    (ODD, "odd: overlaps grow only where labels have several sizes"),
    (EVEN, "even: no force ever"),
)


def repetition_section(ways: Sequence[Way] | None) -> str:
    """The best ways in words, then the activations that have none, or why there is none at all."""
    title = "By repetition (extragradient, reused batches)"
    if ways is None:
        return f"{title}\n  is computed for at most 3 directions and noises together."
    if not ways:
        tried = f"look ahead {_listed(LOOKAHEADS)}, both signs of the readout"
        return (
            f"{title}\n  nothing is learned at n of order d log d: neither force nor growth, for\n"
            f"  {', '.join(ACTIVATIONS)}\n  ({tried})."
        )
    best: dict[str, Way] = {}
    for way in ways:
        best.setdefault(way.activation, way)
    lines = [_words(way) for way in list(best.values())[:SHOWN]]
    others = list(best)[SHOWN:]
    if others:
        lines.append(f"More slowly, in this order: {', '.join(others)}.")
    return "\n".join([title, *[f"  {line}" for line in [*lines, *_silent(best)]]])


def _silent(best: Collection[str]) -> Iterator[str]:
    """The activations that learn nothing, with the reason where parity is one."""
    missing = [name for name in ACTIVATIONS if name not in best]
    for group, reason in _BY_PARITY:
        if named := [name for name in missing if name in group]:
            yield f"Not by {', '.join(named)} ({reason})."
    neither = [name for name in missing if name not in (*ODD, *EVEN)]
    if neither:
        yield f"Not by {', '.join(neither)} (neither force nor growth)."


def _words(way: Way) -> str:
    moves = way.moves
    how = f"{way.activation}, look ahead {way.lookahead:+g}, readout {way.sign:+d}"
    found = directions_text(moves.direction[None])
    if moves.has_force:
        what = f"n ~ d by a force of {np.linalg.norm(moves.force):.3g}"
    else:
        what = f"n ~ {1 / (2 * moves.rate):.3g} d log d by growth at rate {moves.rate:.3g}"
    return f"{found}: {what}, step size {moves.step_size:.3g} ({how})."


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
