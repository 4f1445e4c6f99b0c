"""The simulation in law against real vectors: two-sample tests on every kind of setting.

The settings are those of the verification of the method: fresh and reused batches, more neurons
than dimensions left, fewer samples than neurons, batches used up, spiked inputs; and what builds
on it, detrending and readouts fitted on the same batch.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.stats import ks_2samp, norm

from giantstep.answer import Run
from giantstep.language.inputs import Gaussian, Inputs, Spiked
from giantstep.language.problem import Problem
from giantstep.learners.giant_step import in_law
from giantstep.learners.giant_step.draws import draw_bartlett
from giantstep.learners.giant_step.simulation import simulate
from giantstep.settings.giant_step import GiantStep

STAIRS = "h1 + h1*h2"
#: So many that a shift by half a standard deviation is found, which is tested below.
RUNS = 400
MANY_RUNS = 1600
#: Probability that any test of this file fails although the two laws are the same.
FALSE_ALARM = 1e-4

REUSED: dict[str, Any] = {
    **{"batches": "reused", "width": 2, "steps": 5, "readout": "sign", "activation": "tanh"},
}
DETRENDED: dict[str, Any] = {"detrend": True, "dim": 30, "samples": 60, "width": 4, "steps": 2}
DETRENDED |= {"readout": "normal", "ridge": 0.1}

SETTINGS: dict[str, tuple[str, Inputs, int, dict[str, Any]]] = {
    "fresh": (
        *(STAIRS, Gaussian(), RUNS),
        {"dim": 40, "samples": 400, "width": 8, "ridge": 0.1, "readout_samples": 100},
    ),
    "reused": (
        *("He3(h1)", Gaussian(), RUNS),
        REUSED | {"dim": 40, "samples": 120, "ridge": 0.1, "readout_samples": "same"},
    ),
    "centred, reused": (
        *("abs(h1) + h2", Gaussian(), RUNS),
        REUSED | {"dim": 30, "samples": 60, "steps": 2, "centre": True, "ridge": 0.1},
    ),
    "used up": ("He3(h1)", Gaussian(), RUNS, REUSED | {"dim": 7, "samples": 9}),
    "fewer samples than neurons": (
        *(STAIRS, Gaussian(), RUNS),
        {"dim": 12, "samples": 5, "width": 8},
    ),
    "five dimensions": (STAIRS, Gaussian(), MANY_RUNS, {"dim": 5, "samples": 4, "width": 2}),
    "few dimensions left": (STAIRS, Gaussian(), RUNS, {"dim": 12, "samples": 50, "width": 8}),
    "none left": (STAIRS, Gaussian(), RUNS, {"dim": 9, "samples": 50, "width": 8}),
    "less than none": (STAIRS, Gaussian(), RUNS, {"dim": 8, "samples": 4, "width": 8}),
    "spiked": (STAIRS, Spiked(3.0), RUNS, {"dim": 60, "samples": 100, "width": 4}),
    "a spike beside the target": (
        *(STAIRS, Spiked(6.0, 0.6), RUNS),
        {"dim": 40, "samples": 60, "width": 4, "steps": 2},
    ),
    "a spike beside the target, reused": (
        *("He2(h1)", Spiked(6.0, 0.6), RUNS),
        REUSED | {"dim": 30, "samples": 40, "steps": 2},
    ),
    "detrended, same batch": (
        *("h1 + He2(h2)", Gaussian(), RUNS),
        DETRENDED | {"readout_samples": "same", "biases": "normal", "normalise": True},
    ),
    "detrended, reused": (
        *("h1 + He2(h2)", Gaussian(), RUNS),
        DETRENDED | {"batches": "reused", "start": "gaussian", "loss": "correlation"},
    ),
}
#: More than any setting has.
STATISTICS = 10


def statistics(run: Run) -> dict[str, np.ndarray]:
    """Numbers after the last step: of a neuron, of its twin, of all together, of the readout."""
    last = {name: values[:, -1] for name, values in {**run.arrays, **run.metrics}.items()}
    found = {
        f"cosine with h{k + 1}": last["cosines"][:, 0, k] for k in range(last["overlap"].shape[1])
    }
    found |= {f"overlap with h{k + 1}": column for k, column in enumerate(last["overlap"].T)}
    found |= {"smallest eigenvalue": last["overlap_spectrum"][:, -1]}
    if not run.settings["normalise"]:
        found |= {"norm": last["norms"][:, 0], "norm of the twin": last["norms"][:, -1]}
    found |= {name: last[name] for name in ("test_error", "train_error") if name in last}
    assert len(found) <= STATISTICS
    return found


THRESHOLD = FALSE_ALARM / (len(SETTINGS) * STATISTICS)


def simulated(name: str, method: str) -> dict[str, np.ndarray]:
    target, inputs, runs, options = SETTINGS[name]
    problem = Problem.of(target, noise=0.1, inputs=inputs)
    step = 0.3 if options.get("batches") == "reused" else 3
    settings = GiantStep(**({"steps": 3, "step_size": step, "test_samples": 100} | options))
    return statistics(simulate(problem, settings.replace(method=method), seeds=runs))


@cache
def real(name: str) -> dict[str, np.ndarray]:
    """Statistics of real vectors, drawn once for all that is compared with them."""
    return simulated(name, "direct")


def p_values(name: str, law: dict[str, np.ndarray]) -> dict[str, float]:
    return {key: float(ks_2samp(own, law[key]).pvalue) for key, own in real(name).items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", SETTINGS)
def test_the_law_is_exact(name: str) -> None:
    found = p_values(name, simulated(name, "in-law"))
    assert {key: p for key, p in found.items() if p < THRESHOLD} == {}


def test_so_many_runs_show_a_shift_by_half_a_standard_deviation() -> None:
    values = norm.ppf((np.arange(RUNS) + 0.5) / RUNS)
    assert ks_2samp(values, values + 0.5).pvalue < THRESHOLD


@pytest.mark.slow
def test_a_wrong_degree_of_freedom_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    def one_too_many(draws: Any, rows: int, freedom: int, *path: int) -> np.ndarray:
        return draw_bartlett(draws, rows, freedom + 1, *path)

    monkeypatch.setattr(in_law, "draw_bartlett", one_too_many)
    wrong = simulated("five dimensions", "in-law")
    assert min(p_values("five dimensions", wrong).values()) < THRESHOLD


def test_the_frame_keeps_every_inner_product() -> None:
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((2, 6, 19))
    rows[:, 3:] = rows[:, :3]
    small = in_law._compressed_rows_in_law(rows, 2)
    assert small.shape == (2, 6, 8)
    np.testing.assert_array_equal(small[..., :2], rows[..., :2])
    np.testing.assert_allclose(small @ small.mT, rows @ rows.mT, atol=1e-12)
