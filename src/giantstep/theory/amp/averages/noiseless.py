"""Averages for noiseless labels that move with the first field and jump with the others.

The first field u_1 and the group G of the others make the label. Nodes lie on u_1, between all
points where the number of preimages changes; omega is integrated given u_1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from giantstep.channels.channel import CLOSED_FORM, Channel, posterior_blocks
from giantstep.channels.posterior import Matrix
from giantstep.channels.preimages import Preimages
from giantstep.channels.quadrature import posterior_nodes, posterior_rule
from giantstep.language.targets.symmetry import target_keeps_fields_apart
from giantstep.numerics.float64 import in_float64
from giantstep.numerics.quadrature import CUTOFF, gauss_hermite, legendre_panels, tensor_rule
from giantstep.theory.amp.averages.rules import (
    COARSE,
    PopulationAverages,
    averages_of,
    layered_nodes,
    node_stretch,
    population_cholesky,
)

#: Nodes between neighbouring turning points, fewer if there are many of these.
_FIRST_NODES, _FEWEST_NODES, _MOST_PIECES = 36, 12, 6
#: Nodes for omega on the first field: alone, or beside others that are integrated apart from it.
_ALONE, _BESIDE = 128, 64
#: Nodes for omega on each other field, and for the chance of a group.
_OTHER_OMEGAS = 40
_CHANCES = 32
#: Nodes for omega on each field, and for the mean of a label, where nothing is independent.
_GENERAL_NODES = 14
_MEAN_NODES = 96
#: Nodes between turning points for the law of labels when nothing is known.
_LAW_NODES, _FEWEST_LAW_NODES = 2400, 24
#: Nodes of one label after the other that are evaluated together.
_TOGETHER = 2**21 // CLOSED_FORM


class GroupEnsemble(NamedTuple):
    """First fields, each with the label of one group; the others decide the group's chance."""

    first: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    labels: Any
    zeta: Float[np.ndarray, "q m"]
    masses: Float[np.ndarray, " q"]

    def averages(self, core: Preimages, known: Matrix, unknown: Matrix) -> PopulationAverages:
        """Over u_1, then omega given u_1, then the chance of the group given both."""
        variance = known[0, 0] + unknown[0, 0]
        chol = population_cholesky(known - jnp.outer(known[:, 0], known[0, :]) / variance)

        def at_node(given: tuple[Any, ...]) -> PopulationAverages:
            first, group, weight, label = given
            omega = (first * known[:, 0] / variance)[None, :] + self.zeta @ chol.T
            chance = jax.vmap(lambda w: group_chance(core, first, group, w, unknown))(omega)
            found = jax.vmap(lambda w: core.posterior(label, w, unknown))(omega)
            return averages_of(weight * self.masses * chance, found.log_partition, found.gradient)

        nodes = (self.first, self.groups, self.weights, self.labels)
        together = max(1, _TOGETHER // len(self.masses))
        sums = jax.lax.map(at_node, jax.tree.map(jnp.asarray, nodes), batch_size=together)
        return PopulationAverages(sums.fisher.sum(axis=0), sums.log_partition.sum())

    def explained(self, core: Preimages, known: Matrix, unknown: Matrix) -> Float[Array, ""]:
        """E[E[y | omega]^2]."""
        omega = self.zeta @ population_cholesky(known).T
        means = posterior_blocks(
            core, lambda w: core.label_mean(w, unknown), omega, len(self.masses)
        )
        return self.masses @ means**2


class TwoGroupEnsemble(NamedTuple):
    r"""Given first fields, each with a label of one of two groups, all fields being independent.

    With p the chance of the second group and A_G, B_G the sums over its preimages of
    N(z; omega_1, V_11)/|f'(z)| without and with (z - omega_1)/V_11,

    .. math:: Z = (1-p) A_0 + p A_1, \quad g_1 = ((1-p) B_0 + p B_1)/Z,
              \quad g_{rest} = \nabla p\, (A_1 - A_0)/Z.

    Averages over y and omega_1 are functions of p alone: they are computed at some p and
    interpolated, and the other fields enter by p and its gradient only.
    """

    first: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    labels: Any
    stretch: Float[np.ndarray, ""]

    def averages(self, core: Preimages, known: Matrix, unknown: Matrix) -> PopulationAverages:
        """Over the chance of the groups, at each of which over u_1 and omega_1."""
        degree = np.arange(_CHANCES, dtype=float)
        angle = (degree + 0.5) * np.pi / _CHANCES
        p = jnp.asarray((1 - np.cos(angle)) / 2)
        weights, chance, slope = _expected_group_chance(core, known, unknown, self.stretch)
        # Between these chances averages are interpolated, by Chebyshev polynomials of 1 - 2p.
        table = self._given_chance(core, known[0, 0], unknown[0, 0], p)
        coefficients = 2 / _CHANCES * table @ np.cos(np.outer(angle, degree))
        coefficients = coefficients.at[:, 0].divide(2)
        at = jnp.arccos(jnp.clip(1 - 2 * chance, -1.0, 1.0))
        own, rest, logs = coefficients @ jnp.cos(degree[:, None] * at[None, :])
        spread = rest / (chance * (1 - chance))
        block = jnp.einsum("n,ni,nj->ij", weights * spread, slope, slope)
        # The fields being independent, the cross terms average out.
        fisher = jnp.zeros_like(known).at[0, 0].set(weights @ own).at[1:, 1:].set(block)
        return PopulationAverages(fisher, weights @ logs)

    def _given_chance(self, core: Preimages, known: Array, unknown: Array, p: Array) -> Array:
        """E[g_1^2], p(1-p) E[D^2] and E[log Z], D = (A_1 - A_0)/Z, for every p."""
        variance = known + unknown
        zeta, masses = posterior_rule(_BESIDE)
        spread = jnp.sqrt(jnp.maximum(known - known**2 / variance, 0.0))
        row = p[None, :]
        slots = jnp.asarray(np.array(core.slots)[:, None] == np.arange(2)[None, :], p.dtype)

        def at_node(given: tuple[Any, ...]) -> Array:
            first, group, weight, label = given
            omega = first * known / variance + spread * zeta
            offset = label["roots"][None, :] - omega[:, None]
            logs = label["log_weights"][None, :] - offset**2 / (2 * unknown)
            top = jnp.max(logs, axis=1)
            size = jnp.exp(logs - top[:, None])
            a, b = size @ slots, (size * offset / unknown) @ slots
            # (1-p) A_0 + p A_1 and (1-p) B_0 + p B_1: a row for each omega, a column for each p.
            inverse = 1 / (a[:, :1] + (a[:, 1:] - a[:, :1]) * row)
            own = (b[:, :1] + (b[:, 1:] - b[:, :1]) * row) * inverse
            other = (a[:, 1:] - a[:, :1]) * inverse
            log_z = (top - jnp.log(2 * np.pi * unknown) / 2)[:, None] - jnp.log(inverse)
            parts = [own**2, other**2 * row * (1 - row), log_z]
            chance = jnp.where(group == 1, p, 1 - p)
            return weight * jnp.stack([jnp.exp(masses) @ part * chance for part in parts])

        nodes = (self.first, self.groups, self.weights, self.labels)
        given = jax.tree.map(jnp.asarray, nodes)
        return jax.lax.map(at_node, given).sum(axis=0)

    def explained(self, core: Preimages, known: Matrix, unknown: Matrix) -> Float[Array, ""]:
        """E[E[y | omega]^2], linear in the groups' chances for given omega_1."""
        zeta, masses = posterior_rule(_BESIDE)

        def means(omega: Array) -> Array:
            x, logs = posterior_nodes(
                omega[None], unknown[:1, :1], core.structure.kinks[:1], (_MEAN_NODES,)
            )
            z = omega + x[:, 0] * jnp.sqrt(unknown[0, 0])
            lines = [
                jax.vmap(lambda t, c=c: core.structure.jax(jnp.concatenate([t[None], c])))(z)
                for c in jnp.asarray(core.groups.representatives(), z.dtype)
            ]
            return jnp.stack(lines) @ jnp.exp(logs)

        by_group = jax.vmap(means)(jnp.sqrt(known[0, 0]) * zeta)
        weights, chance, _ = _expected_group_chance(core, known, unknown, self.stretch)
        mean = by_group @ jnp.stack([1 - chance, chance])
        return jnp.exp(masses) @ mean**2 @ weights


def _expected_group_chance(
    core: Preimages, known: Matrix, unknown: Matrix, stretch: Any
) -> tuple[Array, Array, Array]:
    """Weights of omega on the other fields, the chance of the second group, and its gradient."""
    widths = jnp.sqrt(jnp.diagonal(unknown))[1:]
    rule = (core.groups.kinks, _OTHER_OMEGAS, stretch)
    omega, weights = layered_nodes(known[1:, 1:], widths, *rule)
    events = jax.vmap(core.groups.posteriors, in_axes=(0, None))(omega, unknown[1:, 1:])
    chance = jnp.exp(events.log_partition[:, 1])
    slope = chance[:, None] * events.gradient[:, 1]
    return weights, jnp.clip(chance, 1e-15, 1 - 1e-15), slope


def group_chance(core: Preimages, first: Array, group: Array, omega: Array, cov: Array) -> Array:
    """P(group | u_1 = first) when u ~ N(omega, cov)."""
    slope = cov[1:, 0] / cov[0, 0]
    rest_cov = cov[1:, 1:] - jnp.outer(slope, cov[0, 1:])
    events = core.groups.posteriors(omega[1:] + slope * (first - omega[0]), rest_cov)
    return jnp.exp(events.log_partition[group])


def noiseless_ensemble(
    channel: Channel, core: Preimages, coarse: bool
) -> GroupEnsemble | TwoGroupEnsemble:
    """The nodes for noiseless labels; the quick form of two groups where symmetry allows it."""
    structure = channel.structure
    pieces = len(core.branch(0).low)
    count = max(_FIRST_NODES * _MOST_PIECES // max(pieces, _MOST_PIECES), _FEWEST_NODES)
    first, groups, weights, values = population_field_nodes(channel, core, count, coarse)
    given = (first, groups, weights, core.labels(values))
    if len(structure.told) > 1:
        apart = target_keeps_fields_apart(structure.target, structure.projection)
        if apart and core.groups.count == 2 and structure.prior[0, 1:].any() == 0:
            return TwoGroupEnsemble(*given, node_stretch(coarse))
        count = round(COARSE * _GENERAL_NODES) if coarse else _GENERAL_NODES
        zeta, masses = (np.pad(part, (0, _GENERAL_NODES - count)) for part in gauss_hermite(count))
    else:
        zeta = posterior_rule(_ALONE)[0] * node_stretch(coarse)
        masses = np.exp(-(zeta**2) / 2) / np.exp(-(zeta**2) / 2).sum()
    rule = tensor_rule([(zeta, masses)] * len(structure.told))
    spread = np.zeros((len(rule.weights), structure.fields))
    spread[:, structure.told] = rule.nodes
    return GroupEnsemble(*given, spread, rule.weights)


@in_float64
def noiseless_law(
    channel: Channel, core: Preimages, coarse: bool
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Weights and values of labels when nothing is known."""
    count = max(_LAW_NODES // len(core.branch(0).low), _FEWEST_LAW_NODES)
    first, groups, weights, values = population_field_nodes(channel, core, count, coarse)
    prior = jnp.asarray(channel.structure.prior)
    nothing = jnp.zeros(len(prior))
    chance = jax.vmap(lambda u, group: group_chance(core, u, group, nothing, prior))(first, groups)
    return weights * np.asarray(chance), values


def population_field_nodes(
    channel: Channel, core: Preimages, count: int, coarse: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes on u_1 between all points where the number of preimages changes, for every group.

    Returns the nodes, the group of each, its weight without the chance of the group, its label.
    A coarse rule has as many nodes, of which some weigh nothing.
    """
    spread = np.sqrt(channel.structure.prior[0, 0])
    branches = [core.branch(group) for group in range(core.groups.count)]
    critical = np.concatenate([[b.at_low, b.at_high] for b in branches], axis=1).ravel()
    first, weights, groups = [], [], []
    for group, branch in enumerate(branches):
        roots = branch.roots(critical)
        cuts = np.sort(np.concatenate([branch.low, branch.high, roots[np.isfinite(roots)]]))
        # Roots of a critical value are only known to the square root of the rounding error.
        cuts = cuts[np.diff(cuts, prepend=-np.inf) > 1e-6]
        wide = np.flatnonzero(np.diff(cuts) > CUTOFF)
        cuts = np.insert(cuts, wide + 1, (cuts[wide] + cuts[wide + 1]) / 2)
        # Nodes crowd towards both cuts, where slopes vanish.
        nodes, mass = legendre_panels(cuts, round(COARSE * count) if coarse else count, True)
        # Nodes without weight keep the shapes that are compiled for.
        fill = (0, count * (len(cuts) - 1) - len(nodes))
        nodes, mass = np.pad(nodes, fill), np.pad(mass, fill)
        nodes, mass = nodes[np.abs(nodes) < CUTOFF], mass[np.abs(nodes) < CUTOFF]
        first.append(nodes)
        weights.append(mass * np.exp(-((nodes / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi)))
        groups.append(np.full(len(nodes), group))
    values = np.concatenate([b.function(z) for b, z in zip(branches, first, strict=True)])
    u, owners, masses = (np.concatenate(parts) for parts in (first, groups, weights))
    return u, owners, masses, values
