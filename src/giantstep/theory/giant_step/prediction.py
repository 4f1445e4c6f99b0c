"""The prediction for the learner `giant-step`: which theory covers which settings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.inputs import Gaussian, check_covered
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.few_neurons import FewNeurons, has_few_neurons
from giantstep.theory.giant_step.fresh_batches import giant_step_overlaps
from giantstep.theory.giant_step.neuron_kinds import (
    VALUES_FOR_LAWS,
    Kinds,
    bias_law,
    neuron_arrays,
)
from giantstep.theory.giant_step.one_batch import OneBatch, ridge_fit
from giantstep.theory.giant_step.one_step_overlap import one_step_overlap
from giantstep.theory.giant_step.reused_batch import reused_batch_two_steps
from giantstep.theory.giant_step.small_batches import SmallBatches, overlap_powers
from giantstep.theory.learnability.staircase import learned_subspaces
from giantstep.theory.one_step.readout_law import readout_blocks, readout_nodes

REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270", "Dandi et al. 2024, arXiv:2402.03220")
#: Where a size is so large that every correction in 1/d is below float64's resolution.
LIMIT_DIM = 1e18
#: Errors of quadrature below this are those of float64 arithmetic.
RESOLUTION = 1e-12
#: Highest Hermite degree in which directions are looked for.
DEGREE = 8


def predict(problem: Problem, settings: GiantStep, *, optimise: Sequence[str] = ()) -> Prediction:
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
    is NaN, and a note says so.

    Assumes: isotropic Gaussian inputs; see the function that each case calls.
    Status: theorem for overlaps and the fit of a few neurons in the limit of large d at a given
        width, and for the subspace of the first step; heuristic where a dimension is given, where
        the width of several steps grows with it, and where values stand for a law of readouts or
        biases; conjecture for subspaces beyond the first step; heuristic for several steps on
        batches in powers of d; replica for the risk where one_step.prediction says so.
    References: Dandi et al. 2023, arXiv:2305.18270; Cui et al. 2024, arXiv:2402.04980.

    >>> law = predict(Problem.of("h1"), GiantStep(samples="4d", step_size=2))
    >>> [round(float(cosine), 4) for cosine in law.metrics["overlap"][:, 0]]
    [0.0, 0.6325]
    """
    check_covered(
        problem.inputs,
        (Gaussian,),
        "giant steps are predicted",
        NoTheory,
        "its formulas take all directions beside the target to be alike; simulate takes every law",
    )
    if settings.without_theory:
        raise NoTheory(
            f"{settings.without_theory}: giant steps are predicted without; use simulate"
        )
    optimum: dict[str, Any] = {}
    edges: list[str] = []
    if optimise and settings.steps > 1:
        from giantstep.theory.giant_step.risk.best_schedule import best_schedule

        several_best = best_schedule(problem, settings, optimise)
        settings = several_best.settings
        optimum, edges = several_best.metrics(), several_best.notes()
    elif optimise:
        from giantstep.theory.one_step.best_sizes import best_sizes

        best = best_sizes(problem, settings, optimise)
        settings = settings.replace(step_size=best.step_size, ridge=best.ridge)
        optimum, edges = best.metrics(), best.notes()
    sigma = activation(settings.activation)
    if settings.detrend:
        raise NoTheory("there is no prediction with detrend: use simulate, or drop --detrend")
    if OneBatch.covers(settings) and not _is_two_steps(problem, settings):
        return _on_one_batch(problem, settings, sigma, optimum, edges)
    if settings.dim is None and settings.ridge is not None and settings.step_size.power > 0:
        raise NoTheory(
            f"step_size = {settings.step_size}, width = {settings.width}: the risk after a step "
            "that grows with d is not known without a dimension; after C*n^A it is, with "
            "--width 1d --readout normal; or give --dim"
        )
    several = settings.ridge is not None and settings.steps != 1 and not has_few_neurons(settings)
    if several:
        from giantstep.theory.giant_step.risk.prediction import (
            check_several_steps,
            predict_several_steps,
        )

        check_several_steps(problem, settings)
    found = _overlaps(problem, settings, sigma)
    notes = [*edges, *found.notes]
    metrics: dict[str, Any] = {"overlap": found.cosines}
    statuses: dict[str, Status] = {"overlap": found.status}
    errors = {"overlap": found.errors} if np.any(found.errors) else {}
    subspaces: tuple[np.ndarray, ...] = ()
    if found.scaling is not None:
        metrics |= found.scaling.metrics
        statuses = dict.fromkeys(metrics, found.status)
        errors["overlap_prefactor"] = found.scaling.prefactor_errors
    elif not _is_two_steps(problem, settings):
        subspaces, hidden = predicted_subspaces(problem, settings)
        statuses["subspaces"] = "theorem" if settings.steps <= 1 else "conjecture"
        notes = [*edges, *hidden, *found.notes]
    references: tuple[str, ...] = REFERENCES
    risk_arrays: Mapping[str, np.ndarray] = {}
    if found.fitted is not None:
        metrics |= found.fitted.metrics
        statuses |= dict.fromkeys(found.fitted.metrics, found.status)
        errors |= found.fitted.errors
    elif settings.ridge is not None:
        from giantstep.theory.one_step.prediction import predict as predict_one_step

        risk = (predict_several_steps if several else predict_one_step)(problem, settings)
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


