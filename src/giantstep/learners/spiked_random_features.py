"""The learner `spiked-random-features`: ridge regression on the model of one giant step."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float

from giantstep.answer import Run
from giantstep.errors import SettingsError
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_tensors
from giantstep.learners.giant_step.population_risk import trained_network_risk
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost, needed_dim, ridge_fit
from giantstep.numerics.ridge.path import RidgePath
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

#: Terms of the series that integrates a pair of neurons.
_TERMS = 35


def _simulation_with_notes(problem: Problem, settings: SpikedRandomFeatures, found: Run) -> Run:
    note = "test_error: population risk of the fitted readout, no test set"
    return dataclasses.replace(found, notes=(note,))


@functools.partial(once_per_seed, after=_simulation_with_notes)
def simulate(
    problem: Problem, settings: SpikedRandomFeatures, rng: np.random.Generator
) -> dict[str, float]:
    """Draw rows and samples, fit the readout, and integrate its risk over all inputs.

    Metrics: ``test_error`` the excess risk, computed without a test set; ``test_error_noisy``;
    ``train_error`` the mean squared residual. Each is an array over the seeds.
    """
    checked_input_law(
        problem.inputs,
        (Gaussian,),
        "spiked random features are simulated",
        SettingsError,
        "their spike is in the weights; random-features takes one in the inputs",
    )
    sigma, dim = activation(settings.activation), needed_dim(settings.dim)
    samples = settings.readout_samples.count(dim, "readout_samples")
    weights = draw_spiked_rows(settings, spike_direction(problem, settings.alignment, dim), rng)
    drawn = problem.draw(samples, dim, rng)
    scale = np.sqrt(len(weights))
    path = RidgePath.fit(sigma.numpy(drawn.inputs @ weights.T) / scale, drawn.labels)
    readout = path.coefficients(settings.ridge)[0] / scale
    risk = trained_network_risk(problem, sigma, weights, np.eye(problem.target.rank, dim), readout)
    return {
        "test_error": risk,
        "test_error_noisy": risk + problem.noise,
        "train_error": float(path.train_error(settings.ridge)[0]),
    }


def draw_spiked_rows(
    settings: SpikedRandomFeatures,
    direction: Float[np.ndarray, " d"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "p d"]:
    """First layer: each block's spike along ``direction``, plus uniform vectors on a sphere."""
    dim = len(direction)
    width = settings.width.count(dim, "width")
    spikes, bulks, fractions = settings.blocks()
    ends = np.round(np.cumsum(fractions) * width).astype(int)
    counts = np.diff(ends, prepend=0)
    rows = rng.standard_normal((width, dim))
    rows *= (np.sqrt(np.repeat(bulks, counts)) / np.linalg.norm(rows, axis=1))[:, None]
    return rows + np.repeat(spikes, counts)[:, None] * direction


def spike_direction(problem: Problem, alignment: float, dim: int) -> Float[np.ndarray, " d"]:
    """A unit vector with that cosine to E[g h] (to h1 where it is 0), across the other directions.

    The target's directions are the first axes.
    """
    rank = problem.target.rank
    if dim <= rank:
        raise SettingsError(f"dim = {dim}: give more than the {rank} directions of the target")
    gradient = target_tensors(problem.target, 1)[1]
    if np.linalg.norm(gradient) < 1e-12:
        gradient = np.eye(rank)[0]
    direction = np.zeros(dim)
    direction[:rank] = alignment * gradient / np.linalg.norm(gradient)
    direction[rank] = np.sqrt(max(1 - alignment**2, 0.0))
    return direction


def cost(problem: Problem, settings: SpikedRandomFeatures) -> Cost:
    """Inputs and features of the samples, a fit, and integrals over pairs of neurons."""
    dim = needed_dim(settings.dim)
    n = settings.readout_samples.count(dim, "readout_samples")
    p = settings.width.count(dim, "width")
    return Cost(
        8 * (n * (dim + 2.0 * p) + p * dim + 4.0 * min(n, p) ** 2 + 5.0 * p**2),
        n * dim * (p + DRAW) + p**2 * (dim + _TERMS * EXPONENTIAL) + ridge_fit(n, p),
        f"readout_samples = {n}, width = {p} at dim = {dim}",
        "lower --readout-samples, --width or --dim",
    )
