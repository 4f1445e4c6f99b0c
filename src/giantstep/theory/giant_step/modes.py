r"""Exchangeable neurons, taken apart into modes that no expectation mixes.

Let :math:`x_{ig}` be something that copy g of a neuron of kind i has: a field, a move, an overlap.
Where copies are exchangeable, the means :math:`\bar x_i` over the copies are uncorrelated with the
differences :math:`x_{ig} - \bar x_i`, and any covariance is one matrix over all kinds for the
means and one over each family of kinds for the differences. So p neurons of m kinds take matrices
of size m, at any width; neurons that are all different have the first of these modes only.

Samples run along the last axis of every array. Of a mode, ``kinds`` are those that it concerns;
``share`` is how much of this mode's variance one neuron has; ``coupling``, how much a unit of it in
each kind moves an average over all neurons; ``normals``, the standard normals that a sample of it
takes; ``start``, the Gram matrix of the rows before the first step.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.numerics.linear_algebra import mean_product
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds


class MeanOverCopies:
    """The mean of each kind over its copies; attributes as in the text above."""

    share = 1.0

    def __init__(self, kinds: NeuronKinds) -> None:
        count = len(kinds.family)
        self.kinds = slice(0, count)
        self.coupling = kinds.shares
        self.normals = count
        self.start = (kinds.family[:, None] == kinds.family) / kinds.copies
        self._copies = kinds.copies[:, None]
        self._of_neuron = kinds.of_neuron
        self._first = np.cumsum(kinds.copies) - kinds.copies

    def of(self, values: Float[np.ndarray, "neurons n"]) -> Float[np.ndarray, "kinds rows"]:
        """The mode of each sample, scaled so that its covariance is an average over the rows."""
        return np.add.reduceat(values, self._first, axis=0) / self._copies

    def drawn(self, normals: Float[np.ndarray, "normals n"]) -> Float[np.ndarray, "kinds rows"]:
        """The mode as independent standard normal neurons would have it."""
        return normals

    def add_to(self, fields: np.ndarray, mode: np.ndarray) -> None:
        """Add to the neurons what they show of the mode."""
        fields += mode[self._of_neuron]

    def covariance_with(self, kind: int, gram: np.ndarray) -> np.ndarray:
        """Covariance of each neuron with the first copy of a kind; ``gram`` is the mode's."""
        return gram[self._of_neuron, kind]

    def fourth_moments(
        self, mode: np.ndarray, latent: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """E[x_i x_j h_k h_m] as a matrix over (i, k) and (j, m)."""
        products = (mode[:, None] * latent).reshape(-1, latent.shape[1])
        return mean_product(products, products, weights)

    def each_row(self, weights: np.ndarray) -> np.ndarray:
        """What belongs to a sample, for each of its rows."""
        return weights


class BetweenCopies:
    """How the copies of one family of kinds differ from their mean."""

    @classmethod
    def of_families(cls, kinds: NeuronKinds) -> list[BetweenCopies]:
        """The differences within each family that has copies."""
        several = [members for members in kinds.families() if kinds.copies[members.start] > 1]
        return [cls(kinds, members) for members in several]

    def __init__(self, kinds: NeuronKinds, members: slice) -> None:
        self.kinds = members
        self._copies = int(kinds.copies[members.start])
        self._size = members.stop - members.start
        self.normals = self._copies * self._size
        first = int(kinds.copies[: members.start].sum())
        self._neurons = slice(first, first + self.normals)
        self._width = kinds.width
        self.share = 1 - 1 / self._copies
        self.coupling = 1 / kinds.width
        self.start = np.ones((self._size, self._size))

    def of(self, values: np.ndarray) -> np.ndarray:
        """The mode of each sample, scaled so that its covariance is an average over the rows."""
        return self.drawn(values[self._neurons])

    def drawn(self, normals: np.ndarray) -> np.ndarray:
        """The mode as independent standard normal neurons would have it."""
        copies = normals.reshape(self._size, self._copies, -1)
        # A difference to the mean of g copies has a variance of 1 - 1/g.
        differences = (copies - copies.mean(axis=1, keepdims=True)) / np.sqrt(self.share)
        return differences.reshape(self._size, -1)

    def add_to(self, fields: np.ndarray, mode: np.ndarray) -> None:
        """Add to the neurons what they show of the mode."""
        fields[self._neurons] += np.sqrt(self.share) * mode.reshape(self.normals, -1)

    def covariance_with(self, kind: int, gram: np.ndarray) -> np.ndarray:
        """Covariance of each neuron with the first copy of a kind; ``gram`` is the mode's."""
        found = np.zeros(self._width)
        if self.kinds.start <= kind < self.kinds.stop:
            first = np.arange(self._copies) == 0
            column = gram[:, kind - self.kinds.start]
            found[self._neurons] = np.outer(column, first - 1 / self._copies).ravel()
        return found

    def fourth_moments(
        self, mode: np.ndarray, latent: np.ndarray, weights: np.ndarray
    ) -> np.ndarray:
        """E[x_i x_j h_k h_m] as a matrix over (i, k) and (j, m)."""
        rank, samples = latent.shape
        copies = mode.reshape(self._size, self._copies, samples)
        # Summing over the copies first leaves one small matrix per sample.
        pairs = np.einsum("ign,jgn->ijn", copies, copies).reshape(-1, samples)
        latent_pairs = (latent[:, None] * latent).reshape(-1, samples)
        moments = mean_product(pairs / self._copies, latent_pairs, weights)
        moments = moments.reshape(self._size, self._size, rank, rank).transpose(0, 2, 1, 3)
        return moments.reshape(self._size * rank, self._size * rank)

    def each_row(self, weights: np.ndarray) -> np.ndarray:
        """What belongs to a sample, for each of its rows."""
        return np.tile(weights, self._copies)


Mode = MeanOverCopies | BetweenCopies
