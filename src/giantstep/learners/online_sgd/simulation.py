"""The learner `online-sgd`: every sample is used once, all runs in one compiled loop."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.answer import Run
from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.online_sgd.plan import SgdDraws, SgdPlan, plan_online_sgd
from giantstep.learners.online_sgd.step import SgdState, take_sgd_steps
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import normal_points
from giantstep.numerics.seeds import stable_seed
from giantstep.settings.online_sgd import OnlineSgd

Progress = Callable[[float], None]
#: Numbers drawn for one call of the compiled loop.
CHUNK_NUMBERS = 1 << 21
#: Norms beyond this are on their way to infinity.
DIVERGED = 1e6


def simulate(
    problem: Problem,
    settings: OnlineSgd,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run:
    r"""Train ``seeds`` networks, one small step after every batch, and measure them at the times.

    .. math::
        w_j \leftarrow w_j + \frac{\gamma_0 n_b}{d}\,\frac1{n_b}\sum_i D_{ij} x_i,\qquad
        D_j = a_j\,(y - f)\,\sigma'(h_j)

    with the projection on the sphere, the correlation loss and the look ahead of
    :class:`OnlineSgd`.

    Metrics have the axes (seed, time, ...): ``overlap`` for each direction (the signed cosine of
    one neuron, the root mean square over several), ``norm`` (root mean square over neurons) and
    ``test_error`` (excess risk, on quasi-random points); with ``until`` also ``exit_time``, in
    samples/d, infinite for runs that were still inside at the last time. ``arrays`` holds the
    signed cosines and the norms of all neurons.
    """
    began = time.perf_counter()
    resolved = plan_online_sgd(problem, settings)
    described = settings.to_json() | {"activation": resolved.rule.activation.name}
    numbers = [
        stable_seed(settings.learner, problem.to_json(), described, seed + i) for i in range(seeds)
    ]
    with float64(), np.errstate(over="ignore", invalid="ignore"):
        history, exits = _train(resolved, SgdDraws(resolved, numbers), seeds, progress)
        rest = [_measured_runs(resolved, rows, numbers) for rows in history]
    metrics = {name: np.stack([part[name] for part in rest], axis=1) for name in rest[0]}
    arrays = {name: metrics.pop(name) for name in ("cosines", "norms")}
    notes = [resolved.note]
    if settings.until is not None:
        times = exits * resolved.settings.batch / resolved.dim
        metrics["exit_time"] = np.where(exits >= 0, times, np.inf)
        inside = int(np.sum(exits < 0))
        if inside:
            notes.append(f"exit_time: {inside} of {seeds} runs were still inside at the last time")
    seconds = time.perf_counter() - began
    return Run(settings.learner, settings.to_json(), metrics, tuple(notes), seconds, arrays)


def _train(
    resolved: SgdPlan, draws: SgdDraws, seeds: int, progress: Progress | None
) -> tuple[list[np.ndarray], np.ndarray]:
    """Rows of all runs at each of the times, and the step at which each got out (-1: never)."""
    state: Any = SgdState(draws.rows(), np.full(seeds, -1, np.int64))
    each = seeds * (resolved.settings.batch * resolved.drawn + resolved.bartlett**2)
    chunk = int(np.clip(CHUNK_NUMBERS // each, 1, max(resolved.steps[-1], 1)))
    history, done = [], 0
    for stop in resolved.steps:
        while done < stop:
            count = min(chunk, stop - done)
            drawn = (_full(part, chunk) for part in (draws.normals(count), draws.factors(count)))
            state = take_sgd_steps(resolved.rule, resolved.constants, state, *drawn, done, count)
            done += count
            if progress is not None:
                progress(done / resolved.steps[-1])
        rows = np.asarray(state.rows)
        if not np.max(np.sum(rows**2, axis=-1)) < DIVERGED**2:
            raise SettingsError(
                f"step_size = {resolved.settings.step_size}: the norms of the rows diverge before "
                f"time {stop * resolved.settings.batch / resolved.dim:.4g}; lower --step-size, or "
                "use --geometry sphere"
            )
        history.append(rows)
    return history, np.asarray(state.exits)


def _full(drawn: np.ndarray, chunk: int) -> np.ndarray:
    """A chunk of the one length for which the loop is compiled."""
    missing = chunk - drawn.shape[1]
    return np.pad(drawn, [(0, 0), (0, missing), (0, 0), (0, 0)]) if missing else drawn


def _measured_runs(
    resolved: SgdPlan, rows: Float[np.ndarray, "runs p s"], seeds: list[int]
) -> dict[str, np.ndarray]:
    norms = np.linalg.norm(rows, axis=-1)
    cosines = rows[..., : resolved.rank] / norms[..., None]
    alone = resolved.width == 1
    return {
        "overlap": cosines[:, 0] if alone else np.sqrt(np.mean(cosines**2, axis=1)),
        "norm": np.sqrt(np.mean(norms**2, axis=1)),
        "test_error": np.array(
            [_run_risk(resolved, own, seed) for own, seed in zip(rows, seeds, strict=True)]
        ),
        "cosines": cosines,
        "norms": norms,
    }


def _run_risk(resolved: SgdPlan, rows: Float[np.ndarray, "p s"], seed: int) -> float:
    """E (g - f)^2 on quasi-random points in the frame of the directions and the rows."""
    rank, target = resolved.rank, resolved.rule.target
    rest = rows[:, rank:]
    if rest.shape[1] > resolved.width:
        rest = np.swapaxes(np.linalg.qr(rest.T, mode="r"), 0, 1)
    columns = rank + rest.shape[1]
    rng = np.random.default_rng([seed, 3])
    points = normal_points(resolved.test_samples, columns + target.noises, rng)
    latent, inner = points[:, :rank], points[:, columns:]
    fields = points[:, :columns] @ np.concatenate([rows[:, :rank], rest], axis=1).T
    output = resolved.rule.activation.numpy(fields) @ resolved.constants.readout / resolved.width
    return float(np.mean((target.numpy(latent, inner) - output) ** 2))


#: Multiplications of a matrix product that take as long as one turn of the compiled loop.
TURN = 8_000


def cost(problem: Problem, settings: OnlineSgd) -> Cost:
    """The rows, a few chunks, and for each step its samples, its products and its overhead."""
    resolved = plan_online_sgd(problem, settings)
    width, batch, columns = resolved.width, resolved.settings.batch, resolved.columns
    step = TURN + batch * (columns * (2.0 * width + DRAW) + width * EXPONENTIAL)
    if width > 1 and resolved.rule.outside:
        step += 10.0 * TURN + 8.0 * width**3
    held = 8.0 * (4 * max(CHUNK_NUMBERS, batch * resolved.drawn) + 6 * width * (columns + width))
    sizes = f"width = {width}, batch = {batch} at dim = {resolved.dim}"
    remedy = "lower --width, --batch or --dim"
    return Cost(held, resolved.steps[-1] * step, sizes, remedy)
