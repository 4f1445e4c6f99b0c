"""The learner `giant-step`: a two-layer network takes a few giant steps, then fits its readout."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep import measures
from giantstep.errors import SettingsError
from giantstep.learners.giant_step import methods
from giantstep.learners.giant_step.draws import Draws, drawing_threads
from giantstep.learners.giant_step.plan import Plan, plan
from giantstep.learners.giant_step.readout_errors import readout_errors
from giantstep.numerics.float64 import float64
from giantstep.numerics.seeds import stable_seed
from giantstep.problem import Problem
from giantstep.results import Run
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
    resolved = plan(problem, settings)
    method, note = methods.choose(resolved)
    group = methods.group_size(method, resolved)
    numbers = [run_seed(problem, resolved, seed + i) for i in range(seeds)]
    parts = []
    quietly = np.errstate(over="ignore", invalid="ignore")
    with float64(), quietly, drawing_threads() as threads:
        for first in range(0, seeds, group):
            # A group is always full, so that a run's numbers do not depend on how many there are.
            members = [numbers[(first + i) % seeds] for i in range(group)]
            report = _part(progress, first / seeds, min(group, seeds - first) / seeds)
            parts.append(_train(method, resolved, Draws(members, threads), report))
            if report is not None:
                report(1.0)
    metrics = {name: np.concatenate([part[name] for part in parts])[:seeds] for name in parts[0]}
    arrays = {name: metrics.pop(name) for name in ARRAYS}
    seconds = time.perf_counter() - began
    notes = (note, *([_recipe(settings)] if settings.recipe != "none" else []))
    return Run(settings.learner, settings.to_json(), metrics, notes, seconds, arrays)


def _recipe(settings: GiantStep) -> str:
    """What the recipe comes to, in words."""
    told = settings.to_json()
    values = ", ".join(f"{name} = {told[name]}" for name in RECIPES[settings.recipe])
    return f"recipe {settings.recipe}: {values}"


def run_seed(problem: Problem, resolved: Plan, index: int) -> int:
    """The seed of a run: a function of the problem, the settings and the index alone."""
    described = resolved.settings.to_json() | {"activation": resolved.model.activation.name}
    # A setting that came later leaves the numbers of runs without it as they were.
    later = {"centre": False, "forget": False, "redraw_biases": False, "recipe": "none"}
    described = {k: v for k, v in described.items() if k not in later or v != later[k]}
    return stable_seed(resolved.settings.learner, problem.to_json(), described, index)


def _train(
    method: str, resolved: Plan, draws: Draws, progress: Progress | None
) -> dict[str, np.ndarray]:
    """Every metric of a group of runs, (runs, T + 1, ...)."""
    runs, steps = methods.begin(method, resolved, draws), resolved.settings.steps
    start = np.full((len(draws.seeds), resolved.rank), resolved.dim**-0.5)
    history = [_measured(runs, resolved, 0) | {"baseline": start}]
    for number in range(1, steps + 1):
        try:
            moments = runs.step(number, _part(progress, (number - 1) / steps, 1 / steps))
            measured = _measured(runs, resolved, number)
        except (np.linalg.LinAlgError, FloatingPointError):
            raise SettingsError(
                f"step_size = {resolved.settings.step_size}: the weights overflowed at step "
                f"{number}; lower --step-size, or use a target and an activation that grow slower"
            ) from None
        history.append(measured | {"baseline": measures.noise_baseline(moments, resolved.dim)})
    return {name: np.stack([state[name] for state in history], axis=1) for name in history[0]}


def _measured(runs: methods.Runs, resolved: Plan, number: int) -> dict[str, Any]:
    projections, norms = runs.projections()
    if not np.all(np.isfinite(norms)):
        raise FloatingPointError
    cosines = measures.cosines(projections, norms)
    matrix = measures.overlap_matrix(cosines)
    roots, vectors = measures.spectrum(matrix)
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
        measured |= readout_errors(
            *runs.readout_chunks(number),
            samples=resolved.fit_samples or 0,
            width=resolved.width,
            ridge=resolved.settings.ridge,
        )
        measured["test_error_noisy"] = measured["test_error"] + resolved.noise
    return measured


def _part(progress: Progress | None, start: float, share: float) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress(start + share * fraction)
