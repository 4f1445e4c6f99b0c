"""The learner `gradient-flow`: gradient steps of single neurons on n samples, then a readout."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.answer import Run
from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Labelled, Problem
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EIGEN, EXPONENTIAL, Cost, needed_dim, ridge_fit
from giantstep.numerics.float64 import float64
from giantstep.numerics.ridge.path import RidgePath, ridge_or_gcv
from giantstep.settings.flow_start import flow_setting_degree, setting_overlaps, spike_setting
from giantstep.settings.gradient_flow import GradientFlow


def _simulation_with_notes(problem: Problem, settings: GradientFlow, found: Run) -> Run:
    """The run, with a note where the flow cannot start from a random neuron."""
    unseen = flow_setting_degree(activation(settings.activation), problem.target)
    if not unseen:
        return found
    blind = (
        f"activation = {settings.activation!r} has no Hermite coefficient of degree {unseen}, the "
        f"first of target = {problem.target.text!r}: the flow cannot start from a random neuron, "
        "and what moves this one is the noise of the samples or the spike alone"
    )
    return dataclasses.replace(found, notes=(blind,))


@functools.partial(once_per_seed, after=_simulation_with_notes)
def simulate(
    problem: Problem, settings: GradientFlow, rng: np.random.Generator
) -> dict[str, float]:
    r"""Descend from each start, keep of both signs the one that fits better, fit a readout.

    The preconditioned flow is spherical descent on whitened inputs
    :math:`\tilde x = \hat\Sigma^{-1/2} x`, from :math:`v_0 \propto \hat\Sigma^{1/2} w_0`: the spike
    enters through the start alone. Metrics are means over the starts of a seed; overlaps are
    measured with the population covariance.
    """
    _check_simulation(problem, settings)
    dim = needed_dim(settings.dim)
    sigma, covariance = activation(settings.activation), Covariance(problem, dim)
    data = problem.draw(settings.samples.count(dim, "samples"), dim, rng)
    weights = _random_start_neurons(settings, covariance, rng)
    inputs, root, inverse = _descent_coordinates(settings, data.inputs)
    points = weights @ root
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    # <w, Sigma u> and the metric of w, in the coordinates in which the descent takes place.
    watched = inverse @ covariance.matrix @ inverse.T
    seen = inverse @ covariance.matrix[0]
    ends, path, losses = _descend(
        settings, sigma, inputs, data.labels, points, watched, seen / np.sqrt(covariance.kappa)
    )
    if not settings.has_start:
        half = len(ends) // 2
        flipped = losses[half:] < losses[:half]
        chosen = np.arange(half) + half * flipped
        ends, path = ends[chosen], path[:, chosen]
    ends = ends @ inverse
    found = covariance.measured(ends)
    found["initial_overlap"] = float(np.sqrt(np.mean(path[0] ** 2)))
    if settings.until is not None:
        found["time"] = float(np.mean([_run_crossing(column, settings) for column in path.T]))
    found |= _train_readout(problem, settings, sigma, data, ends, rng)
    return found


def _check_simulation(problem: Problem, settings: GradientFlow) -> None:
    dim, target = needed_dim(settings.dim), problem.target
    spike_setting(problem, dim)
    if target.rank > 1:
        raise SettingsError(f"target = {target.text!r}: a single neuron follows functions of h1")
    samples = settings.samples.count(dim, "samples")
    if settings.geometry == "preconditioned" and samples <= dim:
        raise SettingsError(
            f"samples = {settings.samples} is {samples} at d = {dim}: whitening needs more samples "
            "than dimensions, give at least 2d"
        )


class Covariance:
    """The population covariance, with the target along the first axis, the spike beside it."""

    def __init__(self, problem: Problem, dim: int) -> None:
        self.theta, self.cosine = spike_setting(problem, dim)
        self.kappa = 1 + self.theta * self.cosine**2
        self.spike = problem.inputs.leading_direction(1, dim)
        self.matrix = problem.inputs.covariance(1, dim)

    def measured(self, weights: Float[np.ndarray, "starts d"]) -> dict[str, float]:
        """Means of omega, m and b."""
        unit = weights / np.linalg.norm(weights, axis=1, keepdims=True)
        length = np.sqrt(np.einsum("sd,de,se->s", unit, self.matrix, unit) * self.kappa)
        return {
            "overlap": float(np.mean(unit @ self.matrix[0] / length)),
            "spike_overlap": float(np.mean(unit @ self.spike)),
            "target_overlap": float(np.mean(unit[:, 0])),
        }


def _random_start_neurons(
    settings: GradientFlow, covariance: Covariance, rng: np.random.Generator
) -> Float[np.ndarray, "starts d"]:
    """Unit vectors: random ones with both signs, or with the overlaps that are given."""
    drawn = rng.standard_normal((settings.starts, len(covariance.spike)))
    if not settings.has_start:
        return np.concatenate([drawn, -drawn])
    theta, c = covariance.theta, covariance.cosine
    if settings.start_overlap is not None and c != 1:
        if settings.geometry != "preconditioned":
            setting_overlaps(settings, theta, c)  # says what is missing
        # Unit vectors in whitened coordinates with the given product with Sigma^(1/2) u.
        values, vectors = np.linalg.eigh(covariance.matrix)
        half = (vectors * np.sqrt(values)) @ vectors.T
        axis = half[0] / np.sqrt(covariance.kappa)
        beside = drawn - np.outer(drawn @ axis, axis)
        beside /= np.linalg.norm(beside, axis=1, keepdims=True)
        omega = settings.start_overlap
        return np.linalg.solve(half, (omega * axis + np.sqrt(1 - omega**2) * beside).T).T
    m, b = setting_overlaps(settings, theta, c)
    known = 1 if c == 1 else 2
    first = [b] if c == 1 else [b, (m - c * b) / np.sqrt(1 - c**2)]
    drawn[:, :known] = 0.0
    drawn *= np.sqrt(max(1 - float(np.sum(np.square(first))), 0.0)) / np.linalg.norm(
        drawn, axis=1, keepdims=True
    )
    drawn[:, :known] = first
    return drawn


def _descent_coordinates(
    settings: GradientFlow, inputs: Float[np.ndarray, "n d"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The inputs as the descent sees them; the map of the weights that goes with it, and back."""
    if settings.geometry != "preconditioned":
        identity = np.eye(inputs.shape[1])
        return inputs, identity, identity
    values, vectors = np.linalg.eigh(inputs.T @ inputs / len(inputs))
    root, inverse = ((vectors * values**power) @ vectors.T for power in (0.5, -0.5))
    return inputs @ inverse, root, inverse


