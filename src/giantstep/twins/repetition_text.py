"""What `explain` says of repetition: which neurons learn a target from samples they see twice."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giantstep.targets.directions import directions_text
from giantstep.theory.dynamics.repetition import ACTIVATIONS, LOOKAHEADS, Way

#: Ways that are shown, at most.
SHOWN = 3


def repetition_section(ways: Sequence[Way] | None) -> str:
    """The best ways in words, or why there is none."""
    title = "By repetition (extragradient, reused batches)"
    if ways is None:
        return f"{title}\n  is computed for at most 3 directions and noises together."
    if not ways:
        tried = f"{', '.join(ACTIVATIONS)} with a look ahead of {_listed(LOOKAHEADS)}"
        return (
            f"{title}\n  nothing is learned at n of order d log d: neither force nor growth\n"
            f"  ({tried}, both signs of the readout)."
        )
    return "\n".join([title, *[f"  {_words(way)}" for way in ways[:SHOWN]]])


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
