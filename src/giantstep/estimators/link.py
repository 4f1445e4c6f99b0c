r"""A smooth function of a few indices: :math:`f(h) = a\cdot h + \sum_k c_k (C_k\cdot h + b_k)_+^2`.

Squares of rectified units have a continuous gradient, which Gauss-Newton steps follow without
jumping; their knots reach three deviations, so that the tails are fitted too.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.ridge import Fit
from giantstep.estimators.tridiagonal import ridge

#: Weight of the rectified units against the linear part.
UNIT_WEIGHT = 0.4
#: Knots are drawn up to this many deviations of an index.
KNOTS = 3.0


class Link(NamedTuple):
    """A fitted function of r indices, and the range of indices that it was fitted on."""

    directions: Float[np.ndarray, "k r"]
    knots: Float[np.ndarray, " k"]
    fit: Fit
    low: Float[np.ndarray, " r"]
    high: Float[np.ndarray, " r"]

    def predict(self, indices: Float[np.ndarray, "n r"]) -> Float[np.ndarray, " n"]:
        """The value, constant beyond the range of the fit."""
        inside = np.clip(indices, self.low, self.high)
        return self.fit.predict(link_features(inside, self.directions, self.knots))

    def gradient(self, indices: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n r"]:
        """The derivative in each index, in the precision of the indices."""
        rank = indices.shape[1]
        linear, units = self.fit.coefficients[:rank], self.fit.coefficients[rank:]
        weights = 2 * UNIT_WEIGHT / np.sqrt(len(self.knots)) * units
        kind = indices.dtype
        fields = indices @ self.directions.T.astype(kind)
        fields += self.knots.astype(kind)
        np.maximum(fields, 0.0, out=fields)
        return fields @ (weights[:, None] * self.directions).astype(kind) + linear.astype(kind)


def fit_link(
    indices: Float[np.ndarray, "n r"],
    labels: Float[np.ndarray, " n"],
    units: int,
    generator: np.random.Generator,
    *,
    spent: float = 0.0,
) -> Link:
    """The link of least GCV score over ``units`` random rectified units."""
    directions, knots = draw_units(indices.shape[1], units, generator)
    fit = ridge(link_features(indices, directions, knots), labels, spent=spent)
    return Link(directions, knots, fit, indices.min(axis=0), indices.max(axis=0))


def draw_units(
    rank: int, units: int, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "k r"], Float[np.ndarray, " k"]]:
    """Unit directions of the rectified units, and their knots."""
    directions = generator.standard_normal((units, rank))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions, generator.uniform(-KNOTS, KNOTS, units)


def link_features(
    indices: Float[np.ndarray, "n r"],
    directions: Float[np.ndarray, "k r"],
    knots: Float[np.ndarray, " k"],
) -> Float[np.ndarray, "n q"]:
    """The indices, then squares of rectified units of them."""
    rank = indices.shape[1]
    features = np.empty((len(indices), rank + len(knots)))
    features[:, :rank] = indices
    fields = features[:, rank:]
    np.matmul(indices, directions.T, out=fields)
    fields += knots
    np.maximum(fields, 0.0, out=fields)
    fields *= fields
    fields *= UNIT_WEIGHT / np.sqrt(len(knots))
    return features
