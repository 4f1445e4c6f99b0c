"""The passes of a streamed fit: what one chunk of rows adds to each sum.

Functions are plain and their arguments small, so that they travel to the workers of a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.estimators.experts import Experts, StackSizes, expert_columns
from giantstep.estimators.index_model import IndexModel, fitted_link_features
from giantstep.estimators.random_network import expert_layer_features
from giantstep.estimators.streaming.rows import Totals
from giantstep.estimators.tails import TailScaler
from giantstep.numerics.ridge.path import NormalEquations

#: One row in this many is held out.
HELD_OUT = 5


class Scales(NamedTuple):
    """How inputs and labels are brought to one scale."""

    scaler: TailScaler
    centre: float
    scale: float

    def apply(
        self, X: Float[np.ndarray, "n d"], y: Float[np.ndarray, " n"]
    ) -> tuple[Float[np.ndarray, "n d"], Float[np.ndarray, " n"]]:
        """Scaled inputs, in the precision that they came in, and labels."""
        inputs = self.scaler.transform(X).astype(X.dtype, copy=False)
        return inputs, (y - self.centre) / self.scale


def is_streamed_held_out(first: int, count: int) -> Bool[np.ndarray, " n"]:
    """Which of these rows are held out: a fifth, spread evenly, whatever the chunks are.

    Multiples of the golden section are spread over the unit interval without a period.
    """
    numbers = np.arange(first, first + count, dtype=float)
    return (numbers * 0.6180339887498949) % 1.0 < 1 / HELD_OUT


def streamed_raw_moments(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    low: np.ndarray,
    high: np.ndarray,
    shift: np.ndarray,
    label_shift: float,
) -> Totals:
    """Sums of inputs within fences and of labels, and of their squares, about a shift.

    And whether all are finite.
    """
    inputs, labels = np.clip(X.astype(float), low, high) - shift, y - label_shift
    wrong = np.array([np.sum(~np.isfinite(X)), np.sum(~np.isfinite(labels))], dtype=float)
    count = np.array(float(len(y)))
    sums = (count, inputs.sum(axis=0), np.einsum("ij,ij->j", inputs, inputs))
    return Totals((*sums, labels.sum(), labels @ labels, wrong), (y.max(), -y.min()))


def streamed_compressed_moments(
    X: np.ndarray, y: np.ndarray, first: int, *, scaler: TailScaler
) -> Totals:
    """Sums of compressed inputs and of their squares; the scaler has no means after yet."""
    inputs = scaler.transform(X.astype(float))
    return Totals((inputs.sum(axis=0), np.einsum("ij,ij->j", inputs, inputs)))


def some_streamed_rows(X: np.ndarray, y: np.ndarray, first: int, *, share: float) -> Totals:
    """About this share of the rows, the same ones whatever the chunks are."""
    numbers = np.arange(first, first + len(y), dtype=float)
    kept = (numbers * 0.7548776662466927) % 1.0 < share
    return Totals(joined=(np.asarray(X[kept], dtype=float), y[kept]))


def streamed_network_sums(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    layer: tuple[np.ndarray, np.ndarray],
) -> Totals:
    """Normal equations of a random network, of the rows to learn from and of those held out.

    Its linear part holds those of the linear fit, and the covariance. Last comes the sum of the
    fourth powers of the lengths of rows to learn from.
    """
    inputs, labels = scales.apply(X, y)
    features = expert_layer_features(inputs, *layer)
    out = is_streamed_held_out(first, len(y))
    parts = (NormalEquations.of(features[rows], labels[rows]) for rows in (~out, out))
    lengths = np.einsum("ij,ij->i", inputs, inputs)[~out].astype(float)
    return Totals((*(one for part in parts for one in part), np.array(lengths @ lengths)))


def streamed_link_sums(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    trials: list[np.ndarray],
    units: list[tuple[np.ndarray, np.ndarray]],
) -> Totals:
    """Normal equations of the link along each trial's directions, and the range of the indices.

    Of the rows to learn from and of those held out, as in :func:`streamed_network_sums`.
    """
    inputs, labels = scales.apply(X, y)
    out = is_streamed_held_out(first, len(y))
    every = inputs @ np.hstack(trials).astype(inputs.dtype)
    sums: list[np.ndarray] = []
    most: list[np.ndarray] = []
    start = 0
    for directions, (rows, knots) in zip(trials, units, strict=True):
        stop = start + directions.shape[1]
        indices = np.asarray(every[:, start:stop], dtype=float)
        start = stop
        for kept in (~out, out):
            sums += NormalEquations.of(
                fitted_link_features(indices[kept], rows, knots), labels[kept]
            )
        most += [indices.max(axis=0), -indices.min(axis=0)]
    return Totals(tuple(sums), tuple(most))


def streamed_jacobian_start(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, model: IndexModel
) -> Totals:
    """Sums over learned rows of 1, the residual, J, residual times J, and of the link's metric.

    J is the Jacobian of the index model in its directions, a gradient times a row.
    """
    inputs, labels = scales.apply(X, y)
    indices = np.asarray(inputs @ model.directions.astype(inputs.dtype), dtype=float)
    learn = ~is_streamed_held_out(first, len(y))
    # Rows held out get a zero in place of being cut out, which would copy the inputs.
    gradient = model.link.gradient(indices) * learn[:, None]
    residuals = (labels - model.link.predict(indices)) * learn
    weighted = np.concatenate([gradient, gradient * residuals[:, None]], axis=1)
    both = np.asarray(weighted.T.astype(inputs.dtype) @ inputs, dtype=float)
    total, moment = np.split(both, 2)
    count = np.array(float(learn.sum()))
    return Totals((count, residuals.sum(), total, moment, gradient.T @ gradient))


def streamed_jacobian_product(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    model: IndexModel,
    vector: Float[np.ndarray, "r d"],
) -> Totals:
    """J^T J times a vector, over learned rows."""
    inputs, _ = scales.apply(X, y)
    both = np.concatenate([model.directions, vector.T], axis=1).astype(inputs.dtype)
    indices, along = np.split(inputs @ both, 2, axis=1)
    gradient = model.link.gradient(indices) * ~is_streamed_held_out(first, len(y))[:, None]
    image = np.einsum("ij,ij->i", gradient, along)
    return Totals((np.asarray((gradient * image[:, None]).T @ inputs, dtype=float),))


def streamed_expert_products(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, experts: Experts, sizes: StackSizes
) -> Totals:
    """Products of the experts' predictions and the labels with one another, on rows held out."""
    inputs, labels = scales.apply(X, y)
    out = is_streamed_held_out(first, len(y))
    rows = np.asarray(inputs[out], dtype=float)
    predictions = expert_columns(experts.predict(rows), sizes, len(rows))
    table = np.column_stack([predictions, labels[out]])
    return Totals((table.T @ table,))
