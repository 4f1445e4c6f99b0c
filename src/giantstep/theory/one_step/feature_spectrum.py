"""Eigenvalues of the features' Gram matrix after one giant step: bulk density and outliers."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from giantstep.activations.activation import Activation
from giantstep.theory.spiked_features.conditional_features import (
    LIMIT,
    REACH,
    Table,
    conditional_feature_moments,
)
from giantstep.theory.spiked_features.conditional_labels import CUTOFF
from giantstep.theory.spiked_features.finite_size import Blocks, Grid

#: Eigenvalues at which the density is tabulated, and points of the search for outliers.
POINTS, SEARCH = 200, 80
#: Distances from the real axis, relative to the mean eigenvalue, on the way to it.
DESCENT = (1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


class SpikedGram(NamedTuple):
    """Moments of the features on a grid of the learned projection, and the size ratios.

    ``mean``, ``slope``, ``noise``: m, u and e^2 of each block; ``samples``: n/d; ``widths``: p/d of
    each block.
    """

    kappa: Float[np.ndarray, " points"]
    weights: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, "blocks points"]
    slope: Float[np.ndarray, "blocks points"]
    noise: Float[np.ndarray, "blocks points"]
    samples: float
    widths: Float[np.ndarray, " blocks"]

    @classmethod
    def of(
        cls, sigma: Activation, blocks: Blocks, *, samples_ratio: float, width_ratio: float
    ) -> SpikedGram:
        """The Gram matrix of an activation's features with these spikes."""
        steep, bulks = float(np.max(np.abs(blocks.spikes))), blocks.bulks
        steepness = float(np.max(np.abs(blocks.spikes) / np.sqrt(bulks)))
        grid = Grid.of("limit", LIMIT, (), steepness)
        reach = steep * CUTOFF + REACH * math.sqrt(float(np.max(bulks)))
        narrow, wide = (math.sqrt(float(extreme(bulks))) for extreme in (np.min, np.max))
        table = Table.of(sigma.numpy, sigma.kinks, reach=reach, narrow=narrow, wide=wide)
        shift = blocks.spikes[:, None] * grid.kappa[None, :]
        scale = np.sqrt(bulks)[:, None] * np.ones_like(grid.kappa)[None, :]
        mean, slope, _, power = conditional_feature_moments(table, shift, scale, LIMIT)
        rest = power - mean**2 - slope**2
        widths = width_ratio * blocks.fractions
        return cls(grid.kappa, grid.weights, mean, slope, rest, float(samples_ratio), widths)

    @property
    def scale(self) -> float:
        """Mean eigenvalue of the bulk."""
        spread = (self.slope**2 + self.noise) @ self.weights
        return float(self.samples * (self.widths @ spread) / self.widths.sum())


class Outlier(NamedTuple):
    """An eigenvalue outside the bulk, and its vector's squared projection on the blocks.

    ``overlap`` is measured on the span of the block indicators (all ones for a single block).
    """

    value: float
    overlap: float


class FeatureSpectrum(NamedTuple):
    """Bulk edges, density on a grid, mass at zero, outliers in falling order."""

    edges: tuple[float, float]
    eigenvalues: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]
    mass_at_zero: float
    outliers: tuple[Outlier, ...]


def feature_stieltjes(
    gram: SpikedGram, z: Complex[np.ndarray, " points"]
) -> Complex[np.ndarray, " points"]:
    r"""The Stieltjes transform :math:`\frac1p\mathrm{tr}(\Phi^T\Phi/d - z)^{-1}` of the bulk.

    The first-order equations of the ridge regression with the ridge at :math:`-z`:

    .. math::
        m(z) = \frac1\beta\sum_a\chi_a(z), \qquad
        \chi_a = \frac{\beta_a}{-z + \alpha E[e_a^2/(1+V)] + (C(1+\chi C)^{-1})_{aa}}, \\
        C_{ab} = \alpha E\Big[\frac{u_au_b}{1+V}\Big],\qquad
        V = u^T(\chi^{-1}+C)^{-1}u + \sum_a e_a^2\chi_a .

    Symbols: u, e, alpha, beta_a ``gram``.

    Assumes: ``z`` off the real axis, or on it outside the bulk; d infinite.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.activations.activation import activation
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> np.round(feature_stieltjes(gram, np.array([0.3 + 0.1j])), 5).tolist()
    [(-1.42154+2.44091j)]
    """
    return _solved(gram, z)[:, : len(gram.widths)].sum(axis=1) / gram.widths.sum()


