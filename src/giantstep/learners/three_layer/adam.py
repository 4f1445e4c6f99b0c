"""Two and three layers trained by AdamW on the same samples, in one compiled loop.

AdamW is the few lines of :func:`adamw_step`: the loop keeps the weights of the best epoch and runs
two weight decays side by side, so that of optax nothing but these lines would be used.
"""

from __future__ import annotations

import itertools
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.language.activations.activation import Activation, activation
from giantstep.learners.three_layer.layers import trained_leaf_span
from giantstep.learners.three_layer.samples import NetworkAnswer, Trained, TreeData
from giantstep.settings.three_layer import ThreeLayer

#: Learning rate, its warm-up in epochs, samples of a batch, share of the samples held out.
RATE, WARM_UP, BATCH, HELD_OUT = 3e-3, 3, 128, 0.2
#: Decoupled weight decays, of which the held-out samples choose one. Decay this strong is what
#: shows the third layer's worth: with a decay of 0.5 three layers gain a third as much, with one of
#: 0.1 and a rate of 1e-3 they do worse than two.
DECAYS = (2.0, 4.0)
#: AdamW's memories of gradient and square, and the least root that it divides by.
MEMORY, SQUARE_MEMORY, LEAST = 0.9, 0.999, 1e-8
#: The network of two layers has this many times the neurons of the first of three layers.
TWO_LAYERS_WIDER = 2

#: Weights and biases, layer by layer.
Weights = tuple[tuple[Any, Any], ...]


class Held(NamedTuple):
    """Standardised samples to train on and to choose by."""

    inputs: Float[Array, "n d"]
    labels: Float[Array, " n"]
    other_inputs: Float[Array, "m d"]
    other_labels: Float[Array, " m"]


def train_adam(settings: ThreeLayer, dim: int, data: TreeData, rng: np.random.Generator) -> Trained:
    """Train each network for each weight decay; keep the one with the lowest held-out error."""
    train, test, leaves = data
    mean, deviation = train.labels.mean(), max(float(train.labels.std()), 1e-12)
    labels = (train.labels - mean) / deviation
    cut = max(int((1 - HELD_OUT) * len(labels)), 1)
    parts = (train.inputs[:cut], labels[:cut], train.inputs[cut:], labels[cut:])
    held = Held(*(np.asarray(part, dtype=np.float32) for part in parts))  # type: ignore[arg-type]
    width, second = settings.widths(dim)
    sizes = {"adam-2": (dim, TWO_LAYERS_WIDER * width, 1), "adam-3": (dim, width, second, 1)}
    sigma, epochs = activation(settings.activation), settings.number_of_steps(dim)
    answers, spans = [], []
    fresh = np.asarray(test.inputs, dtype=np.float32)
    for name in settings.networks:
        start = _draw_start_weights(sizes[name], rng)
        key = jax.random.key(rng.integers(1 << 31))
        losses, kept = _train(start, held, key, np.array(DECAYS, np.float32), sigma, epochs)
        chosen = int(np.argmin(np.asarray(losses)))
        weights = jax.tree.map(lambda part, i=chosen: part[i], kept)
        layers = [np.asarray(part, dtype=np.float64) for part in _layers(weights, fresh, sigma)]
        inner = layers[-2] if len(sizes[name]) > 3 else layers[-1]
        answers.append(NetworkAnswer(layers[-1][:, 0] * deviation + mean, inner))
        spans.append(trained_leaf_span(_trained_span(np.asarray(weights[0][0]), leaves), leaves))
    return Trained(tuple(answers), tuple(spans), leaves)


def _draw_start_weights(sizes: tuple[int, ...], rng: np.random.Generator) -> Weights:
    """Weights N(0, 2/inputs), biases uniform on [-1/2, 1/2], a last layer a tenth as large."""
    layers = []
    for number, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        scale = 0.1 if number == len(sizes) - 2 else 1.0
        weights = rng.standard_normal((inputs, outputs)) * np.sqrt(2 / inputs) * scale
        biases = rng.uniform(-0.5, 0.5, outputs) * scale
        layers.append((weights.astype(np.float32), biases.astype(np.float32)))
    return tuple(layers)


