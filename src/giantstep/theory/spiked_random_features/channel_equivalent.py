"""Ridge regression on features whose law depends on one observed number: risk by channels."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.solve import STEP, iterated_fixed_point, linear_responses


class Equivalent(NamedTuple):
    """Features and labels of the ridge regression, on a grid of points with ``weights``.

    A channel is a set of orthogonal directions along which all features vary in the same manner;
    it has one mode, or several, for each block of neurons. ``modes``: amplitudes of the features;
    the first ones, one per block, are those of the linear channel. ``shares``: number of directions
    of a mode's channel, over d. ``labels``: amplitudes of the labels along the directions that
    they depend on. ``noise``: variance of the features outside all channels. ``power``: E[y^2],
    label noise included. ``cumulants``: fourth cumulants E psi^4 - 3 (E psi^2)^2, E psi^3 z and
    E psi^2 (z^2 - 1) of a neuron's own noise psi and slope z, over the width of its block.
    ``correlation``: d times the mean cosine of two neurons in the linear channel, by their
    blocks; the modes after those of the linear channel are then the neurons' means.
    """

    weights: Float[np.ndarray, " points"]
    modes: Float[np.ndarray, "modes points"]
    shares: Float[np.ndarray, " modes"]
    noise: Float[np.ndarray, "blocks points"]
    labels: Float[np.ndarray, "directions points"]
    power: Float[np.ndarray, " points"]
    cumulants: Float[np.ndarray, "3 blocks points"] | None = None
    correlation: Float[np.ndarray, "blocks blocks"] | None = None


class RiskRatios(NamedTuple):
    """alpha = n/d; beta = p/d of each block; ``ridge``: the coefficient of |theta|^2, over d."""

    samples: Any
    widths: Float[np.ndarray, " blocks"]
    ridge: Any


class Risk(NamedTuple):
    """Mean squared errors on noisy labels, and whether the equations were solved."""

    test: Any
    train: Any
    converged: Any


class ChannelLayout(NamedTuple):
    """The channel of each family of modes (a mode for each block), and of each label direction."""

    blocks: int
    families: tuple[int, ...]
    directions: tuple[int, ...]


class _Places:
    """Where the entries of symmetric matrices that do not mix channels are kept in a vector."""

    def __init__(self, layout: ChannelLayout) -> None:
        channels = np.repeat(layout.families, layout.blocks)
        self.pairs = np.nonzero(np.triu(channels[:, None] == channels[None, :]))
        self.members = np.tile(np.eye(layout.blocks), len(layout.families))
        self.coupled = 1.0 * (channels[:, None] == np.asarray(layout.directions)[None, :])
        self._places = np.full((len(channels), len(channels)), len(self.pairs[0]))
        self._places[self.pairs] = self._places.T[self.pairs] = np.arange(len(self.pairs[0]))

    def matrix(self, packed: Any) -> Any:
        return np.append(packed, 0.0)[self._places]


_equivalent_places = functools.lru_cache(maxsize=32)(_Places)


class _RiskFields(NamedTuple):
    """What (chi, C) imply: 1/chi + C, N and H, and on the grid what averages are made with.

    ``leverage``: V; ``weight``: alpha/(1+V) with the single-site terms; ``kick`` and ``tilt``: what
    these add to a neuron's noise and to its linear modes, times alpha/(1+V)^2.
    """

    stiff: Any
    inverse: Any
    held: Any
    leverage: Any
    weight: Any
    kick: Any
    tilt: Any


class _Sources(NamedTuple):
    """What is added to V, to N as the samples see it, and to the bound beta/chi."""

    leverage: Any = 0.0
    moments: Any = 0.0
    bound: Any = 0.0


def channel_risk(model: Equivalent, ratios: RiskRatios, layout: ChannelLayout) -> Risk:
    r"""Test and train mean squared error of ridge regression on conditionally Gaussian features.

    At each point of the grid the features of block a are
    :math:`\phi_j = \sum_c \langle w_j, x\rangle_c\, u^c_a + e_a \xi_j`, the labels
    :math:`\sum_c \langle w_*, x\rangle_c\, g^c` and noise; channel c has :math:`\rho_c d`
    directions. With :math:`C_c = \alpha E[u^c u^{cT}/(1+V)]`,
    :math:`N_c = (\chi^{-1} + C_c)^{-1}` and :math:`H_c = \chi^{-1} - \chi^{-1} N_c\chi^{-1}`,

    .. math::
        V &= s\,\mathrm{res} + \sum_a e_a^2 \chi_a + \sum_c \rho_c\, u^{cT} N_c u^c, \\
        \beta_a/\chi_a &= \bar\lambda + \alpha E\Big[\frac{e_a^2}{1+V}\Big]
            + \sum_c \rho_c (H_c)_{aa} - s\sum_c \frac{(P_c)_a^2}{\chi_a^2}, \\
        P_c &= N_c\, \alpha E[u^c g^c/(1+V)],\qquad
        \mathrm{res} = E[y^2] + \sum_c (P_c\cdot u^c)^2 - 2 g^c P_c\cdot u^c

    at s = 0, test = :math:`E[\partial_s V]` and train = :math:`-\partial_s E[1/(1+V)]`: the error
    at a point is what the mean readout leaves, res, and what its fluctuations add, and these answer
    to the errors on the samples as V and chi answer to a change of V.
    Neurons that are correlated in the linear channel 0, with the ``correlation`` :math:`\rho`, have
    sums that the linear channel holds more or less than those of independent ones, which counts
    where the means M, with the overlaps P, are fitted:
    :math:`\chi^{-1} + C_1` is stiffer by :math:`H_0\circ\rho` on the means, and with
    :math:`A = P_MP_M^T\circ\rho` and :math:`G = N_0\chi^{-1}` the sum
    :math:`(P_M)_a^2/\chi_a^2` gains :math:`(H_0AH_0)_{aa}` and :math:`N_0` in V gains
    :math:`s\,GAG^T`.

    Symbols: alpha, beta_a, lambda-bar ``ratios``; u, rho, e, g, E[y^2] ``model``; c ``layout``.

    Assumes: n, p and d large and proportional; rows isotropic within a channel.
    Status: heuristic (leave-one-out, equivalent to the replica result; verified by simulation).
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> one = np.ones((1, 1))
    >>> model = Equivalent(np.ones(1), one, np.ones(1), 0.5 * one, one, np.ones(1))
    >>> risk = channel_risk(model, RiskRatios(2.0, np.ones(1), 0.1), ChannelLayout(1, (0,), (0,)))
    >>> round(float(risk.test), 6), round(float(risk.train), 6)
    (0.868584, 0.254416)
    """
    places, blocks = _equivalent_places(layout), layout.blocks
    given = model, ratios, places
    chi = ratios.widths / (1 + ratios.ridge)
    coupling = ratios.samples * (model.modes * model.weights) @ model.modes.T
    found = iterated_fixed_point(
        lambda state: _risk_first_order(state, *given),
        np.append(chi, coupling[places.pairs]),
        tolerance=1e-11,
        max_iterations=50_000,
    )
    state, sources = found.value, _equivalent_sources(found.value, *given)
    turned = _Sources(*(1j * STEP * source for source in sources))
    # Each entry in units of its own, so that all are found alike.
    sizes = np.sqrt(np.diagonal(places.matrix(state[blocks:])))
    units = np.append(state[:blocks], np.outer(sizes, sizes)[places.pairs])
    units = STEP * np.where(units > 0, units, 1.0)
    change = linear_responses(
        lambda step: _risk_first_order(state + 1j * units * step, *given).imag / units,
        _risk_first_order(state, *given, turned).imag / units,
        1e-10,
    )
    fields = _equivalent_fields(state + 1j * units * change, *given, turned)
    test = model.weights @ fields.leverage.imag / STEP
    return Risk(test, -np.sum(fields.weight.imag) / (STEP * ratios.samples), found.converged)


def _equivalent_fields(
    state: Any, model: Equivalent, ratios: RiskRatios, places: _Places, sources: _Sources
) -> _RiskFields:
    chi, coupled = state[: len(model.noise)], places.matrix(state[len(model.noise) :])
    spread = chi @ places.members
    stiff = np.diag(1 / spread) + coupled
    inverse = np.linalg.inv(stiff)
    # H = 1/chi - N/chi^2 without the cancellation of weak channels.
    held, slopes = coupled @ inverse / spread, (inverse + sources.moments) @ model.modes
    leverage = chi @ model.noise + model.shares @ (model.modes * slopes) + sources.leverage
    gain, average = 1 / (1 + leverage), ratios.samples * model.weights
    if model.cumulants is None:
        none = np.zeros_like(model.noise)
        return _RiskFields(stiff, inverse, held, leverage, average * gain, none, none)
    # What the non-Gaussian noise of one neuron adds to its noise and to its slope.
    fourth, third, second = model.cumulants
    slope = slopes[: len(chi)]
    kick = chi[:, None] * fourth + 2 * slope * third
    tilt = chi[:, None] * third + 2 * slope * second
    excess = chi @ kick + 2 * np.sum(slope * tilt, axis=0)
    weight, squared = average * (gain + excess * gain**3), average * gain**2
    return _RiskFields(stiff, inverse, held, leverage, weight, kick * squared, tilt * squared)


def _risk_first_order(
    state: Any,
    model: Equivalent,
    ratios: RiskRatios,
    places: _Places,
    sources: _Sources = _Sources(),  # noqa: B008
) -> Any:
    """One iteration of (chi, C)."""
    fields = _equivalent_fields(state, model, ratios, places, sources)
    held = places.members @ (model.shares * np.diagonal(fields.held))
    bound = ratios.ridge + model.noise @ fields.weight + held - sources.bound
    sums = (model.modes * fields.weight) @ model.modes.T
    leans, blocks = fields.tilt @ model.modes.T, len(model.noise)
    sums[:blocks] -= leans
    sums[:, :blocks] -= leans.T
    return np.append(ratios.widths / (bound - fields.kick.sum(axis=1)), sums[places.pairs])


def _equivalent_sources(
    state: Any, model: Equivalent, ratios: RiskRatios, places: _Places
) -> _Sources:
    """What the mean readout leaves of the labels, and how its size bears on its fluctuations."""
    blocks, fields = len(model.noise), _equivalent_fields(state, model, ratios, places, _Sources())
    source = (model.modes * fields.weight) @ model.labels.T
    source[:blocks] -= fields.tilt @ model.labels.T
    means, linear = slice(blocks, 2 * blocks), fields.held[:blocks, :blocks]
    if model.correlation is not None:
        fields.stiff[means, means] += linear * model.correlation
    # A solve, not the inverse: blocks with equal means leave directions of huge condition.
    overlap = np.linalg.solve(fields.stiff, places.coupled * source)
    fit = overlap.T @ model.modes
    residual = model.power + np.sum(fit**2 - 2 * model.labels * fit, axis=0)
    bound = places.members @ np.sum((overlap / (state[:blocks] @ places.members)[:, None]) ** 2, 1)
    moments = np.zeros_like(fields.inverse)
    if model.correlation is not None:
        energy = overlap[means] @ overlap[means].T * model.correlation
        gain = fields.inverse[:blocks, :blocks] / state[:blocks]
        moments[:blocks, :blocks] = gain @ energy @ gain.T
        bound = bound + np.diagonal(linear @ energy @ linear)
    return _Sources(residual, moments, bound)
