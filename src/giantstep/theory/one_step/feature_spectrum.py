"""Eigenvalues of the features' Gram matrix after one giant step: bulk density and outliers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.theory.one_step.feature_outliers import Outlier, feature_outliers
from giantstep.theory.one_step.feature_stieltjes import (
    SpectralState,
    feature_stieltjes,
    spectral_state,
)
from giantstep.theory.one_step.spiked_gram import SpikedGram

#: Eigenvalues at which the density is tabulated.
POINTS = 200
#: Parts into which an edge's bracket is cut at a time, and its final relative width.
PARTS, ACCURACY = 4, 1e-11
#: Distance from the real axis at which a density is told from none, in mean eigenvalues.
HEIGHT = 1e-12


class BulkEdges(NamedTuple):
    """Smallest and largest eigenvalue of the bulk, zeros left out; only if ``converged``."""

    low: float
    high: float
    converged: bool


class FeatureSpectrum(NamedTuple):
    """Bulk edges, density on a grid, mass at zero, outliers in falling order.

    Eigenvalues at which the density was not found are left out of the grid. ``complete`` is False
    if there were any, or if an outlier may be missing.
    """

    edges: BulkEdges
    eigenvalues: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]
    mass_at_zero: float
    outliers: tuple[Outlier, ...]
    complete: bool


def feature_spectrum(gram: SpikedGram, dim: float, points: int = POINTS) -> FeatureSpectrum:
    r"""Bulk and outliers of the eigenvalues of :math:`\Phi^T\Phi/d` (p x p).

    .. math:: \rho(x) = \frac1\pi\,\mathrm{Im}\,m(x+i0);

    where the features' rank r is below p (n < p, or linear features and d < p) there is a mass
    1 - r/p at zero. Outliers are those of :func:`feature_outliers`.

    Symbols: m ``gram``; d ``dim``.

    Assumes: as :func:`feature_bulk_edges` and :func:`feature_outliers`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938; Moniri et al. 2023, arXiv:2310.07891.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.finite_size import Blocks
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> spectrum = feature_spectrum(gram, dim=600.0)
    >>> [round(outlier.value, 2) for outlier in spectrum.outliers], spectrum.complete
    ([584.02], True)
    """
    edges = feature_bulk_edges(gram)
    angle = np.pi * (np.arange(points) + 0.5) / points
    # Nodes gather at the edges, where the density is a square root.
    x = (edges.low + edges.high) / 2 - (edges.high - edges.low) / 2 * np.cos(angle)
    transform = feature_stieltjes(gram, x + 1e-6j * gram.scale)
    known = transform.converged
    outliers = feature_outliers(gram, dim, edges.high)
    return FeatureSpectrum(
        edges=edges,
        eigenvalues=x[known],
        density=np.maximum(transform.value.imag[known], 0.0) / np.pi,
        mass_at_zero=1 - gram.rank / gram.width,
        outliers=outliers.found,
        complete=bool(known.all()) and outliers.complete,
    )


def feature_bulk_edges(gram: SpikedGram) -> BulkEdges:
    r"""Smallest and largest eigenvalue of the bulk of :math:`\Phi^T\Phi/d`, zeros left out.

    .. math:: \{x : \mathrm{Im}\,m(x + i0) > 0\}

    Symbols: the features ``gram``.

    Assumes: a bulk of one interval. A lower edge below 1e-5 of the mean eigenvalue is taken for 0.
    Status: heuristic.
    References: Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.finite_size import Blocks
    >>> one = np.ones(1)
    >>> flat = SpikedGram.of(
    ...     activation("He2"), Blocks(0 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> low, high, converged = feature_bulk_edges(flat)
    >>> round(low / 2, 4), round(high / 2, 4), converged  # Marchenko-Pastur
    (0.1716, 5.8284, True)
    """
    # The mean of the eigenvalues other than 0 lies between the edges, however narrow the bulk is.
    mean = gram.scale * gram.width / gram.rank
    around = np.geomspace(1e-3, 0.1, 15)
    near = mean * np.concatenate([1 - around[::-1], [1.0], 1 + around])
    x = np.sort(np.concatenate([gram.scale * np.geomspace(1e-5, 1e3, 121), near]))
    found = spectral_state(gram, x + HEIGHT * 1j * gram.scale)
    inside = _has_density(gram, x, found)
    if not (inside.any() and found.converged.all()) or inside[-1]:
        return BulkEdges(np.nan, np.nan, False)
    first, last = int(np.argmax(inside)), len(x) - 1 - int(np.argmax(inside[::-1]))
    low, low_found = 0.0, True
    if first:
        low, low_found = _edge(gram, x[first], x[first - 1], found.unknowns[first])
    high, high_found = _edge(gram, x[last], x[last + 1], found.unknowns[last])
    return BulkEdges(low, high, low_found and high_found)


def _has_density(
    gram: SpikedGram, x: np.ndarray, found: SpectralState
) -> Bool[np.ndarray, " points"]:
    """Whether x lies in the bulk: there x Im m is the root of the distance to the edge.

    Outside it is the height over that root, so that a relative distance of 1e-10 decides.
    """
    density = found.unknowns[:, : len(gram.widths)].sum(axis=1).imag / gram.width
    return found.converged & (density * x > 1e-5)


def _edge(gram: SpikedGram, inside: float, outside: float, state: np.ndarray) -> tuple[float, bool]:
    """The end of the bulk between a point of it, with its state, and one outside."""
    while abs(outside - inside) > ACCURACY * abs(inside):
        cuts = np.linspace(inside, outside, PARTS + 1)
        found = spectral_state(gram, cuts[1:-1] + HEIGHT * 1j * gram.scale, state)
        dense = [True, *_has_density(gram, cuts[1:-1], found), False]
        beyond = int(np.argmin(dense))
        if not np.all(found.converged[:beyond]):
            return np.nan, False
        if beyond > 1:
            state = found.unknowns[beyond - 2]
        inside, outside = cuts[beyond - 1 : beyond + 1]
    return float((inside + outside) / 2), True
