"""How likely Gaussian fields are to have a given product of signs: up to three fields."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, erfcx
from jaxtyping import Array, Float

from giantstep.channels.posterior import Matrix, Posterior, Vector
from giantstep.numerics.quadrature import CUTOFF, gauss_legendre

#: Gauss-Legendre nodes for Owen's integral on [0, CUTOFF]: relative error below 1e-12.
_OWEN_NODES = 20
#: From here on the asymptotic series of erfcx, to five terms, is exact to 1e-12.
_SERIES_FROM = 22.0
#: Nodes along the path that couples the third field to the other two.
_THIRD_FIELD_NODES = 48
#: Entries of a 3 x 3 covariance that belong to the first field's correlations, and the others.
_FIRST = np.array([[0.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
_OTHERS = 1.0 - _FIRST


@functools.lru_cache(maxsize=64)
def posterior_legendre(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre nodes and weights on [0, 1]."""
    nodes, weights = gauss_legendre(order)
    return (nodes + 1) / 2, weights / 2


def _posterior_upper_tail(t: Float[Array, " ..."]) -> Float[Array, " ..."]:
    """exp(t^2/2) P(xi > t), which neither underflows nor cancels for t >= 0.

    JAX's erfcx returns 0 around 26.6, where its erfc underflows; there the asymptotic series has
    long become exact.
    """
    x = t / np.sqrt(2.0)
    far = jnp.maximum(x, _SERIES_FROM)
    u = 1 / (2 * far * far)
    series = (1 - u * (1 - 3 * u * (1 - 5 * u * (1 - 7 * u)))) / (far * np.sqrt(np.pi))
    return jnp.where(x > _SERIES_FROM, series, erfcx(jnp.minimum(x, _SERIES_FROM))) / 2


def log_normal_posterior(t: Float[Array, " ..."]) -> Float[Array, " ..."]:
    """log P(xi < t), accurate on both sides, and quicker than JAX's own."""
    tail, fade = _posterior_upper_tail(jnp.abs(t)), -t * t / 2
    return jnp.where(t < 0, jnp.log(tail) + fade, jnp.log1p(-tail * jnp.exp(fade)))


def _posterior_mean_sign(t: Float[Array, " ..."]) -> Float[Array, " ..."]:
    """E[sign(t + xi)] = 2 Phi(t) - 1."""
    return erf(t / np.sqrt(2.0))


def _posterior_scaled_owen(h: Float[Array, ""], k: Float[Array, ""]) -> Float[Array, ""]:
    r"""exp(h^2/2) T(h, k/h) for h >= 0, T being Owen's function.

    T(h, a) = (1/2pi) int_0^a exp(-h^2 (1+x^2)/2) / (1+x^2) dx; where |k| > h the roles of h and
    k are exchanged by T(h, k/h) + T(k, h/k) = (Q(h) + Q(k))/2 - Q(h) Q(k).
    """
    size = jnp.abs(k)
    big, small = jnp.maximum(h, size), jnp.minimum(h, size)
    nodes, weights = posterior_legendre(_OWEN_NODES)
    scale = jnp.maximum(big, 1e-300)
    length = jnp.minimum(small, CUTOFF) / scale
    x = length[None] * nodes
    integral = length * jnp.sum(weights * jnp.exp(-((big[None] * x) ** 2) / 2) / (1 + x**2))
    direct = integral / (2 * np.pi)
    fade = jnp.exp(jnp.minimum(h * h - size * size, 0.0) / 2)
    q_h, q_k = _posterior_upper_tail(jnp.stack([h, size]))
    other = q_h / 2 + fade * (q_k / 2 - q_h * jnp.exp(-h * h / 2) * q_k - direct)
    return jnp.sign(k) * jnp.where(size > h, other, direct)


