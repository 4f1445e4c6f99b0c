"""A neuron's output, given the input's projection on the direction that the step learned."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.numerics.quadrature import CUTOFF, PANEL_LENGTH, PANEL_ORDER, panels_at_cuts

#: Neurons at points that are integrated over at once: their nodes stay in the cache.
CHUNK = 400
#: A dimension so large that every finite-size effect is below 1e-11.
LIMIT = 1e12


class FeatureMoments(NamedTuple):
    """Moments of sigma(t + s z) over z, one row per block.

    ``mean`` E[sigma], ``slope`` E[sigma z], ``curve`` E[sigma (z^2-1)] / sqrt(E (z^2-1)^2),
    ``power`` E[sigma^2].
    """

    mean: Float[np.ndarray, "blocks points"]
    slope: Float[np.ndarray, "blocks points"]
    curve: Float[np.ndarray, "blocks points"]
    power: Float[np.ndarray, "blocks points"]


def conditional_feature_moments(
    sigma: Activation,
    shift: Float[np.ndarray, "blocks points"],
    scale: Float[np.ndarray, "blocks points"],
    dim: float,
) -> FeatureMoments:
    r"""Moments over z of a neuron's output :math:`\sigma(t + s z)`, at every shift t and scale s.

    .. math::
        m = E[\sigma],\quad u = E[\sigma z],\quad
        \tau = E[\sigma (z^2-1)]/\sqrt{E(z^2-1)^2},\quad E[\sigma^2],

    where z is a coordinate of a vector uniform on the sphere of radius :math:`\sqrt\nu` in
    :math:`\nu = d-1` dimensions, of density :math:`\propto (1-z^2/\nu)^{(\nu-3)/2}`, which is
    Gaussian in the limit. Panels of the integral end at the kinks of :math:`\sigma(t + s z)`, which
    cost no accuracy.

    Symbols: t ``shift``, s ``scale``, d ``dim``.

    Assumes: sigma varies over lengths of one or more between its kinks.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> from giantstep.language.activations.activation import activation
    >>> one = np.ones((1, 1))
    >>> moments = conditional_feature_moments(activation("tanh"), 0.9 * one, one, LIMIT)
    >>> round(float(moments.mean[0, 0]), 6), round(float(moments.slope[0, 0]), 6)
    (0.504129, 0.475639)
    """
    return FeatureMoments(*_spiked_features_in_chunks(_spiked_moments, sigma, shift, scale, dim))


def _spiked_moments(sigma: Activation, shift: Any, scale: Any, dim: Any) -> tuple[Any, ...]:
    density, z, values = _density(sigma, shift, scale, dim)
    weighted = density * values
    mean = np.sum(weighted, axis=-1)
    slope = np.sum(weighted * z, axis=-1)
    # sqrt(E (z^2-1)^2) for a coordinate of the sphere in d - 1 dimensions.
    curve_norm = (2 * (dim - 2) / (dim + 1)) ** 0.5
    curve = (np.sum(weighted * z**2, axis=-1) - mean) / curve_norm
    return mean, slope, curve, np.sum(weighted * values, axis=-1)


def single_site_cumulants(
    sigma: Activation,
    shift: Float[np.ndarray, "blocks points"],
    scale: Float[np.ndarray, "blocks points"],
    dim: float,
) -> tuple[Float[np.ndarray, "blocks points"], ...]:
    r"""Joint fourth cumulants of one neuron's nonlinear part and its preactivation.

    .. math::
        \psi = \sigma(t+sz) - m - u z:\qquad
        k_4 = E\psi^4 - 3(E\psi^2)^2,\quad k_{31} = E[\psi^3 z],\quad k_{22} = E[\psi^2(z^2-1)].

    Symbols: t ``shift``, s ``scale``, d ``dim``; z, m, u as in
    :func:`conditional_feature_moments`.

    Assumes: as :func:`conditional_feature_moments`.
    Status: theorem.
    References: used by the expansion of :mod:`giantstep.theory.spiked_random_features.finite_size`.

    >>> from giantstep.language.activations.activation import activation
    >>> one = np.ones((1, 1))
    >>> k4, k31, k22 = single_site_cumulants(activation("z^2"), 0 * one, one, LIMIT)
    >>> round(float(k4[0, 0]), 6), round(float(k31[0, 0]), 6), round(float(k22[0, 0]), 6)
    (48.0, 0.0, 8.0)
    """
    return _spiked_features_in_chunks(_cumulants, sigma, shift, scale, dim)


def _cumulants(sigma: Activation, shift: Any, scale: Any, dim: Any) -> tuple[Any, ...]:
    density, z, values = _density(sigma, shift, scale, dim)
    mean = np.sum(density * values, axis=-1, keepdims=True)
    slope = np.sum(density * values * z, axis=-1, keepdims=True)
    psi = values - mean - slope * z
    square = density * psi**2
    variance = np.sum(square, axis=-1)
    return (
        np.sum(square * psi**2, axis=-1) - 3 * variance**2,
        np.sum(square * psi * z, axis=-1),
        np.sum(square * z**2, axis=-1) - variance,
    )


def _spiked_features_in_chunks(
    integrals: Callable[..., tuple[Any, ...]], sigma: Activation, shift: Any, scale: Any, dim: Any
) -> tuple[Any, ...]:
    """The integrals at all points, a few at a time."""
    parts = (np.array_split(each, 1 + each.size // CHUNK, axis=1) for each in (shift, scale))
    found = [integrals(sigma, *part, dim) for part in zip(*parts, strict=True)]
    return tuple(np.concatenate(columns, axis=1) for columns in zip(*found, strict=True))


def _density(sigma: Activation, shift: Any, scale: Any, dim: Any) -> tuple[Any, Any, Any]:
    """For every (block, point): the law of z at nodes, z, and sigma(t + s z) there."""
    shift, scale, nu = shift[..., None], scale[..., None], dim - 1.0
    panels = math.ceil(2 * CUTOFF / PANEL_LENGTH * max(1.0, float(np.max(scale))))
    z, lengths = panels_at_cuts((np.array(sigma.kinks) - shift) / scale, PANEL_ORDER, panels)
    # Outside of the sphere the weight is below float64's resolution.
    used = np.minimum(z**2 / nu, 1 - 1e-15)
    density = lengths * np.exp((nu - 3) / 2 * np.log1p(-used))
    return density / np.sum(density, axis=-1, keepdims=True), z, sigma.numpy(shift + scale * z)
