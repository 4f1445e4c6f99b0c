"""A problem owns its target, its noise and the law of its inputs."""

from __future__ import annotations

import pytest

from giantstep.asking.table import LEARNERS
from giantstep.errors import SettingsError
from giantstep.explanation.explain import explain
from giantstep.language.inputs import Gaussian, Sphere, Spiked
from giantstep.language.problem import FIELDS, NoTarget, Problem, read_problem
from giantstep.language.targets import Target


def test_a_problem_reads_texts() -> None:
    problem = Problem("h1", noise=0.1, inputs="spiked:d^0.5")
    assert problem == Problem(Target("h1"), 0.1, Spiked("d^0.5"))
    assert read_problem(problem.to_json()) == problem
    assert Problem("h1").inputs == Gaussian()


def test_what_is_given_beside_a_problem_replaces_its_own() -> None:
    problem = Problem("h1", noise=0.1)
    assert Problem.of(problem) is problem
    assert Problem.of(problem, noise=0.0).noise == 0
    assert Problem.of(problem, inputs="sphere") == Problem("h1", 0.1, Sphere())
    assert explain(problem, noise=0.5).noise == 0.5
    assert explain(problem).noise == 0.1


@pytest.mark.parametrize("target", ["sign(h1*h2*h3)", "-sign(h1*h2)", "h1*h2", "sign(h1)"])
def test_parities_live_on_the_hypercube(target: str) -> None:
    assert Problem(target, inputs="hypercube:boost=d").inputs.name == "hypercube"


@pytest.mark.parametrize(
    "target",
    ["sign((h1+h2)*h3)", "sign(h1+h2+h3)", "sign(h1*h2*z1)", "2*h1*h2", "sign(h1+2*h2)"],
)
def test_other_targets_do_not(target: str) -> None:
    with pytest.raises(SettingsError, match="no parity of coordinates") as caught:
        Problem(target, inputs="hypercube")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("noise", [-1, float("nan"), float("inf"), 1e300, 10**400, "much", None])
def test_noise_is_a_finite_variance(noise: object) -> None:
    with pytest.raises(SettingsError, match="noise = ") as caught:
        Problem("h1", noise=noise)  # type: ignore[arg-type]
    assert len(str(caught.value)) < 200


def test_a_learner_without_a_target_takes_noise_alone() -> None:
    assert read_problem({"noise": 0.1}, has_target=False) == NoTarget(0.1)
    with pytest.raises(SettingsError, match=r"target = 'h1'.*noise alone"):
        read_problem({"target": "h1"}, has_target=False)
    with pytest.raises(SettingsError, match="no field 'colour'"):
        read_problem({"colour": 1}, has_target=False)


@pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)
def test_no_setting_has_the_name_of_a_field_of_the_problem(row: object) -> None:
    """Studies and tables name both by one word."""
    fields = row.load("settings").__dataclass_fields__  # type: ignore[attr-defined]
    assert not {*FIELDS, "spike_strength"} & set(fields)