def feature_spectrum(gram: SpikedGram, dim: float, points: int = POINTS) -> FeatureSpectrum:
    r"""Bulk and outliers of the eigenvalues of :math:`\Phi^T\Phi/d` (p x p).

    The density is :math:`\mathrm{Im}\,m(x+i0)/\pi`; where n < p there is a mass 1 - n/p at zero.
    Outliers are the x outside the bulk where :math:`\chi_f^{-1} + L(x)` is singular,

    .. math:: L = lpha E[ff^T/(1+V)], \qquad
        f = (\sqrt d\,m_1, \dots, \sqrt d\,m_k, \kappa u_1, \dots, \kappa u_k):

    k eigenvalues of order d from the mean functions m, less what they have in common, and further
    ones of order one. With n the null vector and :math:`\lambda` the eigenvalue that vanishes, the
    squared projection of the outlier's vector on block a is
    :math:`n_a^2/(-eta_a\lambda'(x))`.

    Symbols: m, u, alpha, beta_a ``gram``; d ``dim``.

    Assumes: as :func:`feature_stieltjes`; outliers closer than about 1 % to the edge may be missed.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938; Moniri et al. 2023, arXiv:2310.07891.

    >>> from giantstep.activations.activation import activation
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> spectrum = feature_spectrum(gram, dim=600.0)
    >>> [round(outlier.value, 2) for outlier in spectrum.outliers]
    [584.02]
    """
    low, high = feature_bulk_edges(gram)
    angle = np.pi * (np.arange(points) + 0.5) / points
    x = (low + high) / 2 - (high - low) / 2 * np.cos(angle)
    transform = feature_stieltjes(gram, x + 1e-6j * gram.scale)
    width = float(gram.widths.sum())
    return FeatureSpectrum(
        edges=(low, high),
        eigenvalues=x,
        density=np.maximum(transform.imag, 0.0) / np.pi,
        mass_at_zero=max(0.0, 1 - gram.samples / width),
        outliers=feature_outliers(gram, dim, high),
    )


def feature_bulk_edges(gram: SpikedGram) -> tuple[float, float]:
    r"""Smallest and largest eigenvalue of the bulk of :math:`\Phi^T\Phi/d`, zeros left out.

    .. math:: \{x : \mathrm{Im}\,m(x + i0) > 0\}

    Symbols: the features ``gram``.

    Assumes: a bulk of one interval.
    Status: heuristic.
    References: as :func:`feature_stieltjes`.

    >>> from giantstep.activations.activation import activation
    >>> one = np.ones(1)
    >>> flat = SpikedGram.of(
    ...     activation("He2"), Blocks(0 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> [round(edge / 2, 4) for edge in feature_bulk_edges(flat)]  # Marchenko-Pastur
    [0.1716, 5.8284]
    """
    x = gram.scale * np.geomspace(1e-5, 1e3, 121)
    state = _solved(gram, x + 1e-6j * gram.scale)
    blocks = len(gram.widths)
    inside = state[:, :blocks].sum(axis=1).imag * x > 1e-2 * gram.widths.sum()
    first, last = int(np.argmax(inside)), len(x) - 1 - int(np.argmax(inside[::-1]))
    low = _edge(gram, x[first], x[first - 1], state[first]) if first else 0.0
    return low, _edge(gram, x[last], x[last + 1], state[last])


