"""The first two giant steps of the default network on a target, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giantstep.asking.verbs import predict
from giantstep.errors import GiantstepError
from giantstep.language.problem import Problem
from giantstep.language.targets.expansion import target_series
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.learnability.floors import second_layer_floors

if TYPE_CHECKING:
    from giantstep.explanation.explain import Explanation

#: Directions up to which this takes about a second.
MOST_DIRECTIONS = 4
SAMPLES, STEP_SIZE, RIDGE = "8d", 2.0, 1.0


def explained_first_steps(found: Explanation) -> str:
    """What one step or two and a fitted readout leave, the floor of one, and cosines after two.

    Empty where a theory does not cover the target, or would take long.

    >>> from giantstep.explanation.explain import explain
    >>> explained_first_steps(explain("sin(h1)")).partition(": ")[2].partition(", where")[0]
    'one step of p = d neurons and a ridge fit leaves 0.0949, two 0.0779, of the variance 0.432'
    """
    if found.target.rank > MOST_DIRECTIONS or found.spike is not None:
        return ""
    problem = Problem(found.target, found.noise)
    settings = GiantStep(samples=SAMPLES, step_size=STEP_SIZE, readout="sign")
    fitted = settings.replace(width="1d", ridge=RIDGE)
    # Two steps on a function with kinks of two directions take ten seconds.
    is_quick = found.target.rank == 1 or (found.target.rank == 2 and target_series(found.target))
    try:
        risk = predict(fitted.replace(steps=2 if is_quick else 1), problem).prediction
        two = risk if is_quick else predict(settings.replace(steps=2), problem).prediction
    except GiantstepError:
        return ""
    left = [f"{error:.3g}" for error in risk.metrics["test_error"][1:]]
    regimes = second_layer_floors(found.target, steps=1)
    at_order_d = (f for f in regimes if (f.sample_power, f.width_power, f.steps) == (1, 1, 1))
    floor = next(at_order_d).floor.value
    cosines, errors = two.metrics["overlap"][-1], two.errors.get("overlap", [[0.0]])[-1]
    # What is nothing is 0, not what draws or rounding left of it.
    known = np.where(abs(cosines) > np.maximum(errors, 1e-6), cosines, 0.0)
    turned = ", ".join(f"h{number} {cosine:.2g}" for number, cosine in enumerate(known, 1))
    return (
        f"In numbers ({settings.activation}, readouts +-1, n = {SAMPLES} fresh samples per step, "
        f"step size {STEP_SIZE:g}): one step of p = d neurons and a ridge fit leaves "
        f"{', two '.join(left)}{',' * (len(left) - 1)} of the variance {found.variance.value:.3g}, "
        f"where the floor of one is {floor:.3g}; after two steps the cosines of "
        f"{'these' if is_quick else settings.width} neurons are {turned}."
    )
