"""The formulas of one giant step, in JAX: labels, fields, pulls on the neurons, features."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.language.activations.activation import Activation
from giantstep.language.targets import Target


class DrawnNeurons(NamedTuple):
    """What stays as it was drawn while the first layer moves: readouts and biases, (*runs, p)."""

    readout: Array | np.ndarray
    biases: Array | np.ndarray


class Randomness(NamedTuple):
    """Standard normals behind the labels.

    The target's own variables z, (*runs, n, z), and the label noise, (*runs, n).
    """

    inner: Array | np.ndarray
    label: Array | np.ndarray


class Trend(NamedTuple):
    """The empirical constant and linear part of a batch's labels, (*runs,) and (*runs, d)."""

    constant: Array | np.ndarray
    linear: Array | np.ndarray


@dataclass(frozen=True)
class Model:
    """What is learned by what; hashable, so that it can be a static argument of `jax.jit`."""

    target: Target
    activation: Activation
    loss: str

    def labels(
        self, latent: Float[Array, "n r"], random: Randomness, noise: Float[Array, ""]
    ) -> Float[Array, " n"]:
        r"""y = g(h, z) + sqrt(noise) xi."""
        clean = jnp.broadcast_to(self.target.jax(latent, random.inner), latent.shape[:1])
        return clean.astype(latent.dtype) + jnp.sqrt(noise) * random.label

    def pulls(
        self,
        labels: Float[Array, " n"],
        fields: Float[Array, "n p"],
        neurons: DrawnNeurons,
        counted: Any,
    ) -> Float[Array, "n p"]:
        r"""P_ij = (y_i - f(x_i)) sigma'(h_ij): neuron j moves along a_j sum_i P_ij x_i.

        With the correlation loss f is left out. Rows that are not ``counted`` pull at nothing.
        """
        biased = fields + neurons.biases[None, :]
        residual = labels
        if self.loss == "square":
            width = neurons.readout.shape[0]
            residual = labels - self.activation.jax(biased) @ neurons.readout / width
        residual = jnp.where(counted, residual, jnp.zeros_like(residual))
        return residual[:, None] * self.activation.derivative(biased)

    def features(self, fields: Float[Array, "n p"], neurons: DrawnNeurons) -> Float[Array, "n p"]:
        r"""phi = sigma(W x + b) / sqrt(p)."""
        root = jnp.sqrt(jnp.asarray(fields.shape[1], fields.dtype))
        return self.activation.jax(fields + neurons.biases[None, :]) / root


def simulated_noise_moments(
    pulls: Float[Array, "n p"], coordinates: Float[Array, "n r"]
) -> Float[Array, "p r+1"]:
    """Sums over samples of P_ij^2 x_ik^2 and of P_ij^2, which decide what pure noise shows."""
    ones = jnp.ones((coordinates.shape[0], 1), coordinates.dtype)
    return (pulls**2).T @ jnp.concatenate([coordinates**2, ones], axis=1)


def detrended_batch_labels(
    labels: Float[Array, " n"], inputs: Float[Array, "n d"], trend: Trend | None
) -> Float[Array, " n"]:
    """y - c - x.b; the labels themselves where there is no trend to remove."""
    return labels if trend is None else labels - trend.constant - inputs @ trend.linear


def over_runs(kernel: Callable[..., Any], donated: tuple[int, ...] = ()) -> Callable[..., Any]:
    """The kernel ``(model, *arrays)`` over a leading axis of runs, compiled once for its shapes.

    Numbers have no such axis, and are the same in every run. Arrays at the positions in
    ``donated``, which count from the first, are overwritten. One run is no batch of one: XLA
    multiplies a batch of matrices by slower code.
    """

    @functools.wraps(kernel)
    def batched(model: Model, *arrays: Any) -> Any:
        runs = next(len(leaf) for leaf in jax.tree.leaves(arrays) if jnp.ndim(leaf))
        single = functools.partial(kernel, model)
        if runs == 1:
            one = jax.tree.map(lambda leaf: leaf[0] if jnp.ndim(leaf) else leaf, arrays)
            return jax.tree.map(lambda leaf: leaf[None], single(*one))
        axes = jax.tree.map(lambda leaf: 0 if jnp.ndim(leaf) else None, arrays)
        return jax.vmap(single, in_axes=axes)(*arrays)

    return jax.jit(batched, static_argnums=0, donate_argnums=[1 + i for i in donated])
