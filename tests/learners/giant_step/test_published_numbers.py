"""Numbers of the literature and of our own tables, each with the recipe that gives it."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import t as student

from giantstep.language.problem import Problem
from giantstep.learners.giant_step.simulation import simulate
from giantstep.settings.giant_step import GiantStep

#: Staircases at d = 1024: relu, p = 20, n = 8d, step 2, symmetric start; means of 20 runs of
#: sqrt(u^T K u) for directions u, at steps 0..3 (Dandi et al. 2023, arXiv:2305.18270).
STAIRCASES = {
    "h1 + h2 + h1^2 - h2^2": {
        (1, 1): (0.031, 0.664, 0.720, 0.733),
        (1, -1): (0.030, 0.039, 0.364, 0.516),
    },
    "h1 + He2(h1) + h2 + He2(h2)": {
        (1, 1): (0.031, 0.665, 0.736, 0.732),
        (1, -1): (0.030, 0.041, 0.039, 0.038),
    },
    "h1 + h1*h2 + h1*h3": {
        (1, 0, 0): (0.031, 0.603, 0.688, 0.717),
        (0, 1, 1): (0.030, 0.038, 0.313, 0.481),
        (0, 1, -1): (0.031, 0.025, 0.022, 0.016),
    },
    "h1 + h1*h2 + He3(h1)*h3": {
        (1, 0, 0): (0.031, 0.501, 0.591, 0.619),
        (0, 1, 0): (0.032, 0.031, 0.160, 0.271),
        (0, 0, 1): (0.030, 0.034, 0.055, 0.089),
    },
}
STAIRCASE_RUNS = 20
FALSE_ALARM = 1e-4


@pytest.mark.parametrize("text", STAIRCASES)
def test_staircase(text: str) -> None:
    settings = GiantStep(dim=1024, samples="8d", width=20, steps=3, step_size=2)
    run = simulate(Problem.of(text), settings, seeds=STAIRCASE_RUNS)
    comparisons = sum(4 * len(rows) for rows in STAIRCASES.values())
    quantile = student.isf(FALSE_ALARM / comparisons / 2, 2 * (STAIRCASE_RUNS - 1))
    for direction, table in STAIRCASES[text].items():
        u = np.array(direction) / np.linalg.norm(direction)
        learned = np.sqrt(np.einsum("i,stij,j->st", u, run.arrays["overlap_matrix"], u))
        # The table has as many runs of the same law, and three digits.
        error = np.sqrt(2 / STAIRCASE_RUNS) * learned.std(axis=0, ddof=1)
        assert np.all(np.abs(learned.mean(axis=0) - table) <= quantile * error + 5e-4)
        assert np.all(quantile * error < 0.05)


#: One step at n = d^kappa: (target, activation, width, step), then {(d, kappa): overlap}; the
#: table's values are means of at least so many runs.
TRANSITIONS = {
    1: (
        *("h1", {"activation": "relu", "width": 20, "step_size": 4}, 12),
        {
            (256, 0.5): 0.171,
            (256, 0.75): 0.336,
            (256, 1.0): 0.551,
            (256, 1.5): 0.850,
            (1024, 0.5): 0.123,
            (1024, 0.75): 0.284,
            (1024, 1.0): 0.555,
            (1024, 1.5): 0.874,
        },
    ),
    2: (
        *("He2(h1)", {"activation": "relu", "width": 20, "step_size": "4d^0.5"}, 2),
        {(256, 1.25): 0.152, (256, 1.75): 0.339, (256, 2.0): 0.505, (1024, 1.25): 0.077}
        | {(1024, 1.5): 0.146, (1024, 1.75): 0.298},
    ),
    3: (
        *("sin(2*h1) - 2*exp(-2)*h1", {"activation": "erf", "width": 8, "step_size": "20d"}, 2),
        {(32, 2.0): 0.299, (32, 3.0): 0.508, (64, 2.0): 0.253, (64, 2.5): 0.318, (128, 2.0): 0.157},
    ),
}
TRANSITION_RUNS = 24


@pytest.mark.slow
@pytest.mark.parametrize("leap", TRANSITIONS)
def test_phase_transition(leap: int) -> None:
    text, options, table_runs, table = TRANSITIONS[leap]
    measured = {}
    for (dim, kappa), value in table.items():
        settings = GiantStep(dim=dim, samples=f"d^{kappa}", **options)
        cosines = simulate(Problem.of(text), settings, seeds=TRANSITION_RUNS).metrics["overlap"]
        measured[dim, kappa] = cosines[:, 1, 0]
        spread = measured[dim, kappa].std(ddof=1)
        error = spread * np.sqrt(1 / TRANSITION_RUNS + 1 / table_runs)
        quantile = student.isf(FALSE_ALARM / len(table) / 2, TRANSITION_RUNS - 1)
        assert abs(measured[dim, kappa].mean() - value) <= quantile * error + 5e-4
    small, large = sorted({dim for dim, _ in table})[:2]
    for kappa in {kappa for _, kappa in table}:
        if not {(small, kappa), (large, kappa)} <= set(table):
            continue
        ratio = measured[large, kappa].mean() / measured[small, kappa].mean()
        # Below the transition an overlap is noise and falls with d; above it is a cosine.
        if kappa < leap:
            assert ratio < 0.95
        elif leap == 1:
            assert ratio > 0.97


def test_unequal_readouts_learn_two_directions_at_once() -> None:
    """After two steps on h1 + h1 h2 + He3(h1) h3, the block of K on (h2, h3).

    With |a| = 1 every neuron has the same ratio of the two: its smaller eigenvalue is noise and
    falls like d^-1/2. With Gaussian readouts it stays.
    """
    smaller: dict[tuple[str, int], np.ndarray] = {}
    for readout in ("symmetric-sign", "normal"):
        for dim in (1024, 4096):
            settings = GiantStep(
                dim=dim, samples="32d", width=20, steps=2, step_size=4, readout=readout
            )
            run = simulate(Problem.of("h1 + h1*h2 + He3(h1)*h3"), settings, seeds=8)
            assert run.notes[0].startswith("method: in-law")
            block = run.arrays["overlap_matrix"][:, -1, 1:, 1:]
            smaller[readout, dim] = np.sqrt(np.linalg.eigvalsh(block)[:, 0])
    mean = {key: values.mean() for key, values in smaller.items()}
    error = {key: values.std(ddof=1) / np.sqrt(8) for key, values in smaller.items()}
    published = {("symmetric-sign", 1024): 0.021, ("symmetric-sign", 4096): 0.012}
    published |= {("normal", 1024): 0.034, ("normal", 4096): 0.032}
    for key, value in published.items():
        # Four runs of the same law.
        assert abs(mean[key] - value) <= 4.5 * np.sqrt(3) * error[key] + 5e-4
    assert mean["symmetric-sign", 4096] == pytest.approx(mean["symmetric-sign", 1024] / 2, rel=0.25)
    assert mean["normal", 4096] > 0.65 * mean["normal", 1024]
    assert mean["normal", 4096] > 2 * mean["symmetric-sign", 4096]


#: One giant step in the quadratic regime, as printed by the authors' notebook (Dandi et al. 2023):
#: d = 512, p = 1024, 10 runs of new data for one draw of the network; n: (test error, its error).
QUADRATIC = {3326: (0.3360, 0.0063), 29532: (0.2068, 0.0059)}


@pytest.mark.slow
@pytest.mark.parametrize(("samples", "seeds"), [(3326, 5), (29532, 4)])
def test_quadratic_regime(samples: int, seeds: int) -> None:
    """Their eta = 10 sqrt(n p) with a ~ N(0, 1/p) is our step 10 sqrt(n / p); their ridge is ours.

    They remove the test labels' own trend from the test labels. We use the training trend, and
    the error is the same within the errors: the readout, fitted to what the trend left, makes up
    for most of the trend's noise.
    """
    bump = "({0} + He2({0})/2 + He4({0})/24)/2"
    settings = GiantStep(
        dim=512,
        samples=samples,
        width=1024,
        step_size=10 * np.sqrt(samples / 1024),
        readout="normal",
        start="gaussian",
        detrend=True,
        ridge=1.0,
        readout_samples="same",
        method="direct",
    )
    problem = Problem.of(f"{bump.format('h1')} + {bump.format('h2')}")
    run = simulate(problem, settings, seeds=seeds)
    value, error = QUADRATIC[samples]
    measured, sem = run.mean("test_error")[1], run.sem("test_error")[1]
    assert abs(measured - value) <= 2 * np.hypot(error, sem)
    assert sem < 0.025 * value
    assert measured < run.mean("test_error")[0]
