r"""Ridge regression over many ridges without eigenvectors.

With the smaller Gram matrix brought to tridiagonal form, :math:`G = Q T Q^T`, every ridge costs
one tridiagonal solve, and the trace of the hat matrix needs eigenvalues of T alone. That is a
fifth of the work of the eigenvectors of G.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack

from giantstep.estimators.ridge import GRID, Fit, Scaled, best_ridge


class Tridiagonal(NamedTuple):
    """Scaled features, with their smaller Gram matrix as Q T Q^T.

    ``reflectors`` and ``factors`` hold Q as LAPACK leaves it, one row and column short;
    ``squares`` are the eigenvalues of T above rounding.
    """

    diagonal: Float[np.ndarray, " k"]
    beside: Float[np.ndarray, " k-1"]
    reflectors: Float[np.ndarray, "k-1 k-1"]
    factors: Float[np.ndarray, " k-1"]
    squares: Float[np.ndarray, " m"]
    scaled: Scaled

    @classmethod
    def of(cls, scaled: Scaled, gram: Float[np.ndarray, "k k"] | None = None) -> Tridiagonal:
        """Reduce the smaller Gram matrix; ``gram`` is overwritten where it is given."""
        if gram is None:
            gram = scaled.gram()
        # A symmetric matrix in C order is itself in Fortran order: no copy is made.
        reduced, diagonal, beside, factors, _ = lapack.dsytrd(
            gram.T, lower=1, lwork=64 * len(gram), overwrite_a=1
        )
        values, _ = lapack.dsterf(diagonal, beside) if len(gram) > 1 else (diagonal, 0)
        squares = values[values > 1e-12 * max(float(values[-1]), 1e-300)]
        reflectors = np.asfortranarray(reduced[1:, :-1])
        return cls(diagonal, beside, reflectors, factors, squares, scaled)

    def fit(
        self,
        labels: Float[np.ndarray, " n"],
        *,
        spent: float = 0.0,
        grid: Float[np.ndarray, " ridges"] | None = None,
    ) -> Fit:
        """The ridge of least GCV score; ``spent`` counts degrees of freedom used before."""
        rows = len(labels)
        ridges = rows * GRID if grid is None else grid
        centred = labels - labels.mean()
        right = self.scaled.features.T @ centred if self.scaled.primal else centred
        rotated = self._rotate(right, "T")
        solved = np.stack([self._solve(rotated, ridge) for ridge in ridges])
        sizes = np.einsum("ij,ij->i", solved, solved)
        if self.scaled.primal:
            # |y - F c|^2 = |y|^2 - y.F c - ridge |c|^2 at the solution c of (F'F + ridge) c = F'y.
            errors = np.maximum(centred @ centred - solved @ rotated - ridges * sizes, 0.0)
        else:
            errors = ridges**2 * sizes
        freedom = 1.0 + spent + (self.squares / (self.squares + ridges[:, None])).sum(axis=1)
        best, score = best_ridge(errors, freedom, rows)
        return self.scaled.fit(
            self._rotate(solved[best], "N"),
            labels,
            float(ridges[best]),
            freedom=float(freedom[best] - spent),
            score=score,
        )

    def _rotate(self, vector: np.ndarray, transposed: str) -> np.ndarray:
        """Q^T or Q times a vector."""
        turned = vector.copy()
        if len(vector) > 1:
            part = turned[1:, None]
            turned[1:] = lapack.dormqr("L", transposed, self.reflectors, self.factors, part, 64)[0][
                :, 0
            ]
        return turned

    def _solve(self, right: np.ndarray, ridge: float) -> np.ndarray:
        """(T + ridge)^-1 times a vector."""
        if len(right) == 1:
            return right / (self.diagonal + ridge)
        _, _, solution, info = lapack.dptsv(self.diagonal + ridge, self.beside, right)
        return solution if info == 0 else np.full_like(right, np.nan)


def ridge(
    features: Float[np.ndarray, "n p"], labels: Float[np.ndarray, " n"], *, spent: float = 0.0
) -> Fit:
    """Ridge regression with an intercept; the ridge with the least GCV score.

    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> bool(abs(ridge(x, 3 * x[:, 0] + 1).predict(np.array([[0.5]]))[0] - 2.5) < 1e-4)
    True
    """
    return Tridiagonal.of(Scaled.of(features)).fit(labels, spent=spent)
