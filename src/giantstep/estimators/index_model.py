r"""A smooth function of a few learned directions, and the giant step that moves these.

The link is :math:`f(h) = a\cdot h + \sum_k c_k (C_k\cdot h + b_k)_+^2`. Squares of rectified units
have a continuous gradient, which Gauss-Newton steps follow without jumping; their knots reach three
deviations, so that the tails are fitted too. A polynomial has units :math:`(C_k\cdot h + b_k)^m`
in their place: where it fits as well it needs fewer numbers, and goes on beyond the data.

A Gauss-Newton giant step refits all directions by one ridge regression. Around the present
directions B the model :math:`f(B^T z)` is linear in B, with the Jacobian
:math:`J_i = \nabla f(h_i) \otimes z_i`. The step regresses the working response
:math:`q_i = y_i - f(h_i) + J_i\cdot\mathrm{vec}(B)` on J, shrinking towards zero rather than
towards the old directions: for white inputs it is a gradient step whose size has dropped out.
"""

from __future__ import annotations

from math import comb
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.tails import TailScaler
from giantstep.numerics.ridge.path import PathFit
from giantstep.numerics.ridge.scaled import FixedRidge, Roots, ScaledRidge, Tridiagonal, ridge

#: Weight of the rectified units against the linear part.
UNIT_WEIGHT = 0.4
#: Knots are drawn up to this many deviations of an index.
KNOTS = 3.0
#: Ridges tried, in units of the mean eigenvalue of J^T J.
GRID = 10.0 ** np.arange(-5, 2.1, 0.5)
#: Standard errors from which labels are taken to rise or fall along an index.
CLEAR = 3.0
#: Points on a drawn link.
CURVE_POINTS = 200
#: A step whose score is worse than the best by this factor ends the descent, and so do this many
#: steps that did not improve on it by the share PROGRESS.
PATIENCE, IDLE, PROGRESS = 1.05, 2, 0.002
#: A link has at most one unit for this many rows: with more it strays between and beyond few rows.
ROWS_PER_UNIT, LEAST_UNITS = 3, 40


class Link(NamedTuple):
    """A fitted function of r indices, and the range of indices that it was fitted on.

    A polynomial has a ``degree``; that of rectified units is 0.
    """

    directions: Float[np.ndarray, "k r"]
    knots: Float[np.ndarray, " k"]
    fit: PathFit
    low: Float[np.ndarray, " r"]
    high: Float[np.ndarray, " r"]
    degree: int = 0

    def predict(self, indices: Float[np.ndarray, "n r"]) -> Float[np.ndarray, " n"]:
        """The value; beyond the range of the fit by one more range at most.

        A polynomial goes on as it is, other links along their tangent.
        """
        reach = self.high - self.low
        farther = reach if self.degree else 0.0
        inside = np.clip(indices, self.low - farther, self.high + farther)
        features = fitted_link_features(inside, self.directions, self.knots, self.degree)
        values = self.fit.predict(features)
        if self.degree:
            return values
        beyond = np.clip(indices - inside, -reach, reach)
        outside = np.flatnonzero(beyond.any(axis=1))
        slopes = self.gradient(inside[outside])
        values[outside] += np.einsum("ij,ij->i", slopes, beyond[outside])
        return values

    def turned(self, signs: Float[np.ndarray, " r"]) -> Link:
        """The same function of indices with other signs."""
        coefficients = self.fit.coefficients.copy()
        coefficients[: len(signs)] *= signs
        return self._replace(
            directions=self.directions * signs,
            fit=self.fit._replace(coefficients=coefficients),
            low=np.where(signs > 0, self.low, -self.high),
            high=np.where(signs > 0, self.high, -self.low),
        )

    def gradient(self, indices: Float[np.ndarray, "n r"]) -> Float[np.ndarray, "n r"]:
        """The derivative in each index, in the precision of the indices."""
        rank = indices.shape[1]
        linear, units = self.fit.coefficients[:rank], self.fit.coefficients[rank:]
        power = self.degree or 2
        weights = power * UNIT_WEIGHT / np.sqrt(len(self.knots)) * units
        kind = indices.dtype
        fields = indices @ self.directions.T.astype(kind)
        fields += self.knots.astype(kind)
        fields = fields ** (power - 1) if self.degree else np.maximum(fields, 0.0, out=fields)
        return fields @ (weights[:, None] * self.directions).astype(kind) + linear.astype(kind)


def _fit_link(
    indices: Float[np.ndarray, "n r"],
    labels: Float[np.ndarray, " n"],
    units: int,
    generator: np.random.Generator,
    *,
    spent: float = 0.0,
    degree: int = 0,
    roots: Roots = 1.0,
) -> Link:
    """The link of least GCV score over ``units`` random rectified units, or of a ``degree``."""
    units = min(units, max(len(labels) // ROWS_PER_UNIT, LEAST_UNITS))
    if degree:
        units = 2 * comb(indices.shape[1] + degree, degree)
    directions, knots = draw_link_units(indices.shape[1], units, generator)
    features = fitted_link_features(indices, directions, knots, degree)
    fit = ridge(features, labels, spent=spent, roots=roots)
    return Link(directions, knots, fit, indices.min(axis=0), indices.max(axis=0), degree)


def draw_link_units(
    rank: int, units: int, generator: np.random.Generator
) -> tuple[Float[np.ndarray, "k r"], Float[np.ndarray, " k"]]:
    """Unit directions of the rectified units, and their knots."""
    directions = generator.standard_normal((units, rank))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return directions, generator.uniform(-KNOTS, KNOTS, units)


def fitted_link_features(
    indices: Float[np.ndarray, "n r"],
    directions: Float[np.ndarray, "k r"],
    knots: Float[np.ndarray, " k"],
    degree: int = 0,
) -> Float[np.ndarray, "n q"]:
    """The indices, then squares of rectified units of them, or powers of units."""
    rank = indices.shape[1]
    features = np.empty((len(indices), rank + len(knots)))
    features[:, :rank] = indices
    fields = features[:, rank:]
    np.matmul(indices, directions.T, out=fields)
    fields += knots
    if not degree:
        np.maximum(fields, 0.0, out=fields)
    # Products: a general power takes a hundred times as long.
    base = fields.copy() if degree > 2 else fields
    np.square(fields, out=fields)
    for _ in range(degree - 2):
        fields *= base
    fields *= UNIT_WEIGHT / np.sqrt(len(knots))
    return features


class IndexModel(NamedTuple):
    """Directions (columns, unit and uncorrelated indices), their link, and the GCV score.

    With ``scaler`` the directions are those of the columns before their tails were compressed.
    """

    directions: Float[np.ndarray, "d r"]
    link: Link
    freedom: float
    score: float
    residuals: Float[np.ndarray, " n"]
    scaler: TailScaler | None = None

    def indices(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n r"]:
        """The coordinates that the link reads."""
        read = inputs if self.scaler is None else self.scaler.uncompressed(inputs)
        return read @ self.directions

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The fitted function of the indices."""
        return self.link.predict(self.indices(inputs))

    def leave_one_out(
        self,
        inputs: Float[np.ndarray, "n d"],
        labels: Float[np.ndarray, " n"],
        roots: Roots = 1.0,
    ) -> Float[np.ndarray, " n"]:
        """Sizes of the link's leave-one-out errors, raised by what its directions took.

        The few rows in the tails of an index have most of the leverage, which GCV averages. Squares
        would leave the choice to the wildest of them.
        """
        link, rows = self.link, len(labels)
        features = fitted_link_features(
            self.indices(inputs), link.directions, link.knots, link.degree
        )
        scaled = ScaledRidge.of(features, roots)
        errors = FixedRidge.of(scaled, link.fit.ridge, scaled.gram()).leave_one_out(labels)
        squares = float(np.mean((roots * link.fit.residuals) ** 2))
        raised = self.score * (1 - self.freedom / rows) ** 2 / max(squares, 1e-300)
        return roots**2 * np.abs(errors) * np.sqrt(raised)

    def rising(
        self, inputs: Float[np.ndarray, "n d"], labels: Float[np.ndarray, " n"]
    ) -> IndexModel:
        """The same function, its directions turned so that labels rise along them.

        Where labels neither rise nor fall, the largest entry of the direction is positive.
        """
        indices = self.indices(inputs)
        moments = (labels - labels.mean()) @ indices / (np.linalg.norm(labels - labels.mean()) or 1)
        largest = np.take_along_axis(
            self.directions, np.abs(self.directions).argmax(axis=0)[None], axis=0
        )[0]
        signs = np.where(np.where(np.abs(moments) > CLEAR, moments, largest) < 0, -1.0, 1.0)
        return self._replace(directions=self.directions * signs, link=self.link.turned(signs))


def index_stability(
    model: IndexModel, others: list[IndexModel], inputs: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, " r"]:
    """The mean cosine between each index of a model and the span of the others' indices."""
    indices = model.indices(inputs)
    found = [np.full(indices.shape[1], np.nan)] if not others else []
    for other in others:
        basis = np.linalg.qr(other.indices(inputs))[0]
        lengths = np.linalg.norm(basis.T @ indices, axis=0)
        found.append(lengths / np.maximum(np.linalg.norm(indices, axis=0), 1e-300))
    return np.mean(found, axis=0)


def fitted_link_curves(
    model: IndexModel, others: list[IndexModel], inputs: Float[np.ndarray, "n d"]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Along each index, within the data: its values, the link there, and its standard error.

    The other indices are held at 0. The error is the jackknife's, from the models ``others`` that
    were fitted without a fold each, at the rows that are expected for the index.
    """
    indices = model.indices(inputs)
    curves = []
    for position, index in enumerate(indices.T):
        grid = np.zeros((CURVE_POINTS, indices.shape[1]))
        grid[:, position] = np.linspace(index.min(), index.max(), CURVE_POINTS)
        points = np.outer(grid[:, position], index @ inputs / max(float(index @ index), 1e-300))
        errors = np.zeros(CURVE_POINTS)
        if len(others) > 1:
            values = np.stack([other.predict(points) for other in others])
            errors = np.sqrt(len(others) - 1) * values.std(axis=0)
        curves.append((grid[:, position], model.link.predict(grid), errors))
    return curves


def uncorrelated_directions(
    directions: Float[np.ndarray, "d r"], gram: Float[np.ndarray, "r r"]
) -> Float[np.ndarray, "d k"]:
    """The same span, with indices of unit variance and no correlation; lost columns are dropped.

    ``gram`` holds the mean products of the indices along the given directions.
    """
    values, vectors = np.linalg.eigh(gram)
    kept = values > 1e-10 * max(values[-1], 1e-300)
    turn = vectors[:, kept] / np.sqrt(values[kept])
    # The symmetric root stays as close to the given columns as it can.
    return directions @ (turn @ vectors.T if kept.all() else turn)


def fit_index_model(
    directions: Float[np.ndarray, "d r"],
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    *,
    units: int,
    steps: int,
    generator: np.random.Generator,
    degree: int = 0,
    roots: Roots = 1.0,
) -> IndexModel:
    """The best model among those met in at most ``steps`` giant steps from these directions."""

    def fitted(along: np.ndarray, spent: float) -> IndexModel:
        indices = inputs @ along
        scaled = uncorrelated_directions(along, indices.T @ indices / len(indices))
        link = _fit_link(
            inputs @ scaled, labels, units, generator, spent=spent, degree=degree, roots=roots
        )
        return IndexModel(scaled, link, link.fit.freedom, link.fit.score, link.fit.residuals)

    present = fitted(directions, 0.0)
    best = present
    idle = 0
    for _ in range(steps):
        moved, spent = _index_step(present, inputs, roots)
        if not np.any(moved):
            break
        present = fitted(moved, spent)
        idle = 0 if present.score < (1 - PROGRESS) * best.score else idle + 1
        if present.score < best.score:
            best = present
        if idle == IDLE or present.score > PATIENCE * best.score:
            break
    return best


def _index_step(model: IndexModel, inputs: np.ndarray, roots: Roots) -> tuple[np.ndarray, float]:
    """New directions, and the degrees of freedom that they took."""
    gradient = model.link.gradient(model.indices(inputs))
    rows, rank = gradient.shape
    jacobian = (gradient[:, :, None] * inputs[:, None, :]).reshape(rows, -1)
    response = model.residuals + jacobian @ model.directions.T.ravel()
    whole = Tridiagonal.of(ScaledRidge.of(jacobian, roots))
    grid = GRID * max(float(whole.diagonal.mean()), 1e-300)
    found = whole.fit(response, spent=model.freedom, grid=grid)
    return found.coefficients.reshape(rank, -1).T, found.freedom
