"""Ridge regressions whose features are made chunk by chunk, with a ridge chosen by GCV."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.learners.ridge.chosen_ridge import GCV, chosen_ridge
from giantstep.learners.ridge.readout import NormalEquations, RidgePath

#: Entries of the features that are held at once: 32 MiB.
ENTRIES = 1 << 22


class Fit(NamedTuple):
    """Coefficients, and the means that were taken off: f = (phi - centre) . a + mean."""

    coefficients: Float[np.ndarray, " p"]
    centre: Float[np.ndarray, " p"]
    mean: float


def chunks(samples: int, columns: int) -> Iterator[slice]:
    """Ranges of samples, such that the features of each fit into a little memory."""
    rows = max(ENTRIES // columns, 1)
    for begin in range(0, samples, rows):
        yield slice(begin, min(begin + rows, samples))


def by_chunks(
    function: Callable[[slice], np.ndarray], samples: int, columns: int
) -> Float[np.ndarray, "n ..."]:
    """What a function gives of every sample, where on the way it makes so many columns."""
    return np.concatenate([function(part) for part in chunks(samples, columns)])


def fit_ridge(
    features: Callable[[slice], np.ndarray],
    labels: Float[np.ndarray, " n"],
    columns: int,
    *,
    intercept: bool = True,
) -> Fit:
    """The ridge regression on ``features`` of all samples; only their Gram matrix is held."""
    if len(labels) < columns:
        # The Gram matrix of the samples is the smaller one, and then all features are few too.
        whole = by_chunks(features, len(labels), columns)
        path = RidgePath.fit(whole, labels, intercept=intercept)
    else:
        sums = NormalEquations(columns)
        for part in chunks(len(labels), columns):
            sums.add(features(part), labels[part])
        path = RidgePath.solve(sums, intercept=intercept)
    coefficients = path.coefficients(chosen_ridge(path, GCV))[0]
    centre = np.zeros(columns) if path.feature_mean is None else path.feature_mean
    return Fit(coefficients, centre, path.label_mean)
