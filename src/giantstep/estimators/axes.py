"""A model of the few columns that matter, found one screening round after the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.moments import residual_weights
from giantstep.numerics.ridge.path import PathFit
from giantstep.numerics.ridge.scaled import Roots, ridge

#: Quantile bins of a column in the screening.
BINS = 6
ROUNDS, PERMUTATIONS, MOST_COLUMNS = 3, 3, 10
#: Knots of a column's spline, and random rectified units of all kept columns.
SPLINE_KNOTS, UNITS = 7, 300
#: Weights of the units against the splines that are tried.
AXIS_WEIGHTS = (0.3, 3.0)


class AxisModel(NamedTuple):
    """Splines of the kept columns and rectified units of them together."""

    columns: tuple[int, ...]
    knots: Float[np.ndarray, "knots k"]
    rows: Float[np.ndarray, "units k"]
    biases: Float[np.ndarray, " units"]
    weight: float
    fit: PathFit

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The fitted function of the kept columns."""
        return self.fit.predict(self._features(inputs))

    def _features(self, inputs: np.ndarray) -> np.ndarray:
        kept = inputs[:, list(self.columns)]
        splines = np.maximum(kept[:, None, :] - self.knots, 0.0).reshape(len(kept), -1)
        units = np.maximum(kept @ self.rows.T + self.biases, 0.0)
        scale = self.weight * np.sqrt(kept.shape[1] / max(len(self.biases), 1))
        return np.concatenate([kept, splines, scale * units], axis=1)


def fit_axis_model(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    generator: np.random.Generator,
    roots: Roots = 1.0,
) -> AxisModel | None:
    """The model of the columns whose bins move with the label; None if no column does."""
    bins = _column_bin_indicators(inputs)
    kept: list[int] = []
    residuals = labels - labels.mean()
    model: AxisModel | None = None
    for _ in range(ROUNDS):
        moments = residual_weights(residuals, inputs[:, kept], generator, roots=roots)
        scores = _scores(bins, moments)
        chance = max(
            float(_scores(bins, generator.permutation(moments)).max()) for _ in range(PERMUTATIONS)
        )
        order = [int(j) for j in np.argsort(-scores) if scores[j] > chance and j not in kept]
        new = order[: MOST_COLUMNS - len(kept)]
        if not new:
            break
        kept += new
        model = _fit(inputs, labels, kept, generator, roots)
        residuals = model.fit.residuals
    return model


def _fit(
    inputs: np.ndarray,
    labels: np.ndarray,
    kept: list[int],
    generator: np.random.Generator,
    roots: Roots,
) -> AxisModel:
    columns = inputs[:, kept]
    knots = np.quantile(columns, np.arange(1, SPLINE_KNOTS + 1) / (SPLINE_KNOTS + 1), axis=0)
    rows = generator.standard_normal((UNITS, len(kept))) / np.sqrt(len(kept))
    biases = generator.standard_normal(UNITS)
    models = []
    for weight in AXIS_WEIGHTS:
        blank = AxisModel(tuple(kept), knots, rows, biases, weight, None)  # type: ignore[arg-type]
        models.append(blank._replace(fit=ridge(blank._features(inputs), labels, roots=roots)))
    return min(models, key=lambda model: model.fit.score)


def _column_bin_indicators(inputs: np.ndarray) -> np.ndarray:
    """For every column and quantile bin, whether a row is in it, over the root of its count."""
    edges = np.quantile(inputs, np.arange(1, BINS) / BINS, axis=0)
    cells = (inputs[None] > edges[:, None]).sum(axis=0)
    indicators = (cells[:, :, None] == np.arange(BINS)).astype(float)
    indicators /= np.sqrt(np.maximum(indicators.sum(axis=0), 1.0))
    return indicators.reshape(len(inputs), -1)


def _scores(bins: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """For every column, sum of squared moments of the weights with functions of its bin.

    The indicators, over the roots of their counts, are orthonormal; the weights are centred, so
    that the constant among the functions of the bin adds nothing.
    """
    moments = bins.T @ weights
    return np.einsum("jl,jl->j", moments, moments).reshape(-1, BINS).sum(axis=1)