def _descend(
    settings: GradientFlow, sigma: Activation, *given: np.ndarray
) -> tuple[np.ndarray, ...]:
    """Where the points end, their overlaps along the way (steps + 1, starts), and their losses.

    ``given`` are the arrays of :func:`_train_run`, in its order. Overlaps after the first are there
    where a hitting time is asked for.
    """
    steps = max(round(settings.horizon / settings.step), 1)
    with float64():
        found = _train_run(
            sigma,
            settings.geometry == "normalised",
            settings.until is not None,
            steps,
            np.asarray(settings.horizon / steps, settings.dtype),
            *(array.astype(settings.dtype) for array in given),
        )
    return tuple(np.asarray(array, dtype=np.float64) for array in found)


@functools.partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _train_run(
    sigma: Activation,
    normalised: bool,
    followed: bool,
    steps: int,
    rate: Float[Array, ""],
    inputs: Float[Array, "n d"],
    labels: Float[Array, " n"],
    points: Float[Array, "starts d"],
    watched: Float[Array, "d d"],
    seen: Float[Array, " d"],
) -> tuple[Array, Array, Array]:
    samples = inputs.shape[0]

    def overlaps(v: Array) -> Array:
        return (v @ seen) / jnp.sqrt(jnp.sum((v @ watched) * v, axis=1))

    def forward(v: Array) -> tuple[Array, Array, Array]:
        """Raw pre-activations, those that the neuron sees, and the variance between them."""
        raw = inputs @ v.T
        q = jnp.mean(raw**2, axis=0) if normalised else jnp.ones(v.shape[0], v.dtype)
        return raw, raw / jnp.sqrt(q)[None, :], q

    def step(v: Array, _: Any) -> tuple[Array, Any]:
        raw, fields, q = forward(v)
        pull = (labels[:, None] - sigma.jax(fields)) * sigma.derivative(fields)
        if normalised:
            # Of sigma(<w, x>/sqrt q): x/sqrt(q) - <w, x> Sigmahat w / q^(3/2), times the step q.
            along = jnp.mean(pull * fields, axis=0)
            pull = pull * jnp.sqrt(q)[None, :] - along[None, :] * raw
        gradient = (2 / samples) * (pull.T @ inputs)
        tangent = gradient - jnp.sum(gradient * v, axis=1, keepdims=True) * v
        moved = v + rate * tangent
        moved = moved / jnp.linalg.norm(moved, axis=1, keepdims=True)
        return moved, overlaps(moved) if followed else None

    ends, path = jax.lax.scan(step, points, None, length=steps)
    losses = jnp.mean((labels[:, None] - sigma.jax(forward(ends)[1])) ** 2, axis=0)
    start = overlaps(points)[None]
    return ends, jnp.concatenate([start, path]) if followed else start, losses