def predicted_subspaces(
    problem: Problem, settings: GiantStep
) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """The subspaces learned after 0..T steps, and a remark where the activation hides one.

    Step t+1 learns a direction only if the activation sees the degree at which it enters: relu
    without biases has no Hermite coefficient of odd degree above one, so a direction whose
    coefficient is even in what is known stays invisible to it.

    Assumes: see :func:`giantstep.theory.learnability.staircase.learned_subspaces`.
    Status: theorem for one step; conjecture for more.
    References: Dandi et al. 2023, arXiv:2305.18270.

    >>> spaces, notes = predicted_subspaces(Problem.of("h1 + He2(h1)*h2"), GiantStep(steps=2))
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
    seen = learned_subspaces(target, steps, leaps, usable, DEGREE)
    there = learned_subspaces(target, steps, leaps, None, DEGREE)
    if len(seen[-1]) == len(there[-1]):
        return seen, []
    note = (
        f"{settings.activation} without biases cannot see {len(there[-1]) - len(seen[-1])} of the "
        f"{len(there[-1])} directions that {steps} steps could learn: its Hermite coefficients of "
        "their degree vanish; add --biases normal"
    )
    return seen, [note]


class Overlaps(NamedTuple):
    """Cosines before the first step and after each, how far off they may be, and their status."""

    cosines: Float[np.ndarray, "steps1 r"]
    errors: Float[np.ndarray, "steps1 r"]
    status: Status
    notes: list[str]
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})
    scaling: SmallBatches | None = None
    fitted: FewNeurons | None = None


def _in_powers(settings: GiantStep) -> bool:
    """Whether batches are not in proportion to d, or steps of a fixed width not of order 1."""
    batches, sizes = settings.samples.over(settings.steps), settings.step_size.over(settings.steps)
    growing = settings.width.power == 0 and any(size.power != 0 for size in sizes)
    return growing or any(batch.power != 1 for batch in batches)


def _overlaps(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    rank = problem.target.rank
    if settings.steps == 0:
        start = np.full((1, rank), _start_overlap(settings))
        return Overlaps(start, np.zeros((1, rank)), "theorem", [])
    if _is_two_steps(problem, settings):
        return _two_steps(problem, settings, sigma)
    first = None
    silent_start = settings.loss == "correlation" or settings.readout == "symmetric-sign"
    # A wide network's output at the start is a constant, up to O(p^-1/2).
    if silent_start or settings.width.power > 0:
        constant = 0.0 if silent_start else _mean_output(settings, sigma)
        first = _one_step(_shifted(problem, constant), settings, sigma)
    if settings.steps == 1 and first is not None and not has_few_neurons(settings):
        return first
    return _many_steps(problem, settings, sigma, first)


def _start_overlap(settings: GiantStep) -> float:
    """A random unit vector has a cosine of rms d^-1/2 with any direction; 0 in the limit."""
    return 0.0 if settings.dim is None else settings.dim**-0.5


def _mean_output(settings: GiantStep, sigma: Activation) -> float:
    """E[a] E[sigma(z + b)], what every sample sees before the first step."""
    values, fractions = readout_blocks(settings)
    mean_readout = float(fractions @ values)
    return mean_readout * sum(
        weight * float(sigma.shifted(bias).hermite(0)[0]) for bias, weight in bias_law(settings)
    )


def _shifted(problem: Problem, constant: float) -> Problem:
    """The problem whose labels are residuals of a constant output."""
    if abs(constant) < 1e-12:
        return problem
    return Problem(Target(f"{problem.target.text} - ({constant!r})"), problem.noise, problem.inputs)


def _one_step(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    dim = settings.dim or LIMIT_DIM
    (samples,), (step_size,) = settings.samples.over(1), settings.step_size.over(1)
    cosine, coarse = (
        one_step_overlap(
            problem,
            sigma,
            step_size=step_size.at(dim),
            samples=samples.at(dim),
            dim=dim,
            readout=None if settings.readout == "normal" else readout_nodes(settings),
            biases=bias_law(settings, fine),
            fine=fine,
        )
        for fine in (True, False)
    )
    error = np.abs(cosine - coarse)
    if settings.dim is None:
        seen = np.zeros(problem.target.rank, dtype=bool)
        for bias, _ in bias_law(settings):
            powers = overlap_powers(
                problem.target,
                sigma.shifted(bias),
                steps=1,
                step_power=step_size.power,
                samples_power=samples.power,
            )
            seen |= powers[1] == 0
        cosine, error = np.where(seen, cosine, 0.0), np.where(seen, error, 0.0)
    start = np.full(problem.target.rank, _start_overlap(settings))
    where = f"d = {settings.dim}" if settings.dim else "the limit of large d"
    return Overlaps(
        np.stack([start, cosine]),
        np.stack([0 * start, np.where(error > RESOLUTION, error, 0.0)]),
        "heuristic" if settings.dim else "theorem",
        [f"overlap: the law of one step, at {where}"],
    )


def _on_one_batch(
    problem: Problem,
    settings: GiantStep,
    sigma: Activation,
    optimum: dict[str, Any],
    edges: list[str],
) -> Prediction:
    """Steps on one batch, or a fit of it; the subspaces of fresh batches hold for one step."""
    found = OneBatch.of(problem, settings, sigma)
    metrics = found.metrics | optimum
    statuses: dict[str, Status] = dict.fromkeys(metrics, found.status)
    subspaces: tuple[np.ndarray, ...] = ()
    notes = [*edges, *found.notes]
    if settings.steps <= 1:
        subspaces, hidden = predicted_subspaces(problem, settings)
        statuses["subspaces"], notes = "theorem", [*hidden, *notes]
    return Prediction.of(
        settings,
        metrics,
        statuses,
        (*REFERENCES, "Celentano et al. 2021, arXiv:2112.07572"),
        notes,
        errors=found.errors,
        subspaces=subspaces,
        arrays=found.arrays,
    )


def _is_two_steps(problem: Problem, settings: GiantStep) -> bool:
    """Whether the closed form of two steps on one batch covers the settings."""
    one_neuron = settings.width.power == 0 and settings.width.at(1) == 1
    return (
        settings.batches == "reused"
        and settings.steps == 2
        and not settings.scheduled
        and (settings.loss == "correlation" or one_neuron)
        and settings.biases == "none"
        and not settings.normalise
        and settings.ridge is None
        # Its quadrature has an axis for each direction and for the noise, and two of its own.
        and problem.target.rank + problem.target.noises + (problem.noise > 0) <= 2
    )


def _two_steps(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    def cosines(fine: bool) -> np.ndarray:
        squared = np.zeros((2, problem.target.rank))
        for a, weight in readout_nodes(settings, fine):
            law = reused_batch_two_steps(
                problem,
                sigma,
                step_size=settings.step_size.at(1),
                samples_ratio=settings.samples.ratio("samples"),
                readout=a,
                loss=settings.loss,
            )
            squared += weight * law.cosines**2
        start = np.full((1, problem.target.rank), _start_overlap(settings))
        return np.concatenate([start, np.sqrt(squared)])

    found = cosines(fine=True)
    errors = np.zeros_like(found)
    if settings.readout == "normal":
        errors = np.abs(found - cosines(fine=False))
    note = "overlap: two steps on one batch, in the limit of large d at fixed n/d"
    status: Status = "heuristic" if settings.dim else "theorem"
    return Overlaps(found, errors, status, [note])


def _many_steps(
    problem: Problem, settings: GiantStep, sigma: Activation, first: Overlaps | None
) -> Overlaps:
    """The recursion; its first step is replaced by the law of one step where that is known."""
    if _in_powers(settings):
        found = SmallBatches.of(problem, settings, sigma)
        where = f"d = {settings.dim}" if settings.dim else "the limit of large d"
        note = f"overlap: steps on batches of {settings.samples}, one after another, at {where}"
        return Overlaps(found.cosines, found.errors, "heuristic", [note], scaling=found)
    if settings.width.power > 0 and settings.biases == "none" and not settings.normalise:
        from giantstep.theory.giant_step.risk.prediction import wide_overlaps

        cosines = wide_overlaps(problem, settings, sigma)
        status: Status = "heuristic" if settings.dim else "theorem"
        notes = ["overlap: the limit of large d at fixed n/d and p/d"]
        errors = np.abs(cosines - wide_overlaps(problem, settings, sigma, coarse=True))
        if settings.dim:
            notes[0] += "; a shift of the overlaps' mean, of relative order 1/d, is not known"
            errors = errors + cosines / settings.dim
        return Overlaps(cosines, errors, status, notes)
    networks = Kinds.draws(settings)
    drawn = len(networks) > 1
    paths = [
        giant_step_overlaps(
            problem,
            sigma,
            kinds,
            steps=settings.steps,
            step_size=[size.at(1) for size in settings.step_size.over(settings.steps)],
            samples_ratio=[size.ratio("samples") for size in settings.samples.over(settings.steps)],
            loss=settings.loss,
            normalise=settings.normalise,
            dim=settings.dim or np.inf,
            subspaces=learned_subspaces(problem.target, settings.steps, degree=DEGREE),
            fit=ridge_fit(settings, kinds.width) if has_few_neurons(settings) else None,
            fewer=2 if drawn else 1,
        )
        for kinds in networks
    ]
    # A simulation, too, has the mean over networks of their root mean squares.
    each = np.stack([path.cosines for path in paths])
    cosines = each.mean(axis=0)
    errors = np.sqrt(
        np.mean([path.errors**2 for path in paths], axis=0) + each.var(axis=0)
    ) / np.sqrt(len(paths))
    if first is not None and not drawn:
        cosines[1], errors[1] = first.cosines[1], first.errors[1]
    notes = ["overlap: the limit of large d at fixed n/d"]
    if settings.dim:
        notes[0] += (
            f", with the fluctuations of d = {settings.dim} to first order; a shift of the "
            "overlaps' mean, of relative order 1/d, is not known"
        )
    if settings.width.power > 0:
        notes.append(f"width = {settings.width}: the recursion is that of a fixed width")
    random_laws = settings.biases != "none" or settings.readout_is_random
    if drawn:
        apart = float(np.max(each[:, -1].std(axis=0)))
        notes.append(
            f"overlap: a mean over {len(paths)} draws of readouts and biases, between which it "
            f"differs by {apart:.2g} (a standard deviation)"
        )
    elif random_laws:
        notes.append(VALUES_FOR_LAWS)
    exact = not (settings.dim or settings.width.power > 0 or random_laws)
    arrays = neuron_arrays(settings, networks[0], paths[0].kind_cosines, paths[0].kind_norms)
    fitted = None
    if has_few_neurons(settings):
        fitted = FewNeurons.of(problem, settings, paths)
        notes.append("risk: the fit of a few neurons, by integrals over their fields")
    return Overlaps(
        cosines, errors, "theorem" if exact else "heuristic", notes, arrays, fitted=fitted
    )
