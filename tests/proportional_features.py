"""Random features and kernels with samples and neurons proportional to d: one scalar equation."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import ScalarLike

from giantstep.theory.ridge.deterministic_equivalent import RidgeRisk, Spectrum, ridge_risk


def proportional_risk(
    samples_ratio: ScalarLike,
    width_ratio: ScalarLike,
    ridge: ScalarLike,
    noise: ScalarLike,
    *,
    linear_features: ScalarLike,
    nonlinear_features: ScalarLike,
    linear_target: ScalarLike,
    nonlinear_target: ScalarLike,
    mean: ScalarLike = 0.0,
    constant: ScalarLike = jnp.inf,
) -> RidgeRisk:
    r"""Errors of ridge regression on random features when n, p and d grow in proportion.

    The features are equivalent to :math:`\mu_0 + \mu_1 \langle w, x\rangle + \mu_* z`, z noise, and
    what is not linear in the target to label noise. With s > 0 the one solution of

    .. math::

        \psi - A(s) = \frac{\mu_1^2}{\mu_1^2 + s} + \frac{\mu_*^2}{s}, \qquad
        A(s) = \tfrac12 \Big[\psi - \alpha + \sqrt{(\psi-\alpha)^2 + 4 \lambda\psi/s}\,\Big],

    .. math::

        R + \Delta =
            \frac{F_1 \frac{s^2}{(\mu_1^2+s)^2} (1 + \mu_1^2 X) + F_* + \Delta}{1-\Upsilon},
        \qquad X = \frac{\mu_1^2/(\mu_1^2+s)^2 + \mu_*^2/s^2}{\psi - \mu_1^4/(\mu_1^2+s)^2} .

    This is :func:`ridge_risk` in units of d, for an eigenvalue :math:`\mu_1^2` of multiplicity 1
    and a tail :math:`\mu_*^2`. The mean of the target is learned freely when the features have a
    mean (``constant`` infinite), not at all when they are centred (0), and as a mode of eigenvalue
    ``constant``/d, :math:`\mu_2^2/2`, when they are centred and the rows are Gaussian.

    Symbols: alpha = n/d ``samples_ratio``, psi = p/d ``width_ratio`` (``inf``: kernel, with F'(0)
    and F(1) - F(0) - F'(0) for mu_1^2 and mu_*^2), lambda ``ridge``, Delta ``noise``, mu_1^2
    ``linear_features``, mu_*^2 ``nonlinear_features``, F_1 = |P_1 g|^2 ``linear_target``, F_* =
    |P_{>1} g|^2 ``nonlinear_target``, E g ``mean``. Differentiable in every number, in float64.

    Assumes: Gaussian inputs or inputs on the sphere, neurons without biases, d to infinity.
    Status: theorem
    References: Mei, Montanari 2019, arXiv:1908.05355; Hu, Lu 2020, arXiv:2009.07669;
        Gerace et al. 2020, arXiv:2002.09339.

    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     risk = proportional_risk(
    ...         2.0, 1.0, 0.1, 0.1, linear_features=0.25, nonlinear_features=0.0908450569,
    ...         linear_target=1.0, nonlinear_target=1.0)
    ...     print(round(float(risk.test_error), 6), round(float(risk.norm), 6))
    2.095686 1.707282
    """
    constant = jnp.asarray(constant, float)
    free = jnp.isinf(constant)
    spectrum = Spectrum(
        jnp.stack([jnp.asarray(linear_features, float), jnp.where(free, 0.0, constant)]),
        jnp.array([1.0, 0.0]),
        jnp.stack([jnp.asarray(linear_target, float), jnp.where(free, 0.0, mean**2)]),
        jnp.asarray(nonlinear_features, float),
        jnp.asarray(nonlinear_target, float),
    )
    return ridge_risk(samples_ratio, width_ratio, ridge, spectrum, noise)
