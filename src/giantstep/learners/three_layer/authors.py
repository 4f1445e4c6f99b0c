"""The schedule of Dandi et al. 2025: gradient steps of W1, then of W2, then a ridge for W3."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.language.activations.activation import Activation, activation
from giantstep.learners.three_layer.layers import trained_leaf_span
from giantstep.learners.three_layer.samples import NetworkAnswer, Trained, TreeData
from giantstep.numerics.ridge.large import ridge_by_chunks
from giantstep.settings.three_layer import ThreeLayer

#: Scale of the second and third layer at the start, and the rate of both phases.
SMALL, RATE = 0.2, 0.7
#: Memory of the heavy ball, and steps of the second layer, which replace 5 d^1.5 plain steps.
#: The authors' second-layer rate is 4 times as high, which is above the limit of stability: the
#: training loss explodes, and a part of the units dies.
MOMENTUM, SECOND_STEPS = 0.98, 292
#: Neurons of a second layer that stays random.
RANDOM_WIDTH = 1000


def train_authors(
    settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator
) -> Trained:
    """Train W1, then W2; readouts on W1, on a random second layer, and on the trained one."""
    train, test, leaves = data
    width, second_width = settings.widths(dim)
    sigma = activation(settings.activation)
    x, fresh = (np.asarray(part.inputs, dtype=np.float32) for part in (train, test))
    mean, deviation = train.labels.mean(), max(float(train.labels.std()), 1e-12)
    y = np.asarray((train.labels - mean) / deviation, dtype=np.float32)
    first, second, third = (
        np.asarray(rng.standard_normal(shape) * scale, dtype=np.float32)
        for shape, scale in (
            ((width, dim), dim**-0.5),
            ((second_width, width), SMALL * width**-0.5),
            ((second_width,), SMALL * second_width**-0.5),
        )
    )
    biases = rng.uniform(-1, 1, width).astype(np.float32)
    first = _train_first(first, biases, second, third, x, y, sigma, settings.number_of_steps(dim))
    second = _train_second(first, biases, second, third, x, y, sigma)
    rows = rng.standard_normal((RANDOM_WIDTH, width)).astype(np.float32)
    shifts = rng.uniform(-1, 1, RANDOM_WIDTH).astype(np.float32)
    hidden, hidden_fresh = (_trained_layer(first, biases, part, sigma) for part in (x, fresh))
    centre = jnp.mean(hidden, axis=0)
    spread = jnp.std((hidden - centre[None, :]) @ rows.T, axis=0)

    def random_layer(h: Array) -> Array:
        return sigma.jax((h - centre[None, :]) @ rows.T / spread[None, :] + shifts[None, :])

    def trained_layer(h: Array) -> Array:
        return sigma.jax(h @ second.T)

    answers = []
    for layer in (jnp.asarray, random_layer, trained_layer):
        phi, phi_fresh = (
            np.asarray(layer(part), dtype=np.float64) for part in (hidden, hidden_fresh)
        )
        fit = ridge_by_chunks(phi.__getitem__, train.labels, phi.shape[1])
        answers.append(NetworkAnswer(output := fit.predict(phi_fresh), output))
    # The second layer hands on what its units see.
    answers[-1] = NetworkAnswer(output, np.asarray(hidden_fresh @ second.T, dtype=np.float64))
    top = np.linalg.svd(np.asarray(first, dtype=np.float64), full_matrices=False)[2][:leaves]
    return Trained(tuple(answers), (trained_leaf_span(top, leaves),), leaves)


@partial(jax.jit, static_argnames="sigma")
def _trained_layer(
    first: Float[Array, "p d"], biases: Float[Array, " p"], x: Float[Array, "n d"],
    sigma: Activation,
) -> Float[Array, "n p"]:  # fmt: skip
    return sigma.jax(x @ first.T + biases[None, :])


@partial(jax.jit, static_argnames=("sigma", "steps"))
def _train_first(
    first: Float[Array, "p d"],
    biases: Float[Array, " p"],
    second: Float[Array, "p2 p"],
    third: Float[Array, " p2"],
    x: Float[Array, "n d"],
    y: Float[Array, " n"],
    sigma: Activation,
    steps: int,
) -> Float[Array, "p d"]:
    """W1 <- W1 - rate sqrt(p1)/eps^2 times the gradient of the mean of (y - f)^2/2."""

    def loss(w: Array) -> Array:
        output = sigma.jax(_trained_layer(w, biases, x, sigma) @ second.T) @ third
        return jnp.mean((y - output) ** 2) / 2

    rate = RATE * first.shape[0] ** 0.5 / SMALL**2

    def step(w: Array, _: None) -> tuple[Array, None]:
        return w - rate * jax.grad(loss)(w), None

    return jax.lax.scan(step, first, None, length=steps)[0]


@partial(jax.jit, static_argnames="sigma")
def _train_second(
    first: Float[Array, "p d"],
    biases: Float[Array, " p"],
    second: Float[Array, "p2 p"],
    third: Float[Array, " p2"],
    x: Float[Array, "n d"],
    y: Float[Array, " n"],
    sigma: Activation,
) -> Float[Array, "p2 p"]:
    """Heavy-ball steps of W2 at the rate sqrt(p2)/(eps p1), on features that no longer move."""
    hidden = _trained_layer(first, biases, x, sigma)

    def loss(w: Array) -> Array:
        return jnp.mean((y - sigma.jax(hidden @ w.T) @ third) ** 2) / 2

    rate = RATE * second.shape[0] ** 0.5 / (SMALL * second.shape[1])

    def step(state: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        w, velocity = state
        velocity = MOMENTUM * velocity - rate * jax.grad(loss)(w)
        return (w + velocity, velocity), None

    start = (second, jnp.zeros_like(second))
    return jax.lax.scan(step, start, None, length=SECOND_STEPS)[0][0]
