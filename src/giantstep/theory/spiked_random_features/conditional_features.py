"""A neuron's output, given the input's projection on the direction that the step learned."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

#: Panels of so many smoothing widths with 16 Gauss-Legendre nodes give moments to 1e-12.
PANEL_WIDTHS = 2.5
PANEL_ORDER = 16
#: Beyond so many standard deviations the Gaussian is below float64's resolution.
REACH = 8.5
#: Nodes that are integrated over at once.
CHUNK = 1 << 16
#: A dimension so large that every finite-size effect is below 1e-11.
LIMIT = 1e12


class FeatureTable(NamedTuple):
    """A function of one variable on Gauss-Legendre panels that end at its kinks.

    ``edges`` of the panels; ``nodes``, ``weights`` and ``values``, one row per panel; ``window``
    counts the panels that the widest smoothing sees at once.
    """

    edges: Any
    nodes: Any
    weights: Any
    values: Any
    window: Any

    @classmethod
    def of(
        cls,
        function: Callable[[np.ndarray], np.ndarray],
        kinks: Sequence[float] = (),
        *,
        reach: float,
        narrow: float = 1.0,
        wide: float = 1.0,
    ) -> FeatureTable:
        """Tabulate on [-reach, reach] for smoothing by widths between ``narrow`` and ``wide``."""
        unit, mass = np.polynomial.legendre.leggauss(PANEL_ORDER)
        needed = 2 * reach / (PANEL_WIDTHS * min(narrow, 1.0))
        double = 2 ** math.ceil(math.log2(needed))
        panels = double * 3 // 4 if needed <= 0.75 * double else double
        corners = [-reach, *sorted(k for k in kinks if abs(k) < reach), reach]
        pieces = [
            np.linspace(low, high, 1 + math.ceil((high - low) / (2 * reach) * panels))[:-1]
            for low, high in itertools.pairwise(corners)
        ]
        edges = np.concatenate([*pieces, [reach]])
        half = np.diff(edges)[:, None] / 2
        nodes = edges[:-1, None] + half * (unit + 1)
        values = np.asarray(function(nodes), dtype=np.float64)
        # A window may begin inside a panel, and every kink may cut one in two.
        seen = math.ceil(REACH * wide * panels / reach) + 2 + 2 * (len(corners) - 2)
        window = np.arange(min(seen, len(half)))
        return cls(edges, nodes, half * mass, values, window)


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
    table: FeatureTable,
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
    Gaussian in the limit. The integral runs over :math:`x = t + s z` on the panels of ``table``:
    kinks cost no accuracy and the moments are smooth in t and s.

    Symbols: t ``shift``, s ``scale``, d ``dim``.

    Assumes: the table reaches ``|t| + 8.5 s`` and is fine enough for the smallest s.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> one = np.ones((1, 1))
    >>> table = FeatureTable.of(np.tanh, reach=12.0)
    >>> moments = conditional_feature_moments(table, 0.9 * one, one, LIMIT)
    >>> round(float(moments.mean[0, 0]), 6), round(float(moments.slope[0, 0]), 6)
    (0.504129, 0.475639)
    """
    return FeatureMoments(*_spiked_features_in_chunks(_spiked_moments, table, shift, scale, dim))


def _spiked_moments(table: FeatureTable, shift: Any, scale: Any, dim: Any) -> tuple[Any, ...]:
    density, z, values = _density(table, shift, scale, dim)
    weighted = density * values
    mean = np.sum(weighted, axis=-1)
    slope = np.sum(weighted * z, axis=-1)
    # sqrt(E (z^2-1)^2) for a coordinate of the sphere in d - 1 dimensions.
    curve_norm = (2 * (dim - 2) / (dim + 1)) ** 0.5
    curve = (np.sum(weighted * z**2, axis=-1) - mean) / curve_norm
    return mean, slope, curve, np.sum(weighted * values, axis=-1)


def single_site_cumulants(
    table: FeatureTable,
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

    >>> one = np.ones((1, 1))
    >>> table = FeatureTable.of(np.square, reach=12.0)
    >>> k4, k31, k22 = single_site_cumulants(table, 0 * one, one, LIMIT)
    >>> round(float(k4[0, 0]), 6), round(float(k31[0, 0]), 6), round(float(k22[0, 0]), 6)
    (48.0, 0.0, 8.0)
    """
    return _spiked_features_in_chunks(_cumulants, table, shift, scale, dim)


def _cumulants(table: FeatureTable, shift: Any, scale: Any, dim: Any) -> tuple[Any, ...]:
    density, z, values = _density(table, shift, scale, dim)
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
    integrals: Callable[..., tuple[Any, ...]], table: FeatureTable, shift: Any, scale: Any, dim: Any
) -> tuple[Any, ...]:
    """The integrals at all points, a few at a time, which stay in the cache."""
    size = max(1, CHUNK // (len(shift) * len(table.window) * PANEL_ORDER))
    parts = [
        integrals(table, shift[:, first : first + size], scale[:, first : first + size], dim)
        for first in range(0, shift.shape[1], size)
    ]
    return tuple(np.concatenate(columns, axis=1) for columns in zip(*parts, strict=True))


def _density(table: FeatureTable, shift: Any, scale: Any, dim: Any) -> tuple[Any, Any, Any]:
    """For every (block, point): the law of z at the nodes around the shift, z, and sigma there."""
    last = len(table.edges) - 1 - len(table.window)
    first = np.searchsorted(table.edges, shift - REACH * scale, side="right") - 1
    first = np.clip(first, 0, last).astype(table.window.dtype)
    panels = first[..., None] + table.window[None, None, :]
    nodes, weights, values = (
        column[panels].reshape(*shift.shape, -1)
        for column in (table.nodes, table.weights, table.values)
    )
    z = (nodes - shift[..., None]) / scale[..., None]
    nu = dim - 1.0
    # Outside of the sphere, and beyond the reach, the weight is below float64's resolution.
    used = np.minimum(z**2 / nu, np.minimum(REACH**2 / nu, 1 - 1e-15))
    density = weights * np.exp((nu - 3) / 2 * np.log1p(-used))
    return density / np.sum(density, axis=-1, keepdims=True), z, values
