"""The equations of the pencil at complex z, followed from one z to the next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool

from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.solution import StateLayout, mean_risk_state

#: Largest change of an unknown that counts as none, steps that a neighbour's solution is worth, and
#: the fall of the change below which its Jacobian no longer serves.
TOLERANCE, STEPS, SLOW = 1e-11, 15, 0.1
#: Half steps that settle the iteration far above the axis, and the ratio of successive heights.
SETTLING, DESCENT, SLOWEST = 60, 0.3, 0.97
_DIFFERENCE = 1e-7


class ResolventPath:
    """Solutions of ``state = image(state, z)`` that belong to a resolvent, each from the last.

    ``guess``: a state to begin with far above the real axis, at the height ``far``. ``transform``:
    the Stieltjes transform of a positive measure at a state and its z, whose imaginary part tells
    the resolvent from other solutions. ``complete``: whether every z asked for was solved.
    """

    def __init__(
        self,
        image: Callable[[State, complex], State],
        guess: Callable[[complex], State],
        transform: Callable[[State, complex], complex],
        *,
        twins: Bool[np.ndarray, "k k"],
        far: float,
    ) -> None:
        self._image, self._guess, self._transform, self._far = image, guess, transform, far
        self._layout = StateLayout(twins, self._settled(complex(0.0, far)))
        self.near: tuple[Any, Any] | None = None

    def at(self, z: complex) -> State | None:
        """The state at z, in the upper half plane; None if it was not found."""
        found = self._solved(z, *self.near) if self.near is not None else None
        if found is None:
            found = self._descended(z)
        if found is None:
            return None
        self.near = found
        return self._layout.state(found[0])

    def _descended(self, z: complex) -> tuple[Any, Any] | None:
        """From far above z down to it."""
        height, ratio = max(self._far, z.imag), DESCENT
        there = complex(z.real, height)
        found = self._solved(there, self._layout.packed(self._settled(there)), None)
        while found is not None and height > z.imag:
            lower = max(ratio * height, z.imag)
            tried = self._solved(complex(z.real, lower), *found)
            if tried is not None:
                found, height = tried, lower
            elif ratio > SLOWEST:
                return None
            else:
                ratio = ratio**0.5
        return found

    def _settled(self, z: complex) -> State:
        state = self._guess(z)
        for _ in range(SETTLING):
            state = mean_risk_state(state, self._image(state, z))
        return state

    def _solved(self, z: complex, x: Any, slopes: Any) -> tuple[Any, Any] | None:
        """Broyden's method with a neighbour's Jacobian, and a new one where that is slow."""
        gap, before = self._gap(x, z), np.inf
        for _ in range(STEPS):
            left = np.max(np.abs(gap) / (1 + np.abs(x)))
            if not np.isfinite(left):
                return None
            if left < TOLERANCE:
                value = self._transform(self._layout.state(x), z)
                return (x, slopes) if value.imag >= -1e-9 * abs(value) else None
            if slopes is None or left > SLOW * before:
                slopes = self._jacobian(x, z, gap)
            try:
                step = -np.linalg.solve(slopes, gap)
            except np.linalg.LinAlgError:
                return None
            x = x + step
            gap, before = self._gap(x, z), left
            slopes = slopes + np.outer(gap, step.conj()) / np.vdot(step, step).real
        return None

    def _gap(self, x: Any, z: complex) -> Any:
        with np.errstate(all="ignore"):
            try:
                return self._layout.packed(self._image(self._layout.state(x), z)) - x
            except np.linalg.LinAlgError:
                return np.full_like(x, np.nan)

    def _jacobian(self, x: Any, z: complex, gap: Any) -> Any:
        """Of the gap, whose entries are analytic in every unknown."""
        moves = _DIFFERENCE * (1 + np.abs(x))
        return ((self._gap(x + np.diag(moves), z) - gap) / moves[:, None]).T
