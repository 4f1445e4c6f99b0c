"""The readout of a few neurons, fitted to samples of which there are infinitely many per neuron.

It is not the small end of widths in proportion to d: neurons see one another in the residuals, so
that their rows follow the recursion of a fixed width, and the fit is that of the population.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.language.targets.hermite import target_tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.batch_population import PopulationErrors, RidgeFit
from giantstep.theory.giant_step.fresh_batches import OverlapPath
from giantstep.theory.giant_step.risk.over_sizes import features_without_steps

#: At a given dimension, no more neurons than this are few.
FEW_NEURONS = 8


def has_few_neurons(settings: GiantStep) -> bool:
    """Whether the readout of a few neurons is fitted to fresh samples.

    Without a dimension any fixed number of neurons is few, but for one step from a silent start,
    where they do not see one another.
    """
    if settings.ridge is None or settings.width.power != 0 or settings.readout_samples == "same":
        return False
    steps = max(settings.steps, 1)
    uneven = any(size.power != 1 for size in settings.samples.over(steps))
    if uneven or any(size.power for size in settings.step_size.over(steps)):
        return False
    if settings.dim is not None:
        return settings.width.at(1) <= FEW_NEURONS
    silent = settings.loss == "correlation" or settings.readout == "symmetric-sign"
    return settings.steps > 1 or (settings.steps == 1 and not silent)


def readout_fit_samples(settings: GiantStep) -> Size:
    """The samples of the readout fit."""
    own = settings.readout_samples
    return settings.samples if own in (None, "same") else own


def few_neurons_ridge(settings: GiantStep, width: int) -> RidgeFit | None:
    """The penalty for each sample, in the features sigma(h) without a factor p^-1/2."""
    if settings.ridge is None:
        return None
    same, samples = settings.readout_samples == "same", readout_fit_samples(settings)
    if samples.power <= 0:
        raise NoTheory(
            f"readout_samples = {samples}: the fit of a fixed number of neurons is predicted for "
            "samples that grow with d, such as 4d"
        )
    penalty = 0.0 if settings.dim is None else settings.ridge * width / samples.at(settings.dim)
    return RidgeFit(penalty, same)


def few_neurons_errors(
    problem: Problem, settings: GiantStep, paths: list[OverlapPath]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Metrics of the fit, means over networks, and how far off they may be.

    At a dimension each fitted number adds 1/n of the noisy error.
    """
    each = np.stack([path.fitted[0] for path in paths])
    (train, test, own), noise = each.mean(axis=0).T, problem.noise
    squares = np.mean([path.fitted[1] ** 2 for path in paths], axis=0) + each.var(axis=0)
    sampled, off = np.sqrt(squares / len(paths)).T, 0.0
    if settings.dim is not None:
        width = settings.width.at(1)
        share = width / readout_fit_samples(settings).at(settings.dim)
        train, test = train * (1 - share), test + share * (test + noise)
        if settings.biases == "none":
            test[0], train[0] = features_without_steps(problem, settings)
        # Means and lengths of the rows are off by the order of 1/d, neuron by neuron.
        off = width / settings.dim
    reached = PopulationErrors(train, test, own)
    metrics = {
        **reached.metrics(noise),
        "random_features_error": float(test[0]),
        "linear_floor": target_tail_energy(problem.target, 1).value,
    }
    return metrics, PopulationErrors(*(sampled + off * np.array(reached))).metrics()
