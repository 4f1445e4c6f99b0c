"""What a channel answers about one label: log Z and its two derivatives, and mixtures of these."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

Vector = Float[Array, " m"]
Matrix = Float[Array, "m m"]


class Posterior(NamedTuple):
    """log Z(y, omega, V) of one label, its gradient and its Hessian in omega.

    The gradient is AMP's g_out = V^-1 (E[z | y] - omega); the Hessian is its derivative,
    V^-1 Cov[z | y] V^-1 - V^-1. A leading axis, where there is one, counts alternatives.
    """

    log_partition: Float[Array, " ..."]
    gradient: Float[Array, "... m"]
    hessian: Float[Array, "... m m"]


def mixed_posterior(parts: Posterior, log_weights: Float[Array, " k"] | None = None) -> Posterior:
    """The posterior of Z = sum_k exp(log_weights_k) Z_k; an alternative of weight -inf drops out.

    A Hessian that all alternatives share may be given once, with a leading axis of length 1.
    """
    logs = parts.log_partition if log_weights is None else parts.log_partition + log_weights
    shares = jax.nn.softmax(logs)
    gradient = shares @ parts.gradient
    spread = parts.gradient - gradient[None, :]
    if parts.hessian.shape[0] == 1:
        hessian = parts.hessian[0]
    else:
        hessian = jnp.einsum("k,kij->ij", shares, parts.hessian)
    hessian += jnp.einsum("k,ki,kj->ij", shares, spread, spread)
    return Posterior(jax.nn.logsumexp(logs), gradient, hessian)


def posterior_with_rest(
    pull: Float[Array, " c"],
    precision: Float[Array, "c c"],
    slope: Float[Array, "s c"],
    rest: Posterior,
) -> Posterior:
    """The posterior of a point in the first coordinates and an event in the others.

    The event's probability depends on the conditional mean of the other coordinates,
    mean_s + slope (z_c - mean_c): hence the chain rule below.
    """
    gradient = jnp.concatenate([pull - slope.T @ rest.gradient, rest.gradient])
    across = -slope.T @ rest.hessian
    hessian = jnp.block([[across @ -slope - precision, across], [across.T, rest.hessian]])
    return Posterior(rest.log_partition, gradient, hessian)
