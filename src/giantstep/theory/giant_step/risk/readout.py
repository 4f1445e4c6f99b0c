"""The fit of the readout on a first layer: features, labels, equations, and what they minimise."""

from __future__ import annotations

import copy
import functools
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.components import Components
from giantstep.theory.giant_step.risk.first_layer import FirstLayer
from giantstep.theory.giant_step.risk.learned_labels import learned
from giantstep.theory.giant_step.risk.neuron_averages import (
    NeuronAverages,
    averages_by_kind,
    neuron_averages,
)
from giantstep.theory.giant_step.risk.pencil import Pencil, State
from giantstep.theory.giant_step.risk.sample_terms import applied, bulk_by_parts, bulk_means
from giantstep.theory.giant_step.risk.twin_products import products_of_twins
from giantstep.theory.spiked_random_features.conditional_features import LIMIT


class Fit(NamedTuple):
    """The fit of the readout: n/d, p/d, the coefficient of |theta|^2 over d, and d.

    ``probe``: weight of the population's error next to that of the samples. It is zero; the
    derivative in it is the test error. Many penalties and probes, as arrays, are many fits at once.
    """

    samples_ratio: float
    width_ratio: float
    penalty: Any
    dim: float = LIMIT
    probe: Any = 0.0

    @classmethod
    def of(cls, samples: float, width: float, ridge: float, dim: float | None = None) -> Fit:
        """The fit of a ridge, which for features over sqrt(p) is a penalty of ridge p/d.

        >>> Fit.of(2.0, 0.5, 0.1).penalty
        0.05
        """
        return cls(samples, width, ridge * width, dim or LIMIT)


