"""Data that an algorithm reuses at every iteration: inputs, directions and labels, kept whole."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from giantstep.errors import SettingsError
from giantstep.language.inputs import Gaussian, Sphere, checked_input_law
from giantstep.language.problem import Problem
from giantstep.numerics.cost import needed_dim
from giantstep.settings.amp import Amp
from giantstep.settings.spectral import Spectral

#: What makes a run affordable.
REMEDY = "lower --samples or --dim"


class Data(NamedTuple):
    """Inputs x as rows, the true directions as columns of variance one, and the labels."""

    inputs: Shaped[np.ndarray, "n d"]
    truth: Float[np.ndarray, "d r"]
    labels: Float[np.ndarray, " n"]


def draw_amp_data(
    problem: Problem,
    dim: int,
    samples: int,
    noise: float,
    rng: np.random.Generator,
    dtype: str = "float64",
) -> Data:
    """A data set with labels y = g(h) + sqrt(noise) xi, h = W* x."""
    what = "message passing and spectral methods are simulated"
    checked_input_law(
        problem.inputs,
        (Gaussian, Sphere),
        what,
        SettingsError,
        "their corrections assume input entries that are alike and independent",
    )
    rank, noises = problem.target.rank, problem.target.noises
    needed_dim(dim, rank)
    directions = np.linalg.qr(rng.normal(size=(dim, rank)))[0]
    x = rng.standard_normal((samples, dim), dtype=np.dtype(dtype).type)
    if problem.inputs.has_fixed_norm:
        x *= (np.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)
    # The field that the labels see is the one that products in this precision see.
    h = (x @ directions.astype(dtype)).astype(np.float64)
    y = problem.target.numpy(h, rng.normal(size=(samples, noises)))
    y = y + np.sqrt(noise) * rng.normal(size=samples) if noise > 0 else y
    return Data(x, np.sqrt(dim) * directions, np.asarray(y, dtype=np.float64))


def amp_run_sizes(settings: Amp | Spectral) -> tuple[int, int, str]:
    """n, d, and both in words; raises where there is no d."""
    dim = needed_dim(settings.dim)
    n = settings.samples.count(dim, "samples")
    return n, dim, f"samples = {n} at dim = {dim}"
