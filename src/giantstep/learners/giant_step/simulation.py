"""The learner `giant-step`: which of its two simulations runs, what it measures, what it costs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep import measures
from giantstep.answer import Run
from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.direct import DirectRun
from giantstep.learners.giant_step.draws import Draws, threads_of_random_draws
from giantstep.learners.giant_step.in_law import RunInLaw
from giantstep.learners.giant_step.plan import StepPlan, plan_giant_steps
from giantstep.learners.giant_step.readout import HELD_NUMBERS, simulated_readout_errors
from giantstep.learners.giant_step.samples import rows_of_drawn_chunk
from giantstep.learners.methods import simulation_method
from giantstep.learners.seeds import draws_depend_on, run_part
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost, ridge_fit
from giantstep.numerics.float64 import float64
from giantstep.numerics.seeds import stable_seed
from giantstep.settings.giant_step import RECIPES, GiantStep

Progress = Callable[[float], None]
#: What a run keeps besides its metrics: K and its eigenvectors, and each neuron by itself.
ARRAYS = ("overlap_matrix", "overlap_eigenvectors", "cosines", "norms")


def simulate(
    problem: Problem,
    settings: GiantStep,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run:
    r"""Train ``seeds`` networks and measure them before the first step and after each.

    .. math::
        w_j \leftarrow w_j + \eta\, a_j \frac1n \sum_i (y_i - f(x_i))\,
        \sigma'(w_j x_i + b_j)\, x_i, \quad f(x) = \frac1p \sum_j a_j \sigma(w_j x + b_j)

    Metrics have the axes (seed, step 0..T, ...): ``overlap`` (a cosine, for each direction of the
    target), ``overlap_spectrum`` (for directions of their own, largest first), ``baseline`` (the
    overlap that pure noise would show), and with a ridge ``test_error`` (excess risk, on
    ``test_samples`` fresh samples), ``test_error_noisy``, ``train_error``, ``gcv_error`` and where
    the features fit into memory ``loo_error``. ``arrays`` holds the overlap matrices K and their
    eigenvectors, and the signed cosines and norms of all neurons. With ``forget`` the rows are
    replaced by their gradient; ``dropped`` counts neurons that had none.

    With ``detrend`` every batch loses its own mean c and linear part x.b, b = (1/n) sum (y - c) x;
    the predictor adds back those of the batch that the readout was fitted to.
    """
    began = time.perf_counter()
    resolved = plan_giant_steps(problem, settings)
    method, note = choose_simulation(resolved)
    group = runs_per_group(method, resolved)
    numbers = [simulation_seed(problem, resolved, seed + i) for i in range(seeds)]
    parts = []
    quietly = np.errstate(over="ignore", invalid="ignore")
    with float64(), quietly, threads_of_random_draws() as threads:
        for first in range(0, seeds, group):
            # A group is always full, so that a run's numbers do not depend on how many there are.
            members = [numbers[(first + i) % seeds] for i in range(group)]
            report = run_part(progress, first / seeds, min(group, seeds - first) / seeds)
            parts.append(_train(method, resolved, Draws(members, threads), report))
            if report is not None:
                report(1.0)
    metrics = {name: np.concatenate([part[name] for part in parts])[:seeds] for name in parts[0]}
    arrays = {name: metrics.pop(name) for name in ARRAYS}
    seconds = time.perf_counter() - began
    notes = (note, *([_recipe_of_run(settings)] if settings.recipe != "none" else []))
    return Run(settings.learner, settings.to_json(), metrics, notes, seconds, arrays)


def _recipe_of_run(settings: GiantStep) -> str:
    """What the recipe comes to, in words."""
    told = settings.to_json()
    values = ", ".join(f"{name} = {told[name]}" for name in RECIPES[settings.recipe])
    return f"recipe {settings.recipe}: {values}"


def simulation_seed(problem: Problem, resolved: StepPlan, index: int) -> int:
    """The seed of a run: a function of the problem, the settings and the index alone."""
    described = draws_depend_on(resolved.settings) | {"activation": resolved.model.activation.name}
    return stable_seed(resolved.settings.learner, problem.to_json(), described, index)


def _train(
    method: str, resolved: StepPlan, draws: Draws, progress: Progress | None
) -> dict[str, np.ndarray]:
    """Every metric of a group of runs, (runs, T + 1, ...)."""
    runs = RunInLaw(resolved, draws) if method == "in-law" else DirectRun(resolved, draws)
    steps = resolved.settings.steps
    start = np.full((len(draws.seeds), resolved.rank), resolved.dim**-0.5)
    history = [_measured_runs(runs, resolved, 0) | {"baseline": start}]
    for number in range(1, steps + 1):
        try:
            moments = runs.step(number, run_part(progress, (number - 1) / steps, 1 / steps))
            measured = _measured_runs(runs, resolved, number)
        except (np.linalg.LinAlgError, FloatingPointError):
            raise SettingsError(
                f"step_size = {resolved.settings.step_size}: the weights overflowed at step "
                f"{number}; lower --step-size, or use a target and an activation that grow slower"
            ) from None
        history.append(measured | {"baseline": measures.overlap_of_noise(moments, resolved.dim)})
    return {name: np.stack([state[name] for state in history], axis=1) for name in history[0]}


def _measured_runs(runs: DirectRun | RunInLaw, resolved: StepPlan, number: int) -> dict[str, Any]:
    projections, norms = runs.projections()
    if not np.all(np.isfinite(norms)):
        raise FloatingPointError
    cosines = measures.cosines(projections, norms)
    matrix = measures.overlap_matrix(cosines)
    roots, vectors = measures.overlap_spectrum(matrix)
    measured = {
        "overlap": measures.overlap(cosines),
        "overlap_spectrum": roots,
        "overlap_matrix": matrix,
        "overlap_eigenvectors": vectors,
        "cosines": cosines,
        "norms": norms,
    }
    if resolved.settings.forget:
        measured["dropped"] = runs.dropped()
    if resolved.settings.ridge is not None:
        measured |= simulated_readout_errors(
            *runs.readout_chunks(number),
            samples=resolved.fit_samples or 0,
            width=resolved.width,
            ridge=resolved.settings.ridge,
        )
        measured["test_error_noisy"] = measured["test_error"] + resolved.noise
    return measured


#: Numbers drawn for a step below which the call costs more than the work: there runs go together.
GROUP_NUMBERS = 1 << 21
LARGEST_GROUP = 16


def choose_simulation(plan: StepPlan) -> tuple[str, str]:
    """The method, ``direct`` or ``in-law``, and a sentence that says why."""
    possible = plan.inputs.is_gaussian and not _settings_of_direct_run(plan)
    return simulation_method(plan.settings.method, _obstacle_in_law(plan), only_dearer=possible)


def _obstacle_in_law(plan: StepPlan) -> str | None:
    """Why the simulation in law cannot be used, or is not worth it."""
    if not plan.inputs.is_gaussian:
        return f"inputs = {plan.inputs} are not Gaussian outside the directions that were seen"
    if _settings_of_direct_run(plan):
        return f"{_settings_of_direct_run(plan)} are simulated with real vectors"
    frame = largest_run_frame(plan)
    if frame >= plan.dim:
        return f"it follows {frame} directions, no fewer than d = {plan.dim}"
    return None


def _settings_of_direct_run(plan: StepPlan) -> str:
    """Settings that are there for real vectors alone."""
    names = ("forget", "redraw_biases", *(() if plan.keeps_batch else ("centre",)))
    return " and ".join(name for name in names if getattr(plan.settings, name))


def largest_run_frame(plan: StepPlan) -> int:
    """Directions in law: the special ones, p for the rows, and those that kept batches explore."""
    reused = plan.settings.batches == "reused"
    explored = plan.width * (plan.settings.steps if reused else 0)
    return plan.special + plan.width + explored


def runs_per_group(method: str, plan: StepPlan) -> int:
    """How many runs share a call; it depends on the sizes, never on how many runs there are."""
    columns = plan.dim if method == "direct" else min(largest_run_frame(plan), plan.dim)
    tested = plan.test_samples if plan.fit_samples else 0
    samples = max(*plan.samples, plan.fit_samples or 0, tested)
    numbers = (samples + plan.width) * (columns + plan.width)
    return max(1, min(GROUP_NUMBERS // numbers, LARGEST_GROUP))


def cost(problem: Problem, settings: GiantStep) -> Cost:
    """Chunks of samples, the neurons, a batch where it is kept, and the readout's fit."""
    resolved = plan_giant_steps(problem, settings)
    method, _ = choose_simulation(resolved)
    columns = resolved.dim
    if method == "in-law":
        columns = min(largest_run_frame(resolved) + resolved.width * resolved.keeps_batch, columns)
    fixed, kept, remedy = _simulation_bytes(method, resolved, columns)
    sizes = f"width = {resolved.width} at dim = {resolved.dim}"
    if kept > fixed:
        sizes = f"keeping samples = {max(resolved.samples)} at dim = {resolved.dim}"
        remedy = "lower --samples"
    return Cost(fixed + kept, _simulation_operations(resolved, columns), sizes, remedy)


