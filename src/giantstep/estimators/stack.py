"""Experts weighted by how well they predict rows that they have not seen."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import nnls


def simplex_weights(
    predictions: Float[np.ndarray, "n experts"], labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " experts"]:
    r"""Weights w of least squared error with :math:`w \ge 0`, :math:`\sum w \le 1`.

    Labels and predictions are centred on the mean predictor, which takes the rest of the weight.
    Scaling unconstrained weights down to a sum of one is not the same: an expert with tiny
    predictions would take a huge weight and drown the others.

    >>> x = np.arange(6.0) - 2.5
    >>> simplex_weights(np.column_stack([x, -x]), x).round(6).tolist()
    [1.0, 0.0]
    """
    free = nnls(predictions, labels)[0]
    if free.sum() <= 1:
        return free
    # On the face sum w = 1 the last weight is one minus the others; a heavy row imposes it.
    heavy = 1e4 * max(float(np.linalg.norm(predictions)), float(np.linalg.norm(labels)), 1e-300)
    stacked = np.vstack([predictions, np.full(predictions.shape[1], heavy)])
    bound = nnls(stacked, np.append(labels, heavy))[0]
    return bound / bound.sum()


def shuffled_folds(
    rows: int, folds: int, generator: np.random.Generator
) -> list[Float[np.ndarray, " rows"]]:
    """Row numbers of each fold, sizes equal to within one."""
    order = generator.permutation(rows)
    return [np.sort(part) for part in np.array_split(order, min(folds, rows))]
