"""The third layer of a network whose second has one output u: a curve phi(u)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.learners.depth.chunked_ridge import Fit
from giantstep.learners.ridge.chosen_ridge import GCV, chosen_ridge
from giantstep.learners.ridge.readout import RidgePath

#: Neurons relu(u - knot), at quantiles of u.
KNOTS = 20


class Link(NamedTuple):
    """phi(u) = c_0 + c_1 u + sum_j c_j relu(u - knot_j)."""

    knots: Float[np.ndarray, " knots"]
    fit: Fit

    @classmethod
    def of(cls, u: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"]) -> Link:
        """The ridge regression of the labels on u and its neurons, with a ridge chosen by GCV."""
        knots = np.quantile(u, (np.arange(KNOTS) + 0.5) / KNOTS)
        path = RidgePath.fit(_columns(u, knots), labels, intercept=True)
        assert path.feature_mean is not None
        coefficients = path.coefficients(chosen_ridge(path, GCV))[0]
        return cls(knots, Fit(coefficients, path.feature_mean, path.label_mean))

    def value(self, u: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """phi(u)."""
        a, centre, mean = self.fit
        return (_columns(u, self.knots) - centre) @ a + mean

    def slope(self, u: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        """phi'(u)."""
        a = self.fit.coefficients
        return a[0] + (u[:, None] > self.knots) @ a[1:]


def _columns(
    u: Float[np.ndarray, " n"], knots: Float[np.ndarray, " knots"]
) -> Float[np.ndarray, "n columns"]:
    return np.concatenate([u[:, None], np.maximum(u[:, None] - knots, 0.0)], axis=1)
