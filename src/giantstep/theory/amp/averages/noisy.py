"""Averages for noisy labels: omega on a lattice, and labels on one for each.

Both rules are trapezoidal: omega in units of its own spread, labels in units of the smallest width
that their law can have, at least in the middle. The integrands are smooth on these scales and
vanish at the ends, so that the error falls exponentially with the spacing. On one field omega is
resolved where the target turns: there one label has several explanations.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.channel import Channel
from giantstep.channels.posterior import Matrix
from giantstep.channels.preimages import Preimages
from giantstep.channels.quadrature import LabelMixture, Quadrature
from giantstep.language.targets.symmetry import target_permutations
from giantstep.numerics.float64 import in_float64
from giantstep.numerics.linear_algebra import symmetric_root
from giantstep.numerics.solve import halved_brackets
from giantstep.theory.amp.averages.overlaps import Overlap
from giantstep.theory.amp.averages.rules import (
    PopulationAverages,
    averages_of,
    layered_nodes,
    node_stretch,
)

#: Spacing of omega in its own standard deviations, and where it ends, by the number of fields.
_SPACINGS = {2: 0.6, 3: 0.75}
_REACH = {2: 5.5, 3: 5.0}
#: Omegas on one field, and the turning points that enough labels meet to matter.
_OMEGAS, _TURNS_WITHIN = 40, 4.0
#: How much wider the spacing of the rule is that tells the error.
_COARSER = 1.3
#: Labels reach this many widths beyond the outermost clean label of at least this weight.
_WIDTHS, _WEIGHT = 5.5, 1e-7
#: Spacing of the labels in widths, and bounds on their number.
_LABEL_SPACING = 1.0
_FEWEST_LABELS, _MOST_LABELS = 24, 384
#: Omegas that are evaluated in one call, so that any number of them runs the same compiled code.
_BLOCK = 16


@dataclass(frozen=True, eq=False)
class NoisyEnsemble:
    """Omegas and labels for one channel.

    ``symmetries`` of the target spare most omegas; ``turns`` are where a target of one field does.
    """

    channel: Channel
    labels: int
    symmetries: tuple[np.ndarray, ...]
    turns: Float[np.ndarray, " k"]
    coarse: bool

    @property
    def _label_rule(self) -> tuple[int, float, float]:
        """How many labels, their noise, and by which share of their spacing they are moved."""
        return self.labels, self.channel.noise, 0.5 if self.coarse else 0.0

    @in_float64
    def averages(self, core: Quadrature, overlap: Overlap) -> PopulationAverages:
        """E[g_out g_out^T] in the directions h, E[log Z] and E[E[y | omega]^2]."""
        structure = self.channel.structure
        axes, told = structure.projection, structure.told
        known = axes @ overlap @ axes.T
        unknown = structure.prior - known
        group = [q for q in self.symmetries if np.allclose(q @ overlap @ q.T, overlap, 0, 1e-12)]
        own = np.ix_(told, told)
        if len(told) == 1:
            given = (known[own], np.sqrt(unknown[own][0]), self.turns, node_stretch(self.coarse))
            points, weights = map(np.asarray, _overlap_nodes(*given))
        else:
            spacing = _SPACINGS[len(told)] * (_COARSER if self.coarse else 1)
            points, weights = _overlap_lattice(len(told), spacing, group or [np.eye(len(told))])
            points = points @ (
                symmetric_root(overlap) @ axes[told].T if group else symmetric_root(known[own])
            )
        omegas = np.zeros((len(weights), structure.fields))
        omegas[:, told] = points
        # In blocks of one size, so that any number of omegas runs the same compiled code.
        padded = np.pad(omegas, [(0, -len(omegas) % _BLOCK), (0, 0)], mode="edge")
        parts = [
            _population_sums(core, *self._label_rule, block, unknown)
            for block in padded.reshape(-1, _BLOCK, structure.fields)
        ]
        fishers, entropies, means = (
            np.concatenate(each)[: len(omegas)] for each in zip(*parts, strict=True)
        )
        fisher = axes.T @ np.einsum("k,kij->ij", weights, fishers) @ axes
        if group:
            fisher = sum(q @ fisher @ q.T for q in group) / len(group)
        # A symmetry may turn the labels round their mean: their distance from it is what it keeps.
        mean = weights @ means if len(group) < 2 else float(_expected_label(core, structure.prior))
        explained = mean**2 + weights @ (means - mean) ** 2
        return PopulationAverages(*map(jnp.asarray, (fisher, weights @ entropies, explained)))

    @in_float64
    def law(
        self, core: Quadrature, prior: Float[np.ndarray, "m m"]
    ) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
        """Weights and values of labels when nothing is known."""
        weights, values, logs = _population_law(core, *self._label_rule, prior)
        weights = np.asarray(weights * jnp.exp(logs))
        return weights / weights.sum(), np.asarray(values)


def noisy_ensemble(channel: Channel, coarse: bool) -> NoisyEnsemble:
    """The rules of a channel; ``coarse`` ones tell the error of the others."""
    structure, core = channel.structure, channel.likelihood.core
    assert isinstance(core, Quadrature)
    told = structure.told
    square = len(told) == structure.target.rank and not structure.extra[told].any()
    turns = np.zeros(0)
    if structure.continuous == len(told) == 1:
        turns = Preimages(structure, core.groups).branch(0).low[1:]
        turns = turns[np.abs(turns) < _TURNS_WITHIN]
    symmetries = tuple(target_permutations(structure.target)) if square and len(told) > 1 else ()
    return NoisyEnsemble(channel, _population_label_count(channel, core), symmetries, turns, coarse)


@in_float64
def _population_label_count(channel: Channel, core: Quadrature) -> int:
    """Labels that resolve the narrowest part of their law over its whole range."""
    prior = jnp.asarray(channel.structure.prior)
    zero, noise = jnp.zeros(len(prior)), jnp.asarray(channel.noise)
    low, high, narrowest, _ = (float(x) for x in _range(_mixture(core, zero, prior, noise)))
    wanted = int(np.ceil((high - low) / (_LABEL_SPACING * max(narrowest, 1e-12))))
    return int(np.clip(wanted, _FEWEST_LABELS, _MOST_LABELS))


@functools.partial(jax.jit, static_argnums=0)
def _mixture(core: Quadrature, omega: Array, unknown: Matrix, noise: Array) -> LabelMixture:
    return core.label_mixture(omega, unknown, noise)


def _range(mixture: LabelMixture) -> tuple[Array, ...]:
    """Where the labels begin and end, the narrowest width of their law, and their mean."""
    logs, centres, variances, *_ = mixture
    widths, seen = jnp.sqrt(variances), logs > np.log(_WEIGHT)
    low = jnp.min(jnp.where(seen, centres - _WIDTHS * widths, jnp.inf))
    high = jnp.max(jnp.where(seen, centres + _WIDTHS * widths, -jnp.inf))
    return low, high, jnp.min(jnp.where(seen, widths, jnp.inf)), jnp.exp(logs) @ centres


def _overlap_lattice(
    fields: int, spacing: float, group: list[np.ndarray]
) -> tuple[Float[np.ndarray, "k m"], Float[np.ndarray, " k"]]:
    """One point of every orbit of a group of signed permutations, with the orbit's weight."""
    reach = _REACH[fields]
    steps = int(np.ceil(reach / spacing))
    whole = np.array(list(itertools.product(range(-steps, steps + 1), repeat=fields)))
    whole = whole[(whole**2).sum(axis=1) * spacing**2 <= reach**2]
    # The orbit's representative is its largest member, in the order of these codes.
    code = (2 * steps + 1) ** np.arange(fields)
    images = np.stack([whole @ np.rint(q).astype(int).T @ code for q in group])
    _, first, orbit = np.unique(images.max(axis=0), return_index=True, return_inverse=True)
    weights = np.bincount(orbit, np.exp(-(whole**2).sum(axis=1) * spacing**2 / 2))
    return spacing * whole[first], weights / weights.sum()


