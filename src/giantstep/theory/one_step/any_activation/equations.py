"""The equations of the readout fit: their fixed point, and the objective that it minimises."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.theory.one_step.any_activation.features import Features
from giantstep.theory.one_step.any_activation.gradient_labels import GradientLabels
from giantstep.theory.one_step.any_activation.pencil import (
    Batch,
    averages,
    chi,
    probe_overlaps,
)
from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
from giantstep.theory.one_step.any_activation.unknowns import State
from giantstep.theory.spiked_features.conditional_labels import LabelMoments


class SteppedNetwork(NamedTuple):
    """All that the fit of the readout sees of the problem and of the step.

    ``rows`` after the step and ``batch``, the labels that made them; ``features`` and ``labels``
    as functions of kappa, on points of these ``weights``; ``power`` E[y^2 | kappa], noise
    included; ``fractions`` of the neurons in each block; ``norm_spread``: d times the relative
    variance of the first rows' squared norms, 2 for Gaussian rows and 0 on the sphere.
    """

    rows: SteppedRows
    batch: GradientLabels
    features: Features
    labels: LabelMoments
    power: Float[np.ndarray, " points"]
    weights: Float[np.ndarray, " points"]
    fractions: Float[np.ndarray, " k"]
    norm_spread: float


class Fit(NamedTuple):
    """The fit of the readout: n/d, p/d, the coefficient of |theta|^2 over d, and d.

    ``probe``: weight of the population's error next to that of the samples. It is zero; the
    derivative in it is the test error.
    """

    samples_ratio: float
    width_ratio: float
    penalty: Any
    dim: float
    probe: Any = 0.0


def first_guess(network: SteppedNetwork, fit: Fit) -> State:
    r"""The state of a fit in which each sample counts for a third, before the batch is seen.

    .. math:: C_{ab} = 0.3\,\alpha E[u_au_b],\qquad
        B_{ab} = 2\big(0.3\,\alpha E[e^2_{ab}] + \bar\lambda\delta_{ab}\big),\qquad \Sigma = 0

    Symbols: alpha, lambda-bar ``fit``; u, e ``network.features``.

    Assumes: nothing; iterations start here.
    Status: heuristic.
    References: Cui et al. 2024, arXiv:2402.04980, for the equations.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("h1"), activation("identity"), Start.of([1.0]), step_size=1, samples_ratio=1)
    >>> guess = first_guess(network, Fit(samples_ratio=2.0, width_ratio=3.0, penalty=1.0, dim=10.0))
    >>> guess.coupling.round(6).tolist(), guess.bound.round(6).tolist()
    ([[0.6]], [[2.0]])
    """
    found, k = network.features, len(network.fractions)
    weights = 0.3 * fit.samples_ratio * network.weights
    bound = np.where(network.rows.twins, found.noise @ weights, 0.0) + fit.penalty * np.eye(k)
    coupling = (found.slopes * weights) @ found.slopes.T
    return State(2 * bound, np.zeros((2 * k, 2 * k)), coupling)


def next_state(state: State, network: SteppedNetwork, fit: Fit) -> State:
    r"""One iteration of the unknowns.

    .. math::
        V &= \sum_{ab} u_au_bN_{ab} + e^2_{ab}\chi_{ab},\qquad
        \omega(\kappa) = \frac{\alpha}{1+V} + \epsilon,\\
        C_{ab} &= E[u_au_b\,\omega],\qquad D_{ab} = E[e^2_{ab}\,\omega] + \bar\lambda\delta_{ab},

    with chi, N, H and Sigma of :mod:`giantstep.theory.one_step.any_activation.pencil`. Between
    blocks that share their first rows D, H and chi are matrices, and beta counts distinct rows.

    Symbols: alpha, beta, lambda-bar, epsilon ``fit``; u, e ``network.features``.

    Assumes: n, p, d and n_0 proportional.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("relu(h1)"), activation("relu"), Start.of([1.0]), step_size=4,
    ...     samples_ratio=1)
    >>> fit = Fit(samples_ratio=3.0, width_ratio=0.5, penalty=0.025, dim=1e12)
    >>> state = first_guess(network, fit)
    >>> for _ in range(100):
    ...     state = next_state(state, network, fit)
    >>> round(float(chi(state, batch_of(network, fit))[0, 0]), 6)
    0.250343
    """
    found, batch = network.features, batch_of(network, fit)
    mean = averages(state, batch)
    weights = _sample_weights(chi(state, batch), mean.bulk, network, fit)
    bound = found.noise @ weights + fit.penalty * np.eye(len(state.bound)) + mean.held
    return State(
        np.where(network.rows.twins, bound, 0.0),
        mean.energy,
        (found.slopes * weights) @ found.slopes.T,
    )


def objective(state: State, network: SteppedNetwork, fit: Fit) -> Any:
    r"""The least value of the fit's objective, over d, at the fixed point.

    .. math:: \frac1d\min_\theta\Big\{\sum_i(y_i-\theta\cdot\phi_i)^2 + d\bar\lambda|\theta|^2
        \Big\} = E[\omega\,y^2] - R^T(K^{-1} + L)^{-1}R,\qquad
        L = E[\omega ff^T],\quad R = E[\omega f g]

    The functions f are what single directions in the space of neurons let the network fit: the
    means m, for which K is :math:`d\chi`; :math:`\kappa u` along v, u along each t_i, tau along
    c, with the K of :func:`~giantstep.theory.one_step.any_activation.pencil.probe_overlaps`. Their
    labels g are :math:`E[y|\kappa]`, and :math:`E[z_iy|\kappa]` for t_i. Rows that start with
    Gaussian norms add :math:`2\chi_{ab}e_ae_b` to K, e the change of s and c with the norm.

    Symbols: omega, chi as in :func:`next_state`; d ``fit.dim``.

    Assumes: as :func:`next_state`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("h1"), activation("identity"), Start.of([1.0]), step_size=1, samples_ratio=1)
    >>> fit = Fit(samples_ratio=2.0, width_ratio=3.0, penalty=1e9, dim=10.0)
    >>> round(float(objective(first_guess(network, fit), network, fit)), 6)
    2.0
    """
    labels = np.concatenate([network.labels.mean[None], network.labels.slope])
    spikes = spike_columns(state, network, fit)
    source = np.sum(spikes.weighted * labels[spikes.label_of], axis=1)
    # K may be singular, so (K^-1 + L)^-1 R is solved as (1 + K L)^-1 K R.
    overlaps = spikes.overlaps
    fitted = np.linalg.solve(np.eye(len(overlaps)) + overlaps @ spikes.load, overlaps @ source)
    return spikes.weights @ network.power - source @ fitted


class SpikeColumns(NamedTuple):
    """The single directions among neurons: K ``overlaps``, L ``load``, omega f ``weighted``.

    ``label_of``: which label each function fits; ``weights``: omega on the points of kappa.
    """

    overlaps: Any
    load: Any
    weighted: Any
    label_of: Any
    weights: Any


def spike_columns(state: State, network: SteppedNetwork, fit: Fit) -> SpikeColumns:
    """K, L and the functions f of :func:`objective`, which the spectrum of the features needs too.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("h1"), activation("identity"), Start.of([1.0]), step_size=1, samples_ratio=1)
    >>> fit = Fit(samples_ratio=2.0, width_ratio=3.0, penalty=1.0, dim=10.0)
    >>> spike_columns(first_guess(network, fit), network, fit).load.shape
    (4, 4)
    """
    found, rows, across = network.features, network.rows, len(network.labels.slope)
    batch, k = batch_of(network, fit), len(state.bound)
    spread = chi(state, batch)
    weights = _sample_weights(spread, averages(state, batch).bulk, network, fit)
    single = probe_overlaps(state, batch, across)
    if network.norm_spread:
        e = np.concatenate([rows.norm_spikes, np.zeros(across * k), rows.norm_bulks])
        same = np.tile(spread, (2 + across, 2 + across))
        single = single + network.norm_spread * np.outer(e, e) * same
    functions = np.concatenate([found.means, found.along, *[found.slopes] * across, found.stretch])
    label_of = np.repeat([0, 0, *range(1, 1 + across), 0], k)
    weighted = functions * weights
    same_label = label_of[:, None] == label_of[None, :]
    load = np.where(same_label, weighted @ functions.T, 0.0)
    overlaps = np.zeros((len(label_of), len(label_of)), single.dtype)
    overlaps[:k, :k], overlaps[k:, k:] = fit.dim * spread, single
    return SpikeColumns(overlaps, load, weighted, label_of, weights)


def mean_weight(state: State, network: SteppedNetwork, fit: Fit) -> float:
    r"""The part of a label's weight that the fit does not take up.

    .. math:: E\,\frac1{1+V} = 1 - \frac1n\operatorname{tr}\,\text{(hat matrix)}

    Symbols: V as in :func:`next_state`.

    Assumes: as :func:`next_state`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("h1"), activation("identity"), Start.of([1.0]), step_size=1, samples_ratio=1)
    >>> fit = Fit(samples_ratio=2.0, width_ratio=3.0, penalty=1e9, dim=10.0)
    >>> round(mean_weight(first_guess(network, fit), network, fit), 6)
    1.0
    """
    batch = batch_of(network, fit)
    bulk = averages(state, batch).bulk
    weights = _sample_weights(chi(state, batch), bulk, network, fit)
    return float(np.sum(weights)) / fit.samples_ratio


def batch_of(network: SteppedNetwork, fit: Fit) -> Batch:
    """What the pencil needs of the network, and p/d for each block of neurons.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("h1"), activation("identity"), Start.of([1.0]), step_size=1, samples_ratio=1)
    >>> fit = Fit(samples_ratio=2.0, width_ratio=3.0, penalty=1.0, dim=10.0)
    >>> batch_of(network, fit).widths.tolist()
    [3.0]
    """
    return Batch(network.rows, network.batch, fit.width_ratio * network.fractions)


def _sample_weights(spread: Any, bulk: Any, network: SteppedNetwork, fit: Fit) -> Any:
    """omega = alpha/(1+V) + epsilon times the weights of the points."""
    found = network.features
    linear = np.sum(found.slopes * (bulk @ found.slopes), axis=0)
    leverage = linear + np.tensordot(spread, found.noise, 2)
    return network.weights * (fit.samples_ratio / (1 + leverage) + fit.probe)