def _log_agreement_two(mean: Float[Array, 2], cov: Float[Array, "2 2"]) -> Float[Array, 2]:
    """log P(z1 z2 < 0), log P(z1 z2 > 0): both to full relative accuracy."""
    spread = jnp.sqrt(jnp.diagonal(cov))
    a, b = mean / spread
    # Reflecting one field makes both means positive; the rare event is then the unequal signs.
    flip = jnp.where(a * b < 0, -1.0, 1.0)
    rho = flip * cov[0, 1] / (spread[0] * spread[1])
    # Zero means have Owen arguments 0/0, whose limit along the diagonal is right.
    a, b = jnp.maximum(jnp.abs(a), 1e-150), jnp.maximum(jnp.abs(b), 1e-150)
    s = jnp.sqrt(jnp.maximum((1 - rho) * (1 + rho), 1e-30))
    h = jnp.stack([a, b])
    k = jnp.stack([b - rho * a, a - rho * b]) / s
    low = jnp.min(h)
    rare = 2 * jnp.sum(jnp.exp((low * low - h * h) / 2) * jax.vmap(_posterior_scaled_owen)(h, k))
    log_rare = jnp.log(jnp.maximum(rare, 1e-300)) - low * low / 2
    log_rare = jnp.minimum(log_rare, -1e-16)
    log_common = jnp.log(-jnp.expm1(log_rare))
    return jnp.where(flip > 0, jnp.stack([log_rare, log_common]), jnp.stack([log_common, log_rare]))


def _log_agreement_three(mean: Float[Array, 3], cov: Float[Array, "3 3"]) -> Float[Array, 2]:
    """log P(z1 z2 z3 < 0), log P(z1 z2 z3 > 0), to 1e-13 in probability, by Plackett's identity.

    With S = E[prod_i sign(z_i)], dS/dV_ij = d^2 S/dw_i dw_j is closed: the correlations of the
    loosest field with the two others are switched on from 0 to 1 and dS is integrated along.
    """
    spread = jnp.sqrt(jnp.diagonal(cov))
    corr = cov / (spread[:, None] * spread[None, :])
    tightest = jnp.argmax(jnp.abs(jnp.stack([corr[1, 2], corr[0, 2], corr[0, 1]])))
    order = jnp.asarray([[0, 1, 2], [1, 0, 2], [2, 0, 1]])[tightest]
    mean, corr = (mean / spread)[order], corr[order][:, order]
    unit, mass = posterior_legendre(_THIRD_FIELD_NODES)
    alone, _ = _posterior_sign_product(mean[:1], jnp.ones((1, 1), mean.dtype))
    pair, _ = _posterior_sign_product(mean[1:], corr[1:, 1:])

    def growth(t: Float[Array, ""]) -> Float[Array, ""]:
        """dS/dt when z1 has the correlations t rho_12 and t rho_13."""
        scaled = jnp.asarray(_OTHERS, mean.dtype) + t * jnp.asarray(_FIRST, mean.dtype)
        return sum(
            (corr[0, j] * _pair_curvature(mean, corr * scaled, j) for j in (1, 2)),
            start=jnp.zeros((), mean.dtype),
        )

    # t = sin(theta) removes the inverse square root of a perfect correlation.
    theta = unit * np.pi / 2
    weights = mass * np.cos(theta) * np.pi / 2
    value = alone * pair + weights @ jax.vmap(growth)(jnp.asarray(np.sin(theta), mean.dtype))
    return jnp.log(jnp.clip((1 + jnp.asarray([-1.0, 1.0]) * value[None]) / 2, 1e-14, 1.0))


def _pair_curvature(mean: Float[Array, 3], corr: Float[Array, "3 3"], j: int) -> Float[Array, ""]:
    """d^2 S / dw_1 dw_j = 4 N(0; w_1j, V_1j) E[sign(z_k) | z_1 = z_j = 0] at unit variances."""
    k = 3 - j
    rho, to_first, to_other = corr[0, j], corr[0, k], corr[j, k]
    determinant = jnp.maximum((1 - rho) * (1 + rho), 1e-30)
    a, b = mean[0], mean[j]
    energy = ((a - b) ** 2 + 2 * (1 - rho) * a * b) / determinant
    density = jnp.exp(-energy / 2) / (2 * np.pi * jnp.sqrt(determinant))
    first = (to_first - rho * to_other) / determinant
    other = (to_other - rho * to_first) / determinant
    variance = jnp.maximum(1 - first * to_first - other * to_other, 1e-30)
    t = (mean[k] - first * a - other * b) / jnp.sqrt(variance)
    return 4 * density * _posterior_mean_sign(t)


