"""Ridge regression from sums: what the readouts of a streamed fit are made of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.linalg import eigh

from giantstep.estimators.ridge import GRID, Fit, best_ridge


class NormalEquations(NamedTuple):
    """Sums over rows: their number, features, products of features, and those with labels."""

    number: Float[np.ndarray, ""]
    features: Float[np.ndarray, " p"]
    products: Float[np.ndarray, "p p"]
    moments: Float[np.ndarray, " p"]
    labels: Float[np.ndarray, ""]
    squares: Float[np.ndarray, ""]

    @classmethod
    def of(
        cls, features: Float[np.ndarray, "n p"], labels: Float[np.ndarray, " n"]
    ) -> NormalEquations:
        """The sums over these rows."""
        return cls(
            np.array(float(len(labels))),
            features.sum(axis=0, dtype=float),
            np.asarray(features.T @ features, dtype=float),
            np.asarray(features.T @ labels, dtype=float),
            np.array(labels.sum()),
            np.array(labels @ labels),
        )

    def part(self, columns: slice) -> NormalEquations:
        """The equations of these columns alone."""
        return self._replace(
            features=self.features[columns],
            products=self.products[columns, columns],
            moments=self.moments[columns],
        )

    def and_also(self, others: NormalEquations) -> NormalEquations:
        """The sums over the rows of both."""
        return NormalEquations(*(a + b for a, b in zip(self, others, strict=True)))

    def error(self, fit: Fit) -> float:
        """The mean squared error of a fit over these rows.

        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> sums = NormalEquations.of(x, x[:, 0] ** 2)
        >>> fit = sums.fit()
        >>> bool(np.isclose(sums.error(fit), np.mean((x[:, 0] ** 2 - fit.predict(x)) ** 2)))
        True
        """
        slopes, constant = fit.coefficients, fit.intercept
        square = slopes @ self.products @ slopes + constant * (
            2 * float(self.features @ slopes) + constant * float(self.number)
        )
        mixed = float(self.moments @ slopes) + constant * float(self.labels)
        return float(self.squares - 2 * mixed + square) / max(float(self.number), 1.0)

    def fit(self, *, spent: float = 0.0) -> Fit:
        """The ridge of least GCV score, as :func:`giantstep.estimators.tridiagonal.ridge` has it.

        Residuals are not kept.

        >>> x = np.linspace(-1, 1, 50)[:, None]
        >>> fit = NormalEquations.of(x, 3 * x[:, 0] + 1).fit()
        >>> bool(abs(fit.predict(np.array([[0.5]]))[0] - 2.5) < 1e-4)
        True
        """
        rows = max(float(self.number), 1.0)
        centre, mean = self.features / rows, float(self.labels) / rows
        centred = self.products - rows * np.outer(centre, centre)
        scale = float(np.sqrt(max(np.trace(centred) / rows, 0.0))) or 1.0
        right = (self.moments - self.features * mean) / scale
        values, vectors = eigh(centred / scale**2, check_finite=False)
        kept = values > 1e-12 * max(values[-1], 1e-300)
        values, vectors = values[kept], vectors[:, kept]
        parts = vectors.T @ right
        spread = float(self.squares) - rows * mean**2
        outside = max(spread - float(np.sum(parts**2 / values)), 0.0)
        ridges = rows * GRID
        shares = values / (values + ridges[:, None])
        errors = outside + ((1 - shares) ** 2) @ (parts**2 / values)
        freedom = 1.0 + spent + shares.sum(axis=1)
        best, score = best_ridge(errors, freedom, int(rows))
        ridge = float(ridges[best])
        coefficients = vectors @ (parts / (values + ridge)) / scale
        return Fit(
            coefficients,
            mean - float(centre @ coefficients),
            ridge,
            float(freedom[best] - spent),
            np.zeros(0),
            score,
        )
