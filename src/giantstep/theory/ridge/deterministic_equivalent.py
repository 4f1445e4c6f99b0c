"""Ridge regression on random features at finite sizes: one scalar equation for any spectrum."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, ScalarLike

from giantstep.numerics.solve import Solution, bisect, bracketed_root

#: Logarithms between which the root is looked for; sizes for which it lies outside are reported.
LOG_RANGE = (-250.0, 250.0)
#: More samples than this for each feature are as good as infinitely many in float64.
PLENTY = 1e16


class Spectrum(NamedTuple):
    """Eigenvalues of a kernel with their multiplicities, and the target's energy in each group.

    What is not resolved is in the tail: its trace acts as extra ridge, its energy as extra noise.
    """

    eigenvalues: Float[Array | np.ndarray, " groups"]
    multiplicities: Float[Array | np.ndarray, " groups"]
    energies: Float[Array | np.ndarray, " groups"]
    tail_trace: float | Float[Array, ""]
    tail_energy: float | Float[Array, ""]


class RidgeRisk(NamedTuple):
    """What ridge regression reaches; sizes count samples, ``upsilon`` is the noise's inflation.

    Only where ``converged`` are these numbers solutions.
    """

    test_error: Float[Array, ""]
    bias: Float[Array, ""]
    variance: Float[Array, ""]
    train_error: Float[Array, ""]
    objective: Float[Array, ""]
    norm: Float[Array, ""]
    degrees_of_freedom: Float[Array, ""]
    upsilon: Float[Array, ""]
    nu1: Float[Array, ""]
    nu2: Float[Array, ""]
    converged: Bool[Array, ""]


def ridge_risk(
    samples: ScalarLike,
    width: ScalarLike,
    ridge: ScalarLike,
    spectrum: Spectrum,
    noise: ScalarLike,
    xp: Any = jnp,
) -> RidgeRisk:
    r"""Errors of ridge regression with random features of a given spectrum.

    With :math:`T_{ij} = \sum_k N_k e_k^i / (e_k + \nu_2)^j` (the tail adds
    :math:`\tau/\nu_2` to :math:`T_{11}` and :math:`\tau/\nu_2^2` to :math:`T_{12}`),

    .. math::

        n - \lambda/\nu_1 = T_{11}(\nu_2) = p\,(1 - \nu_1/\nu_2), \qquad
        \chi = \frac{T_{12}}{p - T_{22}}, \qquad
        1 - \Upsilon = \frac1n \Big[ \frac{\lambda}{\nu_1}
            + \frac{\nu_1 T_{12}}{1 - T_{22}/p} \Big],

    .. math::

        B = \frac{\nu_2^2 \sum_k b_k (1 + \chi e_k)/(e_k + \nu_2)^2 + b_{tail}}{1 - \Upsilon},
        \qquad V = \Delta \frac{\Upsilon}{1 - \Upsilon}, \qquad
        \text{train} = \Big(\frac{\lambda}{n \nu_1}\Big)^2 (B + V + \Delta).

    Symbols: n ``samples``, p ``width`` (``inf``: kernel ridge regression), lambda ``ridge``,
    Delta ``noise``, (e, N, b, tau, b_tail) ``spectrum``. ``train_error``, ``objective`` (at its
    minimum), ``norm`` (:math:`|a|^2`) and ``degrees_of_freedom`` (trace of the hat matrix) are per
    sample. At the interpolation peak (no ridge, samples = width) ``test_error`` is infinite.
    Traceable by JAX and differentiable in every argument; call it in float64. ``xp`` is the array
    library: numpy has nothing to compile, see :func:`equivalent_numbers`.

    Assumes: features that concentrate as Gaussian ones do; label noise independent of the inputs.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699, Theorem 3.3; Simon et al. 2021,
        arXiv:2110.03922 (kernel limit).

    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     flat = Spectrum(jnp.ones(1), jnp.full(1, 100.0), jnp.ones(1), 0.0, 0.0)
    ...     print(round(float(ridge_risk(200.0, jnp.inf, 1.0, flat, 0.1).test_error), 6))
    0.09636
    """
    e, multiplicity, b, tail_trace, tail_energy = spectrum
    lam = xp.asarray(ridge, float)
    narrowness = 1 / xp.asarray(width, float)
    plenty = PLENTY / narrowness
    n = xp.minimum(xp.asarray(samples, float), plenty if xp is np else lax.stop_gradient(plenty))
    surplus = 1 - n * narrowness
    rank = xp.where(surplus > 0, n, 1 / xp.where(narrowness > 0, narrowness, 1.0))
    tail_trace = xp.asarray(tail_trace, float)
    masses, numbers = multiplicity * e, (n, narrowness, lam, rank, tail_trace)
    found: Solution[Any]
    if xp is np:
        equation = (*map(float, numbers), e, masses)
        found = bracketed_root(
            lambda log_nu: float(_equivalent_spare_rank(log_nu, equation, math.exp, _chosen)),
            *LOG_RANGE,
            absolute=1e-14,
        )
    else:
        found = bisect(_equivalent_spare_rank, *LOG_RANGE, (*numbers, e, masses))
    nu = xp.exp(found.value)

    # lambda/nu1 and p nu1/nu2 differ by n - p; `free` is the smaller, 1 - dof/min(n, p) scaled.
    free = _equivalent_free_rank(n, narrowness, lam, nu, xp.where)
    rho = narrowness * free + xp.maximum(surplus, 0.0)
    residual = free / n + xp.maximum(1 - 1 / xp.where(surplus < 0, n * narrowness, 1.0), 0.0)
    t12 = xp.sum(multiplicity * e / (e + nu) ** 2) + tail_trace / nu**2
    slack = rho + narrowness * nu * t12
    chi = narrowness * t12 / slack
    # Written without the cancellation of 1 - Upsilon: it vanishes exactly at the peak.
    stability = residual + rho * nu * t12 / (slack * n)

    bias = xp.sum(b * (1 + chi * e) * (nu / (e + nu)) ** 2) + tail_energy
    shrunk = xp.sum(b * nu / (e + nu)) + tail_energy + noise
    slope = xp.sum(b * e / (e + nu) ** 2)
    norm = (t12 * shrunk / n + residual * slope) / (
        lam / nu + nu * t12 * (rho + narrowness * n * residual)
    )
    test_error = (bias + noise) / stability - noise
    return RidgeRisk(
        test_error=test_error,
        bias=bias / stability,
        variance=noise * (1 - stability) / stability,
        train_error=xp.where(residual > 0, residual**2 * (test_error + noise), 0.0),
        objective=residual * shrunk,
        norm=norm,
        degrees_of_freedom=1 - residual,
        upsilon=1 - stability,
        nu1=rho * nu,
        nu2=nu,
        converged=found.converged,
    )


def equivalent_numbers(
    samples: float, width: float, ridge: float, spectrum: Spectrum, noise: float
) -> RidgeRisk:
    """The risk as plain numbers, which takes JAX longer to compile than to solve many times."""
    with np.errstate(all="ignore"):
        found = ridge_risk(samples, width, ridge, spectrum, noise, np)
    return RidgeRisk(*(value.item() for value in map(np.asarray, found)))


def _chosen(condition: bool, chosen: float, other: float) -> float:
    """What ``where`` is for arrays, for numbers: a tenth of the time."""
    return chosen if condition else other


def _equivalent_free_rank(n: Any, narrowness: Any, lam: Any, nu: Any, where: Any) -> Any:
    """min(lambda/nu1, p nu1/nu2), the smaller root of z (z + abs(p - n)) = lambda p / nu2."""
    surplus = 1 - n * narrowness
    discriminant = surplus**2 + 4 * lam * narrowness / nu
    # At the peak the discriminant is an exact zero, whose root has no gradient.
    regular = discriminant > 0
    spread = where(regular, discriminant, 1.0) ** 0.5 + abs(surplus)
    return where(regular, 2 * lam / (nu * spread), 0.0)


def _equivalent_spare_rank(
    log_nu: Any, equation: tuple[Any, ...], exp: Any = jnp.exp, where: Any = jnp.where
) -> Any:
    """min(n, p) - free rank - T_11, which increases with nu2 and vanishes at the solution."""
    n, narrowness, lam, rank, tail_trace, e, masses = equation
    nu = exp(log_nu)
    trace = masses @ (1 / (e + nu)) + tail_trace / nu
    return rank - _equivalent_free_rank(n, narrowness, lam, nu, where) - trace
