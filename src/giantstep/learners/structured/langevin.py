"""The learner `langevin`: mean-field Langevin dynamics of tanh units, logistic loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.errors import SettingsError
from giantstep.inputs import Hypercube
from giantstep.learners.ridge.labelled_inputs import labelled_inputs
from giantstep.learners.seeds import run_of_seeds
from giantstep.problem import Problem
from giantstep.results import Run
from giantstep.settings.langevin import Langevin
from giantstep.settings.problem_rules import check_binary_labels

#: Points along the run at which the free energy is read, at most.
READINGS = 20


def simulate(
    problem: Problem,
    settings: Langevin,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Anneal the particles once for each seed, in float32.

    ``test_error`` is the 0-1 error on fresh samples, ``accuracy`` one minus that, ``train_error``
    the 0-1 error on the samples, ``train_loss`` the logistic loss there. ``free_energy``, along
    the run, is loss + temperature * (decay * E|X|^2 - entropy), with the entropy of independent
    Gaussian coordinates of the particles' variances: the true one is at most that.
    ``particle_variance`` is that, at the end, of the weights on coordinates beside the parity.
    """
    if settings.dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    if problem.target.rank >= settings.dim:
        raise SettingsError(
            f"dim = {settings.dim} leaves nothing beside the {problem.target.rank} coordinates of "
            "the target: raise --dim"
        )
    if not isinstance(problem.inputs, Hypercube):
        check_binary_labels(problem, "logistic")
    elif problem.noise:
        raise SettingsError(f"noise = {problem.noise:g} cannot be added to labels -1 and 1")
    dim = settings.dim
    return run_of_seeds(
        lambda rng: _one_run(problem, settings, dim, rng),
        problem,
        settings,
        seeds=seeds,
        seed=seed,
        progress=progress,
    )


def _one_run(
    problem: Problem, settings: Langevin, dim: int, rng: np.random.Generator
) -> dict[str, Any]:
    train = labelled_inputs(problem, settings.samples.count(dim, "samples"), dim, rng)
    test = labelled_inputs(problem, settings.test_samples, dim, rng)
    width = settings.width.count(dim, "width")
    particles = rng.standard_normal((width, dim + 2)).astype(np.float32)
    readings = min(READINGS, settings.steps)
    ladder = np.geomspace(settings.temperature, settings.last_temperature, settings.steps)
    # Readings are equally far apart; what is left over is done before the first of them.
    blocks = np.array_split(ladder.astype(np.float32), readings)
    numbers = [settings.step_size, settings.decay, settings.radius]
    constants = np.array(numbers, dtype=np.float32)
    key, energies = jax.random.key(rng.integers(1 << 31)), []
    data = (_with_ones(train.inputs), train.labels.astype(np.float32))
    state: Any = particles
    for temperatures in blocks:
        state, key, energy = _anneal(state, key, temperatures, constants, *data)
        energies.append(float(energy))
    particles = np.asarray(state, dtype=np.float64)
    outputs = [
        _outputs(particles, _with_ones(x), settings.radius) for x in (train.inputs, test.inputs)
    ]
    test_error = float(np.mean(_wrong(outputs[1], test.clean)))
    return {
        "accuracy": 1 - test_error,
        "test_error": test_error,
        "train_error": float(np.mean(_wrong(outputs[0], train.labels))),
        "train_loss": float(np.mean(np.logaddexp(0, -train.labels * outputs[0]))),
        "particle_variance": float(np.mean(particles[:, problem.target.rank : -2] ** 2)),
        "free_energy": np.array(energies),
    }


def _with_ones(inputs: np.ndarray) -> Float[np.ndarray, "n columns"]:
    """Inputs with a column of ones for the bias: one product gives all pre-activations."""
    return np.concatenate([inputs, np.ones((len(inputs), 1))], axis=1).astype(np.float32)


@jax.jit
def _anneal(
    particles: Float[Array, "N coordinates"],
    key: Array,
    temperatures: Float[Array, " steps"],
    constants: Float[Array, " three"],
    inputs: Float[Array, "n columns"],
    labels: Float[Array, " n"],
) -> tuple[Array, Array, Array]:
    """One Langevin step for each temperature; the particles, the key, and the free energy."""
    step_size, decay, radius = constants
    samples, width = inputs.shape[0], particles.shape[0]

    def forward(x: Array) -> tuple[Array, Array, Array]:
        units = jnp.tanh(inputs @ x[:, :-1].T)
        gates = jnp.tanh(x[:, -1])
        ones = jnp.ones((width,), units.dtype)
        outputs = radius / 3 * (units @ ones + 2 * jnp.sum(gates)) / width
        return units, gates, outputs

    def step(carry: tuple[Array, Array], temperature: Array) -> tuple[tuple[Array, Array], None]:
        x, key = carry
        key, own = jax.random.split(key)
        units, gates, outputs = forward(x)
        # Minus the derivative of log(1 + exp(-y f)) in f, a mean over the samples.
        pull = labels * jax.nn.sigmoid(-labels * outputs) / samples
        along = radius / 3 * (((1 - units**2) * pull[:, None]).T @ inputs)
        gate = 2 * radius / 3 * (1 - gates**2) * jnp.sum(pull)
        drift = jnp.concatenate([along, gate[:, None]], axis=1)
        noise = jnp.sqrt(2 * temperature * step_size) * jax.random.normal(own, x.shape, x.dtype)
        return (x + step_size * (drift - 2 * temperature * decay * x) + noise, key), None

    (x, key), _ = jax.lax.scan(step, (particles, key), temperatures)
    loss = jnp.mean(jax.nn.softplus(-labels * forward(x)[2]))
    entropy = jnp.sum(0.5 * jnp.log(2 * jnp.pi * jnp.e * jnp.var(x, axis=0)))
    square = jnp.mean(jnp.sum(x**2, axis=1))
    return x, key, loss + temperatures[-1] * (decay * square - entropy)


def _outputs(particles: np.ndarray, inputs: np.ndarray, radius: float) -> np.ndarray:
    units = np.tanh(inputs @ particles[:, :-1].T).mean(axis=1)
    return radius / 3 * (units + 2 * np.tanh(particles[:, -1]).mean())


def _wrong(outputs: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return np.sign(outputs) != labels
