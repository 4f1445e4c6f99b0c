r"""One mode of a batch that is used again and again, seen through the directions explored so far.

As n and d grow at fixed :math:`\alpha = n/d`, the rows of a batch become independent copies of one
row, and a row is (h*, h, z_1, z_2, ...): each left direction u that a gradient explores adds

.. math:: z = u/\sqrt\alpha + g, \qquad g \sim N(0, 1)\ \text{fresh}, \quad E[u^2] = 1,

u the gradient's coefficient D orthonormalised in L2 against those explored before. The first term
is the memory: the batch has met this direction before.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.numerics.linear_algebra import mean_product, whitened

#: Directions of which the moves have a smaller share than this, squared, were explored before.
NOTHING_NEW = 1e-12


class ExploredMode:
    """Coordinates of the neurons in a frame, and of a population of rows in the same frame.

    ``coordinates`` A of the neurons; ``known`` Z, what each row of the batch shows in the frame;
    ``explored`` U, orthonormal over the population. Moments that vanish in the limit (of new
    normals with all that is known) are made to vanish on the population.
    """

    def __init__(
        self,
        coordinates: Float[np.ndarray, "kinds columns"],
        known: Float[np.ndarray, "columns rows"],
        weights: Float[np.ndarray, " rows"],
        samples_ratio: float,
    ) -> None:
        self.coordinates = coordinates
        self.known = known
        self.explored = known[:0]
        self._weights = weights
        self._samples_ratio = samples_ratio

    def fields(self) -> Float[np.ndarray, "kinds rows"]:
        """What the neurons see of each row."""
        return self.coordinates @ self.known

    def step(
        self, moves: Float[np.ndarray, "kinds rows"], normals: Float[np.ndarray, "kinds rows"]
    ) -> None:
        """Explore the directions of the moves, with fresh normals, then move the neurons."""
        new = self._new_directions(moves)
        fresh = normals[: len(new)]
        every = np.concatenate([np.ones((1, fresh.shape[1])), self.known, self.explored, new])
        fresh = whitened(self._without(fresh, every), self._weights)
        self.known = np.concatenate([self.known, new / np.sqrt(self._samples_ratio) + fresh])
        self.explored = np.concatenate([self.explored, new])
        old = np.pad(self.coordinates, ((0, 0), (0, len(new))))
        self.coordinates = old + self._inner(moves, self.known)

    def _new_directions(self, moves: np.ndarray) -> np.ndarray:
        """An orthonormal basis of what the moves span beyond the directions explored before."""
        sizes = np.sqrt(moves**2 @ self._weights / moves.shape[1])
        scaled = moves[sizes > 0] / sizes[sizes > 0, None]
        for _ in range(2):
            # Once more for what rounding left: a small remainder is blown up to unit size.
            scaled = scaled - self._inner(scaled, self.explored) @ self.explored
            values, vectors = np.linalg.eigh(self._inner(scaled, scaled))
            kept = values > NOTHING_NEW
            scaled = (vectors[:, kept] / np.sqrt(values[kept])).T @ scaled
        return scaled

    def _without(self, columns: np.ndarray, others: np.ndarray) -> np.ndarray:
        """The columns without their regression on others, which may depend on one another."""
        gram = self._inner(others, others)
        weights = np.linalg.pinv(gram, rcond=1e-10, hermitian=True) @ self._inner(others, columns)
        return columns - weights.T @ others

    def _inner(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        return mean_product(left, right, self._weights)
