"""log Z, g_out and its derivative: against finite differences and against samples, every kind."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giantstep.channels.channel import (
    Channel,
    channel_label_means,
    channel_of_problem,
    label_posteriors,
)
from giantstep.channels.posterior import Posterior
from giantstep.channels.quadrature import Quadrature
from giantstep.language.problem import Problem
from giantstep.numerics.float64 import in_float64

CLOSED = {
    ("h1", 0.25): "affine",
    ("2*h1 - 1", 0.0): "affine",
    ("sign(h1)", 0.0): "discrete",
    ("sign(h1)", 0.3): "discrete",
    ("sign(h1 + 0.5*z1)", 0.0): "discrete",
    ("(|h1| < 1)", 0.0): "discrete",
    ("sign(h1*h2)", 0.0): "discrete",
    ("sign(h1*h2*h3)", 0.0): "discrete",
    ("sign(h1) + 2*sign(h2 - 0.5)", 0.0): "discrete",
    ("|h1|", 0.0): "preimages",
    ("h1^2", 0.0): "preimages",
    ("He3(h1)", 0.0): "preimages",
    ("tanh(h1)", 0.0): "preimages",
    ("relu(h1)", 0.0): "preimages",
    ("h1^2 + sign(h1*h2*h3)", 0.0): "preimages",
}
INTEGRATED = {
    ("h1^2", 0.5): "quadrature",
    ("h1*h2", 0.3): "quadrature",
    ("tanh(h1) + h2^2", 0.3): "quadrature",
    ("h1^2 + sign(h2*h3)", 0.3): "quadrature",
    ("tanh(h1) + tanh(h2) + tanh(h3)", 0.5): "quadrature",
}
KINDS = CLOSED | INTEGRATED
#: What is left of 1e-13 in a probability after division by a small one.
PRECISION = 1e-5
#: What a finite number of nodes leaves of a single label.
NODES_LEFT = 2e-3
#: Labels in one call.
BLOCK = 32


@functools.cache
def channel_of(text: str, noise: float) -> Channel:
    return channel_of_problem(Problem.of(text, noise=noise))


@functools.cache
def fine(text: str, noise: float) -> Channel:
    """The channel on many nodes: what is left are its formulas."""
    channel = channel_of(text, noise)
    core = channel.likelihood.core
    if not isinstance(core, Quadrature):
        return channel
    count = {1: 1024, 2: 120, 3: 32}[len(core.counts)]
    core = dataclasses.replace(core, counts=(count,) * len(core.counts))
    return dataclasses.replace(
        channel, likelihood=dataclasses.replace(channel.likelihood, core=core)
    )


@functools.cache
def evaluator(channel: Channel) -> Callable[..., Posterior]:
    def evaluate(labels: Any, omega: Any, cov: Any) -> Posterior:
        return label_posteriors(channel.likelihood, labels, omega, cov)

    compiled = jax.jit(evaluate)

    @in_float64
    def in_numpy(y: np.ndarray, omega: np.ndarray, cov: np.ndarray) -> Posterior:
        """In blocks of one length, so that each channel is compiled once."""
        fill = -len(y) % BLOCK
        labels = channel.labels(np.append(y, np.repeat(y[-1:], fill)))
        omega = np.concatenate([omega, np.repeat(omega[-1:], fill, axis=0)])
        blocks = []
        for start in range(0, len(omega), BLOCK):
            cut = slice(start, start + BLOCK)
            part = jax.tree.map(lambda leaf, cut=cut: leaf[cut], labels)
            blocks.append(compiled(part, omega[cut], cov))
        whole = (np.concatenate(parts)[: len(y)] for parts in zip(*blocks, strict=True))
        return Posterior(*whole)

    return in_numpy


def drawn_labels(channel: Channel, omega: np.ndarray, root: np.ndarray, x: Any) -> np.ndarray:
    """Labels of fields omega + root x: likely ones, by the channel's own law."""
    target = channel.structure.target
    random = np.random.default_rng(9)
    z = random.normal(size=(len(x), target.noises))
    y = np.asarray(target.numpy(omega + x @ root.T, z), dtype=float)
    return y + np.sqrt(channel.noise) * random.normal(size=len(x))


def covariance(rank: int, size: float, correlation: float, uneven: float) -> np.ndarray:
    spread = np.sqrt(size) * uneven ** np.arange(rank)
    signs = np.array([1.0, 1.0, np.sign(correlation) or 1.0])[:rank]
    corr = (1 - abs(correlation)) * np.eye(rank) + abs(correlation) * np.outer(signs, signs)
    return corr * np.outer(spread, spread)