def _run_crossing(path: Float[np.ndarray, " steps"], settings: GradientFlow) -> float:
    """When a path first crosses the overlap asked for; infinite where it does not."""
    until = settings.until
    assert until is not None
    beyond = (path >= until) if until >= path[0] else (path <= until)
    rate = settings.horizon / (len(path) - 1)
    return float(np.argmax(beyond) * rate) if beyond.any() else np.inf


def _train_readout(
    problem: Problem,
    settings: GradientFlow,
    sigma: Activation,
    data: Labelled,
    weights: Float[np.ndarray, "starts d"],
    rng: np.random.Generator,
) -> dict[str, float]:
    """Errors of a ridge regression on sigma(<x, w_i>/sqrt(q) + b_i)/sqrt(p) with random biases."""
    dim = data.inputs.shape[1]
    width = settings.width.count(dim, "width")
    scale = np.sqrt(np.mean((data.inputs @ weights.T) ** 2, axis=0))
    # Neurons share the few directions that were found: these are projected on, once each.
    directions, own = (weights / scale[:, None]).T, np.arange(width) % len(weights)
    biases = rng.standard_normal(width)

    def features(inputs: np.ndarray) -> np.ndarray:
        return sigma.numpy((inputs @ directions)[:, own] + biases) / np.sqrt(width)

    path = RidgePath.fit(features(data.inputs), data.labels)
    ridge = ridge_or_gcv(path, settings.ridge)
    test = problem.draw(settings.test_samples, dim, rng)
    test_error = float(np.mean((path.predict(features(test.inputs), ridge)[0] - test.clean) ** 2))
    return {
        "test_error": test_error,
        "test_error_noisy": test_error + problem.noise,
        "train_error": float(path.train_error(ridge)[0]),
    }


def cost(problem: Problem, settings: GradientFlow) -> Cost:
    """Samples in d dimensions, held; two products with every start in every step; a readout."""
    dim = needed_dim(settings.dim)
    n, p = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    starts = settings.starts * (1 if settings.has_start else 2)
    steps = max(settings.horizon / settings.step, 1)
    rows = n + settings.test_samples
    descent = steps * n * starts * (2.0 * dim + EXPONENTIAL)
    return Cost(
        8 * (3.0 * rows * dim + rows * p + 3.0 * n * starts + 6.0 * dim**2),
        rows * dim * (DRAW + dim) + EIGEN * float(dim) ** 3 + descent + ridge_fit(n, p),
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )
