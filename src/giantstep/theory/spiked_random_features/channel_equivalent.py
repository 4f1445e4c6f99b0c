"""Ridge regression on features whose law depends on one observed number: risk by channels."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.solve import iterated_fixed_point


class Cumulants(NamedTuple):
    """Fourth cumulants of a neuron's own noise psi and slope z, over the width of its block.

    ``fourth``: E psi^4 - 3 (E psi^2)^2; ``third``: E psi^3 z; ``second``: E psi^2 (z^2 - 1).
    """

    fourth: Float[np.ndarray, "blocks points"]
    third: Float[np.ndarray, "blocks points"]
    second: Float[np.ndarray, "blocks points"]


class Equivalent(NamedTuple):
    """Features and labels of the ridge regression, on a grid of points with ``weights``.

    A channel is a set of orthogonal directions along which all features vary in the same manner;
    it has one mode, or several, for each block of neurons. ``modes``: amplitudes of the features;
    the first ones, one per block, are those of the linear channel. ``shares``: number of directions
    of a mode's channel, over d. ``labels``: amplitudes of the labels along the directions that
    they depend on. ``noise``: variance of the features outside all channels. ``power``: E[y^2],
    label noise included. ``cumulants``: corrections for the neurons' own non-Gaussian noise.
    ``correlation``: d times the mean cosine of two neurons in the linear channel, by their
    blocks; the modes after those of the linear channel are then the neurons' means.
    """

    weights: Float[np.ndarray, " points"]
    modes: Float[np.ndarray, "modes points"]
    shares: Float[np.ndarray, " modes"]
    noise: Float[np.ndarray, "blocks points"]
    labels: Float[np.ndarray, "directions points"]
    power: Float[np.ndarray, " points"]
    cumulants: Cumulants | None = None
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
    iterations: Any
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
        self.multiplicity = np.where(self.pairs[0] == self.pairs[1], 1.0, 2.0)
        self.members = np.tile(np.eye(layout.blocks), len(layout.families))
        self.coupled = 1.0 * (channels[:, None] == np.asarray(layout.directions)[None, :])
        self._places = np.full((len(channels), len(channels)), len(self.pairs[0]))
        self._places[self.pairs] = self._places.T[self.pairs] = np.arange(len(self.pairs[0]))

    def matrix(self, packed: Any) -> Any:
        return np.concatenate([packed, np.zeros_like(packed[..., :1])], axis=-1)[..., self._places]

    def packed(self, matrix: Any) -> Any:
        return matrix[..., self.pairs[0], self.pairs[1]]


class _RiskFields(NamedTuple):
    """What (chi, C) imply: N, H, and on the grid 1/(1+V) and the single-site terms."""

    stiff: Any
    inverse: Any
    held: Any
    gain: Any
    weight: Any
    excess: Any
    kick: Any
    tilt: Any


def channel_risk(model: Equivalent, ratios: RiskRatios, layout: ChannelLayout) -> Risk:
    r"""Test and train mean squared error of ridge regression on conditionally Gaussian features.

    At each point of the grid the features of block a are
    :math:`\phi_j = \sum_c \langle w_j, x\rangle_c\, u^c_a + e_a \xi_j`, the labels
    :math:`\sum_c \langle w_*, x\rangle_c\, g^c` and noise; channel c has :math:`\rho_c d`
    directions. With :math:`C_c = \alpha E[u^c u^{cT}/(1+V)]`,
    :math:`N_c = (\chi^{-1} + C_c)^{-1}` and :math:`H_c = \chi^{-1} - \chi^{-1} N_c\chi^{-1}`,

    .. math::
        V &= \sum_a e_a^2 \chi_a + \sum_c \rho_c\, u^{cT} N_c u^c, \qquad
        \chi_a = \beta_a \Big/ \Big(\bar\lambda + \alpha E\Big[\frac{e_a^2}{1+V}\Big]
            + \sum_c \rho_c (H_c)_{aa}\Big), \\
        P_c &= N_c\, \alpha E[u^c g^c/(1+V)],\qquad
        \mathrm{res} = E[y^2] + \sum_c (P_c\cdot u^c)^2 - 2 g^c P_c\cdot u^c, \\
        S_c &= \alpha E[u^c u^{cT} (\mathrm{res}+q)/(1+V)^2],\qquad
        Q_c = N_c (S_c - \delta\chi/\chi^2) N_c, \\
        q &= -\sum_a e_a^2\,\delta\chi_a + \sum_c \rho_c\, u^{cT} Q_c u^c, \\
        \beta_a\frac{\delta\chi_a}{\chi_a^2} &- \sum_{c,b} \rho_c (H_c)_{ab}^2\,\delta\chi_b =
            -\alpha E\Big[e_a^2\frac{\mathrm{res}+q}{(1+V)^2}\Big]
            - \sum_c \frac{(P_c)_a^2 + \rho_c (N_c S_c N_c)_{aa}}{\chi_a^2}.

    Then test = :math:`E[\mathrm{res}+q]` and train = :math:`E[(\mathrm{res}+q)/(1+V)^2]`.
    Neurons that are correlated in the linear channel 0, with the ``correlation`` :math:`\rho`, have
    sums that the linear channel holds more or less than those of independent ones, which counts
    where the means M, with the overlaps P, are fitted:
    :math:`\chi^{-1} + C_1` is stiffer by :math:`H_0\circ\rho` on the means, and with
    :math:`A = P_MP_M^T\circ\rho` and :math:`G = N_0\chi^{-1}` the source
    :math:`(P_M)_a^2/\chi_a^2` gains :math:`(H_0AH_0)_{aa}` and :math:`Q_0` gains
    :math:`GAG^T`.

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
    products = model.modes[places.pairs[0]] * model.modes[places.pairs[1]]
    chi = ratios.widths / (1 + ratios.ridge)
    coupling = ratios.samples * (products @ model.weights)
    found = iterated_fixed_point(
        lambda state: _risk_first_order(state, model, ratios, places),
        np.concatenate([chi, coupling]),
        tolerance=1e-11,
        max_iterations=50_000,
    )
    state = found.value
    chi, fields = state[:blocks], _equivalent_fields(state[:blocks], state[blocks:], model, places)
    overlap, residual = _equivalent_fit(fields, model, ratios, places)
    loss, weighted = _second_order(chi, fields, overlap, residual, model, ratios, places)
    test, train = np.sum(model.weights * loss), np.sum(model.weights * weighted)
    return Risk(test, train, found.iterations, found.converged)