@pytest.mark.parametrize(("given_problem", "kind"), KINDS.items(), ids=str)
def test_every_problem_gets_its_most_exact_channel(given_problem: Any, kind: str) -> None:
    channel = channel_of(*given_problem)
    assert channel.kind == kind
    assert channel.noise == given_problem[1]
    assert channel.notes == ()
    assert (channel.error > 0) == (kind == "quadrature")
    assert channel.error < 1e-3


@pytest.mark.parametrize("given_problem", KINDS, ids=str)
@settings(max_examples=8, suppress_health_check=list(HealthCheck))
@given(
    seed=st.integers(0, 2**32 - 1),
    log_size=st.floats(-7.0, 0.0),
    correlation=st.sampled_from([0.0, 0.5, -0.9, 0.999]),
    uneven=st.sampled_from([1.0, 0.3]),
)
def test_derivatives_are_those_of_log_z(
    given_problem: Any, seed: int, log_size: float, correlation: float, uneven: float
) -> None:
    """Five-point differences along the columns of V^(1/2), where everything is of order one."""
    channel = fine(*given_problem)
    rank, closed = channel.rank, given_problem in CLOSED
    random = np.random.default_rng(seed)
    size = 10**log_size if closed else 0.7 * 10 ** (log_size / 3)
    cov = covariance(rank, size, correlation, uneven)
    root = np.linalg.cholesky(cov)
    omega = random.normal(size=rank) * np.sqrt(1 - 0.9 * size)
    y = drawn_labels(channel, omega, root, random.normal(size=(1, rank)))
    step = 2e-3
    stencil = np.array([-2, -1, 1, 2])[:, None, None] * step * root.T
    points = np.concatenate([omega[None], (omega + stencil).reshape(-1, rank)])
    found = evaluator(channel)(np.repeat(y, len(points)), points, cov)
    weights = np.array([1, -8, 8, -1]) / (12 * step)
    slope = weights @ found.log_partition[1:].reshape(4, rank)
    bend = np.einsum("k,kir->ir", weights, found.gradient[1:].reshape(4, rank, rank))
    gradient, hessian = root.T @ found.gradient[0], root.T @ found.hessian[0] @ root
    bound = PRECISION if closed else NODES_LEFT
    size = 1 + np.abs(gradient).max() ** 2 + np.exp(-found.log_partition[0]) * closed * 1e-6
    np.testing.assert_allclose(gradient, slope, rtol=0, atol=bound * size)
    np.testing.assert_allclose(hessian, bend @ root, rtol=0, atol=bound * size)


SETTINGS = ((0.5, 0.4), (0.3, 0.98), (1e-3, -0.5))


@pytest.mark.parametrize("given_problem", KINDS, ids=str)
def test_posterior_moments_are_those_of_samples(given_problem: Any) -> None:
    """Given y, V^-1 (z - omega) averages g_out and its square averages dg + V^-1 + g g^T.

    So residuals average to 0 in every bin of labels, within 5 standard errors.
    """
    channel = channel_of(*given_problem)
    rank = channel.rank
    count = 3_072 if given_problem in CLOSED else 1_024
    for k, (size, correlation) in enumerate(SETTINGS):
        random = np.random.default_rng(k)
        cov = covariance(rank, size, correlation, 0.8)
        root = np.linalg.cholesky(cov)
        omega = np.array([0.4, -0.7, 0.2])[:rank]
        x = random.normal(size=(count, rank))
        y = drawn_labels(channel, omega, root, x)
        found = evaluator(channel)(y, np.tile(omega, (count, 1)), cov)
        gradient = found.gradient @ root
        hessian = root.T @ found.hessian @ root
        first = x - gradient
        second = np.einsum("ni,nj->nij", x, x) - np.eye(rank)
        second -= hessian + np.einsum("ni,nj->nij", gradient, gradient)
        residuals = np.concatenate([first, second.reshape(count, -1)], axis=1)
        edges = np.unique(np.quantile(y, np.linspace(0, 1, 7)))
        inside = np.searchsorted(edges[1:-1], y, side="right")
        for one in np.unique(inside):
            here = residuals[inside == one]
            error = here.std(axis=0, ddof=1) / np.sqrt(len(here))
            assert np.all(np.abs(here.mean(axis=0)) <= 5 * error + channel.error + 1e-9)
        assert residuals[:, :rank].std() / np.sqrt(count) < 0.05


