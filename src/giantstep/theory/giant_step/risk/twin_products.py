"""Two neurons that started from the same row: mean products of their outputs or slopes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from giantstep.numerics.pieces import Piecewise
from giantstep.numerics.quadrature import CUTOFF, panels_at_cuts
from giantstep.theory.giant_step.risk.first_layer import FirstLayer

Function = Callable[[np.ndarray], np.ndarray]

#: So long are the panels of an activation that varies over one.
PANEL_LENGTH = 3.0
PANEL_ORDER = 12
#: Edges of panels around a smoothed kink, in units of the smoothing width.
GRADED = np.array([-8.0, -4.0, -2.0, -1.0, 0.0, 1.0, 2.0, 4.0, 8.0])
#: Panels on which the smoothed activation is interpolated, and values interpolated at once.
SPACING, CHUNK = 1.0, 20_000


def expected_twin_products(
    function: Function,
    kinks: Sequence[float],
    shifts: tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]],
    variances: tuple[float, float],
    covariance: float,
) -> Float[np.ndarray, " points"]:
    r"""The mean product of a function of two neurons' pre-activations, at every pair of shifts.

    .. math:: E[f(\alpha + x)\,f(\beta + y)], \qquad
        (x, y) \sim N\Big(0, \begin{pmatrix} c_x & \rho\\ \rho & c_y\end{pmatrix}\Big)

    One integral inside the other. The outer one is split at the kinks of both factors; those of
    the second are smoothed by what y varies given x, so panels grow from that width around them.

    Symbols: f ``function``, smooth between its ``kinks``; (alpha, beta) ``shifts``, (c_x, c_y)
    ``variances``, rho ``covariance``.

    Assumes: a function that jumps nowhere but at its kinks.
    Status: theorem.
    References: Cho, Saul 2009, for relu without shifts, which the doctest evaluates.

    >>> zero, relu = np.zeros(1), lambda z: np.maximum(z, 0.0)
    >>> found = expected_twin_products(relu, (0.0,), (zero, zero), (1.0, 4.0), 1.0)
    >>> round(float(found[0]), 10) == round((3**0.5 + 2 * math.pi / 3) / (2 * math.pi), 10)
    True
    """
    (first, second), places = np.unique(np.stack(shifts), axis=1, return_inverse=True)
    deviations = math.sqrt(variances[0]), math.sqrt(variances[1])
    cosine = min(max(covariance / (deviations[0] * deviations[1]), -1.0), 1.0)
    sine = math.sqrt(1 - cosine**2)
    edges = np.array(kinks)
    cuts = [(edges - first[:, None]) / deviations[0]]
    if abs(cosine) > 1e-3:
        centres = (edges - second[:, None]) / (deviations[1] * cosine)
        cuts.append((centres[:, :, None] + sine / cosine * GRADED).reshape(len(centres), -1))
    z, weights = _expected_product_panels(np.hstack(cuts), deviations[0])
    outer = function(first[:, None] + deviations[0] * z) * weights
    given = second[:, None] + deviations[1] * cosine * z
    found = np.sum(outer * _expectation(function, edges, given, deviations[1] * sine), axis=1)
    return found[places.ravel()]


def products_of_twins(
    layer: FirstLayer,
    functions: Sequence[tuple[Function, Sequence[float]]],
    shifts: Float[np.ndarray, "k points"],
    squares: Float[np.ndarray, "k points"],
) -> Float[np.ndarray, "k k points"]:
    """E[f_a f_b] for kinds with one first row, from functions with their kinks and E[f_a^2]."""
    bulks, products = layer.bulks, np.zeros((*layer.bulks.shape, squares.shape[1]))
    for a, b in np.argwhere(np.triu(layer.neurons.twins)).tolist():
        product = squares[a]
        # Twins are one neuron before the first step.
        if a != b and layer.batches:
            both, variances = (shifts[a], shifts[b]), (float(bulks[a, a]), float(bulks[b, b]))
            product = expected_twin_products(*functions[a], both, variances, float(bulks[a, b]))
        products[a, b] = products[b, a] = product
    return products


def _expectation(function: Function, kinks: np.ndarray, at: np.ndarray, width: float) -> np.ndarray:
    """E f(q + width z) at every q, interpolated from panels that grow around the kinks."""
    if width < 1e-9:
        return function(at)

    def mean(q: np.ndarray) -> np.ndarray:
        z, weights = _expected_product_panels((kinks - q.reshape(-1, 1)) / width, width)
        values = function(q.reshape(-1, 1) + width * z)
        return np.sum(values * weights, axis=1).reshape(q.shape)

    low, high = float(np.min(at)), float(np.max(at))
    graded = (kinks[:, None] + width * GRADED).ravel()
    inside = graded[(graded > low) & (graded < high)]
    count = math.ceil((high - low) / SPACING) + 1
    table = Piecewise.of(mean, np.concatenate([np.linspace(low, high, count + 1), inside]))
    return np.concatenate([table(some) for some in np.array_split(at, 1 + at.size // CHUNK)])


def _expected_product_panels(cuts: np.ndarray, width: float) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Legendre panels for each row's cuts, with Gaussian weights."""
    count = math.ceil(2 * CUTOFF / PANEL_LENGTH * max(1.0, width))
    z, lengths = panels_at_cuts(cuts, PANEL_ORDER, count)
    return z, lengths * np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
