"""Nodes for a correlated Gaussian, placed field by field so that kinks fall between panels."""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.numerics.quadrature import CUTOFF, gauss_hermite

#: Up to here Gauss-Hermite, exact for polynomials, is the better rule; beyond, evenly spaced nodes.
_FEW = 40


@functools.lru_cache(maxsize=64)
def even_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and logarithms of weights for a smooth function of one Gaussian variable."""
    if count <= _FEW:
        nodes, weights = gauss_hermite(count)
        return np.array(nodes), np.log(weights)
    nodes = np.linspace(-CUTOFF, CUTOFF, count)
    logs = -(nodes**2) / 2
    return nodes, logs - np.log(np.exp(logs).sum())


@functools.lru_cache(maxsize=64)
def _panel(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.legendre.leggauss(count)
    return (nodes + 1) / 2, np.log(weights / 2)


def gaussian_nodes(
    mean: Float[Array, " q"],
    cov: Float[Array, "q q"],
    kinks: Sequence[Sequence[float]],
    counts: Sequence[int],
) -> tuple[Float[Array, "k q"], Float[Array, " k"]]:
    """Nodes x and log weights such that sum_k w_k f(mean + L x_k) is E f(z), L L^T = cov.

    A field without kinks has ``counts[i]`` nodes; a field with kinks has about as many, spread
    over its panels, whose edges are the kinks as seen from that field's conditional law.
    """
    chol = jnp.linalg.cholesky(cov)
    x = jnp.zeros((1, 0), mean.dtype)
    logs = jnp.zeros(1, mean.dtype)
    for i, (at, count) in enumerate(zip(kinks, counts, strict=True)):
        if at:
            centre = mean[i] + x @ chol[i, :i]
            positions = jnp.asarray(at, mean.dtype)[None, :]
            edges = jnp.clip((positions - centre[:, None]) / chol[i, i], -CUTOFF, CUTOFF)
            ends = jnp.full((edges.shape[0], 1), CUTOFF, mean.dtype)
            edges = jnp.concatenate([-ends, edges, ends], axis=1)
            unit, mass = _panel(max(4, -(-count // (len(at) + 1))))
            length = jnp.diff(edges, axis=1)[:, :, None]
            new = (edges[:, :-1, None] + length * unit[None, None, :]).reshape(x.shape[0], -1)
            share = mass[None, None, :] + jnp.log(jnp.maximum(length, 1e-300))
            weight = share.reshape(new.shape) - new**2 / 2 - np.log(2 * np.pi) / 2
        else:
            nodes, masses = even_rule(count)
            new = jnp.broadcast_to(jnp.asarray(nodes, mean.dtype), (x.shape[0], len(nodes)))
            weight = jnp.broadcast_to(jnp.asarray(masses, mean.dtype), new.shape)
        repeated = jnp.repeat(x, new.shape[1], axis=0)
        x = jnp.concatenate([repeated, new.reshape(-1, 1)], axis=1)
        logs = (logs[:, None] + weight).reshape(-1)
    return x, logs
