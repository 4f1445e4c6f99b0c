"""Experts weighted by how well they predict rows that they have not seen."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from jaxtyping import Float, Int
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


def cross_fitted_score(
    predictions: Float[np.ndarray, "n experts"],
    labels: Float[np.ndarray, " n"],
    blocks: Iterable[Int[np.ndarray, " rows"]],
) -> float:
    """R^2 of held-out predictions, each fold weighted by what the other folds say.

    Weights fitted to the very predictions that they are scored on promise too much.

    >>> x = np.arange(6.0) - 2.5
    >>> cross_fitted_score(x[:, None], x, [np.arange(3), np.arange(3, 6)])
    1.0
    """
    errors = np.zeros_like(labels)
    for block in blocks:
        rest = np.setdiff1d(np.arange(len(labels)), block)
        errors[block] = labels[block] - predictions[block] @ simplex_weights(
            predictions[rest], labels[rest]
        )
    return 1 - float(errors @ errors) / (float(labels @ labels) or 1.0)


def shuffled_folds(
    rows: int, folds: int, generator: np.random.Generator
) -> list[Int[np.ndarray, " rows"]]:
    """Row numbers of each fold, sizes equal to within one."""
    order = generator.permutation(rows)
    return [np.sort(part) for part in np.array_split(order, min(folds, rows))]
