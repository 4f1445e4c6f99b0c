r"""Ridge regression at a ridge that is known already: Cholesky factors instead of a spectrum.

For features that do not depend on the labels the fit without a block S of rows follows from the
inverse that the fit to all rows has anyway, exactly:

.. math:: e_S = (I - H_{SS})^{-1} r_S, \qquad
    H = \tfrac1n 11^T + F (F^T F + \lambda)^{-1} F^T
      = \tfrac1n 11^T + I - \lambda (F F^T + \lambda)^{-1}

with centred features F, residuals r of all rows, and errors e of the fit without the block.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import lapack

from giantstep.estimators.ridge import Fit, Scaled


class FixedRidge(NamedTuple):
    """Scaled features with the inverse of their smaller Gram matrix plus the ridge."""

    scaled: Scaled
    ridge: float
    inverse: Float[np.ndarray, "k k"]

    @classmethod
    def of(cls, scaled: Scaled, ridge: float, gram: Float[np.ndarray, "k k"]) -> FixedRidge:
        """Invert; ``gram`` is overwritten."""
        factor = _factor(gram, ridge)
        inverse, _ = lapack.dpotri(factor, lower=1, overwrite_c=1)
        # LAPACK fills one triangle.
        lower = np.tril(inverse)
        return cls(scaled, ridge, lower + np.tril(inverse, -1).T)

    def fit(self, labels: Float[np.ndarray, " n"]) -> Fit:
        """The fit to these labels."""
        centred = labels - labels.mean()
        right = self.scaled.features.T @ centred if self.scaled.primal else centred
        return self.scaled.fit(self.inverse @ right, labels, self.ridge)

    def errors_without(
        self, block: Float[np.ndarray, " s"], residuals: Float[np.ndarray, " n"]
    ) -> Float[np.ndarray, " s"]:
        """Errors in the block of the fit to the other rows; the scale of the features is kept."""
        if self.scaled.primal:
            part = self.scaled.features[block]
            kept = np.eye(len(part)) - part @ self.inverse @ part.T
        else:
            kept = self.ridge * self.inverse[np.ix_(block, block)]
        return np.linalg.solve(kept - 1.0 / len(residuals), residuals[block])

    def without(self, block: Float[np.ndarray, " s"], labels: Float[np.ndarray, " n"]) -> Fit:
        """The fit to the other rows.

        It is the fit to all rows with the labels of the block replaced by what the other rows
        predict for it: the block then adds nothing to the errors.
        """
        replaced = labels.copy()
        replaced[block] -= self.errors_without(block, self.fit(labels).residuals)
        return self.fit(replaced)


def _factor(gram: np.ndarray, ridge: float) -> np.ndarray:
    """The Cholesky factor of gram + ridge, in place."""
    gram[np.diag_indices_from(gram)] += ridge
    # A symmetric matrix in C order is itself in Fortran order: no copy is made.
    factor, failed = lapack.dpotrf(gram.T, lower=1, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("the Gram matrix plus the ridge is not positive definite")
    return factor