@pytest.mark.parametrize("given_problem", KINDS, ids=str)
def test_label_mean_is_the_mean_of_sampled_labels(given_problem: Any) -> None:
    channel = channel_of(*given_problem)
    rank = channel.rank
    omega = np.array([0.4, -0.7, 0.2])[:rank]
    for k, (size, correlation) in enumerate(SETTINGS):
        cov = covariance(rank, size, correlation, 0.8)
        x = np.random.default_rng(k).normal(size=(100_000, rank))
        y = drawn_labels(channel, omega, np.linalg.cholesky(cov), x)
        found = float(_mean(channel, omega, cov))
        assert abs(found - y.mean()) <= 4 * y.std() / np.sqrt(len(y)) + 1e-6


@pytest.mark.unchecked
@pytest.mark.parametrize("given_problem", INTEGRATED, ids=str)
@in_float64
def test_the_mixture_of_labels_sums_up_to_the_posterior(given_problem: Any) -> None:
    channel = channel_of(*given_problem)
    core = channel.likelihood.core
    assert isinstance(core, Quadrature)
    fields = channel.structure.fields
    mean = jnp.array([0.4, -0.7, 0.2])[:fields]
    cov = jnp.asarray(covariance(fields, 0.5, 0.4, 0.8))
    law = jax.jit(core.label_mixture)(mean, cov, jnp.asarray(channel.noise))
    posterior = jax.jit(core.posterior)
    for label in (-0.8, 0.3, 1.7):
        distance = label - law.centres
        density = law.logs - distance**2 / (2 * law.variances)
        density -= jnp.log(2 * jnp.pi * law.variances) / 2
        under_each = law.pulls + law.rates * distance[:, None]
        found = posterior(jnp.array([label, channel.noise]), mean, cov)
        assert np.isclose(jax.nn.logsumexp(density), found.log_partition, atol=1e-11)
        assert np.allclose(jax.nn.softmax(density) @ under_each, found.gradient, atol=1e-10)
        assert np.abs(found.gradient).max() > 0.1


@in_float64
def _mean(channel: Channel, omega: np.ndarray, cov: np.ndarray) -> Any:
    return _compiled_means(channel.likelihood, omega[None], cov)[0]


_compiled_means = jax.jit(channel_label_means, static_argnums=0)


@pytest.mark.parametrize(
    "given_problem", [p for p, kind in KINDS.items() if kind != "discrete" and p[0] != "relu(h1)"]
)
def test_log_z_is_the_density_of_the_labels(given_problem: Any) -> None:
    """E[1/Z(y) for y in an interval] is its length."""
    channel = channel_of(*given_problem)
    rank = channel.rank
    count = 3_072 if given_problem in CLOSED else 1_024
    cov = covariance(rank, 0.5, 0.4, 0.8)
    omega = np.array([0.4, -0.7, 0.2])[:rank]
    x = np.random.default_rng(3).normal(size=(count, rank))
    y = drawn_labels(channel, omega, np.linalg.cholesky(cov), x)
    low, high = np.quantile(y, [0.3, 0.7])
    found = evaluator(channel)(y, np.tile(omega, (count, 1)), cov)
    inverse = np.exp(-found.log_partition) * ((y > low) & (y < high))
    error = inverse.std() / np.sqrt(count)
    assert error < 0.1 * (high - low)
    assert abs(inverse.mean() - (high - low)) <= 4 * error


@pytest.mark.parametrize("given_problem", [p for p, kind in KINDS.items() if kind == "discrete"])
def test_discrete_labels_have_probabilities(given_problem: Any) -> None:
    channel = channel_of(*given_problem)
    if channel.noise > 0:
        return
    values = np.array(channel.likelihood.core.values)
    for size in (1.0, 1e-6):
        cov = covariance(channel.rank, size, 0.9, 0.5)
        omega = np.full((len(values), channel.rank), 0.3)
        logs = evaluator(channel)(values, omega, cov).log_partition
        np.testing.assert_allclose(np.exp(logs).sum(), 1.0, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("text", "noise", "fields"),
    [("sin(2*h1) + z1/2", 0.25, 1), ("h1*h2 + z1 - z2/2", 1.25, 2), ("h1*h2*h3 + z1", 1.0, 3)],
)
def test_noise_that_a_target_only_adds_is_label_noise(text: str, noise: float, fields: int) -> None:
    channel = channel_of_problem(Problem.of(text, noise=0.5))
    assert channel.noise == pytest.approx(0.5 + noise)
    assert channel.added == pytest.approx(0.5)
    assert (channel.structure.fields, channel.structure.is_exact) == (fields, True)
