"""What a prediction's errors tell a user: how far the shown number may be off.

A theory states the errors of its own numerics. Here, for every learner by one rule, they get what
a run at a finite size adds, and a status that its error does not bear out is taken back.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Collection
from typing import Any

import numpy as np

from giantstep.answer import Prediction, Status, weakest_status
from giantstep.language.sizes import Size
from giantstep.settings.options import Settings

#: Corrections to the limit, and to the first corrections, are taken as this over the smallest size.
CORRECTION = 1.0
#: Sizes that grow with d: each of them has corrections of its own.
SIZES = ("samples", "readout_samples", "width")
#: A prediction that may be off by more than this share of its size is no theorem.
FOUNDED = 0.1
#: Errors below this are those of solvers, of a number that is zero.
NOTHING = 1e-6
#: The share of runs that converge is one or none, at any size.
CONVERGED = "converged"
#: Predictions of which a run shows the root of a sum over neurons, which fluctuates.
COSINES = ("overlap",)
#: A step can amplify what the start has along a direction that it does not learn: to a few d^-1/2.
AMPLIFIED = 2.0


def with_stated_errors(
    law: Prediction, settings: Settings, simulated: Collection[str]
) -> Prediction:
    """The prediction with finite-size terms in its errors, and statuses that fit these errors.

    With a dimension d, and N the smallest of d and the sizes that grow with it, every metric v that
    a run shows too, one of ``simulated``, gets |v|/N: the order of what no theory here counts.
    A cosine of p neurons is the mean of a root of p squares, of which theory knows the root of the
    mean: of the part, a few d^-1/2, that fluctuates it lies lower by up to v/(4p), where neurons
    that begin as pairs count once. Without a dimension a
    prediction is one of the limit, and is left alone, unless its sizes are numbers anyway.

    Where the largest error of a metric exceeds 10 % of its largest value, it is heuristic at best.
    """
    errors = dict(law.errors)
    dim = getattr(settings, "dim", math.inf)
    if dim is not None:
        share = CORRECTION / _smallest_asked_size(settings, dim)
        for name, value in law.metrics.items():
            if name not in simulated or name == CONVERGED:
                continue
            size = np.abs(np.asarray(value, dtype=float))
            size = np.where(np.isfinite(size), size, 0.0)
            seen = share * size
            if name in COSINES:
                few = AMPLIFIED**2 / dim
                fluctuating = np.minimum(size, few / np.maximum(size, dim**-0.5))
                seen = seen + fluctuating / (4 * _asked_neurons(settings, dim))
            errors[name] = np.abs(np.asarray(errors.get(name, 0.0))) + seen
    statuses: dict[str, Status] = dict(law.statuses)
    for name, error in errors.items():
        value = np.asarray(law.metrics[name], dtype=float)
        largest = np.max(np.abs(value), initial=0.0, where=np.isfinite(value))
        if np.max(error, initial=0.0, where=np.isfinite(error)) > max(FOUNDED * largest, NOTHING):
            statuses[name] = weakest_status([statuses[name], "heuristic"])
    return dataclasses.replace(law, errors=errors, statuses=statuses)


def _smallest_asked_size(settings: Any, dim: float) -> float:
    """The least of d and of the sizes that grow with it, or of those of a learner without d."""
    sizes = [getattr(settings, name, None) for name in SIZES]
    given = [size for size in sizes if isinstance(size, Size)]
    if math.isinf(dim):
        return max(min((size.coefficient for size in given), default=dim), 1.0)
    growing = [size.at(dim) for size in given if size.power > 0]
    if _begins_in_pairs(settings) and settings.width.power > 0:
        growing.append(settings.width.at(dim) / 2)
    return float(max(min([dim, *growing]), 1.0))


def _asked_neurons(settings: Any, dim: float) -> float:
    width = getattr(settings, "width", None)
    neurons = width.at(dim) if isinstance(width, Size) else 1.0
    return max(neurons / 2 if _begins_in_pairs(settings) else neurons, 1.0)


def _begins_in_pairs(settings: Any) -> bool:
    return getattr(settings, "readout", None) == "symmetric-sign"
