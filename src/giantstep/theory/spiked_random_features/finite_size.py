"""The spiked features as a model by channels, in the limit and at finite dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian, tensor_rule
from giantstep.theory.spiked_random_features.channel_equivalent import (
    ChannelLayout,
    Equivalent,
)
from giantstep.theory.spiked_random_features.conditional_features import (
    LIMIT,
    conditional_feature_moments,
    single_site_cumulants,
)
from giantstep.theory.spiked_random_features.conditional_labels import SpikedLabels

#: How finite d is treated: each version includes what those before it include, and what its name
#: says.
Version = Literal["limit", "spike-strength", "fitting-cost", "second-chaos", "cumulants"]
VERSION_NOTES: dict[str, str] = {
    "limit": "the limit of large d",
    "spike-strength": "finite-size version spike-strength: spikes of finite strength",
    "fitting-cost": "finite-size version fitting-cost: spikes of finite strength, and the cost of "
    "fitting them",
    "second-chaos": "finite-size version second-chaos: cost of the spikes, second chaos, length of "
    "x; order 1/d",
    "cumulants": "finite-size version cumulants: as second-chaos, and the cumulants of single "
    "neurons, for n <= p and a small ridge",
}
#: Versions that resolve the second chaos and the length of the input.
RESOLVED: tuple[Version, ...] = ("second-chaos", "cumulants")

#: Nodes for the length of the input.
RADII = 7
#: Panels of kappa for features that vary over one half or more; steeper ones get shorter panels.
PANEL_LENGTH = 3.0


class SpikedGrid(NamedTuple):
    """Points (kappa, r): the learned projection and the relative length of the rest of x."""

    kappa: Any
    radius: Any
    weights: Any
    dim: Any

    @classmethod
    def of(
        cls, version: Version, dim: float, kinks: Sequence[float] = (), length: float = PANEL_LENGTH
    ) -> SpikedGrid:
        """The grid of a version, with panels of kappa of at most that length."""
        kappa, weights = split_gaussian(kinks, panel_length=length)
        if version not in RESOLVED:
            return cls(kappa, np.ones_like(kappa), weights, LIMIT)
        rule = tensor_rule([(kappa, weights), _finite_size_lengths(dim - 1.0)])
        kappa, radius = rule.nodes.T
        return cls(kappa, radius, rule.weights, float(dim))


class Blocks(NamedTuple):
    """Neurons sigma(s kappa + sqrt(c) z) in blocks: spikes s, bulk variances c, fractions.

    ``norm_spread``: spread of the rows' squared norms, 1 for Gaussian rows; None on the sphere.
    ``length_tilt``: relative growth of a row's length with its component along the spike; None if
    they are independent. ``correlation``: p times the mean cosine of two neurons across the spike,
    by their blocks; None if they are independent. ``along``: whether rows have random components
    along the spike; without, the spikes hold them.
    """

    spikes: Float[np.ndarray, " blocks"]
    bulks: Float[np.ndarray, " blocks"]
    fractions: Float[np.ndarray, " blocks"]
    norm_spread: Float[np.ndarray, " blocks"] | None = None
    length_tilt: Float[np.ndarray, " blocks"] | None = None
    correlation: Float[np.ndarray, "blocks blocks"] | None = None
    along: bool = True


def finite_size_version(samples_ratio: float, width_ratio: float, ridge: float) -> Version:
    r"""The finite-size version that follows simulations best.

    The cumulants of single neurons count near interpolation, where

    .. math:: n \le p \quad\text{and}\quad \lambda = \text{ridge}\cdot p/n \le 0.05 .

    Symbols: n/d ``samples_ratio``, p/d ``width_ratio``.

    Assumes: d of at least about 50.
    Status: heuristic.
    References: measured on the settings of the tests.

    >>> finite_size_version(1.0, 1.5, ridge=0.0066), finite_size_version(2.0, 1.0, ridge=0.1)
    ('cumulants', 'second-chaos')
    """
    interpolating = samples_ratio <= width_ratio and ridge * width_ratio / samples_ratio <= 0.05
    return "cumulants" if interpolating else "second-chaos"


def spiked_equivalent(
    sigma: Activation,
    grid: SpikedGrid,
    labels: SpikedLabels,
    blocks: Blocks,
    *,
    noise: Any,
    width_ratios: Float[np.ndarray, " blocks"],
    dim: Any,
    version: Version,
) -> tuple[Equivalent, ChannelLayout]:
    r"""Features and labels after one giant step, channel by channel, given the learned projection.

    With :math:`\kappa = \langle v, x\rangle` the projection on the learned direction and
    :math:`r = |x_\perp|/\sqrt{d-1}`, a neuron of block a reads

    .. math::
        \phi = m_a + u_a\Big(\langle\hat w, \hat x_\perp\rangle
            + \frac{\kappa}{r}\langle\hat w, v\rangle\Big)
            + t_a\,\langle \hat w^{\otimes 2}, \hat x_\perp^{\otimes 2}\rangle + e_a\xi .

    Channels: linear (0), with u, d - 1 directions and the labels' slopes g_1; spikes (1), with
    :math:`(\sqrt d\,m, \kappa u/r)`, one direction and the labels' mean g_0; second chaos (2), with
    :math:`t\sqrt{d/D_2}`, :math:`D_2 = (d-2)(d+1)/2` directions and the labels' curves. Rows whose
    norms fluctuate as those of Gaussian vectors add :math:`t` to the spikes; rows whose lengths
    grow with their component along v as :math:`1 + \epsilon\langle\hat w, v\rangle` have
    :math:`\kappa u/r + \sqrt2\,\epsilon\,t` there instead of :math:`\kappa u/r`. Rows grouped by
    that component have none of their own left, and unit length in d - 1 dimensions.

    Which of them count depends on ``version``: ``limit`` (d infinite), ``spike-strength`` (spikes
    of finite strength, fitted free of cost), ``fitting-cost`` (at their cost: leverage and
    variance of order 1/d), ``second-chaos`` (also the second chaos, and fluctuations of r),
    ``cumulants`` (also fourth cumulants of single neurons).

    Symbols: s, c ``blocks``; d ``dim``; p/d of each block ``width_ratios``;
    Delta ``noise``.

    Assumes: rows isotropic around the spike, norms constant in a block unless ``norm_spread``
    or ``length_tilt``.
    Status: heuristic; exact as d grows for the model, corrections of order 1/d verified to 0.1 %.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.conditional_labels import (
    ...     Latents, spiked_label_moments)
    >>> grid, one = SpikedGrid.of("limit", LIMIT), np.ones(1)
    >>> latents = Latents(lambda h: (np.sin(h[..., 0]), np.sin(h[..., 0]) ** 2), [()], one)
    >>> labels = spiked_label_moments(latents, 1.0, grid.kappa, grid.radius, LIMIT)
    >>> model, layout = spiked_equivalent(
    ...     activation("tanh"), grid, labels, Blocks(0.9 * one, one, one),
    ...     noise=0.0, width_ratios=one, dim=LIMIT, version="limit")
    >>> round(float(model.power @ model.weights), 6), layout
    (0.432332, ChannelLayout(blocks=1, families=(0, 1, 1), directions=(1,)))
    """
    shift = blocks.spikes[:, None] * grid.kappa[None, :]
    scale = blocks.bulks[:, None] ** 0.5 * grid.radius[None, :]
    mean, slope, curve, power = conditional_feature_moments(sigma, shift, scale, grid.dim)
    rest = power - mean**2 - slope**2
    cost = 0.0 if version in ("limit", "spike-strength") else 1 / dim
    wide = version in RESOLVED
    rest = rest - curve**2 if wide else rest
    directions, channels = [labels.slope, labels.mean[None, :]], [0] * len(labels.slope) + [1]
    if blocks.along:
        # A row of unit length has 1 - <w, v>^2 left for the directions across v.
        left = (grid.kappa**2 - 1)[None, :] * curve / (2**0.5 * dim)
        along = (grid.kappa / grid.radius)[None, :] * slope
        if blocks.length_tilt is not None:
            along = along + 2**0.5 * blocks.length_tilt[:, None] * curve
        modes = [slope, dim**0.5 * (mean + left if wide else mean), along]
        shares, families = [1 - cost, cost, cost], [0, 1, 1]
    else:
        modes = [(1 - 1 / dim) ** -0.5 * slope, dim**0.5 * mean]
        shares, families = [1 - cost, cost], [0, 1]
    if blocks.norm_spread is not None:
        modes.append(blocks.norm_spread[:, None] * curve)
        shares.append(cost)
        families.append(1)
    if wide:
        crowd = (dim - 2) * (dim + 1) / (2 * dim)
        modes.append(curve / crowd**0.5)
        shares.append(crowd)
        families.append(2)
        directions.append(labels.curve)
        channels += [2] * len(labels.curve)
    cumulants = None
    if version == "cumulants":
        neurons = (width_ratios * dim)[:, None]
        found = single_site_cumulants(sigma, shift, scale, grid.dim)
        cumulants = np.array(found) / neurons
    correlation = blocks.correlation
    if correlation is not None:
        correlation = correlation / np.sum(width_ratios)
    model = Equivalent(
        weights=grid.weights,
        modes=np.concatenate(modes),
        shares=np.repeat(np.array(shares), len(blocks.spikes)),
        noise=rest,
        labels=np.concatenate(directions),
        power=labels.power + noise,
        cumulants=cumulants,
        correlation=correlation,
    )
    return model, ChannelLayout(len(blocks.spikes), tuple(families), tuple(channels))


def _finite_size_lengths(nu: float) -> tuple[np.ndarray, np.ndarray]:
    """|x|/sqrt(nu) of a Gaussian vector in nu dimensions, by Wilson and Hilferty's normal."""
    nodes, weights = gauss_hermite(RADII)
    squares = (1 - 2 / (9 * nu) + np.sqrt(2 / (9 * nu)) * nodes) ** 3
    squares = np.maximum(squares, 1e-6)
    return np.sqrt(squares / (weights @ squares)), weights
