r"""Where to look for a direction, by passes over the rows: moments weighted by label functions.

First moments :math:`E[w_l x]` of whitened inputs come from one pass. The directions in which the
second moments :math:`M_l = E[w_l xx^T]` are largest together come from a few passes of orthogonal
iteration: a block V is replaced by the top left singular vectors of all images :math:`M_l V`. The
first of these passes is the one that gives the first moments.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.index_model import IndexModel
from giantstep.estimators.moments import SLICES, STAIRS, Whitening, residual_functions
from giantstep.estimators.streaming.passes import Scales, is_streamed_held_out
from giantstep.estimators.streaming.rows import Rows, Totals

#: Vectors of the block, and passes of the iteration.
BLOCK, ITERATIONS = 4, 6
#: Candidates of each order.
CANDIDATES = 2


class LabelFunctions(NamedTuple):
    """Functions of the residual of a model: itself, slices, products with functions of indices."""

    model: IndexModel | None
    edges: Float[np.ndarray, " s"]
    mixing: Float[np.ndarray, "r k"]
    shifts: Float[np.ndarray, " k"]
    centre: Float[np.ndarray, " l"] | None = None
    rotation: Float[np.ndarray, "l m"] | None = None

    def values(self, inputs: np.ndarray, labels: np.ndarray) -> Float[np.ndarray, "n m"]:
        """The functions at these rows; uncorrelated once ``rotation`` is known."""
        residuals = labels
        indices = np.zeros((len(labels), 0))
        if self.model is not None:
            indices = np.asarray(inputs @ self.model.directions.astype(inputs.dtype), dtype=float)
            residuals = labels - self.model.link.predict(indices)
        weights = residual_functions(residuals, indices, self.edges, self.mixing, self.shifts)
        if self.rotation is None:
            return weights
        return (weights - self.centre) @ self.rotation


def streamed_candidates(
    rows: Rows,
    scales: Scales,
    model: IndexModel | None,
    sample: tuple[np.ndarray, np.ndarray],
    covariance: Float[np.ndarray, "d d"],
    whitening: Whitening,
    generator: np.random.Generator,
) -> list[Float[np.ndarray, " d"]]:
    """Directions off those of ``model`` that its residual moves with.

    ``covariance`` is that of the learned rows, about zero.
    """
    columns = rows.shape[1]
    known = np.zeros((columns, 0))
    if model is not None:
        known = np.linalg.qr(whitening.root @ model.directions)[0]

    def off(block: np.ndarray) -> np.ndarray:
        return block - known @ (known.T @ block)

    def whitened(images: np.ndarray) -> np.ndarray:
        """All images side by side, in whitened coordinates."""
        return off(whitening.inverse_root @ np.hstack(list(images)))

    block = np.linalg.qr(off(generator.standard_normal((columns, min(BLOCK, columns)))))[0]
    functions = _streamed_label_functions(model, sample, generator)
    inner = whitening.inverse_root @ block
    work = partial(_first_pass, scales=scales, functions=functions, block=inner)
    count, total, products, inputs, first, images = rows.total(work).sums
    centre = total / count
    values, vectors = np.linalg.eigh(products - count * np.outer(centre, centre))
    kept = values > 1e-10 * max(values[-1], 1e-300)
    if not kept.any():
        return []
    rotation = vectors[:, kept] / np.sqrt(values[kept])
    functions = functions._replace(centre=centre, rotation=rotation)
    # Both moments are linear in the functions, so that they can be centred and turned afterwards.
    first = whitening.inverse_root @ (first - np.outer(inputs, centre)) @ rotation
    images = images - centre[:, None, None] * (count * covariance @ inner)
    images = np.einsum("lm,ldk->mdk", rotation, images)
    for _ in range(ITERATIONS - 1):
        left = np.linalg.svd(whitened(images), full_matrices=False)[0]
        block = left[:, : block.shape[1]]
        work = partial(
            _second_pass, scales=scales, functions=functions, block=whitening.inverse_root @ block
        )
        (images,) = rows.total(work).sums
    top = np.linalg.svd(whitened(images), full_matrices=False)[0]
    start = np.linalg.svd(off(first), full_matrices=False)[0]
    found = [*start.T[:CANDIDATES], *top.T[:CANDIDATES]]
    found = [vector for vector in found if np.linalg.norm(off(vector)) > 1e-6]
    return [whitening.inverse_root @ vector for vector in found]


def _streamed_label_functions(
    model: IndexModel | None,
    sample: tuple[np.ndarray, np.ndarray],
    generator: np.random.Generator,
) -> LabelFunctions:
    """Label functions with edges from a sample of rows, neither centred nor turned yet."""
    rank = 0 if model is None else model.directions.shape[1]
    inputs, residuals = sample
    if model is not None:
        residuals = residuals - model.predict(inputs)
    edges = np.quantile(residuals, np.arange(1, SLICES) / SLICES)
    mixing = generator.standard_normal((rank, STAIRS))
    return LabelFunctions(model, edges, mixing, generator.standard_normal(STAIRS))


def _first_pass(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    functions: LabelFunctions,
    block: Float[np.ndarray, "d k"],
) -> Totals:
    """Sums of 1, of the functions w, of their products, of x, of x w, and of x w_l (x.v_k)."""
    inputs, learn, weights = _weighted_streamed_rows(X, y, first, scales, functions)
    kind = inputs.dtype
    moments = inputs.T @ np.column_stack([learn, weights]).astype(kind)
    sums = (
        np.array(float(learn.sum())),
        weights.sum(axis=0),
        weights.T @ weights,
        moments[:, 0],
        moments[:, 1:],
        _streamed_images(inputs, weights.astype(kind), block),
    )
    return Totals(tuple(np.asarray(one, dtype=float) for one in sums))


def _second_pass(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    functions: LabelFunctions,
    block: Float[np.ndarray, "d k"],
) -> Totals:
    """Sums of x w_l (x.v_k)."""
    inputs, _, weights = _weighted_streamed_rows(X, y, first, scales, functions)
    return Totals((_streamed_images(inputs, weights.astype(inputs.dtype), block),))


def _weighted_streamed_rows(
    X: np.ndarray, y: np.ndarray, first: int, scales: Scales, functions: LabelFunctions
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scaled rows, which of them are learned from, and the functions there; 0 elsewhere."""
    inputs, labels = scales.apply(X, y)
    learn = ~is_streamed_held_out(first, len(y))
    return inputs, learn, functions.values(inputs, labels) * learn[:, None]


def _streamed_images(
    inputs: np.ndarray, weights: np.ndarray, block: np.ndarray
) -> Float[np.ndarray, "l d k"]:
    """X^T (w_l o X v_k) for every function and vector, by one product."""
    fields = inputs @ block.astype(inputs.dtype)
    weighted = weights[:, :, None] * fields[:, None, :]
    images = inputs.T @ weighted.reshape(len(inputs), -1)
    shaped = images.reshape(inputs.shape[1], weights.shape[1], -1).transpose(1, 0, 2)
    return np.asarray(shaped, dtype=float)