def feature_outliers(gram: SpikedGram, dim: float, edge: float) -> tuple[Outlier, ...]:
    r"""Eigenvalues of :math:`\Phi^T\Phi/d` above the bulk, in falling order.

    .. math:: \det\big(\chi_f^{-1} + L(x)\big) = 0

    with the functions f of :func:`feature_spectrum`.

    Symbols: d ``dim``; the largest eigenvalue of the bulk ``edge``; m, u ``gram``.

    Assumes: as :func:`feature_spectrum`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938; Moniri et al. 2023, arXiv:2310.07891.

    >>> from giantstep.activations.activation import activation
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> [round(outlier.value, 2) for outlier in feature_outliers(gram, 600.0, 2.1)]
    [584.02]
    """
    from scipy.optimize import brentq

    power = (gram.mean**2 + gram.slope**2 + gram.noise) @ gram.weights
    highest = 2 * dim * gram.samples * float(gram.widths @ power) + 2 * edge
    # From far right inwards: each solution starts from its neighbour's.
    x = edge + (highest - edge) * np.geomspace(1.0, 1e-3 * edge / highest, SEARCH)
    states = [_start(gram, x[:1] + 0j)]
    for value in x:
        states.append(_newton(gram, np.array([value + 0j]), states[-1]))
    levels = np.array([_levels(gram, dim, s[0])[0] for s in states[1:]])
    found = []
    for i, j in zip(*np.nonzero((levels[1:] > 0) & (levels[:-1] <= 0)), strict=True):

        def level(value: float, i: int = i, j: int = j) -> float:
            state = _newton(gram, np.array([value + 0j]), states[i + 2])
            return float(_levels(gram, dim, state[0])[0][j])

        root = float(brentq(level, x[i + 1], x[i], xtol=1e-12 * x[i]))
        state = _newton(gram, np.array([root + 0j]), states[i + 2])
        vector = _levels(gram, dim, state[0])[1][: len(gram.widths), j]
        step = 1e-5 * (root - edge)
        slope = (level(root + step) - level(root - step)) / (2 * step)
        found.append(Outlier(root, float(np.sum(vector**2 / gram.widths) / -slope)))
    return tuple(sorted(found, key=lambda outlier: -outlier.value))


