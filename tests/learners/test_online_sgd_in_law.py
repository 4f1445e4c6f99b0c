"""The simulation in law against real vectors: the same distributions, by Kolmogorov and Smirnov."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy.stats import ks_2samp

from giantstep.language.problem import Problem
from giantstep.learners.online_sgd import plan as plan_module
from giantstep.learners.online_sgd.simulation import simulate
from giantstep.settings.online_sgd import OnlineSgd

RUNS = 1000
#: Small dimensions and large steps, so that everything that can differ does.
CASES = {
    "plain": ("h1 + h1*h2", {"loss": "correlation", "activation": "relu", "step_size": 2}),
    "batch": ("h1 + h1*h2", {"batch": 10, "activation": "tanh", "step_size": 3}),
    "ahead": (
        "He3(h1)",
        {"loss": "correlation", "activation": "tanh", "lookahead": 0.5, "step_size": 0.8},
    ),
    "two neurons": (
        "tanh(h1)",
        {"width": 2, "readout": "1,-2", "geometry": "free", "activation": "tanh"}
        | {"start_overlap": "0.5;0.1", "step_size": 2},
    ),
    "batch of two neurons": (
        "tanh(h1)",
        {"width": 2, "readout": "1,-2", "batch": 3, "activation": "tanh", "step_size": 2},
    ),
}


@cache
def real(name: str) -> np.ndarray:
    """Statistics of real vectors, drawn once for all that is compared with them."""
    return statistics(name, "direct")


def statistics(name: str, method: str) -> np.ndarray:
    text, options = CASES[name]
    settings = OnlineSgd(dim=12, times="2.5", method=method, test_samples=1, **options)
    run = simulate(Problem.of(text, noise=0.1), settings, seeds=RUNS)
    parts = [run.arrays["cosines"][:, 0].reshape(RUNS, -1), run.arrays["norms"][:, 0]]
    if settings.geometry == "sphere":
        parts.pop()
    return np.concatenate(parts, axis=1)


@pytest.mark.parametrize("name", CASES)
def test_in_law_is_direct(name: str) -> None:
    direct, in_law = real(name), statistics(name, "in-law")
    assert direct.shape == in_law.shape
    for one, other in zip(direct.T, in_law.T, strict=True):
        assert ks_2samp(one, other).pvalue > 1e-4


def test_a_wrong_law_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    direct = real("ahead")
    right = plan_module._draw_bartlett_factor
    monkeypatch.setattr(
        plan_module,
        "_draw_bartlett_factor",
        lambda rng, n, k, freedom: right(rng, n, k, freedom // 2),
    )
    assert ks_2samp(direct[:, 0], statistics("ahead", "in-law")[:, 0]).pvalue < 1e-6


def test_runs_do_not_depend_on_their_number_or_on_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = OnlineSgd(dim=30, times="0,1,2", width=2, activation="tanh", batch=2)
    many = simulate(Problem.of("h1*h2"), settings, seeds=3)
    monkeypatch.setattr("giantstep.learners.online_sgd.simulation.CHUNK_NUMBERS", 64)
    few = simulate(Problem.of("h1*h2"), settings, seeds=2)
    shifted = simulate(Problem.of("h1*h2"), settings, seeds=1, seed=2)
    for name, values in many.metrics.items():
        np.testing.assert_allclose(few.metrics[name], values[:2], rtol=1e-9)
        np.testing.assert_allclose(shifted.metrics[name], values[2:], rtol=1e-9)


def test_start_and_exit() -> None:
    problem = Problem.of("h1")
    settings = OnlineSgd(dim=200, times="0,4", activation="identity", loss="correlation").replace(
        start_overlap="-0.1", until=0.5, step_size=0.5
    )
    run = simulate(problem, settings, seeds=5)
    np.testing.assert_allclose(run.metrics["overlap"][:, 0], -0.1, rtol=1e-12)
    assert np.all((run.metrics["exit_time"] > 0.5) & (run.metrics["exit_time"] < 4))
    never = simulate(problem, settings.replace(times="0.01"), seeds=2)
    assert np.all(np.isinf(never.metrics["exit_time"]))
    assert "2 of 2 runs" in never.notes[1]
