"""The prediction for the learner `giant-step`: which theory covers which settings."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.few_neurons import has_few_neurons
from giantstep.theory.giant_step.one_batch import is_on_one_batch, one_batch_overlaps
from giantstep.theory.giant_step.overlaps import (
    DEGREE,
    is_two_steps,
    predicted_overlaps,
)
from giantstep.theory.giant_step.risk.best_schedule import best_schedule
from giantstep.theory.giant_step.risk.prediction import predict_risk
from giantstep.theory.giant_step.risk.sizes import check_risk_covered
from giantstep.theory.learnability.staircase import predicted_subspaces

REFERENCES: tuple[str, ...] = (
    "Dandi et al. 2023, arXiv:2305.18270",
    "Dandi et al. 2024, arXiv:2402.03220",
)
#: Behind the populations of rows that stand for one batch.
POPULATIONS = "Celentano et al. 2021, arXiv:2112.07572"


def predict(
    problem: Problem,
    settings: GiantStep,
    *,
    optimise: Sequence[str] = (),
    along: Sequence[float] = (),
) -> Prediction:
    """Overlaps after every step, and the risk after one step where a ridge is given.

    Metrics: ``overlap``, (steps + 1, r), the root mean square over neurons and runs of the cosine
    with each direction; for several steps on batches in powers of d it goes as
    ``overlap_prefactor`` times d to the ``overlap_power``; with a ridge those of the risk after one
    step, or after any number of steps on one batch. ``subspaces`` holds for each step what is
    learned, its directions as rows, where batches are fresh and in proportion to d. ``arrays``, for
    several steps and readouts that are not random, has the signed ``cosines`` (steps + 1, p, r) of
    the neurons in the limit, and their ``norms``. With ``optimise`` the step size, the ridge or
    both are first replaced by those of least risk, for several steps by a schedule, and reported
    with what they gain over random features, over linear methods and over fewer steps on as many
    samples in all, ``error_of_fewer_steps``; one without an optimum inside the range of the search
    is NaN, and a note says so. ``along``: all ridges of a curve, if this is a point of one.

    Assumes: isotropic Gaussian inputs, or for the risk a spike along h1; see the function that each
        case calls.
    Status: theorem for overlaps and the fit of a few neurons in the limit of large d at a given
        width, and for the subspace of the first step; heuristic where a dimension is given, where
        the width of several steps grows with it, and where values stand for a law of readouts or
        biases; conjecture for subspaces beyond the first step; heuristic for several steps on
        batches in powers of d; heuristic for the risk where risk.prediction does not say otherwise.
    References: Dandi et al. 2023, arXiv:2305.18270; Cui et al. 2024, arXiv:2402.04980.

    >>> law = predict(Problem.of("h1"), GiantStep(samples="4d", step_size=2))
    >>> [round(float(cosine), 4) for cosine in law.metrics["overlap"][:, 0]]
    [0.0, 0.6325]
    """
    if problem.inputs.spike is None or settings.ridge is None:
        checked_input_law(
            problem.inputs,
            (Gaussian,),
            "giant steps are predicted",
            NoTheory,
            "the formulas take all directions beside the target to be alike; with a ridge they "
            "take a spike along h1; simulate takes every law",
        )
    else:
        check_risk_covered(problem, settings)
    if settings.without_theory:
        raise NoTheory(
            f"{settings.without_theory}: giant steps are predicted without; use simulate"
        )
    optimum: dict[str, Any] = {}
    edges: list[str] = []
    if optimise:
        best = best_schedule(problem, settings, optimise)
        settings, optimum, edges = best.settings, best.metrics(), best.notes()
    sigma = activation(settings.activation)
    one_batch = is_on_one_batch(settings) and not is_two_steps(problem, settings)
    grows = settings.step_size.power > 0 and not one_batch
    if settings.dim is None and settings.ridge is not None and grows:
        raise NoTheory(
            f"step_size = {settings.step_size}, width = {settings.width}: the risk after a step "
            "that grows with d is not known without a dimension; after C*n^A it is, with "
            "--width 1d --readout normal; or give --dim"
        )
    fitted = settings.ridge is not None and not (one_batch or has_few_neurons(settings))
    if fitted:
        check_risk_covered(problem, settings)
    # No ridge changes what the rows learn; that of a few neurons their fit.
    of_any_ridge = settings.replace(ridge=1.0) if fitted else settings
    overlaps_of = one_batch_overlaps if one_batch else predicted_overlaps
    found = overlaps_of(problem, of_any_ridge, sigma)
    notes = [*edges, *found.notes]
    metrics, errors = dict(found.metrics), dict(found.errors)
    statuses: dict[str, Status] = dict.fromkeys(metrics, found.status)
    if not np.any(errors["overlap"]):
        del errors["overlap"]
    subspaces: tuple[np.ndarray, ...] = ()
    if found.in_spaces:
        subspaces, hidden = giant_step_subspaces(problem, of_any_ridge)
        statuses["subspaces"] = "theorem" if settings.steps <= 1 else "conjecture"
        notes = [*edges, *hidden, *found.notes]
    references = (*REFERENCES, POPULATIONS) if one_batch else REFERENCES
    risk_arrays: Mapping[str, np.ndarray] = {}
    if fitted:
        risk = predict_risk(problem, settings, along)
        metrics |= {**risk.metrics, **optimum}
        statuses |= {**risk.statuses, **dict.fromkeys(optimum, risk.status)}
        notes = [*notes, *risk.notes]
        errors |= risk.errors
        references = (*references, *risk.references)
        risk_arrays = risk.arrays
    return Prediction.of(
        settings,
        metrics,
        statuses,
        references,
        notes,
        errors=errors,
        subspaces=subspaces,
        arrays={**found.arrays, **risk_arrays},
    )


@functools.lru_cache(maxsize=4)
def giant_step_subspaces(
    problem: Problem, settings: GiantStep
) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """The subspaces learned after 0..T steps, and a remark where the activation hides one.

    Step t+1 learns a direction only if the activation sees the degree at which it enters: relu
    without biases has no Hermite coefficient of odd degree above one, so a direction whose
    coefficient is even in what is known stays invisible to it.

    Assumes: see :func:`giantstep.theory.learnability.staircase.predicted_subspaces`.
    Status: theorem for one step; conjecture for more.
    References: Dandi et al. 2023, arXiv:2305.18270.

    >>> spaces, notes = giant_step_subspaces(Problem.of("h1 + He2(h1)*h2"), GiantStep(steps=2))
    >>> [len(space) for space in spaces], len(notes)
    ([0, 1, 1], 1)
    """
    steps = settings.steps
    sizes = zip(settings.samples.over(steps), settings.step_size.over(steps), strict=True)
    leaps = [max(1, min(int(n.power), 1 + int(2 * eta.power))) for n, eta in sizes]
    degrees = activation(settings.activation).degrees(DEGREE)

    def usable(k: int) -> bool:
        return settings.biases != "none" or k in degrees

    target = problem.target
    seen = predicted_subspaces(target, steps, leaps, usable, DEGREE)
    there = predicted_subspaces(target, steps, leaps, None, DEGREE)
    if len(seen[-1]) == len(there[-1]):
        return seen, []
    note = (
        f"{settings.activation} without biases cannot see {len(there[-1]) - len(seen[-1])} of the "
        f"{len(there[-1])} directions that {steps} steps could learn: its Hermite coefficients of "
        "their degree vanish; add --biases normal"
    )
    return seen, [note]
