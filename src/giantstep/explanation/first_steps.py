"""The first two giant steps of the default network on a target, in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giantstep.answer.table import with_error
from giantstep.asking.verbs import predict
from giantstep.errors import GiantstepError
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.learnability.floors import second_layer_floors

if TYPE_CHECKING:
    from giantstep.explanation.explain import Explanation

#: Directions up to which this takes about a second.
MOST_DIRECTIONS = 4
SAMPLES, STEP_SIZE, RIDGE = "8d", 2.0, 1.0


def first_steps(found: Explanation) -> str:
    """What one step and a fitted readout leave, the floor there, and cosines after two steps.

    Empty where a theory does not cover the target, or would take long.

    >>> from giantstep.explanation.explain import explain
    >>> first_steps(explain("sin(h1)")).partition(": ")[2].partition(", where")[0]
    'one step of p = d neurons and a ridge fit leave 0.0995 of the variance 0.432'
    """
    if found.target.rank > MOST_DIRECTIONS or found.spike is not None:
        return ""
    problem = Problem(found.target, found.noise)
    settings = GiantStep(samples=SAMPLES, step_size=STEP_SIZE)
    try:
        one = predict(settings.replace(width="1d", ridge=RIDGE), problem).prediction
        two = predict(settings.replace(steps=2), problem).prediction
    except GiantstepError:
        return ""
    left = float(one.metrics["test_error"][-1])
    regimes = second_layer_floors(found.target, steps=1)
    at_order_d = (f for f in regimes if (f.sample_power, f.width_power, f.steps) == (1, 1, 1))
    floor = next(at_order_d).floor.value
    cosines = two.metrics["overlap"][-1]
    errors = two.errors.get("overlap", np.zeros((1, len(cosines))))[-1]
    turned = ", ".join(
        f"h{number} {with_error(float(cosine), float(error))}"
        for number, (cosine, error) in enumerate(zip(cosines, errors, strict=True), 1)
    )
    return (
        f"In numbers ({settings.activation}, n = {SAMPLES} fresh samples per step, step size "
        f"{STEP_SIZE:g}): one step of p = d neurons and a ridge fit leave {left:.3g} of the "
        f"variance {found.variance.value:.3g}, where the floor is {floor:.3g}; after two steps the "
        f"cosines of {settings.width} neurons are {turned}."
    )
