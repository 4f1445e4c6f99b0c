"""Bayes-optimal approximate message passing, once for each seed."""

from __future__ import annotations

import dataclasses
import functools
import os
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from giantstep.answer import Run
from giantstep.channels.channel import (
    Channel,
    channel_label_means,
    channel_of_problem,
    posterior_evaluations,
)
from giantstep.channels.committees.core import Committees
from giantstep.channels.preprocessing import Labels
from giantstep.channels.quadrature import Quadrature
from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.amp.data import REMEDY, Data, amp_run_sizes, draw_amp_data
from giantstep.learners.amp.iteration import Messages, pass_messages
from giantstep.learners.seeds import once_per_seed
from giantstep.measures.matching import measured_overlap_metrics
from giantstep.numerics.cost import DRAW, ENTRY, EXPONENTIAL, Cost
from giantstep.numerics.float64 import float64
from giantstep.numerics.linear_algebra import matrix_square_root
from giantstep.numerics.quadrature import normal_points
from giantstep.settings.amp import Amp
from giantstep.settings.spectral import Spectral

#: Bytes of inputs held at a time: fewer seeds run side by side where more would not fit.
MEMORY = 2.5e9
#: Entries of the inputs from which `auto` takes float32.
LARGE = 2e6
#: Size of a spectral start, as a share of the true directions' length.
_SPECTRAL_SIZE = 0.3
#: Fresh samples for the test error, drawn in the law of (h, omega).
_TEST_SAMPLES = 2**13
#: Mean square of an estimate that never left zero: its direction means nothing.
_NOTHING = 1e-8
#: What is unknown of a direction that has been recovered perfectly.
_SMALLEST_COVARIANCE = 1e-13
#: Iterations that a run takes as a rule.
_ITERATIONS = 50
#: Exponentials that a posterior and its derivatives take at each point of a rule, and for each unit
#: of a committee.
_POINT, _UNIT = 30, 10_000


def _simulation_with_notes(problem: Problem, settings: Amp, found: Run) -> Run:
    """The run with the noise of its channel, and notes on what went wrong."""
    channel, metrics = channel_of_problem(problem), found.metrics
    lost, rescued = int((metrics["converged"] == 0).sum()), int(metrics["fallback"].sum())
    seeds = len(metrics["converged"])
    notes = list(channel.notes)
    if channel.error > 1e-3:
        notes.append(f"the channel's quadrature has a relative error of {channel.error:.1g}")
    if rescued:
        notes.append(f"{rescued} of {seeds} seeds needed the guarded form of A to converge")
    if lost:
        notes.append(f"{lost} of {seeds} seeds did not converge: their metrics are the last ones")
    own = {**found.settings, **channel.settings}
    return dataclasses.replace(found, settings=own, notes=tuple(notes))


def _simulation_precision(settings: Amp) -> str:
    samples, dim, _ = amp_run_sizes(settings)
    if settings.dtype != "auto":
        return settings.dtype
    return "float32" if samples * dim > LARGE else "float64"


def _runs_side_by_side(problem: Problem, settings: Amp) -> int:
    """How many seeds run at once: as many as there are cores, if their inputs fit."""
    samples, dim, _ = amp_run_sizes(settings)
    fitting = MEMORY // (samples * dim * np.dtype(_simulation_precision(settings)).itemsize)
    return int(max(1, min(os.cpu_count() or 1, fitting)))


@functools.partial(once_per_seed, after=_simulation_with_notes, threads=_runs_side_by_side)
def simulate(problem: Problem, settings: Amp, rng: np.random.Generator) -> dict[str, Any]:
    """Run message passing to its fixed point, once for each seed, several seeds side by side.

    Metrics: ``overlap_squared`` (squared cosine for one direction; otherwise the entries of
    M = W_hat^T W* / d after the best signed permutation), for several directions also
    ``overlap_squared_singular_values``, ``test_error`` of the posterior mean on fresh samples,
    ``iterations``, ``converged``, and ``fallback``, 1 where the guarded form of A had to step in.
    """
    samples, dim, _ = amp_run_sizes(settings)
    if settings.phases:
        raise SettingsError("phases is a prediction: there is nothing to simulate")
    channel = channel_of_problem(problem)
    data = draw_amp_data(problem, dim, samples, channel.added, rng, _simulation_precision(settings))
    labels = Labels(channel, data.labels)
    found = pass_messages(data.inputs, labels, _start(channel, settings, data, rng), settings)
    estimate, dim = found.state.estimate, len(data.truth)
    overlap, norms = estimate.T @ data.truth / dim, estimate.T @ estimate / dim
    metrics = measured_overlap_metrics(overlap)
    if channel.rank == 1:
        size = float(norms[0, 0])
        metrics["overlap_squared"] = float(overlap[0, 0] ** 2) / size if size > _NOTHING else 0.0
    return metrics | {
        "test_error": _run_risk(problem, channel, overlap, norms, found.state.covariance, rng),
        "iterations": found.iterations,
        "converged": float(found.converged),
        "fallback": float(found.guarded and settings.form == "auto"),
    }


