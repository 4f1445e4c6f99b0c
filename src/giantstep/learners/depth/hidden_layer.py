"""The first hidden layer: directions B of the inputs, and neurons that read them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation
from giantstep.learners.depth.chunked_ridge import Fit, by_chunks
from giantstep.numerics.float64 import in_float64

#: Biases are uniform between minus this and this: where the projections of inputs are.
WIDEST_BIAS = 2.0


@dataclass(frozen=True, eq=False)
class HiddenLayer:
    """H(x) = sigma(Theta B x + b), with orthonormal rows of B and unit rows of Theta."""

    sigma: Activation
    directions: Float[np.ndarray, "k d"]
    theta: Float[np.ndarray, "p k"]
    biases: Float[np.ndarray, " p"]

    @classmethod
    def draw(
        cls,
        sigma: Activation,
        directions: Float[np.ndarray, "k d"],
        width: int,
        rng: np.random.Generator,
    ) -> HiddenLayer:
        """Neurons in random directions of the span, with random biases."""
        theta = rng.standard_normal((width, len(directions)))
        theta /= np.linalg.norm(theta, axis=1, keepdims=True)
        return cls(sigma, directions, theta, rng.uniform(-WIDEST_BIAS, WIDEST_BIAS, width))

    @property
    def width(self) -> int:
        """Number of neurons."""
        return len(self.theta)

    def turned(self, directions: Float[np.ndarray, "k d"]) -> HiddenLayer:
        """The same neurons reading other directions."""
        return replace(self, directions=directions)

    def fields(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """What the neurons see."""
        return (inputs @ self.directions.T) @ self.theta.T + self.biases

    def features(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n p"]:
        """What the neurons answer."""
        return np.asarray(self.sigma.numpy(self.fields(inputs)))

    def output(
        self, inputs: Float[np.ndarray, "n d"], readout: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, " n"]:
        """H(x) . readout, by chunks."""
        return by_chunks(
            lambda part: self.features(inputs[part]) @ readout, len(inputs), self.width
        )

    def fitted(self, inputs: Float[np.ndarray, "n d"], fit: Fit) -> Float[np.ndarray, " n"]:
        """What a ridge regression on the features answers."""
        return self.output(inputs, fit.coefficients) - fit.centre @ fit.coefficients + fit.mean

    def slopes(
        self, inputs: Float[np.ndarray, "n d"], readout: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, "n k"]:
        """Derivatives of H(x) . readout along the projections z = B x, by chunks."""
        along, slope = readout[:, None] * self.theta, _compiled_slope(self.sigma)
        return by_chunks(
            lambda part: slope(self.fields(inputs[part])) @ along, len(inputs), self.width
        )


@lru_cache(maxsize=8)
def _compiled_slope(sigma: Activation) -> Any:
    """sigma' in float64, compiled: one pass over the array."""
    import jax

    compiled = jax.jit(sigma.derivative)
    return in_float64(lambda z: np.asarray(compiled(z)))


def orthonormal(rows: Float[np.ndarray, "k d"]) -> Float[np.ndarray, "k d"]:
    """The orthonormal rows nearest to these: the polar factor."""
    left, _, right = np.linalg.svd(rows, full_matrices=False)
    return left @ right


def span(directions: Float[np.ndarray, "k d"], leaves: int) -> float:
    """Mean squared projection of the true leaves, the first axes, on orthonormal directions.

    >>> span(np.eye(4)[:1], 2)
    0.5
    """
    return float(np.sum(directions[:, :leaves] ** 2)) / leaves
