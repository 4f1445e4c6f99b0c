"""Fixed points of state evolution: unstable ones are left, plateaus are crossed, none is missed."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from giantstep.language.problem import Problem
from giantstep.language.targets.symmetry import target_invariant_basis
from giantstep.settings.amp import Amp
from giantstep.theory.amp.averages.population import population_of
from giantstep.theory.amp.fixed_points import settle_amp_overlap
from giantstep.theory.amp.iterations import (
    expected_iterations,
    state_evolution_remarks,
    vanished_fixed_point,
)
from giantstep.theory.amp.state_evolution import FixedOverlap, state_evolution

NOISE = 0.1
TANH, RELU = (Problem.of(f"({g}(h1) + {g}(h2))/sqrt(2)", noise=NOISE) for g in ("tanh", "relu"))
#: n/d of the table at which units of tanh have specialised.
ABOVE = 5.050
EXCHANGE = np.array([[0.0, 1.0], [1.0, 0.0]])


@cache
def reached(problem: Problem, ratio: float) -> FixedOverlap:
    """The fixed point from an uninformed start, computed once."""
    return state_evolution(problem, ratio)


def committee(minus: float, plus: float) -> np.ndarray:
    """The overlap of two exchangeable units with these eigenvalues."""
    return (plus + minus) / 2 * np.eye(2) + (plus - minus) / 2 * EXCHANGE


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "minus", "plus", "ratio"),
    [(TANH, 0.35, 0.942809, 5.9812), (RELU, 0.44, 0.856136, 3.9238)],
)
def test_averages_of_committees_agree_with_tensor_grids(
    problem: Problem, minus: float, plus: float, ratio: float
) -> None:
    """Both eigenvalues must give the n/d at which this overlap is a fixed point."""
    fisher = population_of(problem).fisher(committee(minus, plus))
    for m, sign in ((plus, 1), (minus, -1)):
        found = m / ((1 - m) * (fisher[0, 0] + sign * fisher[0, 1]))
        assert found == pytest.approx(ratio, rel=2e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("problem", "ratio", "own", "other", "test_error"),
    [
        (TANH, ABOVE, 0.5647, 0.3647, 0.04798),
        (TANH, 7.243, 0.7275, 0.2275, 0.03427),
        (RELU, 4.231, 0.6856, 0.1856, 0.08115),
    ],
)
def test_units_specialise_as_in_the_table(
    problem: Problem, ratio: float, own: float, other: float, test_error: float
) -> None:
    found = reached(problem, ratio)
    assert found.converged
    # The table gives n/d to 1e-4 for given overlaps, whose slopes there are below 0.2.
    np.testing.assert_allclose(found.overlap, [[own, other], [other, own]], atol=1e-3)
    assert found.test_error == pytest.approx(test_error, rel=2e-3)


@pytest.mark.slow
def test_the_plateau_of_unspecialised_units_is_left() -> None:
    """tanh: unstable from n = 3.944 d on; an older rule stopped above with q_d = q_a = .4646."""
    below, above = (reached(TANH, ratio).overlap for ratio in (3.90, ABOVE))
    assert below[0, 0] - below[0, 1] < 1e-6
    assert above[0, 0] - above[0, 1] == pytest.approx(0.2, abs=1e-3)


def test_units_specialise_from_the_published_threshold_on() -> None:
    """The rate at q- = 0, alpha f(q+) with a q+ that grows with alpha, reaches 1 at 3.94402."""
    ratios = np.array([3.86, 3.90])
    rests = [reached(TANH, ratio).rest for ratio in ratios]
    low, high = (rest.rate for rest in rests if rest is not None)
    assert low < high < 1
    crossing = ratios[1] + (1 - high) * (ratios[1] - ratios[0]) / (high - low)
    assert crossing == pytest.approx(3.94402, rel=2e-3)


def test_a_start_on_an_unstable_fixed_point_leaves_it() -> None:
    population, basis = population_of(TANH), target_invariant_basis(TANH.target)
    plateau = reached(TANH, 3.9).overlap
    rest = settle_amp_overlap(population, ABOVE, plateau, basis)
    assert rest.converged
    assert rest.rate < 1
    np.testing.assert_allclose(rest.overlap, reached(TANH, ABOVE).overlap, atol=1e-7)


def test_no_direction_that_breaks_a_symmetry_grows_faster() -> None:
    """The derivative on all symmetric matrices has the largest eigenvalue of the invariant ones."""
    population, ratio = population_of(TANH), ABOVE
    at, step = reached(TANH, ratio).overlap, 1e-4
    basis = [np.eye(2) / np.sqrt(2), EXCHANGE / np.sqrt(2), np.diag([1.0, -1.0]) / np.sqrt(2)]

    def image(overlap: np.ndarray) -> np.ndarray:
        gain = ratio * population.fisher(overlap)
        return np.linalg.solve(np.eye(2) + gain, gain)

    slopes = [(image(at + step * b) - image(at - step * b)) / (2 * step) for b in basis]
    table = np.array([[np.sum(b * s) for s in slopes] for b in basis])
    rates = np.linalg.eigvals(table).real
    rest = reached(TANH, ratio).rest
    assert rest is not None
    assert rates.max() == pytest.approx(rest.rate, abs=1e-3)
    np.testing.assert_allclose(table[:2, 2], 0, atol=1e-6)


@pytest.mark.slow
def test_a_vanished_fixed_point_is_named() -> None:
    """sin(2 h1), noise .1, n = 2d: runs of d = 1000 stay near an overlap that exists up to 1.95."""
    problem = Problem.of("sin(2*h1)", noise=0.1)
    found, settings = state_evolution(problem, 2.0), Amp(dim=1000, samples="2d")
    assert found.overlap[0, 0] == pytest.approx(0.8996, abs=2e-3)
    last = vanished_fixed_point(found)
    assert last is not None
    assert 1.9 < last.samples_ratio < 2.0
    assert last.overlap < 0.6
    (said,) = state_evolution_remarks(found, settings, expected_iterations(found, settings))
    assert "vanishes: at finite d many runs stay close to it" in said
    far = state_evolution(problem, 3.0)
    # Far above, no fixed point is named: only how slow it is.
    (slow,) = state_evolution_remarks(far, settings.replace(iterations=50), 100.0)
    assert slow.startswith("state evolution needs about 100 iterations")


@pytest.mark.parametrize(
    ("target", "noise", "ratio"), [("h1", 0.25, 1.0), ("sign(h1)", 0.0, 4.0), ("abs(h1)", 0.0, 2.0)]
)
def test_iterations_are_those_of_the_damped_map(target: str, noise: float, ratio: float) -> None:
    """Iterate state evolution itself until it changes by less than the square of the tolerance."""
    problem, settings = Problem.of(target, noise=noise), Amp(dim=1000, start="informed")
    problem_start = settings.replace(start="zero" if target != "abs(h1)" else "spectral")
    found = state_evolution(problem, ratio)
    unknown, count = 1 - (0.05 if target == "abs(h1)" else 1e-7), 0
    while count < 1000:
        # Averages end at an overlap of 1 - 1e-7; closer to 1 the gain grows as 1/(1 - m).
        inside = max(unknown, 1e-7)
        fisher = found.population.fisher(np.array([[1 - inside]]))[0, 0]
        last, count = unknown, count + 1
        unknown = 0.1 * last + 0.9 / (1 + ratio * fisher * inside / last)
        if abs(unknown - last) < settings.tolerance**2:
            break
    assert expected_iterations(found, problem_start) == pytest.approx(count, rel=0.3, abs=3)