@functools.partial(jax.jit, static_argnums=(0, 1))
def _population_sums(
    core: Quadrature, count: int, noise: Any, offset: Any, omegas: Array, unknown: Matrix
) -> tuple[Array, Array, Array]:
    """E[g g^T], E[log Z] and the mean of the labels, for each omega."""

    def at_omega(omega: Array) -> tuple[Array, Array, Array]:
        mixture = core.label_mixture(omega, unknown, jnp.asarray(noise))
        weights, labels = _population_label_nodes(mixture, count, offset)
        logs, gradients = _population_posteriors(mixture, labels)
        weights = weights * jnp.exp(logs)
        sums = averages_of(weights / weights.sum(), logs, gradients)
        return sums.fisher, sums.log_partition, jnp.exp(mixture.logs) @ mixture.centres

    return jax.lax.map(at_omega, omegas)


@functools.partial(jax.jit, static_argnums=0)
def _expected_label(core: Quadrature, prior: Matrix) -> Array:
    """E[y] when nothing is known."""
    return core.label_mean(jnp.zeros(prior.shape[0], prior.dtype), prior)


def _population_posteriors(law: LabelMixture, values: Float[Array, " n"]) -> tuple[Array, Array]:
    """log Z and g_out of many labels: all sums over the mixture in one product of matrices."""
    heights = law.logs - jnp.log(2 * np.pi * law.variances) / 2
    distances = (values[:, None] - law.centres[None]) ** 2
    logs = heights[None] - distances / (2 * law.variances[None])
    top = logs.max(axis=1, keepdims=True)
    # g_out = (pulls - centres rates) + y rates under each Gaussian.
    fixed = law.pulls - law.centres[:, None] * law.rates
    summed = jnp.concatenate([jnp.ones_like(fixed[:, :1]), fixed, law.rates], axis=1)
    partition, moments = jnp.split(jnp.exp(logs - top) @ summed, [1], axis=1)
    fixed, rates = jnp.split(moments / partition, 2, axis=1)
    return (top + jnp.log(partition))[:, 0], fixed + values[:, None] * rates