@functools.lru_cache(maxsize=32)
def _equivalent_places(layout: ChannelLayout) -> _Places:
    return _Places(layout)


def _equivalent_fields(chi: Any, coupling: Any, model: Equivalent, places: _Places) -> _RiskFields:
    spread, coupled = chi @ places.members, places.matrix(coupling)
    stiff = np.diag(1 / spread) + coupled
    inverse = np.linalg.inv(stiff)
    # H = 1/chi - N/chi^2 without the cancellation of weak channels.
    held = coupled @ inverse / spread[None, :]
    slopes = inverse @ model.modes
    gain = 1 / (1 + chi @ model.noise + model.shares @ (model.modes * slopes))
    slope = slopes[: len(chi)]
    if model.cumulants is None:
        return _RiskFields(stiff, inverse, held, gain, gain, 0 * gain, None, None)
    kick, tilt = _single_site(model.cumulants, chi[:, None], slope)
    excess = chi @ kick + 2 * np.sum(slope * tilt, axis=0)
    return _RiskFields(stiff, inverse, held, gain, gain + excess * gain**3, excess, kick, tilt)


def _single_site(cumulants: Cumulants, chi: Any, slope: Any) -> tuple[Any, Any]:
    """What the non-Gaussian noise of one neuron adds to its noise and to its slope."""
    fourth, third, second = (_lifted_equivalent(cumulant, slope) for cumulant in cumulants)
    kick = chi * fourth + 2 * slope * third
    tilt = chi * third + 2 * slope * second
    return kick, tilt


