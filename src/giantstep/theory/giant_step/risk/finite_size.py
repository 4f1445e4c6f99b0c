"""Corrections of order 1/d, known for isotropic rows, and carried over to real ones as a ratio."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.numerics.solve import STEP
from giantstep.theory.giant_step.risk.readout import LIMIT, Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk

#: Ratios outside this range are not small corrections: they are not applied.
TRUSTED = (0.75, 1.33)
#: Components with a larger share of the bulk are not small: their second order is not used.
LARGEST_SHARE = 0.5
#: Iterations, the change at which they end, and the first of them that go half the way.
MOST, CHANGE, HALF = 1500, 1e-9, 30


class Ratios(NamedTuple):
    """Factors on the test error (excess risk) and on the train error."""

    test: float
    train: float


#: No correction.
NONE = Ratios(1.0, 1.0)


def component_ratio(readout: Readout, sigma: Activation, fit: Fit) -> tuple[Ratios, float]:
    r"""By how much amplified components of the rows change the risk, and which share is unknown.

    .. math:: \frac{R_{\text{second order}}(\Gamma)}{R_{\text{second order}}(c\,1)},\qquad
        \max_a\frac{E[\beta_a^2]}{c_a}

    The terms of all directions alike are not amplified, and are left to other corrections. Orders
    beyond the second are smaller by the mean square of the components along the target's directions
    relative to the bulk, by which share the change of the risk is not known.

    Symbols: Gamma, beta, c of :class:`~giantstep.theory.giant_step.risk.components.Components`.

    Assumes: components that are small beside the bulk; Gaussian over neurons. No change is found
    for targets of so many directions that they are not integrated one by one, nor where components
    have more than half of the bulk's square.
    Status: heuristic, checked by simulation.
    References: Ba et al. 2022, arXiv:2205.01445, for the covariance of rows after a step.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("He2(h1)"), activation("He2")
    >>> *_, layer = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0], samples_ratios=[4.0])
    >>> ratio, share = component_ratio(
    ...     Readout(problem, sigma, layer), sigma, Fit.of(4.0, 1.0, 0.1, 400))
    >>> round(ratio.test, 2), round(share, 4)
    (0.76, 0.0292)
    """
    if not readout.layer.batches or fit.dim == LIMIT:
        return NONE, 0.0
    given = readout.problem, sigma, readout.layer
    try:
        both = [Readout(*given, coarse=True, dim=fit.dim, alike=alike) for alike in (False, True)]
    except (NoTheory, np.linalg.LinAlgError):
        return NONE, 0.0
    found, plain = (readout_risk(each, fit) for each in both)
    components, noise = both[0].components, readout.problem.noise
    if components is None or components.share > LARGEST_SHARE:
        return NONE, 0.0
    if not (found.converged and plain.converged):
        return NONE, 0.0
    ratio = (found.test - noise) / (plain.test - noise)
    return Ratios(ratio, found.train / plain.train), components.share


def isotropic_ratio(readout: Readout, fit: Fit) -> Ratios | None:
    r"""By how much corrections of order 1/d change the risk of isotropic rows of these means.

    .. math::
        \chi_a &= \frac{\beta_a}{D_a + (1-\tfrac Dd)H_{aa} + (H_f)_{m_am_a}
            + \tfrac1d\sum_i(H_f)_{ia,ia}},\qquad
        V = \Big(1-\frac Dd\Big)u^TNu + \sum_ae_a^2\chi_a + \frac1df^TN_ff,

    with :math:`N_f = (K^{-1}+L)^{-1}` and :math:`H_f = K^{-1}N_fL` of the functions f = (m, kappa_i
    u): what it costs to fit them. The network's own output in the residuals changes
    :math:`K_{mm}^{-1} = 1/(d\chi)` by :math:`H\circ(\Theta-1)/(d\sqrt{\beta_a\beta_b})`,
    :math:`\Theta_{ab} = \text{common}_{ab}/\sqrt{c_ac_b}`. Both are compared with K alone at d.

    Symbols: d ``fit.dim``; Theta from ``readout.layer.common``.

    Assumes: independent rows. None where a ratio lies outside .75 to 1.33.
    Status: heuristic, checked by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938, for isotropic rows in the limit.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("sin(h1)"), activation("tanh")
    >>> *_, layer = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0, 1.0], samples_ratios=[4.0, 4.0])
    >>> readout = Readout(problem, sigma, layer)
    >>> ratio = isotropic_ratio(readout, Fit.of(2.0, 1.0, 0.1, 1e7))
    >>> abs(ratio.test - 1) < 1e-4, isotropic_ratio(readout, Fit.of(2.0, 1.0, 0.1, 200)).test < 1
    (True, True)
    """
    found = [_risk(readout, fit, corrected) for corrected in (True, False)]
    if found[0] is None or found[1] is None:
        return None
    noise = readout.problem.noise
    ratios = Ratios((found[0][0] - noise) / (found[1][0] - noise), found[0][1] / found[1][1])
    low, high = TRUSTED
    return ratios if low < ratios.test < high and low < ratios.train < high else None


def _risk(readout: Readout, fit: Fit, corrected: bool) -> tuple[float, float] | None:
    """Test and train error on noisy labels, as :func:`~...solution.readout_risk` defines them."""
    probed = _objective(readout, fit._replace(probe=1j * STEP), corrected)
    bound = _objective(readout, fit._replace(penalty=fit.penalty + 1j * STEP), corrected)
    if probed is None or bound is None:
        return None
    slope = bound.imag / STEP
    return probed.imag / STEP, (bound.real - fit.penalty * slope) / fit.samples_ratio


def _objective(readout: Readout, fit: Fit, corrected: bool) -> complex | None:
    """The least objective over d; its imaginary part follows that of the fit's parameters."""
    equations = _Isotropic(readout, fit, corrected)
    chi = (equations.widths / (1 + fit.penalty)).astype(complex)
    leverage = np.full(len(equations.weights), 0.3, dtype=complex)
    for count in range(MOST):
        new_chi, new_leverage = equations.image(chi, leverage)
        step = 0.5 if count < HALF else 1.0
        moved = max(_change(new_chi, chi), _change(1 + new_leverage, 1 + leverage))
        chi = chi + step * (new_chi - chi)
        leverage = leverage + 0.5 * (new_leverage - leverage)
        if not np.isfinite(moved):
            return None
        if moved < CHANGE:
            return equations.objective(chi, leverage)
    return None


