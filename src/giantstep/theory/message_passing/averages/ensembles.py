"""Nodes over (omega, y) for channels in closed form or of one field, given omega's covariance.

An ensemble is a bundle of arrays with three methods, all in the fields u = omega + N(0, unknown)
of the channel's core, omega ~ N(0, known): ``averages`` gives E[g_out g_out^T] and E[log Z],
``explained`` gives E[E[y | omega]^2], and ``law`` gives the labels when omega = 0. Where
the second costs no more than the first, ``averages`` gives it too. Every ensemble can be made
``coarse``, with arrays of the same shapes: what changes then tells the error of the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from giantstep.channels.cells import Cells
from giantstep.channels.channel import Channel, blockwise
from giantstep.channels.discrete import Discrete
from giantstep.channels.nodes import even_rule, gaussian_nodes
from giantstep.channels.posterior import Posterior, mixture
from giantstep.channels.preimages import Preimages
from giantstep.channels.quadrature import Quadrature
from giantstep.numerics.quadrature import CUTOFF, gauss_hermite
from giantstep.theory.message_passing.averages.layered import layered_nodes

#: Nodes for omega on each field, for labels of finitely many values on 1, 2 or 3 fields.
_CELL_NODES = {1: 160, 2: 40, 3: 18}
#: Nodes for a label's noise, around each value that it can have without noise.
_NOISE_NODES = 96
#: Nodes between neighbouring turning points (fewer if there are many), and for omega there.
_PREIMAGE_NODES = 36
_OMEGA_NODES = 128
#: Noisy labels of one field: nodes of omega, of u given omega, and of the noise.
_GRID_OMEGAS = 40
_GRID_LABELS = 96
_GRID_NOISES = 8
#: Nodes of u when omega = 0, where the labels are spread the widest.
_LAW_LABELS = 400
#: Turning points farther out are met by too few labels to matter.
_TURNS_WITHIN = 4.0
#: Share of the nodes that a coarse ensemble keeps.
COARSE = 2 / 3

Matrix = Float[Array, "m m"]
Law = tuple[Float[Array, " n"], Posterior, Float[Array, " n"]]


class Averages(NamedTuple):
    """E[g g^T], E[log Z] and, where it is cheap, E[E[y | omega]^2]."""

    fisher: Matrix
    log_partition: Float[Array, ""]
    explained: Float[Array, ""] | None = None


def averages_of(
    weights: Float[Array, " n"], logs: Float[Array, " n"], gradients: Float[Array, "n m"]
) -> Averages:
    """E[g g^T] and E[log Z] from nodes; a label of weight 0 counts nothing."""
    fisher = jnp.einsum("n,ni,nj->ij", weights, gradients, gradients)
    return Averages(fisher, weights @ jnp.where(weights > 0, logs, 0.0))


class CellEnsemble(NamedTuple):
    """Labels of finitely many values: every omega node meets every class and every noise node."""

    labels: Float[np.ndarray, "labels c"]
    sources: Int[np.ndarray, " labels"]
    chances: Float[np.ndarray, " labels"]
    values: Float[np.ndarray, " labels"]
    stretch: Float[np.ndarray, ""]

    def _mixed(self, classes: Posterior) -> Posterior:
        return jax.vmap(lambda label: mixture(classes, label))(jnp.asarray(self.labels))

    def averages(self, core: Discrete, known: Matrix, unknown: Matrix) -> Averages:
        """Over layered nodes for omega, times classes, times noise."""
        widths = jnp.sqrt(jnp.diagonal(unknown))
        count = _CELL_NODES[known.shape[0]]
        omega, weights = layered_nodes(known, widths, core.cells.kinks, count, self.stretch)
        classes = jax.vmap(core.cells.posteriors, in_axes=(0, None))(omega, unknown)
        found = jax.vmap(self._mixed)(classes)
        chances = jnp.exp(classes.log_partition)
        flat = (weights[:, None] * chances[:, self.sources] * self.chances[None, :]).reshape(-1)
        gradients = found.gradient.reshape(flat.shape[0], -1)
        sums = averages_of(flat, found.log_partition.reshape(-1), gradients)
        means = chances @ jnp.asarray(core.values, known.dtype)
        return sums._replace(explained=weights @ means**2)

    def law(self, core: Discrete, prior: Matrix) -> Law:
        """Weights, posteriors and values of the labels when nothing is known."""
        classes = core.cells.posteriors(jnp.zeros(prior.shape[0], prior.dtype), prior)
        chances = jnp.exp(classes.log_partition)[self.sources] * self.chances
        return chances, self._mixed(classes), jnp.asarray(self.values)


class PointEnsemble(NamedTuple):
    """Given fields u with their labels, and standard normal zeta for what omega adds to them."""

    u: Float[np.ndarray, "n m"]
    zeta: Float[np.ndarray, "n m"]
    weights: Float[np.ndarray, " n"]
    labels: Any
    values: Float[np.ndarray, " n"]

    def _omegas(self, known: Matrix, unknown: Matrix) -> Float[Array, "n m"]:
        """omega given u is N(Q S^-1 u, Q - Q S^-1 Q), Q = known and S = known + unknown."""
        gain = known @ jnp.linalg.inv(known + unknown)
        return self.u @ gain.T + self.zeta @ cholesky(known - gain @ known).T

    def averages(self, core: Any, known: Matrix, unknown: Matrix) -> Averages:
        """Over the given points."""
        omega = self._omegas(known, unknown)
        found = blockwise(
            core, lambda pair: core.posterior(*pair, unknown), (self.labels, omega), len(self.u)
        )
        return averages_of(jnp.asarray(self.weights), found.log_partition, found.gradient)

    def explained(self, core: Any, known: Matrix, unknown: Matrix) -> Float[Array, ""]:
        """E[E[y | omega]^2]."""
        omega = self._omegas(known, unknown)
        means = blockwise(core, lambda w: core.label_mean(w, unknown), omega, len(self.u))
        return self.weights @ means**2

    def law(self, core: Any, prior: Matrix) -> Law:
        """Weights, posteriors and values of the labels when nothing is known."""
        zero = jnp.zeros(prior.shape[0], prior.dtype)
        found = blockwise(
            core, lambda label: core.posterior(label, zero, prior), self.labels, len(self.u)
        )
        return jnp.asarray(self.weights), found, jnp.asarray(self.values)


class GridEnsemble(NamedTuple):
    """One field, noisy labels: a grid for omega, one for u given omega, one for the noise.

    Where the target turns, one label has several explanations: omega is resolved there.
    """

    turns: Float[np.ndarray, " k"]
    xi: Float[np.ndarray, " l"]
    chances: Float[np.ndarray, " l"]
    noise: Float[np.ndarray, ""]
    stretch: Float[np.ndarray, ""]

    def _labels(
        self, core: Quadrature, omega: Array, unknown: Matrix, count: int
    ) -> tuple[Array, Array, Array]:
        """Weights of (u, noise), the labels they make, and the mean of g(u)."""
        x, logs = gaussian_nodes(omega, unknown, core.structure.kinks, (count,))
        clean = jax.vmap(core.structure.jax)(omega[None, :] + x * jnp.sqrt(unknown[0, 0]))
        values = clean[:, None] + jnp.sqrt(self.noise) * self.xi[None, :]
        labels = jnp.stack([values, jnp.broadcast_to(self.noise, values.shape)], axis=-1)
        weights = jnp.exp(logs)[:, None] * self.chances[None, :]
        return weights.reshape(-1), labels.reshape(-1, 2), jnp.exp(logs) @ clean

    def averages(self, core: Quadrature, known: Matrix, unknown: Matrix) -> Averages:
        """Over omega, u and noise."""
        widths = jnp.sqrt(jnp.diagonal(unknown))
        omegas, masses = layered_nodes(known, widths, (self.turns,), _GRID_OMEGAS, self.stretch)

        def at_omega(omega: Array) -> tuple[Averages, Array]:
            weights, labels, mean = self._labels(core, omega, unknown, _GRID_LABELS)
            found = jax.vmap(lambda label: core.posterior(label, omega, unknown))(labels)
            return averages_of(weights, found.log_partition, found.gradient), mean

        sums, means = jax.lax.map(at_omega, omegas)
        fisher = jnp.einsum("k,kij->ij", masses, sums.fisher)
        return Averages(fisher, masses @ sums.log_partition, masses @ means**2)

    def law(self, core: Quadrature, prior: Matrix) -> Law:
        """Weights, posteriors and values of the labels when nothing is known."""
        zero = jnp.zeros(1, prior.dtype)
        weights, labels, _ = self._labels(core, zero, prior, _LAW_LABELS)
        found = jax.vmap(lambda label: core.posterior(label, zero, prior))(labels)
        return weights, found, labels[:, 0]


def cholesky(cov: Matrix) -> Matrix:
    """A Cholesky factor, also of a covariance without full rank."""
    return jnp.linalg.cholesky(cov + 1e-14 * jnp.eye(cov.shape[0], dtype=cov.dtype))


def stretch_of(coarse: bool) -> Float[np.ndarray, ""]:
    """The stretch of layered nodes that leaves the share :data:`COARSE` of them in use."""
    return np.asarray(1 / COARSE if coarse else 1.0)


def cell_ensemble(core: Discrete, noise: float, coarse: bool) -> CellEnsemble:
    """The nodes for labels of finitely many values."""
    nodes, logs = even_rule(_NOISE_NODES) if noise > 0 else (np.zeros(1), np.zeros(1))
    sources = np.repeat(np.arange(len(core.values)), len(nodes))
    clean = np.array(core.values)[sources]
    values = clean + np.sqrt(noise) * np.tile(nodes, len(core.values))
    chances = np.tile(np.exp(logs), len(core.values))
    labels = core.labels(values, noise)
    return CellEnsemble(labels, sources, chances, values, stretch_of(coarse))


def affine_ensemble(channel: Channel) -> PointEnsemble:
    """The nodes for a linear channel: everything is quadratic, so a few nodes are exact."""
    nodes, weights = gauss_hermite(4)
    u, zeta, xi = (axis.ravel() for axis in np.meshgrid(*[nodes] * 3, indexing="ij"))
    mass = np.prod(np.meshgrid(*[weights] * 3, indexing="ij"), axis=0).ravel()
    u = u[:, None] * np.sqrt(channel.structure.prior[0, 0])
    values = channel.structure.numpy(u) + np.sqrt(channel.noise) * xi
    return PointEnsemble(u, zeta[:, None], mass, channel.labels(values), values)


def grid_ensemble(channel: Channel, coarse: bool) -> GridEnsemble:
    """The nodes for noisy labels of one field."""
    core = Preimages(channel.structure, Cells((), (0,)))
    turns = core.branch(0).low[1:]
    middle = np.abs(turns) < _TURNS_WITHIN
    xi, chances = gauss_hermite(_GRID_NOISES)
    noise = np.asarray(channel.noise)
    return GridEnsemble(turns[middle], xi, chances, noise, stretch_of(coarse))


def preimage_ensemble(channel: Channel, core: Preimages, coarse: bool) -> PointEnsemble:
    """The nodes for noiseless labels of one field."""
    pieces = len(core.branch(0).low)
    count = max(_PREIMAGE_NODES * 6 // max(pieces, 6), 12)
    u, _, mass, values, labels = first_field_nodes(channel, core, count, coarse)
    zeta, logs = even_rule(_OMEGA_NODES)
    if coarse:
        zeta, logs = zeta / COARSE, -((zeta / COARSE) ** 2) / 2
        logs = logs - np.log(np.exp(logs).sum())
    repeat = np.repeat(np.arange(len(u)), len(zeta))
    return PointEnsemble(
        u[repeat, None],
        np.tile(zeta, len(u))[:, None],
        np.outer(mass, np.exp(logs)).ravel(),
        {name: part[repeat] for name, part in labels.items()},
        values[repeat],
    )


def first_field_nodes(
    channel: Channel, core: Preimages, count: int, coarse: bool
) -> tuple[Any, ...]:
    """Nodes on u_1 between all points where the number of preimages changes, for every group.

    A coarse rule has as many nodes, of which some weigh nothing.

    Returns the nodes, the group of each, its weight, its label, and what the channel makes of it.
    """
    spread = np.sqrt(channel.structure.prior[0, 0])
    branches = [core.branch(group) for group in range(core.groups.count)]
    critical = np.concatenate([[b.at_low, b.at_high] for b in branches], axis=1).ravel()
    first, weights, groups = [], [], []
    for group, branch in enumerate(branches):
        roots = branch.roots(critical)
        cuts = np.concatenate([branch.low, branch.high, roots[np.isfinite(roots)]])
        nodes, mass = _between(np.sort(cuts), count, coarse)
        first.append(nodes)
        weights.append(mass * np.exp(-((nodes / spread) ** 2) / 2) / (spread * np.sqrt(2 * np.pi)))
        groups.append(np.full(len(nodes), group))
    values = np.concatenate([b.function(z) for b, z in zip(branches, first, strict=True)])
    u, owners, masses = (np.concatenate(parts) for parts in (first, groups, weights))
    return u, owners, masses, values, core.labels(values)


def _between(
    cuts: Float[np.ndarray, " k"], count: int, coarse: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes between neighbouring cuts that crowd towards both, where slopes vanish."""
    # Roots of a critical value are only known to the square root of the rounding error.
    keep = np.concatenate([[True], np.diff(cuts) > 1e-6])
    low, high = cuts[keep][:-1, None], cuts[keep][1:, None]
    unit, mass = np.polynomial.legendre.leggauss(round(COARSE * count) if coarse else count)
    fill = (0, count - len(unit))
    unit, mass = np.pad(unit, fill), np.pad(mass, fill)
    angle = (unit + 1) * np.pi / 2
    nodes = low + (high - low) * (1 - np.cos(angle)) / 2
    weights = (high - low) * np.sin(angle) * mass * np.pi / 4
    inside = np.abs(nodes) < CUTOFF
    return nodes[inside], weights[inside]