def _lifted_equivalent(array: Any, like: Any) -> Any:
    """The array with leading axes of length one, to meet a stack of its kind."""
    return array.reshape(*[1] * (like.ndim - array.ndim), *array.shape)


def _risk_first_order(state: Any, model: Equivalent, ratios: RiskRatios, places: _Places) -> Any:
    """One iteration of (chi, C)."""
    blocks = len(model.noise)
    chi, coupling = state[:blocks], state[blocks:]
    fields = _equivalent_fields(chi, coupling, model, places)
    average = ratios.samples * model.weights
    fitted, squared = average * fields.weight, average * fields.gain**2
    held = places.members @ (model.shares * np.diagonal(fields.held))
    bound = ratios.ridge + model.noise @ fitted + held
    sums = places.packed((model.modes * fitted[None, :]) @ model.modes.T)
    if model.cumulants is not None:
        bound = bound - fields.kick @ squared
        sums = sums - _risk_leans(fields.tilt, model, places) @ squared
    return np.concatenate([ratios.widths / bound, sums])


def _risk_leans(tilt: Any, model: Equivalent, places: _Places) -> Any:
    """tilt_i u_j + u_i tilt_j for each pair of modes; only the linear modes tilt."""
    unused = len(model.modes) - tilt.shape[-2]
    tilts = np.pad(tilt, [(0, 0)] * (tilt.ndim - 2) + [(0, unused), (0, 0)])
    left, right = (_lifted_equivalent(model.modes[side], tilt) for side in places.pairs)
    i, j = places.pairs
    return tilts[..., i, :] * right + tilts[..., j, :] * left


def _equivalent_fit(
    fields: _RiskFields, model: Equivalent, ratios: RiskRatios, places: _Places
) -> tuple[Any, Any]:
    """Overlap of the mean readout with each label direction, and the squared error it leaves."""
    average = ratios.samples * model.weights
    source = (model.modes * (average * fields.weight)[None, :]) @ model.labels.T
    if model.cumulants is not None:
        tilted = (fields.tilt * (average * fields.gain**2)[None, :]) @ model.labels.T
        source = source - np.pad(tilted, [(0, len(source) - len(tilted)), (0, 0)])
    stiff = fields.stiff
    if model.correlation is not None:
        blocks, modes = len(model.noise), len(stiff)
        held = fields.held[:blocks, :blocks] * model.correlation
        stiff = stiff + np.pad(held, [(blocks, modes - 2 * blocks)] * 2)
    # A solve, not the inverse: blocks with equal means leave directions of huge condition.
    overlap = np.linalg.solve(stiff, places.coupled * source)
    fit = overlap.T @ model.modes
    return overlap, model.power + np.sum(fit**2 - 2 * model.labels * fit, axis=0)


