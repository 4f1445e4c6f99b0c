"""Data drawn from a target of this project's language."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import whole_or_error
from giantstep.language.problem import Problem
from giantstep.language.targets import Target


class MultiIndexData(NamedTuple):
    """Rows, labels, and the orthonormal directions (columns) that the labels depend on."""

    X: Float[np.ndarray, "n d"]
    y: Float[np.ndarray, " n"]
    directions: Float[np.ndarray, "d r"]


def make_multi_index(
    target: Target | str,
    *,
    dim: int,
    samples: int,
    noise: float = 0.0,
    axis_aligned: bool = False,
    random_state: int = 0,
) -> MultiIndexData:
    """Gaussian inputs with labels y = g(<u1, x>, ..., <ur, x>) + noise.

    Parameters
    ----------
    target : str or Target
        An expression such as ``"h1 + He3(h1)*h2"``, or the name of a catalogued target.
    dim, samples : int
        Number of columns d, at least the number of directions, and of rows n.
    noise : float
        Variance of the Gaussian noise added to the labels.
    axis_aligned : bool
        Whether the directions are the first columns; otherwise a random orthonormal set.
    random_state : int
        Seed; the same seed gives the same data.

    >>> X, y, directions = make_multi_index("h1*h2", dim=5, samples=7)
    >>> X.shape, y.shape, directions.shape
    ((7, 5), (7,), (5, 2))
    """
    problem = Problem(target, noise)
    rank = problem.target.rank
    whole_or_error("dim", dim, max(rank, 1))
    whole_or_error("samples", samples, 1)
    generator = np.random.default_rng(random_state)
    inputs = generator.standard_normal((samples, dim))
    directions = np.eye(dim)[:, :rank]
    if not axis_aligned:
        directions, triangle = np.linalg.qr(generator.standard_normal((dim, rank)))
        directions = directions * np.sign(np.diag(triangle))
    inner = generator.standard_normal((samples, problem.target.noises))
    fields = inputs @ directions
    labels = np.broadcast_to(problem.target.numpy(fields, inner), (samples,))
    labels = labels + np.sqrt(noise) * generator.standard_normal(samples)
    return MultiIndexData(inputs, labels, directions)
