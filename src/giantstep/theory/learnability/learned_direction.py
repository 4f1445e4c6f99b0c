"""The one direction that the first giant step learns."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.targets import Target
from giantstep.targets.hermite import hermite_coefficients


def learned_direction(target: Target) -> tuple[Float[np.ndarray, " r"], float]:
    r"""The unit vector, in latent space, to which one step turns all neurons, and its weight.

    .. math:: C_1 = E[g(h)\,h] = |C_1|\,e, \qquad e = e_1 \text{ where } C_1 = 0

    Assumes: isotropic Gaussian inputs.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445; Dandi et al. 2023, arXiv:2305.18270.

    >>> direction, weight = learned_direction(Target("3*h1 + 4*h2"))
    >>> direction.round(6).tolist(), round(weight, 6)
    ([0.6, 0.8], 5.0)
    """
    coefficients = hermite_coefficients(target, 1)
    axes = [tuple(int(i == j) for j in range(target.rank)) for i in range(target.rank)]
    gradient = np.array([coefficients.get(axis, 0.0) for axis in axes])
    weight = float(np.linalg.norm(gradient))
    if weight < 1e-12:
        return np.eye(target.rank)[0], 0.0
    return gradient / weight, weight