def _population_label_nodes(
    mixture: LabelMixture, count: int, offset: Any
) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
    """Labels y = c + s sinh(t) with t evenly spaced, and dy: even ones where s is large.

    Where a product of fields is nearly 0, its labels crowd within the noise, though others go far:
    s makes the spacing in the middle that of the narrowest width, if even labels would be wider.
    """
    low, high, narrowest, centre = _range(mixture)
    reach = (high - low) / 2
    bend = _population_label_bend(_LABEL_SPACING * narrowest * (count - 1) / (2 * reach))
    scale = reach / jnp.sinh(bend)
    first, last = (jnp.arcsinh((end - centre) / scale) for end in (low, high))
    step = (last - first) / (count - 1)
    t = first + step * (jnp.arange(count, dtype=low.dtype) + offset)
    return scale * jnp.cosh(t) * step, centre + scale * jnp.sinh(t)


def _population_label_bend(share: Array) -> Array:
    """The b with b/sinh(b) = share: how far t goes; next to 0, for even labels, from 1 on."""

    ends = jnp.full_like(share, 1e-3), jnp.full_like(share, 50.0)
    return halved_brackets(lambda b: b / jnp.sinh(b) <= share, *ends, 50)[0]


@functools.partial(jax.jit, static_argnums=(0, 1))
def _population_law(core: Quadrature, count: int, noise: Any, offset: Any, prior: Matrix) -> Any:
    """The weights dy of labels when nothing is known, the labels, and log Z."""
    zero = jnp.zeros(prior.shape[0], prior.dtype)
    mixture = core.label_mixture(zero, prior, jnp.asarray(noise))
    weights, values = _population_label_nodes(mixture, count, offset)
    return weights, values, _population_posteriors(mixture, values)[0]


@jax.jit
def _overlap_nodes(cov: Matrix, widths: Array, turns: Any, stretch: Any) -> tuple[Array, Array]:
    """Omegas of one field that resolve its turns."""
    return layered_nodes(cov, widths, (turns,), _OMEGAS, stretch)