def _simulation_bytes(method: str, resolved: StepPlan, columns: int) -> tuple[float, float, str]:
    """What is held whatever the samples are, what is held of a kept batch, and a remedy."""
    size = 8 if resolved.settings.dtype == "float64" else 4
    width, samples, fit = resolved.width, max(resolved.samples), resolved.fit_samples or 0
    held = fit * width if fit < width or fit * width <= HELD_NUMBERS else 0
    rows = min(rows_of_drawn_chunk(columns, width), max(samples, fit))
    fixed = 8 * (3.0 * held + 4 * width**2 * bool(fit)) + size * 4 * rows * (columns + width)
    if method == "direct":
        reused = resolved.settings.batches == "reused"
        kept = float(size * samples * columns) if reused else 0.0
        remedy = "lower --width or --dim, or use --method in-law"
        return fixed + size * 4.0 * width * columns, kept, remedy
    kept = 8.0 * samples * (3 * columns + 2 * width) if resolved.keeps_batch else 0.0
    return fixed + 8 * 6.0 * width * (columns + width), kept, "lower --width"


def _simulation_operations(resolved: StepPlan, columns: int) -> float:
    """Two products with each batch, one with the samples of each fit, and their drawing."""
    settings, width = resolved.settings, resolved.width
    steps, fit = settings.steps, resolved.fit_samples or 0
    drawn = resolved.samples[:1] if settings.batches == "reused" else resolved.samples[:steps]
    batches = sum(resolved.samples[:steps]) * width * (2.0 * columns + EXPONENTIAL)
    batches += sum(drawn) * columns * DRAW
    if not fit:
        return batches
    seen = fit + resolved.test_samples
    readout = seen * (columns * (width + DRAW) + width * EXPONENTIAL) + ridge_fit(fit, width)
    return batches + (steps + 1) * readout
