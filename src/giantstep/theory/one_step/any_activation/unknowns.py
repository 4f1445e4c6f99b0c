"""The unknowns of the equations, as matrices and as one vector of numbers of order one."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

#: Parts of a state below this fraction of their natural size count as zero.
SMALL = 1e-3


class State(NamedTuple):
    """chi, the self-energy Sigma of the gradient batch, and the coupling C."""

    chi: Any
    energy: Any
    coupling: Any


class Layout:
    """Where the independent entries of a state are kept, and in which units.

    Kept is the inverse of chi: at n = p with a small ridge the equations are nearly quadratic in
    it, with the wanted root above the other, and iterations for chi itself miss it. It is zero
    between blocks with different first rows; Sigma is [[P, Q], [-Q^T, R]], and all but Q are
    symmetric. ``like``: a state whose sizes are the units.
    """

    def __init__(self, twins: Bool[np.ndarray, "k k"], like: State) -> None:
        k = len(twins)
        corner = np.triu(np.ones((k, k), dtype=bool))
        masks = [corner & twins, corner, np.ones((k, k), dtype=bool), corner, corner]
        self._places = [np.nonzero(mask) for mask in masks]
        self._ends = np.cumsum([len(rows) for rows, _ in self._places])[:-1]
        stiff = float(np.max(np.abs(np.linalg.inv(like.chi))))
        # Parts that vanish, by symmetry or to rounding, are measured by what they are added to.
        floors = SMALL * np.array([stiff, 1 / stiff, 1.0, stiff, stiff])
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
        stiff, p, q, r, coupling = parts
        energy = np.block([[_symmetric(p), q], [-q.T, _symmetric(r)]])
        return State(np.linalg.inv(_symmetric(stiff)), energy, _symmetric(coupling))


def _parts(state: State) -> tuple[Any, ...]:
    k = len(state.chi)
    energy = state.energy
    stiff = np.linalg.inv(state.chi)
    return stiff, energy[:k, :k], energy[:k, k:], energy[k:, k:], state.coupling


def _symmetric(upper: Any) -> Any:
    return upper + np.triu(upper, 1).T
