r"""Where to look for a direction, by passes over the rows: moments weighted by label functions.

First moments :math:`E[w_l x]` come from one pass. The top eigenvectors of
:math:`\sum_l M_l^2`, :math:`M_l = E[w_l xx^T]`, come from a few passes of block power iteration,
without any matrix of d x d entries.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.gauss_newton import IndexModel
from giantstep.estimators.moments import SLICES, STAIRS
from giantstep.estimators.streaming.passes import Scales, held_out
from giantstep.estimators.streaming.rows import Rows, Totals

#: Vectors of the block, and power iterations of two passes each.
BLOCK, ITERATIONS = 4, 4
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
        cells = np.searchsorted(self.edges, residuals, side="right")
        found = [residuals[:, None], (cells[:, None] == np.arange(SLICES)).astype(float)]
        if indices.shape[1]:
            found.append(residuals[:, None] * indices)
            found.append(residuals[:, None] * np.tanh(indices @ self.mixing + self.shifts))
        weights = np.concatenate(found, axis=1)
        if self.rotation is None:
            return weights
        return (weights - self.centre) @ self.rotation


def candidates(
    rows: Rows,
    scales: Scales,
    model: IndexModel | None,
    sample: tuple[np.ndarray, np.ndarray],
    generator: np.random.Generator,
) -> list[Float[np.ndarray, " d"]]:
    """Directions off those of ``model`` that its residual moves with."""
    functions = _functions(rows, scales, model, sample, generator)
    columns = rows.shape[1]
    (first,) = rows.total(partial(_first_pass, scales=scales, functions=functions)).sums
    known = np.zeros((columns, 0)) if model is None else np.linalg.qr(model.directions)[0]

    def off(block: np.ndarray) -> np.ndarray:
        return block - known @ (known.T @ block)

    def times(block: np.ndarray) -> np.ndarray:
        """Every M_l times every column of the block: (l, d, k)."""
        work = partial(_second_pass, scales=scales, functions=functions, block=block)
        return rows.total(work).sums[0]

    left = np.linalg.svd(off(first), full_matrices=False)[0]
    block = np.linalg.qr(off(generator.standard_normal((columns, min(BLOCK, columns)))))[0]
    for _ in range(ITERATIONS):
        images = times(block)
        # sum_l M_l (M_l v) needs each image times its own matrix: the second pass.
        work = partial(_matched_pass, scales=scales, functions=functions, blocks=images)
        block = np.linalg.qr(off(rows.total(work).sums[0]))[0]
    images = times(block)
    small = sum(image.T @ image for image in images)
    block = block @ np.linalg.eigh(small)[1][:, ::-1]
    found = [*left.T[:CANDIDATES], *block.T[:CANDIDATES]]
    return [vector for vector in found if np.linalg.norm(off(vector)) > 1e-6]


def _functions(
    rows: Rows,
    scales: Scales,
    model: IndexModel | None,
    sample: tuple[np.ndarray, np.ndarray],
    generator: np.random.Generator,
) -> LabelFunctions:
    """Label functions with edges from a sample of rows, centred and rotated by a pass."""
    rank = 0 if model is None else model.directions.shape[1]
    inputs, residuals = sample
    if model is not None:
        residuals = residuals - model.predict(inputs)
    edges = np.quantile(residuals, np.arange(1, SLICES) / SLICES)
    mixing = generator.standard_normal((rank, STAIRS))
    functions = LabelFunctions(model, edges, mixing, generator.standard_normal(STAIRS))
    work = partial(_function_pass, scales=scales, functions=functions)
    count, total, products = rows.total(work).sums
    centre = total / count
    values, vectors = np.linalg.eigh(products - count * np.outer(centre, centre))
    kept = values > 1e-10 * max(values[-1], 1e-300)
    return functions._replace(centre=centre, rotation=vectors[:, kept] / np.sqrt(values[kept]))


def _learned(
    X: np.ndarray, y: np.ndarray, first: int, scales: Scales, functions: LabelFunctions
) -> tuple[np.ndarray, np.ndarray]:
    inputs, labels = scales.apply(X, y)
    learn = ~held_out(first, len(y))
    inputs = inputs[learn]
    return inputs, functions.values(inputs, labels[learn]).astype(inputs.dtype)


def _function_pass(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, functions: LabelFunctions
) -> Totals:
    _, weights = _learned(X, y, first, scales, functions)
    weights = weights.astype(float)
    return Totals((np.array(float(len(weights))), weights.sum(axis=0), weights.T @ weights))


def _first_pass(
    X: np.ndarray, y: np.ndarray, first: int, *, scales: Scales, functions: LabelFunctions
) -> Totals:
    inputs, weights = _learned(X, y, first, scales, functions)
    return Totals((np.asarray(inputs.T @ weights, dtype=float),))


def _second_pass(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    functions: LabelFunctions,
    block: Float[np.ndarray, "d k"],
) -> Totals:
    inputs, weights = _learned(X, y, first, scales, functions)
    fields = inputs @ block.astype(inputs.dtype)
    # One product for all functions: X^T (w_l o X v_k).
    weighted = weights[:, :, None] * fields[:, None, :]
    images = inputs.T @ weighted.reshape(len(inputs), -1)
    shaped = images.reshape(inputs.shape[1], weights.shape[1], -1).transpose(1, 0, 2)
    return Totals((np.asarray(shaped, dtype=float),))


def _matched_pass(
    X: np.ndarray,
    y: np.ndarray,
    first: int,
    *,
    scales: Scales,
    functions: LabelFunctions,
    blocks: Float[np.ndarray, "l d k"],
) -> Totals:
    inputs, weights = _learned(X, y, first, scales, functions)
    count, columns, size = blocks.shape
    wide = blocks.transpose(1, 0, 2).reshape(columns, -1).astype(inputs.dtype)
    fields = (inputs @ wide).reshape(len(inputs), count, size)
    return Totals((np.asarray(inputs.T @ np.einsum("nl,nlk->nk", weights, fields), dtype=float),))
