"""Inputs of every law with their labels, in float64; the target's directions are the first axes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.inputs.placing import place
from giantstep.problem import Problem


class Labelled(NamedTuple):
    """Inputs x, latent projections h, labels without their noise, and labels with it."""

    inputs: Float[np.ndarray, "n d"]
    latent: Float[np.ndarray, "n r"]
    clean: Float[np.ndarray, " n"]
    labels: Float[np.ndarray, " n"]


def labelled_inputs(problem: Problem, samples: int, dim: int, rng: np.random.Generator) -> Labelled:
    """Draw samples of the problem, whatever its law of the inputs."""
    target = problem.target
    x = rng.standard_normal((samples, dim))
    latent = place(problem.inputs, x, target.rank, dim)
    inner = rng.standard_normal((samples, target.noises)) if target.noises else None
    clean = np.broadcast_to(np.asarray(target.numpy(latent, inner), float), (samples,))
    noise = np.sqrt(problem.noise) * rng.standard_normal(samples) if problem.noise else 0.0
    return Labelled(x, latent, clean, clean + noise)
