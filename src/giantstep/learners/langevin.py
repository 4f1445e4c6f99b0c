"""The learner `langevin`: mean-field Langevin dynamics of tanh units, logistic loss."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int32, UInt32

from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EXPONENTIAL, Cost, needed_dim
from giantstep.numerics.noise import normal_noise
from giantstep.settings.langevin import Langevin
from giantstep.settings.problem_rules import check_loss_setting

#: Points along the run at which the free energy is read, at most.
READINGS = 20


@once_per_seed
def simulate(problem: Problem, settings: Langevin, rng: np.random.Generator) -> dict[str, Any]:
    """Anneal the particles once for each seed, in float32.

    ``test_error`` is the 0-1 error on fresh samples, ``accuracy`` one minus that, ``train_error``
    the 0-1 error on the samples, ``train_loss`` the logistic loss there. ``free_energy``, along
    the run, is loss + temperature * (decay * E|X|^2 - entropy), with the entropy of independent
    Gaussian coordinates of the particles' variances: the true one is at most that.
    ``particle_variance`` is that, at the end, of the weights on coordinates beside the parity.
    """
    dim = needed_dim(settings.dim)
    if problem.target.rank >= dim:
        raise SettingsError(
            f"dim = {settings.dim} leaves nothing beside the {problem.target.rank} coordinates of "
            "the target: raise --dim"
        )
    if not problem.inputs.has_signs:
        check_loss_setting(problem, "logistic")
    elif problem.noise:
        raise SettingsError(f"noise = {problem.noise:g} cannot be added to labels -1 and 1")
    train = problem.draw(settings.samples.count(dim, "samples"), dim, rng)
    test = problem.draw(settings.test_samples, dim, rng)
    width = settings.width.count(dim, "width")
    particles = rng.standard_normal((width, dim + 2)).astype(np.float32)
    readings = min(READINGS, settings.steps)
    ladder = np.geomspace(settings.temperature, settings.last_temperature, settings.steps)
    ends = np.linspace(0, settings.steps, readings + 1).astype(np.int32)
    constants = np.array([settings.step_size, settings.decay, settings.radius], np.float32)
    key = rng.integers(1 << 32, size=2, dtype=np.uint32)
    data = (_samples_with_ones(train.inputs), train.labels.astype(np.float32))
    state: Any = (particles[:, :-1], particles[:, -1])
    *state, energies = _anneal_run(*state, key, ends, ladder.astype(np.float32), constants, *data)
    outputs = [
        np.asarray(_trained_outputs(*state, x, constants[2]), dtype=np.float64)
        for x in (data[0], _samples_with_ones(test.inputs))
    ]
    beside = np.asarray(state[0], dtype=np.float64)[:, problem.target.rank : -1]
    test_error = float(np.mean(_misclassified_samples(outputs[1], test.clean)))
    return {
        "accuracy": 1 - test_error,
        "test_error": test_error,
        "train_error": float(np.mean(_misclassified_samples(outputs[0], train.labels))),
        "train_loss": float(np.mean(np.logaddexp(0, -train.labels * outputs[0]))),
        "particle_variance": float(np.mean(beside**2)),
        "free_energy": np.asarray(energies, dtype=np.float64),
    }


def _samples_with_ones(inputs: np.ndarray) -> Float[np.ndarray, "n columns"]:
    """Inputs with a column of ones for the bias: one product gives all pre-activations."""
    return np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1).astype(np.float32)


def _forward(
    w: Float[Array, "N columns"], e: Float[Array, " N"], inputs: Array, radius: Array
) -> tuple[Array, Array, Array]:
    """Units on every sample, gates, and outputs of the network."""
    # Particles come first: both products of a step then read their factors as they lie in memory.
    units, gate = jnp.tanh(w @ inputs.T), jnp.tanh(e)
    return units, gate, radius / 3 * (jnp.sum(units, axis=0) + 2 * jnp.sum(gate)) / len(w)


@jax.jit
def _trained_outputs(w: Array, e: Array, inputs: Array, radius: Array) -> Float[Array, " n"]:
    return _forward(w, e, inputs, radius)[2]


@jax.jit
def _anneal_run(
    weights: Float[Array, "N columns"],
    gates: Float[Array, " N"],
    key: UInt32[Array, " two"],
    ends: Int32[Array, " ends"],
    temperatures: Float[Array, " steps"],
    constants: Float[Array, " three"],
    inputs: Float[Array, "n columns"],
    labels: Float[Array, " n"],
) -> tuple[Array, Array, Array]:
    """One Langevin step for each temperature: weights with their bias, gates e, free energies.

    The free energy is read at the ``ends`` of the stretches into which the steps are cut.
    """
    step_size, decay, radius = constants
    samples, (width, columns) = inputs.shape[0], weights.shape
    rows = (columns + 1) * jnp.arange(width, dtype=jnp.uint32)
    places = rows[:, None] + jnp.arange(columns, dtype=jnp.uint32)[None, :]

    def step(count: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        (w, e), temperature = state, temperatures[count]
        units, gate, outputs = _forward(w, e, inputs, radius)
        # Minus the derivative of log(1 + exp(-y f)) in f, a mean over the samples.
        pull = radius / 3 * labels * jax.nn.sigmoid(-labels * outputs) / samples
        # The pull multiplies the inputs, of which there are fewer than units.
        along = (1 - units**2) @ (pull[:, None] * inputs)
        kept = 1 - 2 * step_size * temperature * decay
        spread = jnp.sqrt(2 * temperature * step_size)
        place = count.astype(jnp.uint32)
        w = kept * w + step_size * along + spread * normal_noise(key, place, places)
        noise = normal_noise(key, place, rows + jnp.uint32(columns))
        e = kept * e + step_size * 2 * (1 - gate**2) * jnp.sum(pull) + spread * noise
        return w, e

    def stretch(state: tuple[Array, Array], limits: tuple[Array, Array]) -> tuple[Any, Array]:
        w, e = jax.lax.fori_loop(*limits, step, state)
        loss = jnp.mean(jax.nn.softplus(-labels * _trained_outputs(w, e, inputs, radius)))
        variances = jnp.append(jnp.var(w, axis=0), jnp.var(e))
        entropy = jnp.sum(0.5 * jnp.log(2 * jnp.pi * jnp.e * variances))
        square = jnp.mean(jnp.sum(w**2, axis=1) + e**2)
        return (w, e), loss + temperatures[limits[1] - 1] * (decay * square - entropy)

    (w, e), energies = jax.lax.scan(stretch, (weights, gates), (ends[:-1], ends[1:]))
    return w, e, energies


def _misclassified_samples(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.sign(outputs) != labels


def cost(problem: Problem, settings: Langevin) -> Cost:
    """Units of every particle on every sample, two products and the noise of every step."""
    dim = needed_dim(settings.dim)
    n, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    rows = max(n, settings.test_samples)
    step = n * width * (2.0 * dim + EXPONENTIAL) + width * dim * DRAW
    return Cost(
        12.0 * (rows * (dim + 2.0 * width) + 4 * width * dim),
        settings.steps * step + rows * dim * DRAW,
        f"samples = {n}, width = {width} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )
