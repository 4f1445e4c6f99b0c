"""Averages for labels in closed form: linear in a field, or of finitely many values."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from giantstep.channels.cells import Affine, Discrete
from giantstep.channels.posterior import Matrix, mixed_posterior
from giantstep.channels.quadrature import posterior_rule
from giantstep.numerics.quadrature import split_gaussian
from giantstep.theory.amp.averages.rules import (
    PopulationAverages,
    averages_of,
    layered_nodes,
    node_stretch,
)

#: Nodes for omega on each field, for labels of finitely many values on 1, 2 or 3 fields.
_OMEGAS = {1: 160, 2: 40, 3: 18}
#: Nodes for a label's noise, around each value that it can have without noise.
_NOISES = 96
#: Panels of the law of a linear label: short, since the weights of spectral methods have kinks.
_PANEL = 0.03

Law = tuple[Float[np.ndarray, " n"], Float[np.ndarray, " n"]]


class AffineEnsemble(NamedTuple):
    """y = offset + slope u + noise: all is Gaussian, and needs no nodes."""

    noise: Float[np.ndarray, ""]

    def averages(self, core: Affine, known: Matrix, unknown: Matrix) -> PopulationAverages:
        """The Fisher information of a Gaussian label, and minus its entropy."""
        variance = core.slope**2 * unknown[0, 0] + self.noise
        fisher = jnp.full((1, 1), core.slope**2) / variance
        explained = core.offset**2 + core.slope**2 * known[0, 0]
        return PopulationAverages(fisher, -(jnp.log(2 * np.pi * variance) + 1) / 2, explained)

    def law(self, core: Affine, prior: Float[np.ndarray, "1 1"]) -> Law:
        """Weights and values of labels when nothing is known."""
        nodes, weights = split_gaussian((0.0,), panel_length=_PANEL)
        return weights, core.offset + np.sqrt(core.slope**2 * prior[0, 0] + self.noise) * nodes


class CellEnsemble(NamedTuple):
    """Labels of finitely many values: every omega node meets every class and every noise node."""

    labels: Float[np.ndarray, "labels c"]
    sources: Int[np.ndarray, " labels"]
    chances: Float[np.ndarray, " labels"]
    values: Float[np.ndarray, " labels"]
    stretch: Float[np.ndarray, ""]

    def averages(self, core: Discrete, known: Matrix, unknown: Matrix) -> PopulationAverages:
        """Over layered nodes for omega, times classes, times noise."""
        widths = jnp.sqrt(jnp.diagonal(unknown))
        count = _OMEGAS[known.shape[0]]
        omega, weights = layered_nodes(known, widths, core.cells.kinks, count, self.stretch)
        classes = jax.vmap(core.cells.posteriors, in_axes=(0, None))(omega, unknown)
        mixed = jax.vmap(jax.vmap(mixed_posterior, in_axes=(None, 0)), in_axes=(0, None))
        found = mixed(classes, jnp.asarray(self.labels))
        chances = jnp.exp(classes.log_partition)
        flat = (weights[:, None] * chances[:, self.sources] * self.chances[None, :]).reshape(-1)
        gradients = found.gradient.reshape(flat.shape[0], -1)
        sums = averages_of(flat, found.log_partition.reshape(-1), gradients)
        means = chances @ jnp.asarray(core.values, known.dtype)
        return sums._replace(explained=weights @ means**2)

    def law(self, core: Discrete, prior: Float[np.ndarray, "m m"]) -> Law:
        """Weights and values of labels when nothing is known."""
        logs = core.cells.posteriors(jnp.zeros(len(prior)), jnp.asarray(prior)).log_partition
        return np.exp(logs)[self.sources] * self.chances, self.values


def closed_form_ensemble(core: Discrete, noise: float, coarse: bool) -> CellEnsemble:
    """The nodes for labels of finitely many values."""
    nodes, logs = posterior_rule(_NOISES) if noise > 0 else (np.zeros(1), np.zeros(1))
    sources = np.repeat(np.arange(len(core.values)), len(nodes))
    clean = np.array(core.values)[sources]
    values = clean + np.sqrt(noise) * np.tile(nodes, len(core.values))
    chances = np.tile(np.exp(logs), len(core.values))
    labels = core.labels(values, noise)
    return CellEnsemble(labels, sources, chances, values, node_stretch(coarse))
