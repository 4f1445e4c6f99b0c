"""A transition of message passing in the number of samples: where it is, and what happens there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

Kind = Literal[
    "trivial",
    "weak recovery",
    "specialisation",
    "spinodal",
    "jump",
    "perfect recovery",
    "hard",
    "information",
]


@dataclass(frozen=True, eq=False)
class Transition:
    """What happens at one ratio n/d: the overlaps of all directions just below and just above it.

    ``information`` marks what the data contain but message passing does not find yet: the overlap
    above is that of the informed branch, whose free entropy becomes the larger one there.
    """

    samples_ratio: float
    kind: Kind
    before: Float[np.ndarray, " r"]
    after: Float[np.ndarray, " r"]

    def __str__(self) -> str:
        told = {
            "trivial": "every direction in reach is learned from any number of samples",
            "weak recovery": "the overlap leaves zero",
            "specialisation": "the units of the committee specialise",
            "spinodal": "a fixed point of specialised units appears, for informed starts only",
            "jump": "the overlap jumps",
            "perfect recovery": "perfect recovery begins",
            "hard": "message passing does not leave zero at any n = O(d)",
            "information": "the data contain more than message passing finds",
        }[self.kind]
        values = [", ".join(f"{m:.4f}" for m in side) for side in (self.before, self.after)]
        return f"n/d = {self.samples_ratio:.5g}: {told}; overlap_squared {values[0]} -> {values[1]}"
