"""Rules that averages share: nodes that resolve kinks, a factor of a covariance, sums of nodes.

A coarse rule has arrays of the same shapes as the fine one, and runs the same compiled code: what
changes with it tells the error of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.posterior import Matrix, Vector
from giantstep.numerics.quadrature import CUTOFF
from giantstep.numerics.solve import halved_brackets

#: Share of the nodes that a coarse rule keeps.
COARSE = 2 / 3
_BISECTIONS = 50


class PopulationAverages(NamedTuple):
    """E[g g^T], E[log Z] and, where it is cheap, E[E[y | omega]^2]."""

    fisher: Matrix
    log_partition: Float[Array, ""]
    explained: Float[Array, ""] | None = None


def averages_of(
    weights: Float[Array, " n"], logs: Float[Array, " n"], gradients: Float[Array, "n m"]
) -> PopulationAverages:
    """E[g g^T] and E[log Z] from nodes; a label of weight 0 counts nothing."""
    fisher = jnp.einsum("n,ni,nj->ij", weights, gradients, gradients)
    return PopulationAverages(fisher, weights @ jnp.where(weights > 0, logs, 0.0))


def population_cholesky(cov: Matrix) -> Matrix:
    """A Cholesky factor, also of a covariance without full rank."""
    return jnp.linalg.cholesky(cov + 1e-14 * jnp.eye(cov.shape[0], dtype=cov.dtype))


def node_stretch(coarse: bool) -> Float[np.ndarray, ""]:
    """The stretch of layered nodes that leaves the share :data:`COARSE` of them in use."""
    return np.asarray(1 / COARSE if coarse else 1.0)


def layered_nodes(
    cov: Matrix, widths: Vector, kinks: Sequence[Any], count: int, stretch: Any = 1.0
) -> tuple[Float[Array, "k m"], Float[Array, " k"]]:
    """Nodes and weights for E f(omega), omega ~ N(0, cov), f varying over ``widths`` at the kinks.

    Field by field, evenly spaced in t = sum_k asinh((x - c_k)/s): a spacing of about s around
    the kinks c_k and geometrically wider away from them. The trapezoidal rule in t converges
    exponentially because the Gaussian has died out at the ends. ``stretch`` widens the spacing:
    nodes beyond the ends weigh nothing, so that a coarser rule runs the same compiled code.
    """
    chol = jnp.linalg.cholesky(cov + 1e-10 * jnp.eye(cov.shape[0], dtype=cov.dtype))
    x = jnp.zeros((1, 0), cov.dtype)
    weights = jnp.ones(1, cov.dtype)
    for i, at in enumerate(kinks):
        centre = x @ chol[i, :i]
        positions = jnp.asarray(at if len(at) else (0.0,), cov.dtype)
        seen = (positions[None, :] - centre[:, None]) / chol[i, i]
        new, weight = jax.vmap(_layered_population_rule, in_axes=(0, None, None, None))(
            seen, widths[i] / chol[i, i], count, stretch
        )
        x = jnp.concatenate([jnp.repeat(x, count, axis=0), new.reshape(-1, 1)], axis=1)
        weights = (weights[:, None] * weight).reshape(-1)
    return x @ chol.T, weights


def _layered_population_rule(
    kinks: Float[Array, " k"], width: Float[Array, ""], count: int, stretch: Any
) -> tuple[Float[Array, " count"], Float[Array, " count"]]:
    """One-dimensional nodes and weights for a standard Gaussian with layers at the kinks."""

    def depth(x: Float[Array, " n"]) -> Float[Array, " n"]:
        return jnp.sum(jnp.arcsinh((x[:, None] - kinks[None, :]) / width), axis=1)

    ends = depth(jnp.asarray([-CUTOFF, CUTOFF], kinks.dtype))
    share = jnp.asarray(np.linspace(-0.5, 0.5, count), kinks.dtype)
    t = (ends[0] + ends[1]) / 2 + stretch * (ends[1] - ends[0]) * share
    if kinks.shape[0] == 1:
        x = kinks[0] + width * jnp.sinh(t)
    else:
        edge = jnp.full(count, CUTOFF, kinks.dtype)
        low, high = halved_brackets(lambda x: depth(x) > t, -edge, edge, _BISECTIONS)
        x = (low + high) / 2
    density = jnp.sum(1 / jnp.sqrt(width**2 + (x[:, None] - kinks[None, :]) ** 2), axis=1)
    weights = jnp.exp(-x * x / 2) / density
    return x, weights / jnp.sum(weights)