class Readout:
    """Features of a first layer and labels, as the fit of the readout sees them.

    Everything that depends on neither the sizes of the fit nor its ridge. ``dim``: with components
    of the rows to second order; ``alike``: as if these were alike along all directions.
    """

    def __init__(
        self,
        problem: Problem,
        sigma: Activation,
        layer: FirstLayer,
        *,
        coarse: bool = False,
        dim: float | None = None,
        alike: bool = False,
    ) -> None:
        self.problem, self.layer, self.pencil = problem, layer, Pencil(layer)
        #: Risks that are known already, by their fit.
        self.solved: dict[Fit, Any] = {}
        whole = dim is not None and bool(layer.batches)
        self.learned = learned(problem, layer, coarse=coarse, whole=whole)
        neurons, s = layer.neurons, self.learned.projections
        self.sigmas = [sigma.shifted(float(bias)) for bias in neurons.biases]
        found = averages_by_kind(neuron_averages, self.sigmas, layer.variances, s)
        self.noise = self._noise(found, layer.bulks, s)
        self.components = None
        if dim is not None and layer.batches:
            rank = problem.target.rank
            directions, at = self.learned.directions[:, :rank], self.learned.kappa[:rank]
            self.components = Components(self.pencil, directions, at, dim, alike=alike)
            # Averages at the variances that samples see; what second-order spikes hold is no noise.
            variances, power = self.components.variances(layer.variances), found.power
            found = averages_by_kind(neuron_averages, self.sigmas, variances, s)
            own = found.power - found.mean**2 - variances * found.slope**2
            own = np.maximum(own - (found.bend * self.components.along) ** 2 / 2, 0.0)
            before = np.diagonal(self.noise).T
            growth = np.sqrt(own / np.where(before > 1e-12 * power, before, 1.0))
            self.noise = self.noise * growth * growth[:, None]
        self.means, self.slopes = found.mean, found.slope
        self.functions = self._functions(found, s)

    def _noise(
        self, found: NeuronAverages, bulks: np.ndarray, s: np.ndarray
    ) -> Float[np.ndarray, "k k points"]:
        """e^2_ab, what is left of the covariance of two neurons beyond their linear parts."""
        outputs = [(sigma.numpy, sigma.kinks) for sigma in self.sigmas]
        products = products_of_twins(self.layer, outputs, s, found.power)
        means, linear = found.mean[:, None] * found.mean, found.slope[:, None] * found.slope
        linear = means + bulks[..., None] * linear
        return np.where(self.layer.neurons.twins[..., None], products - linear, 0.0)

    def _functions(
        self, found: NeuronAverages, s: np.ndarray
    ) -> Float[np.ndarray, "groups functions points"]:
        r"""How the mean output changes with a row's mean, its components, and its lengths.

        Group 0 are functions of kappa, group i those that multiply z_i: :math:`m_a`; along each
        direction :math:`\kappa_iu_a` or :math:`z_iu_a`; :math:`w_1/2` for the last length, and for
        that after step s the components of the push it gave. On the sphere a row's squared length
        is off by :math:`-2\langle m, b\rangle`, so that :math:`-w_1m_i` joins the functions of
        each direction, and the last length, too, has given a push.
        """
        along, k = len(self.learned.kappa), len(s)
        directions = self.learned.directions
        hidden = directions.shape[1] - along
        extra = self._label_free()
        groups = 1 + hidden + extra.shape[1]
        self.directions = np.concatenate([directions, extra], axis=1)
        total = self.directions.shape[1]
        single = np.zeros((groups, total, k, s.shape[1]))
        single[0, :along] = self.learned.kappa[:, None] * self.slopes
        for i in range(along, total):
            single[1 + i - along, i] = self.slopes
        if self.layer.neurons.normalise and self.layer.batches:
            along_mean = (self.layer.means @ directions)[:, :along]
            single[0, :along] -= along_mean.T[..., None] * found.bend
        lengths = []
        for step in self.pencil.levels:
            if step == len(self.layer.pushes):
                here = np.zeros((groups, k, s.shape[1]))
                here[0] = found.bend / 2
            else:
                parts = self.layer.pushes[step] @ self.directions
                here = np.einsum("gdan,ad->gan", single, parts)
            lengths.append(here)
        means = np.zeros((groups, k, s.shape[1]))
        means[0] = self.means
        singles = list(single.transpose(1, 0, 2, 3))
        functions = np.concatenate([means, *singles, *lengths], axis=1)
        if self.components is None:
            return functions
        ones, second = self.components.functions(found.bend)
        flat = second.reshape(len(second), -1, s.shape[1])
        shared = [0, *range(groups, groups + len(ones) - 1)]
        both = np.pad(functions, [(0, len(ones) - 1), (0, flat.shape[1]), (0, 0)])
        both[shared, :k] += ones
        both[shared, functions.shape[1] :] = flat
        return both

    def _label_free(self) -> Float[np.ndarray, "vectors directions"]:
        """Directions of the pushes beyond all those of which the labels speak."""
        known = self.learned.directions
        pushes = [self.layer.pushes[s] for s in self.pencil.levels if s < len(self.layer.pushes)]
        if not pushes:
            return np.zeros((len(known), 0))
        given = np.concatenate(pushes)
        rest = given - given @ known @ known.T
        _, values, right = np.linalg.svd(rest, full_matrices=False)
        return right[values > 1e-6 * max(float(np.max(np.abs(given))), 1e-9)].T

    def roots(self, fit: Fit) -> Float[np.ndarray, " k"]:
        """r, the square root of each kind's p/d."""
        return np.sqrt(fit.width_ratio * self.layer.neurons.fractions)

    def first_guess(self, fit: Fit) -> State:
        """The state of a fit in which each sample counts for a third, before batches are seen."""
        k, roots = len(self.means), self.roots(fit)
        weights = 0.3 * fit.samples_ratio * self.learned.weights
        bound = self.noise @ weights + np.multiply.outer(fit.penalty, np.eye(k))
        coupling = np.outer(roots, roots) * ((self.slopes * weights) @ self.slopes.T)
        flat = tuple(np.zeros((*bound.shape[:-2], 2 * k, 2 * k)) for _ in self.layer.batches)
        return State(2 * bound, flat, np.zeros_like(bound) + coupling)

    def near(self, state: State, fit: Fit) -> Readout:
        """The same with all averages to first order around a state, for derivatives."""
        found = copy.copy(self)
        found.pencil = self.pencil.near(state)
        at, flat = self._given(state, self._bulk(state), fit), self._pairs
        flat = flat.reshape(-1, flat.shape[-1])
        weights, omega = self.learned.weights, self._omega(at, fit)
        slopes = (flat * (omega * (omega / weights))[..., None, :]) @ flat.T / -fit.samples_ratio
        value, probed = omega @ flat.T, flat @ weights

        def fitted(given: Any, fit: Fit) -> Any:
            moved = (given - at).reshape(*given.shape[:-3], -1)
            change = applied(slopes, moved)
            return (value + change + np.multiply.outer(fit.probe, probed)).reshape(given.shape)

        found._fitted = fitted  # type: ignore[method-assign]
        return found

    def next_state(self, state: State, fit: Fit) -> State:
        r"""One iteration of the unknowns.

        .. math::
            V &= \sum_{ab} u_au_bN_{ab} + e^2_{ab}\chi_{ab},\qquad
            \omega = \frac{\alpha}{1+V} + \epsilon,\\
            C_{ab} &= E[u_au_b\,\omega],\qquad B_{ab} = E[e^2_{ab}\,\omega]
                + \bar\lambda\delta_{ab} + H_{ab},\qquad \chi = \beta B^{-1}
        """
        mean, scale = self.pencil.averages(state), np.outer(self.roots(fit), self.roots(fit))
        fitted = self._fitted(self._given(state, mean.bulk, fit), fit)
        slopes, noise = fitted[..., 0, :, :], fitted[..., 1, :, :]
        bound = noise + np.multiply.outer(fit.penalty, np.eye(len(scale))) + mean.held / scale
        bound = np.where(self.layer.neurons.twins, bound, 0.0)
        return State(bound, mean.energies, scale * slopes)

    def _given(self, state: State, bulk: Any, fit: Fit) -> Any:
        """N_ab and chi_ab, on which the leverage V depends."""
        scale = np.outer(self.roots(fit), self.roots(fit))
        return np.stack([scale * bulk, scale * np.linalg.inv(state.bound)], axis=-3)

    def _omega(self, given: Any, fit: Fit) -> Any:
        """omega times the weights of the points."""
        flat = self._pairs.reshape(-1, self._pairs.shape[-1])
        leverage = bulk_by_parts(lambda each: each.reshape(*each.shape[:-3], -1) @ flat, given)
        share = fit.samples_ratio / (1 + leverage) + np.asarray(fit.probe)[..., None]
        return self.learned.weights * share

    def _fitted(self, given: Any, fit: Fit) -> Any:
        """E[u_a u_b omega] and E[e^2_ab omega]."""
        return bulk_means(self._omega(given, fit), self._pairs)

    def weights(self, state: State, fit: Fit) -> Any:
        """omega times the weights of the points, at a state."""
        return self._omega(self._given(state, self._bulk(state), fit), fit)

    def _bulk(self, state: State) -> Any:
        k = len(self.means)
        return self.pencil.resolvent(state)[..., :k, :k]

    @functools.cached_property
    def _pairs(self) -> Float[np.ndarray, "2 k k points"]:
        """u_a u_b and e^2_ab."""
        return np.stack([self.slopes[:, None] * self.slopes, self.noise])

    def columns(self, state: State, fit: Fit) -> SpikeColumns:
        """K, L and the sources of :meth:`objective`, which spectra of features need too."""
        roots, k = self.roots(fit), len(self.means)
        weights = self.weights(state, fit)
        single = self.pencil.overlaps(state, self.directions)
        functions = np.tile(roots, self.functions.shape[1] // k)[:, None] * self.functions
        labels, (groups, entries, points) = self.learned.labels, functions.shape
        flat = functions.swapaxes(0, 1).reshape(entries, groups * points)

        def loaded(each: np.ndarray) -> np.ndarray:
            fits = each.reshape(-1, points)
            found = [(flat * np.tile(one, groups)) @ flat.T for one in fits]
            return np.reshape(found, (*each.shape[:-1], entries, entries))

        load = bulk_by_parts(loaded, weights)
        known = np.einsum("gp,gep->ep", labels, functions[: len(labels)])
        source = bulk_means(weights, known)
        overlaps, last = np.zeros(load.shape, single.dtype), k + single.shape[-1]
        spread = np.linalg.inv(state.bound)
        overlaps[..., :k, :k], overlaps[..., k:last, k:last] = fit.dim * spread, single
        if self.components is not None:
            overlaps[..., last:, last:] = self.components.overlaps(spread)
        return SpikeColumns(overlaps, load, source, weights)

    def objective(self, state: State, fit: Fit) -> Any:
        r"""The least value of the fit's objective, over d, at the fixed point.

        .. math:: \frac1d\min_\theta\Big\{\sum_i(y_i-\theta\cdot\phi_i)^2 + d\bar\lambda|\theta|^2
            \Big\} = E[\omega\,y^2] - R^T(K^{-1} + L)^{-1}R,\qquad
            L = E[\omega ff^T],\quad R = E[\omega f g]

        over the functions f that single directions among the neurons let the network fit, with K
        the forms of the bulk's resolvent between these: :math:`d\chi` for the means.
        """
        spikes = self.columns(state, fit)
        # K may be singular, so (K^-1 + L)^-1 R is solved as (1 + K L)^-1 K R.
        kernel = np.eye(spikes.load.shape[-1]) + spikes.overlaps @ spikes.load
        source = spikes.source[..., None]
        fitted = np.linalg.solve(kernel, spikes.overlaps @ source)
        return spikes.weights @ self.learned.power - np.sum(source * fitted, axis=(-2, -1))


class SpikeColumns(NamedTuple):
    """The single directions among neurons: K ``overlaps``, L ``load``, R ``source``; omega."""

    overlaps: Any
    load: Any
    source: Any
    weights: Any