def _start(channel: Channel, settings: Amp, data: Data, rng: np.random.Generator) -> Messages:
    """The state before the first iteration."""
    dim, rank = data.truth.shape
    estimate = np.zeros((dim, rank))
    unknown = 1.0
    if settings.start == "random":
        estimate = settings.start_size * rng.normal(size=(dim, rank))
    elif settings.start == "informed":
        known = settings.start_overlap
        noise = rng.normal(size=(dim, rank))
        estimate = known * data.truth + np.sqrt(known * (1 - known)) * noise
        unknown = 1 - known
    elif settings.start == "spectral":
        estimate = _SPECTRAL_SIZE * np.sqrt(dim) * _spectral_directions(channel, data, rng)
    return Messages(estimate, unknown * np.eye(rank), np.zeros((len(data.labels), rank)))


def _spectral_directions(
    channel: Channel, data: Data, rng: np.random.Generator
) -> Float[np.ndarray, "d r"]:
    """The spectral estimate, rotated back to the target's own directions."""
    from giantstep.channels.preprocessing import channel_basis
    from giantstep.learners.spectral import (
        estimate_by_linearised_messages,
        estimated_block_directions,
    )

    settings = Spectral()
    basis = channel_basis(channel, settings)
    if basis is None:
        _, span = estimate_by_linearised_messages(channel, data, rng)
        return np.pad(span, ((0, 0), (0, channel.rank - span.shape[1])))
    return estimated_block_directions(channel, settings, data, basis, rng)[1] @ basis


def _run_risk(
    problem: Problem,
    channel: Channel,
    overlap: Float[np.ndarray, "r r"],
    norms: Float[np.ndarray, "r r"],
    covariance: Float[np.ndarray, "r r"],
    rng: np.random.Generator,
) -> float:
    """E(g - E[y | omega])^2 over fresh x, on which (h, omega) is Gaussian: no x need be drawn."""
    rank, noises = channel.rank, problem.target.noises
    points = normal_points(_TEST_SAMPLES, 2 * rank + noises, rng)
    h, z = points[:, :rank], points[:, 2 * rank :]
    root = matrix_square_root(norms - overlap @ overlap.T)
    omega = h @ overlap.T + points[:, rank : 2 * rank] @ root.T
    cov = covariance + _SMALLEST_COVARIANCE * np.eye(rank)
    core = channel.likelihood.core
    if isinstance(core, Committees):
        predicted = core.label_means(omega, cov)
    else:
        with float64():
            predicted = np.asarray(_label_means(channel.likelihood, omega, cov))
    return float(np.mean((problem.target.numpy(h, z) - predicted) ** 2))


_label_means = functools.partial(jax.jit, static_argnums=0)(channel_label_means)


def cost(problem: Problem, settings: Amp) -> Cost:
    """Two products with the inputs and the posterior of every label, at each iteration."""
    n, dim, sizes = amp_run_sizes(settings)
    rank = problem.target.rank
    iterations = min(settings.iterations, _ITERATIONS)
    core = channel_of_problem(problem).likelihood.core
    if isinstance(core, Committees):
        points = _UNIT * rank
    else:
        points = (
            _POINT * posterior_evaluations(core) if isinstance(core, Quadrature) else rank**2 * 100
        )
    step = 2 * rank * ENTRY * n * dim + n * points * EXPONENTIAL
    width = 4 if settings.dtype == "float32" else 8
    return Cost(n * dim * float(width), n * dim * DRAW + iterations * step, sizes, REMEDY)
