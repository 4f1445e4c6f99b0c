"""Limits that no size one can run comes near are marked, with the number at such a size."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import Any

import pytest

from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.settings.kernel import Kernel
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory import kernel, random_features
from giantstep.theory.ridge.limit_note import far_from_limit, limit_runnable_dim


def far(found: Any) -> list[str]:
    return [note for note in found.notes if "far from its limit" in note]


def test_a_mean_under_a_large_ridge() -> None:
    """The limit learns the mean for nothing; n kernel values of 1 must first outweigh the ridge."""
    problem, settings = Problem.of("h1 + 3"), Kernel(samples="1d", ridge=1e3)
    limit, finite = (kernel.predict(problem, s) for s in (settings, settings.replace(dim=1000)))
    (note,) = far(limit)
    assert f"{finite.metrics['test_error']:.3g} at d = 1000" in note
    # Half of the mean is left where n equals the ridge: 9/4, beside the linear part.
    assert finite.metrics["test_error"] == pytest.approx(limit.metrics["test_error"] + 9 / 4, 0.02)
    assert not far(finite)


def test_few_neurons() -> None:
    problem, settings = Problem.of("h1 + 3"), RandomFeatures(width="0.004d", ridge=1e3)
    limit = random_features.predict(problem, settings)
    finite = random_features.predict(problem, settings.replace(dim=1000))
    (note,) = far(limit)
    assert f"{finite.metrics['test_error']:.3g} at d = 1000" in note


def test_few_neurons_at_an_ordinary_ridge() -> None:
    """p neurons fit a constant only as far as their other outputs average out."""
    problem, settings = Problem.of("h1 + 3"), RandomFeatures(width="d^0.5", ridge=0.1)
    limit = random_features.predict(problem, settings)
    finite = random_features.predict(problem, settings.replace(dim=1000)).metrics["test_error"]
    (note,) = far(limit)
    assert f"{finite:.3g} at d = 1000, far from its limit {limit.metrics['test_error']:.3g}" in note
    mean_squared, width = 1 / (2 * math.pi), 31
    left = (0.5 - mean_squared) / (width * mean_squared + 0.5 - mean_squared)
    assert finite == pytest.approx(1 + 9 * left, rel=0.01)


def test_limits_that_are_near_are_left_alone() -> None:
    problem = Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1)
    assert not far(kernel.predict(problem, Kernel(samples="1d")))
    assert not far(random_features.predict(problem, RandomFeatures()))


@pytest.mark.parametrize(
    ("sizes", "dim"),
    [(("2d", "1d"), 1000), (("d^2",), 100), (("d^2", "10d^3"), 10), (("d^0.5",), 1000)],
)
def test_runnable_dimension(sizes: tuple[str, ...], dim: int) -> None:
    assert limit_runnable_dim(*map(Size.parse, sizes)) == dim


def test_no_size_or_no_number_is_no_note() -> None:
    def said(limit: float, samples: str) -> list[str]:
        there = SimpleNamespace(metrics=lambda ridge, noise: {"test_error": 5.0})
        return far_from_limit(Problem.of("h1"), Kernel(samples=samples), limit, lambda *_: there)

    assert limit_runnable_dim(Size.parse("1e6d")) is None
    assert not said(1.0, "1e6d")
    assert not said(float("inf"), "1d")
    assert said(1.0, "1d")
