"""The learner `repetition`: the first moves of a neuron, measured on samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost, needed_dim
from giantstep.settings.repetition import Repetition


@once_per_seed
def simulate(problem: Problem, settings: Repetition, rng: np.random.Generator) -> dict[str, Any]:
    r"""Means over samples of the moves D of a neuron whose overlaps are zero, in d dimensions.

    .. math:: b = E[D\,h_*], \qquad S = E[D\,h\,(h_* h_*^T - I)], \qquad v = E[D^2]

    Metrics: ``force`` b for each direction, ``growth`` the largest eigenvalue of S, ``variance`` v.
    """
    dim, samples = _simulated_sizes(problem, settings)
    sigma, target = activation(settings.activation), problem.target
    latent = rng.standard_normal((samples, target.rank))
    field = rng.standard_normal(samples)
    inner = rng.standard_normal((samples, target.noises))
    noise = np.sqrt(problem.noise) * rng.standard_normal(samples)
    others = rng.chisquare(dim - target.rank - 1, samples)
    squares = np.sum(latent**2, axis=1) + field**2 + others
    pull = settings.readout * (target.numpy(latent, inner) + noise)
    ahead = settings.lookahead * squares / dim * pull * sigma.numpy_derivative(field)
    moves = pull * sigma.numpy_derivative(field + ahead)
    weighted = (moves * field)[:, None] * latent
    matrix = weighted.T @ latent / samples - np.mean(moves * field) * np.eye(target.rank)
    return {
        "force": moves @ latent / samples,
        "growth": float(np.linalg.eigvalsh((matrix + matrix.T) / 2)[-1]),
        "variance": float(np.mean(moves**2)),
    }


def cost(problem: Problem, settings: Repetition) -> Cost:
    """A few numbers for each sample."""
    _, samples = _simulated_sizes(problem, settings)
    numbers = problem.target.rank + problem.target.noises + 3
    sizes = f"samples = {samples}"
    operations = samples * (numbers * DRAW + 4.0 * EXPONENTIAL)
    return Cost(8.0 * samples * (3 * numbers + 6), operations, sizes, "lower --samples")


def _simulated_sizes(problem: Problem, settings: Repetition) -> tuple[int, int]:
    checked_input_law(
        problem.inputs,
        (Gaussian,),
        "first moves are simulated",
        SettingsError,
        "the rest of a neuron is one number only where no direction stands out",
    )
    dim = needed_dim(settings.dim)
    if dim < problem.target.rank + 2:
        raise SettingsError(
            f"dim = {dim} leaves no room beside the target's {problem.target.rank} "
            "directions and the neuron: raise --dim"
        )
    return dim, settings.samples.count(dim, "samples")