def _levels(gram: SpikedGram, dim: float, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and vectors of chi_f^-1 + L at a real x outside the bulk."""
    chi = state[: len(gram.widths)].real
    f = np.concatenate([math.sqrt(dim) * gram.mean, gram.kappa[None, :] * gram.slope])
    gain = _resolvent(gram, state[None]).gain[0].real
    coupling = (f * (gram.samples * gram.weights * gain)) @ f.T
    return np.linalg.eigh(np.diag(1 / np.tile(chi, 2)) + coupling)


def _edge(gram: SpikedGram, inside: float, outside: float, state: np.ndarray) -> float:
    """Bisect for the point where chi leaves the real axis, tracking the solution from inside."""
    blocks = len(gram.widths)
    for _ in range(40):
        middle = (inside + outside) / 2
        z = np.array([middle + 1e-12j * gram.scale])
        trial = _newton(gram, z, state[None])
        if trial[0, :blocks].sum().imag * middle > 1e-5 * gram.widths.sum():
            inside, state = middle, trial[0]
        else:
            outside = middle
    return float((inside + outside) / 2)


def _solved(gram: SpikedGram, z: np.ndarray) -> np.ndarray:
    """(chi, C) at each z, by descending to it from far above the real axis."""
    above = gram.scale * np.array(DESCENT)
    far = z.real + 1j * np.maximum(above[0], np.abs(z.imag))
    state = _start(gram, far)
    for _ in range(20):
        state = (state + _image(gram, far, state)[0]) / 2
    for height in above:
        state = _newton(gram, z.real + 1j * np.maximum(height, np.abs(z.imag)), state)
    return _newton(gram, z, state)


def _start(gram: SpikedGram, z: np.ndarray) -> np.ndarray:
    """The state far from the bulk, where V = 0."""
    coupling = _pairs(gram.slope, gram.slope) @ (gram.samples * gram.weights)
    chi = -gram.widths[None, :] / z[:, None]
    return np.concatenate([chi, np.broadcast_to(coupling, (len(z), len(coupling)))], axis=1)


@functools.lru_cache(maxsize=16)
def _triangle(blocks: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(blocks)


def _pairs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of rows i <= j, the rows being the last axis but one."""
    i, j = _triangle(left.shape[-2])
    return left[..., i, :] * right[..., j, :]


class _Resolvent(NamedTuple):
    """chi, N = (chi^-1 + C)^-1, N u and 1/(1+V) for each z."""

    chi: np.ndarray
    inverse: np.ndarray
    slopes: np.ndarray
    gain: np.ndarray


def _resolvent(gram: SpikedGram, state: np.ndarray) -> _Resolvent:
    blocks = len(gram.widths)
    left, right = _triangle(blocks)
    matrix = np.empty((len(state), blocks, blocks), dtype=state.dtype)
    matrix[:, left, right] = matrix[:, right, left] = state[:, blocks:]
    chi, diagonal = state[:, :blocks], np.arange(blocks)
    matrix[:, diagonal, diagonal] += 1 / chi
    inverse = np.linalg.inv(matrix)
    slopes = inverse @ gram.slope
    variance = chi @ gram.noise + np.sum(gram.slope * slopes, axis=1)
    return _Resolvent(chi, inverse, slopes, 1 / (1 + variance))


def _image(gram: SpikedGram, z: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, _Resolvent]:
    """One iteration of the first-order equations, for each z."""
    found = _resolvent(gram, state)
    fitted = gram.samples * gram.weights * found.gain
    held = 1 / found.chi - np.diagonal(found.inverse, axis1=1, axis2=2) / found.chi**2
    bound = -z[:, None] + fitted @ gram.noise.T + held
    coupling = fitted @ _pairs(gram.slope, gram.slope).T
    return np.concatenate([gram.widths / bound, coupling], axis=1), found


def _newton(gram: SpikedGram, z: np.ndarray, state: np.ndarray, steps: int = 12) -> np.ndarray:
    """Newton's method for the fixed point at each z; the equations are holomorphic."""
    state, open_ = np.array(state, dtype=complex), np.arange(len(z))
    for _ in range(steps):
        image, found = _image(gram, z[open_], state[open_])
        gap = image - state[open_]
        slope = _jacobian(gram, image, found) - np.eye(state.shape[1])
        state[open_] -= np.linalg.solve(slope, gap[..., None])[..., 0]
        # Newton squares the relative error, so this one is below 1e-13 at the next step.
        open_ = open_[np.max(np.abs(gap) / np.abs(image), axis=1) > 1e-7]
        if not len(open_):
            break
    return state


def _jacobian(gram: SpikedGram, image: np.ndarray, found: _Resolvent) -> np.ndarray:
    """Derivative of the iteration: d(chi, C) -> dV on the grid -> d(chi, C)."""
    blocks = len(gram.widths)
    left, right = _triangle(blocks)
    twice = np.where(left == right, 1.0, 2.0)
    chi, inverse, slopes, gain = found
    from_chi = gram.noise + (slopes / chi[:, :, None]) ** 2
    from_coupling = -twice[None, :, None] * _pairs(slopes, slopes)
    to_variance = np.concatenate([from_chi, from_coupling], axis=1)
    weighted = -gram.samples * gram.weights * gain**2
    rows = np.concatenate([gram.noise, _pairs(gram.slope, gram.slope)])
    change = rows @ np.swapaxes(to_variance * weighted[:, None, :], 1, 2)
    # H_aa = 1/chi_a - N_aa/chi_a^2 with dN = N (dchi/chi^2 - dC) N.
    diagonal = np.arange(blocks)
    held = -((inverse / (chi[:, :, None] * chi[:, None, :])) ** 2)
    held[:, diagonal, diagonal] += (2 * inverse[:, diagonal, diagonal] / chi - 1) / chi**2
    change[:, :blocks, :blocks] += held
    pulled = twice * inverse[:, :, left] * inverse[:, :, right] / chi[:, :, None] ** 2
    change[:, :blocks, blocks:] += pulled
    change[:, :blocks] *= -(image[:, :blocks] ** 2 / gram.widths)[:, :, None]
    return change
