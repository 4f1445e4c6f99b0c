"""`explain` under a spike: exponents by case, statuses, and what is not covered."""

from __future__ import annotations

import json
import math

import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.errors import NoTheory
from giantstep.explanation.spiked import SpikedExplanation, explain_spike
from giantstep.language.problem import Problem
from giantstep.theory.gradient_flow.spiked_samples import kernel_degree, one_step_strength_exponent


def explained(target: str, inputs: str) -> SpikedExplanation:
    problem = Problem(target, inputs=inputs)
    return explain_spike(problem, problem.inputs.spike)


def spike(target: str, inputs: str) -> dict:
    return explained(target, inputs).to_json()


@pytest.mark.parametrize(
    ("inputs", "exponent", "start"),
    [
        ("spiked:strength=d^0.1,alignment=d^-0.25", 3.0, 0.5),
        ("spiked:strength=d^0.4,alignment=d^-0.25", 1 + 4 * 0.35, 0.35),
        ("spiked:strength=d^0.8,alignment=d^-0.25", 1 + 4 * 0.1, 0.1),
        ("spiked:d^0.5", 1 + 4 * 0.25, 0.25),
    ],
)
def test_the_three_cases_of_the_flow(inputs: str, exponent: float, start: float) -> None:
    flow = spike("He3(h1)", inputs)["flow"]
    assert flow["sample_exponent"] == pytest.approx(exponent)
    assert flow["start_exponent"] == pytest.approx(start)


def test_kernel_and_one_step_along_the_target() -> None:
    found = spike("He2(h1) + He4(h1)", "spiked:d^0.6")
    assert found["kernel"]["degrees_at_n_of_order_d"] == 2
    assert found["one_step"]["sufficient_strength_exponent"] == 0.5
    assert found["one_step"]["is_enough"]
    assert found["one_step"]["conjectured_status"] == "conjecture"
    assert found["kernel_lower_bound"]["sample_exponent"] == pytest.approx(1.6)
    # Thresholds 1 - 1/l are open ends: at the threshold itself the degree is not learned yet.
    assert [kernel_degree(1 - 1 / degree) for degree in (1, 2, 3, 4)] == [1, 1, 2, 3]
    assert one_step_strength_exponent(3) == pytest.approx(2 / 3)


def test_a_spike_beside_the_target_shows_it_once_theta_c_squared_grows() -> None:
    """theta c^2 = d^0.1 lets the label follow the spike, d^-0.1 does not."""
    shown, hidden = (
        spike("He2(h1)", f"spiked:strength=d^{g},alignment=d^-0.25") for g in (0.6, 0.4)
    )
    assert shown["kernel"] == {"degrees_at_n_of_order_d": 2, "status": "heuristic"}
    assert shown["principal_component"]["finds_the_target"]
    assert shown["one_step"]["is_enough"]
    assert hidden["kernel"] == {"degrees_at_n_of_order_d": 1, "status": "heuristic"}
    assert not hidden["principal_component"]["finds_the_target"]
    assert "one_step" not in hidden
    law = "spiked:strength=d^0.4,alignment=d^-0.25"
    assert "of order d^-0.05" in explained("He2(h1)", law).report()


def test_principal_components_of_a_fixed_spike() -> None:
    found = spike("He2(h1)", "spiked:2")["principal_component"]
    assert found["samples_over_dim"] == 0.25
    assert found["eigenvalue_at_n_equal_d"] == pytest.approx(4.5)
    assert found["overlap_squared"] == pytest.approx(0.5)
    told = explained("He2(h1)", "spiked:2").report()
    assert "beyond n = 0.25 d; at n = d its eigenvalue is 4.5, its squared overlap 0.5" in told
    assert spike("He2(h1)", "spiked:0")["principal_component"]["samples_over_dim"] == math.inf


@pytest.mark.parametrize(
    ("target", "inputs"),
    [("h1*h2", "spiked:3"), ("tanh(h1)", "spiked:3"), ("h1", "spiked:d^2")],
)
def test_what_is_not_covered_gets_one_line(target: str, inputs: str) -> None:
    with pytest.raises(NoTheory, match="a spike is explained for") as caught:
        explained(target, inputs)
    assert "\n" not in str(caught.value)


def test_the_command_tells_and_prints() -> None:
    words = ["explain", "He3(h1)", "--inputs", "spiked:strength=d^0.4,alignment=d^-0.25"]
    told = CliRunner().invoke(app, words)
    assert told.exit_code == 0, told.stderr
    assert "n >> d^2.4 (theorem)" in told.stdout
    answer = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert answer["spike"]["flow"]["sample_exponent"] == pytest.approx(2.4)
