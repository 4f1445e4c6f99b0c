"""The equations' solution: the right one of several, found from anywhere, or reported missing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from stepped_readouts import ONE, PAIRS, readout_on, stepped_layer

from giantstep.theory.giant_step.risk import solution
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import is_risk_admissible, readout_risk

#: Few samples and a small ridge, where wrong roots are near: one of them has a negative risk.
HARD = Fit(samples_ratio=0.5, width_ratio=1.0, penalty=1e-3, dim=200.0)


def readout(sigma: str, start: Neurons = ONE, steps: int = 1) -> Readout:
    return readout_on(sigma, "sin(h1)", stepped_layer(sigma, "sin(h1)", [(3, 2)] * steps, start))


@pytest.fixture
def too_few_iterations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solution, "MOST_STEPS", 2)


@pytest.mark.parametrize(
    ("sigma", "steps"), [("tanh", 1), ("relu", 1), ("gelu", 1), ("tanh", 2), ("relu", 3)]
)
def test_the_root_is_admissible_where_wrong_ones_are_near(sigma: str, steps: int) -> None:
    given = readout(sigma, steps=steps)
    found = readout_risk(given, HARD)
    assert found.converged
    assert found.residual < 1e-9
    assert found.state is not None
    assert is_risk_admissible(found.state, given)
    image = given.next_state(found.state, HARD)
    pairs = [
        (found.state.bound, image.bound),
        (found.state.coupling, image.coupling),
        *zip(found.state.energies, image.energies, strict=True),
    ]
    for now, then in pairs:
        np.testing.assert_allclose(then, now, rtol=0, atol=1e-8 * np.max(np.abs(now)) + 1e-10)
    assert found.test > 0
    assert 0 < found.train < (0.01 if steps == 1 else 0.2) * found.test
    if (sigma, steps) == ("tanh", 1):
        assert found.test == pytest.approx(0.344157, abs=1e-5)


@pytest.mark.parametrize(
    ("sigma", "start", "count"), [("relu", ONE, 4), ("tanh", ONE, 24), ("relu", PAIRS, 24)]
)
def test_ridges_solved_together_are_those_solved_alone(
    sigma: str, start: Neurons, count: int
) -> None:
    """Few from their own guesses, beside one that has no solution; many from some of them."""
    together, alone = readout(sigma, start), readout(sigma, start)
    penalties = tuple(np.geomspace(10.0, 1e-4, count).tolist())
    lost = (math.nan,) if count < 3 * solution.STRIDE else ()
    readout_risk(together, HARD, along=(*penalties, *lost))
    assert not any(together.solved[HARD._replace(penalty=each)].converged for each in lost)
    for penalty in penalties[:: count // 4]:
        fit = HARD._replace(penalty=penalty)
        one = readout_risk(alone, fit)
        assert one.converged
        assert together.solved[fit].test == pytest.approx(one.test, rel=1e-9)
        assert together.solved[fit].train == pytest.approx(one.train, rel=1e-9)


@pytest.mark.parametrize("start", [PAIRS, Neurons.of([-1.0, 0.5, 2.0])])
def test_a_jacobian_that_is_applied_gives_the_same_risk(
    start: Neurons, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with many kinds of neurons, whose unknowns are too many to build it."""
    built = readout_risk(readout("relu", start, steps=2), HARD)
    monkeypatch.setattr(solution, "DENSE", 0)
    applied = readout_risk(readout("relu", start, steps=2), HARD)
    assert built.converged
    assert applied.converged
    for name in ("test", "train", "norm"):
        assert getattr(applied, name) == pytest.approx(getattr(built, name), rel=1e-9)


def test_inadmissible_states_are_refused() -> None:
    given = readout("relu")
    state = readout_risk(given, HARD).state
    assert state is not None
    assert not is_risk_admissible(state._replace(bound=-state.bound), given)
    assert not is_risk_admissible(state._replace(coupling=-5 * state.coupling), given)
    assert not is_risk_admissible(state._replace(energies=(np.full((2, 2), np.nan),)), given)


@pytest.mark.parametrize("start", [ONE, PAIRS])
def test_the_fit_improves_on_its_samples_as_the_ridge_falls(start: Neurons) -> None:
    """Also at n = p, where the ridge alone keeps the risk finite."""
    given = readout("relu", start)
    found = [readout_risk(given, Fit(1.0, 1.0, ridge, 200.0)) for ridge in (1.0, 1e-2, 1e-4)]
    assert all(risk.converged and risk.test > 0 for risk in found)
    train = [risk.train for risk in found]
    assert train[0] > train[1] > train[2] > 0


@pytest.mark.usefixtures("too_few_iterations")
def test_a_risk_that_is_not_found_is_reported() -> None:
    found = readout_risk(readout("relu"), HARD)
    assert not found.converged
    assert math.isnan(found.test)
    assert math.isnan(found.train)
    assert found.state is None


def test_numbers_that_are_none_are_reported() -> None:
    assert not readout_risk(readout("relu"), HARD._replace(samples_ratio=math.nan)).converged


def test_a_response_that_is_not_finite_is_no_solution(monkeypatch: pytest.MonkeyPatch) -> None:
    """He2 with normal readouts ended in numpy's error; here in a risk that says it is missing."""

    newton = solution._newton

    def no_response(*given: Any) -> Any:
        solved = newton(*given)
        return solved._replace(moved=State.of(math.nan * part for part in solved.moved.matrices))

    monkeypatch.setattr(solution, "_newton", no_response)
    found = readout_risk(readout("tanh"), HARD)
    assert not found.converged
    assert math.isnan(found.test)
    assert found.state is None