def _change(new: np.ndarray, old: np.ndarray) -> float:
    """The largest relative change of the values, and of their derivatives."""
    gap = new - old
    values = np.max(np.abs(gap.real)) / (1e-300 + np.max(np.abs(new.real)))
    slopes = np.max(np.abs(gap.imag)) / (1e-6 * STEP + np.max(np.abs(new.imag)))
    return float(max(values, slopes))


class _Isotropic:
    """The equations of isotropic rows with the means and lengths of a layer."""

    def __init__(self, readout: Readout, fit: Fit, corrected: bool) -> None:
        layer, self.fit, self.corrected = readout.layer, fit, corrected
        k, along = len(readout.means), len(readout.learned.kappa)
        root = np.sqrt(layer.variances)[:, None]
        self.widths = fit.width_ratio * layer.neurons.fractions
        self.weights, self.slopes = readout.learned.weights, root * readout.slopes
        self.noise = np.diagonal(readout.noise).T
        self.power, self.labels = readout.learned.power, readout.learned.labels
        turned = readout.learned.kappa[:, None] * self.slopes
        turned = turned.reshape(along * k, self.slopes.shape[1])
        self.functions = np.concatenate([readout.means, turned])
        self.along, self.hidden = along, len(self.labels) - 1
        self.kept = 1 - along / fit.dim if corrected else 1.0
        self.theta = layer.common / (root * root.T) - np.eye(k)

    def _parts(self, chi: Any, leverage: Any) -> Any:
        k, dim = len(chi), self.fit.dim
        weights = self.weights * (self.fit.samples_ratio / (1 + leverage) + self.fit.probe)
        coupling = (self.slopes * weights) @ self.slopes.T
        mixed = np.linalg.inv(np.eye(k) + chi[:, None] * coupling)
        load = (self.functions * weights) @ self.functions.T
        kernel = np.diag(np.concatenate([dim * chi, *[chi] * self.along]))
        turned = np.linalg.inv(np.eye(len(load)) + kernel @ load)
        return weights, coupling, mixed, load, kernel, turned

    def image(self, chi: Any, leverage: Any) -> tuple[Any, Any]:
        """One iteration of chi and V."""
        weights, coupling, mixed, load, kernel, turned = self._parts(chi, leverage)
        held = np.diag(coupling @ mixed)
        bound = self.noise @ weights + self.fit.penalty + self.kept * held
        bulk = mixed * chi
        found = self.kept * np.sum(self.slopes * (bulk @ self.slopes), axis=0) + chi @ self.noise
        if self.corrected:
            own = np.diag(load @ turned).reshape(1 + self.along, -1)
            bound = bound + own[0] + own[1:].sum(0) / self.fit.dim
            fitted = turned @ kernel
            found = found + np.sum(self.functions * (fitted @ self.functions), 0) / self.fit.dim
        return self.widths / bound, found

    def objective(self, chi: Any, leverage: Any) -> complex:
        """E[omega y^2] - R^T (K^-1 + L)^-1 R, over functions of kappa and of each z_i."""
        weights, coupling, mixed, load, kernel, _ = self._parts(chi, leverage)
        k, dim = len(chi), self.fit.dim
        inverse = np.diag(1 / np.diag(kernel))
        if self.corrected:
            held = coupling @ mixed
            roots = np.sqrt(self.widths)
            inverse[:k, :k] += held * self.theta / (np.outer(roots, roots) * dim)
        source = (self.functions * weights) @ self.labels[0]
        least = weights @ self.power - source @ np.linalg.solve(inverse + load, source)
        for label in self.labels[1:]:
            across = (self.slopes * weights) @ label
            least = least - across @ np.linalg.solve(np.diag(1 / chi) + coupling, across)
        return complex(least)
