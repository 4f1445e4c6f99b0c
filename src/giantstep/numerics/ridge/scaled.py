r"""Ridge regression with an intercept for features in memory, without a spectrum.

Features are centred and brought to unit mean square row norm; the smaller of their two Gram
matrices is all that a fit needs. Over many ridges it is brought to tridiagonal form,
:math:`G = Q T Q^T`: every ridge costs one tridiagonal solve, which also gives the trace of the hat
matrix, and one call of LAPACK solves for all of them. That is a tenth of the work of the
eigenvectors of G. At a ridge that is known a Cholesky factor serves.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import block_diag, lapack

from giantstep.numerics.ridge.path import GRID, Features, Labels, PathFit, ridge_of_least_gcv

#: Roots of the weights of samples, whose mean is 1; or 1.0 where all weigh the same.
Roots = Float[np.ndarray, " n"] | float


class ScaledRidge(NamedTuple):
    """Features centred and divided by one number, so that their mean square row norm is 1.

    Where samples have weights, the features are multiplied by the ``roots`` of these.
    """

    features: Features
    centre: Float[np.ndarray, " p"]
    scale: float
    roots: Roots = 1.0

    @classmethod
    def of(cls, features: Features, roots: Roots = 1.0) -> ScaledRidge:
        """Centre and scale these features; rows that are all equal keep the scale 1."""
        if isinstance(roots, float):
            centre = features.mean(axis=0)
            centred = features - centre
        else:
            centre = roots**2 @ features / len(roots)
            centred = (features - centre) * roots[:, None]
        scale = float(np.sqrt(np.mean(np.einsum("ij,ij->i", centred, centred)))) or 1.0
        centred /= scale
        return cls(centred, centre, scale, roots)

    def centred(self, labels: Labels) -> tuple[float, Labels]:
        """The mean of the labels, and their distances from it times the roots."""
        mean = float(np.mean(self.roots**2 * labels))
        return mean, self.roots * (labels - mean)

    @property
    def primal(self) -> bool:
        """Whether F^T F is the smaller Gram matrix."""
        rows, columns = self.features.shape
        return columns <= rows

    def gram(self) -> Float[np.ndarray, "k k"]:
        """The smaller of F^T F and F F^T."""
        return self.features.T @ self.features if self.primal else self.features @ self.features.T

    def fit(
        self,
        solution: Float[np.ndarray, " k"],
        labels: Labels,
        ridge: float,
        *,
        freedom: float = np.nan,
        score: float = np.nan,
    ) -> PathFit:
        """What predicts, from the solution c of (F^T F + ridge) c = F^T y, or of the dual."""
        mean, _ = self.centred(labels)
        scaled = solution if self.primal else self.features.T @ solution
        intercept = mean - float(self.centre @ scaled) / self.scale
        residuals = labels - mean - self.features @ scaled / self.roots
        return PathFit(scaled / self.scale, intercept, ridge, freedom, residuals, score)


class Tridiagonal(NamedTuple):
    """Scaled features, with their smaller Gram matrix as Q T Q^T.

    ``reflectors`` and ``factors`` hold Q as LAPACK leaves it, one row and column short.
    """

    diagonal: Float[np.ndarray, " k"]
    beside: Float[np.ndarray, " k-1"]
    reflectors: Float[np.ndarray, "k-1 k-1"]
    factors: Float[np.ndarray, " k-1"]
    scaled: ScaledRidge

    @classmethod
    def of(cls, scaled: ScaledRidge, gram: Float[np.ndarray, "k k"] | None = None) -> Tridiagonal:
        """Reduce the smaller Gram matrix; ``gram`` is overwritten where it is given."""
        if gram is None:
            gram = scaled.gram()
        # A symmetric matrix in C order is itself in Fortran order: no copy is made.
        reduced, diagonal, beside, factors, _ = lapack.dsytrd(
            gram.T, lower=1, lwork=64 * len(gram), overwrite_a=1
        )
        reflectors = np.asfortranarray(reduced[1:, :-1])
        return cls(diagonal, beside, reflectors, factors, scaled)

    def fit(
        self,
        labels: Labels,
        *,
        spent: float = 0.0,
        grid: Float[np.ndarray, " ridges"] | None = None,
    ) -> PathFit:
        """The ridge of least GCV score; ``spent`` counts degrees of freedom used before."""
        rows = len(labels)
        ridges = rows * GRID if grid is None else grid
        _, centred = self.scaled.centred(labels)
        right = self.scaled.features.T @ centred if self.scaled.primal else centred
        rotated = self._rotate(right, "T")
        solved, traces = self._solve(rotated, ridges)
        sizes = np.einsum("ij,ij->i", solved, solved)
        if self.scaled.primal:
            # |y - F c|^2 = |y|^2 - y.F c - ridge |c|^2 at the solution c of (F'F + ridge) c = F'y.
            errors = np.maximum(centred @ centred - solved @ rotated - ridges * sizes, 0.0)
        else:
            errors = ridges**2 * sizes
        freedom = 1.0 + spent + len(right) - ridges * traces
        best, score = ridge_of_least_gcv(errors, freedom, rows)
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

    def _solve(
        self, right: Float[np.ndarray, " k"], ridges: Float[np.ndarray, " ridges"]
    ) -> tuple[Float[np.ndarray, "ridges k"], Float[np.ndarray, " ridges"]]:
        """(T + ridge)^-1 times a vector, and its trace, for each ridge.

        With the pivots p of elimination downwards and q of elimination upwards, the inverse of a
        tridiagonal A has the diagonal 1/(p + q - diag A).
        """
        shifted = self.diagonal + ridges[:, None]
        if len(right) == 1:
            return right / shifted, 1 / shifted[:, 0]
        # One matrix with a block for each ridge, and nothing beside the diagonal between blocks.
        beside = np.tile(np.append(self.beside, 0.0), len(ridges))[:-1]
        down, _, solved, failed = lapack.dptsv(shifted.ravel(), beside, np.tile(right, len(ridges)))
        up, _, failed_up = lapack.dpttrf(shifted.ravel()[::-1], beside[::-1])
        if (failed or failed_up) and len(ridges) > 1:
            # LAPACK stops at the first block that is not positive definite: others may be.
            alone = [self._solve(right, ridges[i : i + 1]) for i in range(len(ridges))]
            return np.concatenate([x for x, _ in alone]), np.concatenate([t for _, t in alone])
        if failed or failed_up:
            return np.full_like(shifted, np.nan), np.full_like(ridges, np.nan)
        pivots = (down + up[::-1]).reshape(shifted.shape)
        return solved.reshape(shifted.shape), np.sum(1 / (pivots - shifted), axis=1)


def ridge(features: Features, labels: Labels, *, spent: float = 0.0, roots: Roots = 1.0) -> PathFit:
    """Ridge regression with an intercept; the ridge with the least GCV score.

    >>> x = np.linspace(-1, 1, 50)[:, None]
    >>> bool(abs(ridge(x, 3 * x[:, 0] + 1).predict(np.array([[0.5]]))[0] - 2.5) < 1e-4)
    True
    """
    return Tridiagonal.of(ScaledRidge.of(features, roots)).fit(labels, spent=spent)


class FixedRidge(NamedTuple):
    r"""Scaled features with the inverse of their smaller Gram matrix plus the ridge.

    For features that do not depend on the labels the fit without a block S of rows follows from
    the inverse that the fit to all rows has anyway, exactly:

    .. math:: e_S = (I - H_{SS})^{-1} r_S, \qquad
        H = \tfrac1n 11^T + F (F^T F + \lambda)^{-1} F^T
          = \tfrac1n 11^T + I - \lambda (F F^T + \lambda)^{-1}

    with centred features F, residuals r of all rows, and errors e of the fit without the block.
    """

    scaled: ScaledRidge
    ridge: float
    inverse: Float[np.ndarray, "k k"]

    @classmethod
    def of(cls, scaled: ScaledRidge, ridge: float, gram: Float[np.ndarray, "k k"]) -> FixedRidge:
        """Invert; ``gram`` is overwritten."""
        factor = _ridge_cholesky_factor(gram, ridge)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        # LAPACK fills one triangle.
        lower = np.tril(inverse)
        return cls(scaled, ridge, lower + np.tril(inverse, -1).T)

    def fit(self, labels: Labels) -> PathFit:
        """The fit to these labels."""
        _, centred = self.scaled.centred(labels)
        right = self.scaled.features.T @ centred if self.scaled.primal else centred
        return self.scaled.fit(self.inverse @ right, labels, self.ridge)

    def errors_without(
        self, block: Int[np.ndarray, " s"], residuals: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " s"]:
        r"""Errors in the block of the fit to the other rows; the scale of the features is kept.

        With features :math:`U = [F_S, 1/\sqrt n]` and :math:`M` the inverse beside a 1 for the
        intercept, :math:`H_{SS} = U M U^T`. For more rows in the block than features,
        :math:`(I - U M U^T)^{-1} = I + U M (I - U^T U M)^{-1} U^T` is the smaller system.
        """
        roots = np.broadcast_to(self.scaled.roots, residuals.shape)[block]
        right = roots * residuals[block]
        intercept = roots / np.sqrt(len(residuals))
        if not self.scaled.primal:
            kept = self.ridge * self.inverse[np.ix_(block, block)]
            return np.linalg.solve(kept - np.outer(intercept, intercept), right) / roots
        part = np.column_stack([self.scaled.features[block], intercept])
        mapped = part @ block_diag(self.inverse, 1.0)
        if len(part) <= part.shape[1]:
            return np.linalg.solve(np.eye(len(part)) - mapped @ part.T, right) / roots
        kept = np.eye(part.shape[1]) - part.T @ mapped
        return (right + mapped @ np.linalg.solve(kept, part.T @ right)) / roots

    def leave_one_out(self, labels: Labels) -> Float[np.ndarray, " n"]:
        """The error of each row in the fit to all others."""
        if self.scaled.primal:
            images = self.scaled.features @ self.inverse
            kept = 1 - np.einsum("ij,ij->i", images, self.scaled.features)
        else:
            kept = self.ridge * np.diagonal(self.inverse)
        kept = kept - self.scaled.roots**2 / len(labels)
        return self.fit(labels).residuals / np.maximum(kept, 1e-12)

    def without(self, block: Int[np.ndarray, " s"], labels: Labels) -> PathFit:
        """The fit to the other rows.

        It is the fit to all rows with the labels of the block replaced by what the other rows
        predict for it: the block then adds nothing to the errors.
        """
        replaced = labels.copy()
        replaced[block] -= self.errors_without(block, self.fit(labels).residuals)
        return self.fit(replaced)


def _ridge_cholesky_factor(gram: np.ndarray, ridge: float) -> np.ndarray:
    """The Cholesky factor of gram + ridge, in place."""
    gram[np.diag_indices_from(gram)] += ridge
    # A symmetric matrix in C order is itself in Fortran order: no copy is made.
    factor, failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Gram matrix plus the ridge is not positive definite")
    return factor