def _layers(weights: Weights, inputs: Any, sigma: Activation) -> list[Array]:
    """What each layer sees; the last is the output."""
    found: list[Array] = []
    for matrix, biases in weights:
        below = sigma.jax(found[-1]) if found else inputs
        found.append(below @ matrix + biases[None, :])
    return found


def _training_loss(weights: Weights, inputs: Any, labels: Any, sigma: Activation) -> Array:
    return jnp.mean((_layers(weights, inputs, sigma)[-1][:, 0] - labels) ** 2)


@partial(jax.jit, static_argnames=("sigma", "epochs"))
def _train(
    start: Weights,
    held: Held,
    key: Array,
    decays: Float[Array, " decays"],
    sigma: Activation,
    epochs: int,
) -> tuple[Array, Weights]:
    """For each weight decay the least loss on held-out samples, and the weights that had it."""
    samples = held.inputs.shape[0]
    size = min(BATCH, samples)
    batches = samples // size
    slope = jax.grad(_training_loss)

    def rate(step: Array) -> Array:
        """Up in a straight line, then down along a cosine."""
        warm, whole = WARM_UP * batches, epochs * batches
        late = jnp.clip((step - warm) / max(whole - warm, 1), 0.0, 1.0)
        return RATE * jnp.minimum((step + 1) / warm, 0.5 * (1 + jnp.cos(jnp.pi * late)))

    def for_one_decay(decay: Array) -> tuple[Array, Weights]:
        def step(state: Any, rows: Array) -> tuple[Any, None]:
            weights, first, second, count = state
            gradient = slope(weights, held.inputs[rows], held.labels[rows], sigma)
            now = rate(count.astype(jnp.float32))
            moved = adamw_step(weights, first, second, gradient, count, now, decay)
            return (*moved, count + 1), None

        def epoch(state: Any, own: Array) -> tuple[Any, None]:
            training, least, best = state
            rows = jax.random.permutation(own, samples)[: batches * size].reshape(batches, size)
            training, _ = jax.lax.scan(step, training, rows)
            loss = _training_loss(training[0], held.other_inputs, held.other_labels, sigma)
            better = loss < least
            best = jax.tree.map(lambda a, b: jnp.where(better, a, b), training[0], best)
            return (training, jnp.where(better, loss, least), best), None

        zeros = jax.tree.map(jnp.zeros_like, start)
        training = (start, zeros, zeros, jnp.zeros((), jnp.int32))
        state = (training, jnp.full((), jnp.inf, jnp.float32), start)
        (_, least, best), _ = jax.lax.scan(epoch, state, jax.random.split(key, epochs))
        return least, best

    return jax.lax.map(for_one_decay, decays)


def adamw_step(
    weights: Weights,
    first: Weights,
    second: Weights,
    gradient: Weights,
    count: Array,
    rate: Array,
    decay: Array,
) -> tuple[Weights, Weights, Weights]:
    """w <- (1 - rate decay) w - rate m/(sqrt(v) + least), m and v unbiased by their start at 0."""
    steps = (count + 1).astype(jnp.float32)
    first = jax.tree.map(lambda m, g: MEMORY * m + (1 - MEMORY) * g, first, gradient)
    second = jax.tree.map(
        lambda v, g: SQUARE_MEMORY * v + (1 - SQUARE_MEMORY) * g**2, second, gradient
    )
    free, square_free = 1 - MEMORY**steps, 1 - SQUARE_MEMORY**steps
    weights = jax.tree.map(
        lambda w, m, v: (
            (1 - rate * decay) * w - rate * (m / free) / (jnp.sqrt(v / square_free) + LEAST)
        ),
        weights,
        first,
        second,
    )
    return weights, first, second


def _trained_span(weights: Float[np.ndarray, "d p"], count: int) -> Float[np.ndarray, "k d"]:
    """The principal directions of the first layer's neurons, as many as there are leaves."""
    return np.linalg.svd(weights, full_matrices=False)[0][:, :count].T.astype(np.float64)