def _second_order(
    chi: Any,
    fields: _RiskFields,
    overlap: Any,
    residual: Any,
    model: Equivalent,
    ratios: RiskRatios,
    places: _Places,
) -> tuple[Any, Any]:
    """res + q, and the same weighted by 1/(1+V)^2, on the grid.

    The fluctuations, dchi of each block and Q of each pair of modes, respond linearly to the
    sources S, and the sources are affine in the fluctuations.
    """
    i, j = places.pairs
    average, gain, size = ratios.samples * model.weights, fields.gain, len(chi) + len(i)
    products = model.modes[i] * model.modes[j]
    # Rows: what a unit of each fluctuation adds to the loss, and to the weighted loss.
    to_loss = np.concatenate(
        [-model.noise, (places.multiplicity * model.shares[i])[:, None] * products]
    )
    weigh = gain**2 + 3 * fields.excess * gain**4
    to_weighted = to_loss * weigh[None, :]
    seen = np.concatenate([model.noise, products])
    constant = seen @ (average * residual * weigh)
    if model.cumulants is not None:
        leans = _risk_leans(fields.tilt, model, places)
        shift = np.concatenate([-fields.kick, places.multiplicity[:, None] * leans])
        to_weighted = to_weighted - 2 * shift * (gain**3)[None, :]
        site = np.concatenate([fields.kick, leans])
        cubed = 2 * average * gain**3
        constant = constant - site @ (cubed * residual)
    linear = (to_weighted * average[None, :]) @ seen.T
    if model.cumulants is not None:
        linear = linear - (to_loss * cubed[None, :]) @ site.T
        linear = linear + _site_response(model, places, average * gain**2)

    spread = chi @ places.members
    shared = (places.members * model.shares[None, :]) @ fields.held**2 @ places.members.T
    stiffness = np.diag(ratios.widths / chi**2) - shared
    fitting = places.members @ np.sum((overlap / spread[:, None]) ** 2, axis=1)

    moments = np.zeros(len(i))
    if model.correlation is not None:
        sums, moments = _equivalent_correlated_sums(chi, fields, overlap, model.correlation, places)
        fitting = fitting + sums

    constant = constant + np.concatenate([fitting, np.zeros(len(i))])
    sources = np.concatenate([constant[None, :], linear])
    responses = _responses(sources, chi, stiffness, fields.inverse, model.shares, places)
    given = responses[0] + np.concatenate([np.zeros(len(chi)), moments])
    response = np.linalg.solve(np.eye(size) - responses[1:].T, given)
    return residual + response @ to_loss, residual * weigh + response @ to_weighted


def _equivalent_correlated_sums(
    chi: Any, fields: _RiskFields, overlap: Any, correlation: Any, places: _Places
) -> tuple[Any, Any]:
    """What the correlation of neurons adds to the source of dchi, and to Q at once."""
    blocks = len(chi)
    means, held = overlap[blocks : 2 * blocks], fields.held[:blocks, :blocks]
    energy = means @ means.T * correlation
    gain = fields.inverse[:blocks, :blocks] / chi[None, :]
    moments = np.pad(gain @ energy @ gain.T, [(0, len(fields.stiff) - blocks)] * 2)
    return np.diagonal(held @ energy @ held), places.packed(moments)


def _responses(
    sources: Any, chi: Any, stiffness: Any, inverse: Any, shares: Any, places: _Places
) -> Any:
    """Fluctuations (dchi, Q) that each row of sources (S_2, S) makes."""
    blocks, spread = len(chi), chi @ places.members
    moved = inverse @ places.matrix(sources[:, blocks:]) @ inverse
    gained = np.diagonal(moved, axis1=1, axis2=2) * (shares / spread**2)[None, :]
    change = -np.linalg.solve(stiffness, (sources[:, :blocks] + gained @ places.members.T).T).T
    lost = ((change / chi[None, :] ** 2) @ places.members)[:, None, :]
    moments = moved - (inverse[None] * lost) @ inverse
    return np.concatenate([change, places.packed(moments)], axis=1)


def _site_response(model: Equivalent, places: _Places, squared: Any) -> Any:
    """Sources from the single-site terms, for a unit of each fluctuation."""
    blocks, pairs = len(model.noise), len(places.pairs[0])
    change = np.concatenate([np.eye(blocks), np.zeros((pairs, blocks))])
    units = places.matrix(np.eye(pairs))[:, :blocks] @ model.modes
    slopes = np.concatenate([np.zeros((blocks, *model.noise.shape)), units])
    kick, tilt = _single_site(model.cumulants, -change[:, :, None], slopes)
    return np.concatenate([kick @ squared, _risk_leans(tilt, model, places) @ squared], axis=1)
