"""Noiseless labels that move with one field only: a sum over the preimages of the label."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import LabelCells, interval_posteriors
from giantstep.channels.posterior import (
    Matrix,
    Posterior,
    Vector,
    mixed_posterior,
    posterior_with_rest,
)
from giantstep.channels.quadrature import Quadrature
from giantstep.channels.structure import ChannelForm
from giantstep.errors import TargetError
from giantstep.numerics.float64 import by_blocks
from giantstep.numerics.pieces import LEVEL, Function, Pieces, monotone_pieces
from giantstep.numerics.quadrature import CUTOFF

#: Nodes for the mean of a label.
_MEAN_NODES = 96
#: Least slope at a preimage.
_SLOPE = 1e-12


@dataclass(frozen=True)
class Preimages:
    """y = f_G(u_1), f_G piecewise monotone, G the group of cells that the other fields lie in.

    Z is the sum, over groups G and roots z of f_G(z) = y, of N(z; omega_1, V_11) / |f_G'(z)|
    times the probability of G given u_1 = z. With one field G is trivial. A value that f takes on
    a whole interval has a probability instead of a density: its part of Z is that of the interval.
    """

    structure: ChannelForm
    groups: LabelCells

    def branch(self, group: int) -> Pieces:
        """The monotone pieces of f_G."""
        return _branches(self.structure, self.groups)[group][0]

    def slopes(self, group: int, z: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
        """|f_G'| at the roots, kept away from 0 where two of them merge."""
        return np.maximum(np.abs(_branches(self.structure, self.groups)[group][1](z)), _SLOPE)

    @functools.cached_property
    def slots(self) -> tuple[int, ...]:
        """The group of every piece, in the order of the columns of the labels."""
        counts = [len(self.branch(g).low) for g in range(self.groups.count)]
        return tuple(np.repeat(np.arange(self.groups.count), counts).tolist())

    @property
    def has_atoms(self) -> bool:
        """Whether some label has positive probability."""
        return any(self.branch(g).flat.any() for g in range(self.groups.count))

    def atom_mass(self) -> float:
        """Probability of a label that is taken on a whole interval, one field with variance 1."""
        from scipy.special import ndtr

        low, high = self._flat_ends.T
        return float(np.sum(ndtr(high) - ndtr(low)))

    @property
    def _flat_ends(self) -> Float[np.ndarray, "j 2"]:
        pieces = self.branch(0)
        return np.stack([pieces.low[pieces.flat], pieces.high[pieces.flat]], axis=1)

    def labels(self, y: Float[np.ndarray, " n"], noise: float = 0.0) -> dict[str, np.ndarray]:
        """The roots of every label with the logarithms of their weights, and its atoms."""
        roots, logs = [], []
        for group in range(self.groups.count):
            pieces = self.branch(group)
            found = pieces.roots(y)
            there = np.isfinite(found)
            at = np.where(there, found, 0.0)
            roots.append(at)
            logs.append(np.where(there, -np.log(self.slopes(group, at)), -np.inf))
        root, log_weight = np.concatenate(roots, axis=1), np.concatenate(logs, axis=1)
        pieces = self.branch(0)
        flat = np.flatnonzero(pieces.flat) if not self.groups.kinks else np.zeros(0, dtype=int)
        gaps = np.abs(y[:, None] - pieces.at_low[flat][None, :])
        atom = np.where(gaps <= LEVEL * (1 + np.abs(y[:, None])), 0.0, -np.inf)
        log_weight[np.isfinite(atom).any(axis=1)] = -np.inf
        everything = np.concatenate([log_weight, atom], axis=1)
        lost = ~np.isfinite(everything).any(axis=1)
        if lost.any():
            raise TargetError(
                f"label y = {y[lost][0]:.6g} is no value of the noiseless target "
                f"{self.structure.target.text!r}: give labels in its range, or noise > 0"
            )
        return {"roots": root, "log_weights": log_weight, "atoms": atom}

    def posterior(self, label: dict[str, Array], mean: Vector, cov: Matrix) -> Posterior:
        """The mixture over the preimages of a label."""
        precision = 1 / cov[:1, :1]
        slope = cov[1:, :1] * precision
        rest_cov = cov[1:, 1:] - slope @ cov[:1, 1:]
        log_norm = (jnp.log(precision[0, 0]) - np.log(2 * np.pi)) / 2

        def part(root: Float[Array, ""], group: Array) -> Posterior:
            offset = root[None] - mean[:1]
            events = self.groups.posteriors(mean[1:] + slope @ offset, rest_cov)
            event = Posterior(*(values[group] for values in events))
            joint = posterior_with_rest(precision @ offset, precision, slope, event)
            log_density = log_norm - (offset @ precision @ offset) / 2
            return joint._replace(log_partition=joint.log_partition + log_density)

        parts = jax.vmap(part)(label["roots"], jnp.asarray(self.slots))
        logs = label["log_weights"]
        if label["atoms"].shape[0]:
            atoms = self._atoms(mean, cov)
            parts = Posterior(*(jnp.concatenate(both) for both in zip(parts, atoms, strict=True)))
            logs = jnp.concatenate([logs, label["atoms"]])
        return mixed_posterior(parts, logs)

    def _atoms(self, mean: Float[Array, 1], cov: Float[Array, "1 1"]) -> Posterior:
        ends = self._flat_ends
        ends = np.where(np.abs(ends) >= CUTOFF, np.sign(ends) * 1e9, ends)
        intervals = jax.vmap(lambda at: interval_posteriors(at, mean, cov))(
            jnp.asarray(ends, mean.dtype)
        )
        return Posterior(*(part[:, 1] for part in intervals))

    def label_mean(self, mean: Vector, cov: Matrix) -> Float[Array, ""]:
        """E[y], by one-dimensional quadrature."""
        return Quadrature(self.structure, (_MEAN_NODES,), self.groups).label_mean(mean, cov)


@functools.lru_cache(maxsize=128)
def _branches(structure: ChannelForm, groups: LabelCells) -> tuple[tuple[Pieces, Function], ...]:
    """The monotone pieces of f_G, and its derivative, for each group G."""
    lines = [_label_line(structure, centre) for centre in groups.representatives()]
    kinks = structure.kinks[0]
    return tuple((monotone_pieces(value, kinks, slope), slope) for value, slope in lines)


def _label_line(structure: ChannelForm, centre: np.ndarray) -> tuple[Function, Function]:
    """The target and its derivative along the first field, the others being held."""

    def value(z: np.ndarray) -> np.ndarray:
        rest = np.broadcast_to(centre, (*z.shape, len(centre)))
        return structure.numpy(np.concatenate([z[..., None], rest], axis=-1))

    def along(z: Float[Array, ""]) -> Float[Array, ""]:
        return structure.jax(jnp.concatenate([z[None], jnp.asarray(centre, z.dtype)]))

    slope = jax.jit(jax.vmap(jax.grad(along)))

    return value, functools.partial(by_blocks, slope)
