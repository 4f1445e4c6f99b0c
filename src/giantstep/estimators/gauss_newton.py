r"""The Gauss-Newton giant step: all directions of an index model refitted by one ridge regression.

Around the present directions B the model :math:`f(B^T z)` is linear in B, with the Jacobian
:math:`J_i = \nabla f(h_i) \otimes z_i`. The step regresses the working response
:math:`q_i = y_i - f(h_i) + J_i\cdot\mathrm{vec}(B)` on J, shrinking towards zero rather than
towards the old directions: for white inputs it is a gradient step whose size has dropped out.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.link import Link, fit_link
from giantstep.estimators.ridge import Scaled
from giantstep.estimators.tridiagonal import Tridiagonal

#: Ridges tried, in units of the mean eigenvalue of J^T J.
GRID = 10.0 ** np.arange(-5, 2.1, 0.5)
#: A step whose score is worse than the best by this factor ends the descent.
PATIENCE = 1.05


class IndexModel(NamedTuple):
    """Directions (columns, unit and uncorrelated indices), their link, and the GCV score."""

    directions: Float[np.ndarray, "d r"]
    link: Link
    freedom: float
    score: float
    residuals: Float[np.ndarray, " n"]

    def indices(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r"]:
        """The coordinates that the link reads."""
        return inputs @ self.directions

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The fitted function of the indices."""
        return self.link.predict(self.indices(inputs))


def uncorrelated(
    directions: Float[np.ndarray, "d r"], inputs: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, "d k"]:
    """The same span, with indices of unit variance and no correlation; lost columns are dropped."""
    gram = (inputs @ directions).T @ (inputs @ directions) / len(inputs)
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    # The symmetric root stays as close to the given columns as it can.
    if kept.all():
        return directions @ (vectors / np.sqrt(values)) @ vectors.T
    return directions @ (vectors[:, kept] / np.sqrt(values[kept]))


def fit_index_model(
    directions: Float[np.ndarray, "d r"],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    units: int,
    steps: int,
    generator: np.random.Generator,
) -> IndexModel:
    """The best model among those met in at most ``steps`` giant steps from these directions."""
    present = _model(directions, inputs, labels, units, generator, spent=0.0)
    best = present
    for _ in range(steps):
        moved, spent = _step(present, inputs, labels)
        if not np.any(moved):
            break
        present = _model(moved, inputs, labels, units, generator, spent=spent)
        if present.score < best.score:
            best = present
        elif present.score > PATIENCE * best.score:
            break
    return best


def _model(
    directions: np.ndarray,
    inputs: np.ndarray,
    labels: np.ndarray,
    units: int,
    generator: np.random.Generator,
    *,
    spent: float,
) -> IndexModel:
    scaled = uncorrelated(directions, inputs)
    link = fit_link(inputs @ scaled, labels, units, generator, spent=spent)
    return IndexModel(scaled, link, link.fit.freedom, link.fit.score, link.fit.residuals)


def _step(model: IndexModel, inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, float]:
    """New directions, and the degrees of freedom that they took."""
    gradient = model.link.gradient(model.indices(inputs))
    rows, rank = gradient.shape
    jacobian = (gradient[:, :, None] * inputs[:, None, :]).reshape(rows, -1)
    response = model.residuals + jacobian @ model.directions.T.ravel()
    whole = Tridiagonal.of(Scaled.of(jacobian))
    mean = float(whole.squares.sum()) / max(len(whole.squares), 1)
    grid = GRID * max(mean, 1e-300)
    found = whole.fit(response, spent=model.freedom, grid=grid)
    return found.coefficients.reshape(rank, -1).T, found.freedom
