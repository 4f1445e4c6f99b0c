"""How many nodes a channel by quadrature needs, and the error that is left."""

from __future__ import annotations

import functools
import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import Cells
from giantstep.channels.quadrature import Quadrature
from giantstep.channels.structure import Structure
from giantstep.numerics.float64 import float64

#: Nodes on each field, by the number of fields integrated: each level is about 1.5 times finer.
LEVELS = {
    1: (64, 128, 256, 512, 1024, 2048),
    2: (24, 36, 54, 80, 120, 160),
    3: (12, 18, 24, 32, 40),
}
#: Aim for the relative error of g_out.
TOLERANCE = 1e-3
#: Overlaps at which the channel is probed: of every direction, or of their sum alone.
_OVERLAPS = ((0.1, False), (0.9, False), (0.9, True))
_PROBES = 48


def resolved(
    structure: Structure, groups: Cells, affine: bool, integrated: int, noise: float
) -> tuple[Quadrature, float]:
    """The coarsest rule that agrees with the next finer one, and by how much they differ.

    The error is the root mean square difference of g_out over labels drawn from the model, at
    several overlaps, divided by the root mean square of g_out.
    """
    cores = [
        Quadrature(structure, (count,) * integrated, groups, affine) for count in LEVELS[integrated]
    ]
    probes = [_drawn(structure, *overlap, noise) for overlap in _OVERLAPS]
    error, finer = np.inf, [_gradients(cores[0], *probe) for probe in probes]
    for coarse, fine in itertools.pairwise(cores):
        coarser, finer = finer, [_gradients(fine, *probe) for probe in probes]
        error = max(
            float(np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)))
            for a, b in zip(coarser, finer, strict=True)
        )
        if error < TOLERANCE:
            return coarse, error
    return cores[-1], error


def _drawn(
    structure: Structure, overlap: float, only_sum: bool, noise: float
) -> tuple[Any, Any, Any]:
    """Labels with their noise, omegas, and the covariance of the fields, at an overlap."""
    random = np.random.default_rng(4)
    rank, dims = structure.target.rank, structure.matrix.shape[1]
    learned = np.zeros((dims, dims))
    learned[:rank, :rank] = overlap / rank if only_sum else overlap * np.eye(rank)
    eye = np.eye(dims)
    root, rest = (np.linalg.cholesky(c + 1e-12 * eye) for c in (learned, eye - learned))
    known = random.normal(size=(_PROBES, dims)) @ root.T
    v = known + random.normal(size=(_PROBES, dims)) @ rest.T
    y = structure.numpy(v @ structure.matrix.T) + np.sqrt(noise) * random.normal(size=_PROBES)
    cov = structure.matrix @ (eye - learned) @ structure.matrix.T
    return np.stack([y, np.full_like(y, noise)], axis=1), known @ structure.matrix.T, cov


def _gradients(core: Quadrature, labels: Any, omega: Any, cov: Any) -> Float[np.ndarray, "n m"]:
    with float64():
        return np.asarray(_jitted(core, labels, omega, cov))


@functools.partial(jax.jit, static_argnums=0)
def _jitted(core: Quadrature, labels: Array, omega: Array, cov: Array) -> Array:
    block = max(1, 2**21 // core.size)
    found = jax.lax.map(
        lambda pair: core.posterior(pair[0], pair[1], jnp.asarray(cov)).gradient,
        (labels, omega),
        batch_size=block,
    )
    return found
