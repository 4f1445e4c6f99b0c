"""The passes of a streamed fit: what one chunk of rows adds to each sum.

Functions are plain and their arguments small, so that they travel to the workers of a cluster.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.estimators.experts import Experts, Sizes, columns
from giantstep.estimators.gauss_newton import IndexModel
from giantstep.estimators.link import link_features
from giantstep.estimators.random_network import layer_features
from giantstep.estimators.streaming.normal_equations import NormalEquations
from giantstep.estimators.streaming.rows import Totals
from giantstep.estimators.tails import TailScaler, compress

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


def held_out(first: int, count: int) -> Bool[np.ndarray, " n"]:
    """Which of these rows are held out: a fifth, spread evenly, whatever the chunks are.

    Multiples of the golden section are spread over the unit interval without a period.
    """
    numbers = np.arange(first, first + count, dtype=float)
    return (numbers * 0.6180339887498949) % 1.0 < 1 / HELD_OUT


def raw_moments(
    X: np.ndarray, y: np.ndarray, first: int, *, shift: np.ndarray, label_shift: float
) -> Totals:
    """Sums of inputs and labels and of their squares, about a shift; and whether all are finite."""
    inputs, labels = X.astype(float) - shift, y - label_shift
    wrong = np.array([np.sum(~np.isfinite(inputs)), np.sum(~np.isfinite(labels))], dtype=float)
    count = np.array(float(len(y)))
    sums = (count, inputs.sum(axis=0), np.einsum("ij,ij->j", inputs, inputs))
    return Totals((*sums, labels.sum(), labels @ labels, wrong), (y.max(), -y.min()))


def compressed_moments(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    mean: np.ndarray,
    deviation: np.ndarray,
    clip: float,
) -> Totals:
    """Sums of compressed inputs and of their squares."""
    inputs = compress((X.astype(float) - mean) / deviation, clip)
    return Totals((inputs.sum(axis=0), np.einsum("ij,ij->j", inputs, inputs)))


def some_rows(X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, share: float) -> Totals:
    """About this share of the scaled rows, the same ones whatever the chunks are."""
    numbers = np.arange(first, first + len(y), dtype=float)
    kept = (numbers * 0.7548776662466927) % 1.0 < share
    inputs, labels = scales.apply(X[kept], y[kept])
    return Totals(joined=(np.asarray(inputs, dtype=float), labels))


def network_sums(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    layer: tuple[np.ndarray, np.ndarray],
) -> Totals:
    """Normal equations of a random network, of the rows to learn from and of those held out."""
    inputs, labels = scales.apply(X, y)
    features = layer_features(inputs, *layer)
    out = held_out(first, len(y))
    parts = (NormalEquations.of(features[rows], labels[rows]) for rows in (~out, out))
    return Totals(tuple(one for part in parts for one in part))


def index_grams(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, directions: np.ndarray
) -> Totals:
    """Products of all indices with one another."""
    inputs, _ = scales.apply(X, y)
    indices = np.asarray(inputs @ directions.astype(inputs.dtype), dtype=float)
    return Totals((indices.T @ indices,))


def link_sums(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    trials: list[np.ndarray],
    units: list[tuple[np.ndarray, np.ndarray]],
    everything: bool = False,
) -> Totals:
    """Normal equations of the link of each trial's directions, and the range of the indices."""
    inputs, labels = scales.apply(X, y)
    learn = np.ones(len(y), dtype=bool) if everything else ~held_out(first, len(y))
    sums: list[np.ndarray] = []
    most: list[np.ndarray] = []
    for directions, (rows, knots) in zip(trials, units, strict=True):
        indices = np.asarray(inputs @ directions.astype(inputs.dtype), dtype=float)
        sums += NormalEquations.of(link_features(indices[learn], rows, knots), labels[learn])
        most += [indices.max(axis=0), -indices.min(axis=0)]
    return Totals(tuple(sums), tuple(most))


class Linear(NamedTuple):
    """The model without a link: the label is the index, and the Jacobian the inputs."""

    columns: int

    def working(self, inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient, all ones, and the working response."""
        return np.ones((len(labels), 1), dtype=inputs.dtype), labels


class AroundModel(NamedTuple):
    """The Jacobian of an index model in its directions."""

    model: IndexModel

    def working(self, inputs: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The gradient of the link at each row, and the working response of a giant step."""
        directions = self.model.directions.astype(inputs.dtype)
        indices = np.asarray(inputs @ directions, dtype=float)
        gradient = self.model.link.gradient(indices)
        response = labels - self.model.link.predict(indices)
        response = response + np.einsum("ij,ij->i", gradient, indices)
        return gradient.astype(inputs.dtype), response


def jacobian_start(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, around: Linear | AroundModel
) -> Totals:
    """Number of rows, and sums of the working response, of J, and of their product."""
    inputs, labels = scales.apply(X, y)
    learn = ~held_out(first, len(y))
    inputs = inputs[learn]
    gradient, response = around.working(inputs, labels[learn])
    weighted = (gradient * response[:, None]).astype(inputs.dtype)
    sums = (np.array(float(len(response))), response.sum(), gradient.T @ inputs)
    return Totals(tuple(np.asarray(s, dtype=float) for s in (*sums, weighted.T @ inputs)))


def jacobian_product(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    around: Linear | AroundModel,
    vector: Float[np.ndarray, "r d"],
) -> Totals:
    """J^T J times a vector."""
    inputs, labels = scales.apply(X, y)
    learn = ~held_out(first, len(y))
    inputs = inputs[learn]
    gradient, _ = around.working(inputs, labels[learn])
    image = np.einsum("ij,ij->i", gradient, inputs @ vector.T.astype(inputs.dtype))
    return Totals((np.asarray((gradient * image[:, None]).T @ inputs, dtype=float),))


def expert_products(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, experts: Experts, sizes: Sizes
) -> Totals:
    """Products of the experts' predictions and the labels with one another, on rows held out."""
    inputs, labels = scales.apply(X, y)
    out = held_out(first, len(y))
    rows = np.asarray(inputs[out], dtype=float)
    predictions = columns(experts.predict(rows), sizes, len(rows))
    table = np.column_stack([predictions, labels[out]])
    return Totals((table.T @ table,))
