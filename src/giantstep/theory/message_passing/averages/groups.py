"""Nodes for noiseless labels that move with the first field and jump with the others.

The first field u_1 and the group G of the others make the label.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from giantstep.channels.channel import Channel, blockwise
from giantstep.channels.nodes import even_rule, gaussian_nodes
from giantstep.channels.preimages import Preimages
from giantstep.numerics.quadrature import gauss_hermite, tensor_rule
from giantstep.targets.symmetry import keeps_fields_apart
from giantstep.theory.message_passing.averages.ensembles import (
    COARSE,
    Averages,
    Law,
    Matrix,
    averages_of,
    cholesky,
    first_field_nodes,
    stretch_of,
)
from giantstep.theory.message_passing.averages.layered import layered_nodes

#: Nodes between neighbouring turning points, and for omega on the first field.
_FIRST_NODES = 32
_FIRST_OMEGAS = 64
#: Nodes for omega on each other field, and for the chance of a group.
_OTHER_OMEGAS = 40
_CHANCES = 32
#: Nodes for omega on each field, and for the mean of a label, where nothing is independent.
_GENERAL_NODES = 14
_MEAN_NODES = 96


class GroupEnsemble(NamedTuple):
    """First fields, each with the label of one group; the others decide the group's chance."""

    first: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"]
    weights: Float[np.ndarray, " n"]
    labels: Any
    values: Float[np.ndarray, " n"]
    zeta: Float[np.ndarray, "q m"]
    masses: Float[np.ndarray, " q"]

    def averages(self, core: Preimages, known: Matrix, unknown: Matrix) -> Averages:
        """Over u_1, then omega given u_1, then the chance of the group given both."""
        variance = known[0, 0] + unknown[0, 0]
        chol = cholesky(known - jnp.outer(known[:, 0], known[0, :]) / variance)

        def at_node(given: tuple[Any, ...]) -> Averages:
            first, group, weight, label = given
            omega = (first * known[:, 0] / variance)[None, :] + self.zeta @ chol.T
            chance = jax.vmap(lambda w: _group_chance(core, first, group, w, unknown))(omega)
            found = jax.vmap(lambda w: core.posterior(label, w, unknown))(omega)
            return averages_of(weight * self.masses * chance, found.log_partition, found.gradient)

        nodes = (self.first, self.groups, self.weights, self.labels)
        sums = jax.lax.map(at_node, jax.tree.map(jnp.asarray, nodes))
        return Averages(sums.fisher.sum(axis=0), sums.log_partition.sum())

    def explained(self, core: Preimages, known: Matrix, unknown: Matrix) -> Float[Array, ""]:
        """E[E[y | omega]^2]."""
        omega = self.zeta @ cholesky(known).T
        means = blockwise(core, lambda w: core.label_mean(w, unknown), omega, len(self.masses))
        return self.masses @ means**2

    def law(self, core: Preimages, prior: Matrix) -> Law:
        """Weights, posteriors and values of the labels when nothing is known."""
        return _law(self, core, prior)


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
    values: Float[np.ndarray, " n"]
    stretch: Float[np.ndarray, ""]

    def averages(self, core: Preimages, known: Matrix, unknown: Matrix) -> Averages:
        """Over the chance of the groups, at each of which over u_1 and omega_1."""
        angle, p = _chebyshev()
        table = self._given_chance(core, known[0, 0], unknown[0, 0], jnp.asarray(p))
        weights, chance, slope = _chances(core, known, unknown, self.stretch)
        own, cross, rest, logs = _interpolated(table, angle, chance)
        fisher = jnp.zeros_like(known).at[0, 0].set(weights @ own)
        # The fields being independent, the cross terms average out; `cross` checks that.
        fisher = fisher.at[0, 1:].set((weights * cross) @ slope)
        fisher = fisher.at[1:, 0].set(fisher[0, 1:])
        spread = rest / (chance * (1 - chance))
        block = jnp.einsum("n,ni,nj->ij", weights * spread, slope, slope)
        return Averages(fisher.at[1:, 1:].set(block), weights @ logs)

    def _given_chance(self, core: Preimages, known: Array, unknown: Array, p: Array) -> Array:
        """E[g_1^2], E[g_1 D], p(1-p) E[D^2] and E[log Z], D = (A_1 - A_0)/Z, for every p."""
        variance = known + unknown
        zeta, masses = even_rule(_FIRST_OMEGAS)
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
            parts = [own**2, own * other, other**2 * row * (1 - row), log_z]
            chance = jnp.where(group == 1, p, 1 - p)
            return weight * jnp.stack([jnp.exp(masses) @ part * chance for part in parts])

        nodes = (self.first, self.groups, self.weights, self.labels)
        given = jax.tree.map(jnp.asarray, nodes)
        return jax.lax.map(at_node, given).sum(axis=0)

    def explained(self, core: Preimages, known: Matrix, unknown: Matrix) -> Float[Array, ""]:
        """E[E[y | omega]^2], linear in the groups' chances for given omega_1."""
        zeta, masses = even_rule(_FIRST_OMEGAS)

        def means(omega: Array) -> Array:
            x, logs = gaussian_nodes(
                omega[None], unknown[:1, :1], core.structure.kinks[:1], (_MEAN_NODES,)
            )
            z = omega + x[:, 0] * jnp.sqrt(unknown[0, 0])
            lines = [
                jax.vmap(lambda t, c=c: core.structure.jax(jnp.concatenate([t[None], c])))(z)
                for c in jnp.asarray(core.groups.representatives(), z.dtype)
            ]
            return jnp.stack(lines) @ jnp.exp(logs)

        by_group = jax.vmap(means)(jnp.sqrt(known[0, 0]) * zeta)
        weights, chance, _ = _chances(core, known, unknown, self.stretch)
        mean = by_group @ jnp.stack([1 - chance, chance])
        return jnp.exp(masses) @ mean**2 @ weights

    def law(self, core: Preimages, prior: Matrix) -> Law:
        """Weights, posteriors and values of the labels when nothing is known."""
        return _law(self, core, prior)


def _chebyshev() -> tuple[np.ndarray, np.ndarray]:
    """Angles and chances p = (1 - cos(angle))/2 at which averages are interpolated."""
    angle = (np.arange(_CHANCES) + 0.5) * np.pi / _CHANCES
    return angle, (1 - np.cos(angle)) / 2


def _interpolated(table: Array, angle: np.ndarray, chance: Array) -> Array:
    """Chebyshev interpolation of the rows of a table at given chances."""
    degree = np.arange(_CHANCES, dtype=float)
    coefficients = 2 / _CHANCES * table @ np.cos(np.outer(angle, degree))
    coefficients = coefficients.at[:, 0].divide(2)
    at = jnp.arccos(jnp.clip(1 - 2 * chance, -1.0, 1.0))
    return coefficients @ jnp.cos(degree[:, None] * at[None, :])


def _chances(
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


def _law(ensemble: Any, core: Preimages, prior: Matrix) -> Law:
    zero = jnp.zeros(prior.shape[0], prior.dtype)
    chances = jax.vmap(lambda first, group: _group_chance(core, first, group, zero, prior))(
        jnp.asarray(ensemble.first), jnp.asarray(ensemble.groups)
    )
    found = jax.vmap(lambda label: core.posterior(label, zero, prior))(ensemble.labels)
    return ensemble.weights * chances, found, jnp.asarray(ensemble.values)


def _group_chance(core: Preimages, first: Array, group: Array, omega: Array, cov: Array) -> Array:
    """P(group | u_1 = first) when u ~ N(omega, cov)."""
    slope = cov[1:, 0] / cov[0, 0]
    rest_cov = cov[1:, 1:] - jnp.outer(slope, cov[0, 1:])
    events = core.groups.posteriors(omega[1:] + slope * (first - omega[0]), rest_cov)
    return jnp.exp(events.log_partition[group])


def group_ensemble(
    channel: Channel, core: Preimages, coarse: bool
) -> GroupEnsemble | TwoGroupEnsemble:
    """The nodes for a target with groups; the quick form where symmetry allows it."""
    nodes = first_field_nodes(channel, core, _FIRST_NODES, coarse)
    first, groups, weights, values, labels = nodes
    structure = channel.structure
    apart = keeps_fields_apart(structure.target, structure.projection)
    if apart and core.groups.count == 2 and structure.prior[0, 1:].any() == 0:
        return TwoGroupEnsemble(first, groups, weights, labels, values, stretch_of(coarse))
    count = round(COARSE * _GENERAL_NODES) if coarse else _GENERAL_NODES
    fill = (0, _GENERAL_NODES - count)
    zeta, masses = (np.pad(part, fill) for part in gauss_hermite(count))
    rule = tensor_rule([(zeta, masses)] * structure.fields)
    return GroupEnsemble(first, groups, weights, labels, values, rule.nodes, rule.weights)