def _log_agreement(mean: Vector, cov: Matrix) -> Float[Array, 2]:
    if mean.shape[0] == 1:
        t = mean[0] / jnp.sqrt(cov[0, 0])
        return jnp.stack([log_normal_posterior(-t), log_normal_posterior(t)])
    return (_log_agreement_two if mean.shape[0] == 2 else _log_agreement_three)(mean, cov)


def _posterior_sign_product(mean: Vector, cov: Matrix) -> tuple[Float[Array, ""], Vector]:
    """E[prod_i sign(z_i)] and its gradient, for at most two fields."""
    if mean.shape[0] == 0:
        return jnp.ones((), mean.dtype), mean
    variance = jnp.diagonal(cov)
    t = mean / jnp.sqrt(variance)
    density = jnp.exp(-t * t / 2) / jnp.sqrt(2 * np.pi * variance)
    if mean.shape[0] == 1:
        return _posterior_mean_sign(t[0]), 2 * density
    rest_mean, rest_cov, _ = _posterior_given_zero(mean, cov)
    rest = _posterior_mean_sign(rest_mean[:, 0] / jnp.sqrt(rest_cov[:, 0, 0]))
    against, along = jnp.exp(_log_agreement_two(mean, cov))
    return along - against, 2 * density * rest


def _posterior_given_zero(
    mean: Vector, cov: Matrix
) -> tuple[Float[Array, "m s"], Float[Array, "m s s"], Float[Array, "m s"]]:
    """Mean and covariance of the other fields given z_i = 0, and their slope on z_i, for each i."""
    m = mean.shape[0]
    rest = np.array([np.delete(np.arange(m), i) for i in range(m)], dtype=int)
    own = np.arange(m)[:, None]
    to_own = cov[rest, own]
    slope = to_own / cov[own, own]
    rest_cov = cov[rest[:, :, None], rest[:, None, :]] - slope[:, :, None] * to_own[:, None, :]
    # Strong correlation leaves rounding errors; a variance stays positive.
    floor = 1e-14 * jnp.diagonal(cov)[rest] + 1e-300
    rest_cov += floor[:, :, None] * jnp.eye(m - 1, dtype=cov.dtype)[None]
    return mean[rest] - slope * mean[own], rest_cov, slope


def sign_posteriors(mean: Vector, cov: Matrix) -> Posterior:
    r"""The posteriors of the events prod_i sign(z_i) = -1 and = +1, z ~ N(mean, cov), m <= 3.

    With P_s = (1 + s S)/2, S = E[prod_i sign(z_i)],

    .. math:: \partial_i S = 2 N(0; \omega_i, V_{ii})\, S_{-i}(\cdot \mid z_i = 0),

    and S_{-i} is the same function of the other fields, conditioned on z_i = 0. Densities are
    divided by probabilities in logarithms, so nothing underflows far out in the tails.
    """
    logs = _log_agreement(mean, cov)
    variance = jnp.diagonal(cov)
    rest_mean, rest_cov, slope = _posterior_given_zero(mean, cov)
    value, rest_gradient = jax.vmap(_posterior_sign_product)(rest_mean, rest_cov)
    own = -(mean / variance) * value - jnp.sum(slope * rest_gradient, axis=1)
    # Row i of the Hessian over N(0; w_i, V_ii): the others' gradient, with `own` at place i.
    columns = [jnp.concatenate([g[:i], own[i : i + 1], g[i:]]) for i, g in enumerate(rest_gradient)]
    log_density = -(mean**2 / variance + jnp.log(2 * np.pi * variance)) / 2
    signs = jnp.asarray([[-1.0], [1.0]], mean.dtype)
    ratio = signs * jnp.exp(log_density[None, :] - logs[:, None])
    gradient = ratio * value[None, :]
    second = ratio[:, :, None] * jnp.stack(columns)[None]
    second = (second + jnp.swapaxes(second, 1, 2)) / 2
    return Posterior(logs, gradient, second - gradient[:, :, None] * gradient[:, None, :])
