"""What labels that are quadratic in the directions show: linear algebra, for any number of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.tensors import complement, tidy_basis
from giantstep.targets import Target
from giantstep.targets.hermite_series import hermite_series
from giantstep.theory.learnability.stairs import Visible

#: Relative size below which a vector counts as zero.
ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class QuadraticLabel:
    r"""y = x^T A x / 2 + b^T x + constant, with x the directions h, then the noises z.

    The characteristic function of the label gives, with x = (x_\perp, h_U) and h_U known,

    .. math:: E[e^{i t y} x_\perp \mid h_U]
        \propto (I - i t A_{\perp\perp})^{-1} (b_\perp + A_{\perp U} h_U),

    so what is visible at leap 1 is the Krylov space of A on b and on the columns of A_{\perp U};
    where that is empty, the second moments show the range of the powers of A at leap 2.
    """

    matrix: Float[np.ndarray, "x x"]
    linear: Float[np.ndarray, " x"]
    rank: int

    @classmethod
    def of(cls, target: Target) -> QuadraticLabel | None:
        """The quadratic form of a target; None if it is not of degree two."""
        series = hermite_series(target)
        if series is None or max(map(sum, series.terms)) > 2:
            return None
        size = target.rank + target.noises
        matrix, linear = np.zeros((size, size)), np.zeros(size)
        for index, coefficient in series.terms.items():
            slots = [axis for axis, power in enumerate(index) for _ in range(power)]
            if len(slots) == 1:
                linear[slots[0]] = float(coefficient)
            elif len(slots) == 2:
                matrix[slots[0], slots[1]] += float(coefficient)
                matrix[slots[1], slots[0]] += float(coefficient)
        return cls(matrix, linear, target.rank)

    @property
    def _size(self) -> float:
        return float(np.linalg.norm(self.matrix, 2) + np.linalg.norm(self.linear))

    def visible(self, learned: Float[np.ndarray, "m r"], leap: int) -> Visible:
        """The directions that show at a leap, once others are known."""
        rest = complement(learned)
        unknown = np.zeros((len(rest) + len(self.linear) - self.rank, len(self.linear)))
        unknown[: len(rest), : self.rank] = rest
        unknown[len(rest) :, self.rank :] = np.eye(len(self.linear) - self.rank)
        known = np.pad(learned, ((0, 0), (0, len(self.linear) - self.rank)))
        matrix, linear = self.matrix / self._size, self.linear / self._size
        inner = unknown @ matrix @ unknown.T
        if leap == 1:
            sources = np.column_stack([unknown @ linear, unknown @ matrix @ known.T])
            shown = _krylov(inner, sources)[: len(rest)]
        elif leap == 2:
            start = np.eye(len(unknown))[:, : len(rest)]
            powers = [start]
            for _ in range(len(unknown)):
                powers.append(inner @ powers[-1])
            shown = np.column_stack(powers[1:])[: len(rest)]
        else:
            shown = np.zeros((len(rest), 0))
        left, values, _ = np.linalg.svd(shown, full_matrices=False)
        rows = left[:, values > ZERO].T @ rest
        return Visible(tidy_basis(rows, len(rows)))


def _krylov(
    matrix: Float[np.ndarray, "n n"], sources: Float[np.ndarray, "n s"]
) -> Float[np.ndarray, "n k"]:
    """An orthonormal basis of the span of A^k b over all k and all columns b."""
    found, waiting = np.zeros((len(matrix), 0)), sources
    while waiting.shape[1]:
        # Twice, so that rounding leaves nothing of what is already there.
        for _ in range(2):
            waiting = waiting - found @ (found.T @ waiting)
        left, values, _ = np.linalg.svd(waiting, full_matrices=False)
        fresh = left[:, values > ZERO]
        found = np.column_stack([found, fresh])
        waiting = matrix @ fresh
    return found
