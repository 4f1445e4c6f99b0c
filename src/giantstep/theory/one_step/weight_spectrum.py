"""Singular values of the first layer after one step: a bulk, and an outlier past a threshold."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from numpy.polynomial import Polynomial

from giantstep.errors import NoTheory
from giantstep.numerics.solve import bracketed_root

#: Singular values at which the density is tabulated.
POINTS = 200
#: Roots m are found to rounding, however close to 0 they are.
TINY = 1e-300


class RowLaw(NamedTuple):
    """Rows of the bulk by block: variances c (over d), fractions, and squared readouts a^2."""

    bulks: Float[np.ndarray, " blocks"]
    fractions: Float[np.ndarray, " blocks"]
    squares: Float[np.ndarray, " blocks"]

    @property
    def loads(self) -> Float[np.ndarray, " blocks"]:
        """Share of each block in the left direction a/|a| of the spike."""
        weighted = self.fractions * self.squares
        total = weighted.sum()
        return weighted / total if total > 0 else self.fractions


class WeightOutlier(NamedTuple):
    """The largest singular value and the squared cosines of its vectors with the spike's.

    Below the threshold the value is the bulk's edge and the cosines are 0.
    """

    value: float
    left: float
    right: float
    separated: bool


#: Rows on the unit sphere, as before the step.
SPHERE = RowLaw(np.ones(1), np.ones(1), np.ones(1))


def bulk_edges(width_ratio: float, rows: RowLaw = SPHERE) -> tuple[float, float]:
    r"""Smallest and largest singular value of the bulk, zeros left out.

    With :math:`m(z) = \frac1d\mathrm{tr}(W^TW - z)^{-1}` and rows of variance :math:`c_a/d`,

    .. math:: z = -\frac1m + \psi\sum_a \frac{\pi_a c_a}{1+c_am};

    edges are where :math:`dz/dm = 0`. For c = 1 they are :math:`|1\pm\sqrt\psi|`.

    Symbols: psi ``width_ratio`` = p/d; c, pi ``rows``.

    Assumes: independent isotropic rows; one interval (variances that differ by less than a
    factor of about four).
    Status: theorem.
    References: Marchenko, Pastur 1967; Silverstein, Choi 1995.

    >>> [round(edge, 6) for edge in bulk_edges(1.5)]
    [0.224745, 2.224745]
    """
    low, high = float(np.min(rows.bulks)), float(np.max(rows.bulks))
    upper = _critical(width_ratio, rows, *_between_poles(-1 / high, 0.0))
    if abs(width_ratio - 1) < 1e-9:
        return 0.0, math.sqrt(upper)
    # For one variance c the slope vanishes at m = 1/(c (sqrt(psi) - 1)), a falling function of c.
    ends = (1 / (c * (math.sqrt(width_ratio) - 1)) for c in (low, high))
    far, near = (m * shift for m, shift in zip(ends, (1 + 1e-6, 1 - 1e-6), strict=True))
    if width_ratio < 1:
        near = min(near, -(1 + 1e-13) / low)
    return math.sqrt(max(_critical(width_ratio, rows, near, far), 0.0)), math.sqrt(upper)


def weight_outlier(strength: float, width_ratio: float, rows: RowLaw = SPHERE) -> WeightOutlier:
    r"""The outlier of :math:`W = \tilde W + \theta\,u v^T`, and its vectors' cosines with u and v.

    The outlier :math:`z = s_1^2` is where, with :math:`\omega` the loads of u on the blocks,

    .. math:: F(m) = -\theta^2 m\sum_a\frac{\omega_a}{1+c_am} = 1, \qquad
        \langle v_1, v\rangle^2 = \frac{m}{F'(z)},\quad
        \langle u_1, u\rangle^2 = \frac{1}{zm\theta^2F'(z)} .

    For c = 1 it exists iff :math:`\theta > \psi^{1/4}`, and then
    :math:`s_1^2 = (1+\theta^2)(\psi+\theta^2)/\theta^2`,
    :math:`\langle u_1,u\rangle^2 = 1 - \frac{\psi(1+\theta^2)}{\theta^2(\theta^2+\psi)}`,
    :math:`\langle v_1,v\rangle^2 = 1 - \frac{\psi+\theta^2}{\theta^2(\theta^2+1)}`.

    Symbols: theta ``strength`` (the norm of the spikes, sqrt(sum_j s_j^2)), psi ``width_ratio``
    = p/d, c ``rows``.

    Assumes: a bulk of independent isotropic rows, independent of the spike.
    Status: theorem.
    References: Benaych-Georges, Nadakuditi 2012, arXiv:1103.2221; Ba et al. 2022,
        arXiv:2205.01445.

    >>> outlier = weight_outlier(1.7132, 1.5)
    >>> round(outlier.value, 3), round(outlier.left, 3), round(outlier.right, 3)
    (2.438, 0.547, 0.616)
    """
    _, edge = bulk_edges(width_ratio, rows)
    if math.isinf(strength):
        return WeightOutlier(math.inf, 1.0, 1.0, True)
    if strength <= 0:
        return WeightOutlier(edge, 0.0, 0.0, False)
    c, loads = rows.bulks, rows.loads
    loaded = c[loads > 0]

    def excess(m: float) -> float:
        return float(-(strength**2) * m * np.sum(loads / (1 + c * m)) - 1)

    root = bracketed_root(excess, *_between_poles(-1 / float(np.max(loaded)), 0.0), absolute=TINY)
    if not root.converged:
        # The root is next to the pole, where z(m) has long turned round: far below the threshold.
        return WeightOutlier(edge, 0.0, 0.0, False)
    m = root.value
    z = _spectral_parameter(m, width_ratio, rows)
    opening = 1 / m**2 - width_ratio * float(np.sum(rows.fractions * (c / (1 + c * m)) ** 2))
    if opening <= 0 or m < -1 / float(np.max(c)):
        return WeightOutlier(edge, 0.0, 0.0, False)
    slope = -(strength**2) * float(np.sum(loads / (1 + c * m) ** 2)) / opening
    return WeightOutlier(math.sqrt(z), 1 / (z * m * strength**2 * slope), m / slope, True)


def critical_step(gradient: float, mu_1: float, width_ratio: float, readout: float = 1.0) -> float:
    r"""The step size, times sqrt(p), at which the outlier leaves the bulk.

    .. math:: \sqrt p\,\hat\eta_c = \frac{\psi^{1/4}}{\mu_1|b|\,\sqrt{E a^2}}

    Symbols: :math:`|b|` ``gradient``, psi ``width_ratio`` = p/d, sqrt(E a^2) ``readout``.

    Assumes: small steps, so that the bulk does not move.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445.

    >>> round(critical_step(0.707107, 0.605706, 1.5), 4)
    2.5839
    """
    return width_ratio**0.25 / (abs(mu_1) * gradient * readout)


def residual_strength(
    step: float,
    mu_1: float,
    second_moment: float,
    linear: float,
    power: float,
    samples_ratio: float,
    output: float = 1.0,
) -> float:
    r"""Strength theta of the spike when the step follows y - f and not y alone.

    For a network :math:`f = \omega p^{-1/2}\sum_j a_j\sigma`, :math:`|a|^2 = p`,

    .. math::
        1 + \theta^2 = (1-\omega\eta\mu_1^2)^2
            + \eta^2\mu_1^2\Big[\mu_1^{*2} + \frac{d}{n_0}(E[y^2] + \omega^2 E[\sigma^2])\Big].

    Symbols: eta ``step`` times sqrt(p), E[sigma^2] ``second_moment``, mu_1^* ``linear``, E[y^2]
    ``power``, n_0/d ``samples_ratio``, omega ``output``: 1 for networks whose output at the start
    is of order one, p^-1/2 for ours, where the correction vanishes slowly.

    Assumes: small steps; the row of W along a is the only one that changes.
    Status: heuristic, checked by simulation to one per cent.
    References: Ba et al. 2022, arXiv:2205.01445 for the setting.

    >>> round(residual_strength(4.0, 0.605706, 0.394294, 0.5, 0.5, 2.0) ** 2 + 1, 3)
    4.311
    """
    kept = (1 - output * step * mu_1**2) ** 2
    noise = (power + output**2 * second_moment) / samples_ratio
    return math.sqrt(max(kept + (step * mu_1) ** 2 * (linear**2 + noise) - 1, 0.0))


def singular_value_density(
    width_ratio: float, rows: RowLaw = SPHERE, points: int = POINTS
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    r"""Singular values of the bulk and their density, of mass min(1, 1/psi) among p rows.

    .. math:: \rho(s) = \frac{2s}{\psi\pi}\,\mathrm{Im}\,m(s^2 + i0)

    with m as in :func:`bulk_edges`; the density integrates to min(p, d)/p.

    Symbols: psi ``width_ratio`` = p/d, c ``rows``.

    Assumes: as :func:`bulk_edges`.
    Status: theorem.
    References: Marchenko, Pastur 1967; Silverstein, Choi 1995.

    >>> s, density = singular_value_density(2.0)
    >>> round(float(np.trapezoid(density, s)), 3)
    0.5
    """
    low, high = bulk_edges(width_ratio, rows)
    # Nodes gather at the edges, where the density is a square root.
    s = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * (np.arange(points) + 0.5) / points)
    bulks, places = np.unique(rows.bulks, return_inverse=True)
    merged = RowLaw(bulks, np.bincount(places, rows.fractions), np.ones_like(bulks))
    transform = np.array([_upper_root(x**2, width_ratio, merged) for x in s])
    return s, 2 * s * transform.imag / (width_ratio * np.pi)


def _spectral_parameter(m: float, width_ratio: float, rows: RowLaw) -> float:
    c = rows.bulks
    return float(-1 / m + width_ratio * np.sum(rows.fractions * c / (1 + c * m)))


def _critical(width_ratio: float, rows: RowLaw, low: float, high: float) -> float:
    """The value of z(m) where its slope vanishes between two ends."""
    c = rows.bulks

    def slope(m: float) -> float:
        return float(1 / m**2 - width_ratio * np.sum(rows.fractions * (c / (1 + c * m)) ** 2))

    root = bracketed_root(slope, low, high, absolute=TINY)
    if not root.converged:
        raise NoTheory(
            f"width / d = {width_ratio:.4g}: the edges of the weights' spectrum were not found"
        )
    return _spectral_parameter(root.value, width_ratio, rows)


def _between_poles(low: float, high: float) -> tuple[float, float]:
    """The interval less its ends, where a function is infinite."""
    inset = 1e-13 * (high - low)
    return low + inset, high - inset


def _upper_root(z: float, width_ratio: float, rows: RowLaw) -> complex:
    """m(z + i0): the root of the self-consistency polynomial in the upper half plane."""
    one, m = Polynomial([1.0]), Polynomial([0.0, 1.0])
    factors = [Polynomial([1.0, c]) for c in rows.bulks]
    others = [math.prod(factors[:i] + factors[i + 1 :], start=one) for i in range(len(factors))]
    pulls = rows.fractions * rows.bulks
    pull = sum((other * pulls[i] for i, other in enumerate(others)), start=0 * one)
    roots = (math.prod(factors, start=one) * Polynomial([1.0, z]) - m * width_ratio * pull).roots()
    return complex(roots[np.argmax(roots.imag)])
