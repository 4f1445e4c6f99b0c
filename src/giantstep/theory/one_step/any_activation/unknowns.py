"""The unknowns of the equations, as matrices and as one vector of numbers of order one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

#: Parts of a state below this fraction of their natural size count as zero.
SMALL = 1e-3


class State(NamedTuple):
    """The bound D + H of the readout, the batch's self-energy Sigma, and the coupling C."""

    bound: Any
    energy: Any
    coupling: Any


class Layout:
    """Where the independent entries of a state are kept, and in which units.

    The bound is zero between blocks with different first rows; Sigma is [[P, Q], [-Q^T, R]], and
    all parts but Q are symmetric. ``like``: a state whose sizes are the units.
    """

    def __init__(self, twins: Bool[np.ndarray, "k k"], like: State) -> None:
        k = len(twins)
        corner = np.triu(np.ones((k, k), dtype=bool))
        masks = [corner & twins, corner, np.ones((k, k), dtype=bool), corner, corner]
        self._places = [np.nonzero(mask) for mask in masks]
        self._ends = np.cumsum([len(rows) for rows, _ in self._places])[:-1]
        bound = float(np.max(np.abs(like.bound)))
        # Parts that vanish, by symmetry or to rounding, are measured by what they are added to.
        floors = SMALL * np.array([bound, 1 / bound, 1.0, bound, bound])
        self._units = [
            max(float(np.max(np.abs(part))), floor)
            for part, floor in zip(_parts(like), floors, strict=True)
        ]
        self._size = k

    def packed(self, state: State) -> Any:
        """The independent entries, in their units."""
        entries = zip(_parts(state), self._places, self._units, strict=True)
        return np.concatenate([part[place] / unit for part, place, unit in entries])

    def state(self, vector: Any) -> State:
        """The matrices of which these are the entries."""
        k, parts = self._size, []
        entries = np.split(vector, self._ends)
        for entry, place, unit in zip(entries, self._places, self._units, strict=True):
            part = np.zeros((k, k), vector.dtype)
            part[place] = entry * unit
            parts.append(part)
        bound, p, q, r, coupling = parts
        energy = np.block([[_symmetric(p), q], [-q.T, _symmetric(r)]])
        return State(_symmetric(bound), energy, _symmetric(coupling))


def _parts(state: State) -> tuple[Any, ...]:
    k, energy = len(state.bound), state.energy
    return state.bound, energy[:k, :k], energy[:k, k:], energy[k:, k:], state.coupling


def _symmetric(upper: Any) -> Any:
    return upper + np.triu(upper, 1).T
