"""Committees of many units: tables, closed forms, limits, and codes that share nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logit, ndtr, xlogy

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import Committee, target_as_committee
from giantstep.settings.amp import Amp
from giantstep.theory.amp.averages.population import population_of
from giantstep.theory.amp.committees.averages import (
    UnitAverages,
    averages,
    committee_evolution_points,
    mean_averages,
    unspecialised_overlap,
)
from giantstep.theory.amp.committees.errors import (
    _expected_log_likelihood,
    _second_moment,
    committee_free_entropy,
    committee_link_kernel,
    committee_test_error,
)
from giantstep.theory.amp.committees.fixed_point import (
    OverlapBranch,
    Point,
    committee_overlap,
    committee_overlap_branch,
    first_specialised,
    last_specialised,
)
from giantstep.theory.amp.committees.phases import information_threshold, spinodal
from giantstep.theory.amp.committees.specialisation import specialisation
from giantstep.theory.amp.prediction import predict
from giantstep.theory.learnability.thresholds import easy_thresholds


def committee(link: str, rank: int) -> Committee:
    """(1/sqrt r) sum of links, noise of variance 0.1."""
    return Committee(Target(f"{link}(h1)/sqrt({rank})"), rank, 0.0, 0.1)


def majority(rank: int, tie: float = 0.0) -> Committee:
    return Committee(Target("sign(h1)"), rank, 0.0, 0.0, (-1.0, tie, 1.0))


#: Our own earlier computation with other code, to the digits it was written down with.
THRESHOLDS = {
    ("tanh", 2): 3.94402,
    ("erf", 3): 7.05953,
    ("relu", 2): 2.25147,
    ("relu", 10): 12.0816,
}


@pytest.mark.parametrize(("link", "rank"), THRESHOLDS)
def test_thresholds_of_specialisation(link: str, rank: int) -> None:
    found = specialisation(committee(link, rank)).samples_ratio
    assert found == pytest.approx(THRESHOLDS[link, rank], rel=4e-6)


@pytest.mark.parametrize(
    ("rank", "tie", "alpha"),
    [(2, 0.0, 2.05238), (2, 1.0, 4.22698), (3, 0.0, 19.2320), (5, 0.0, 61.1186)],
)
def test_thresholds_of_majorities(rank: int, tie: float, alpha: float) -> None:
    assert specialisation(majority(rank, tie)).samples_ratio == pytest.approx(alpha, rel=4e-6)


def test_many_units() -> None:
    """r s^2 / C_2^2 to leading order in r, which finite r approaches like 1/r.

    C_k = E[g He_k] and s^2 = Delta + Var g - C_1^2 (Aubin et al. 2018, arXiv:1806.05451).
    """
    c2, noise = 1 / np.sqrt(2 * np.pi), 0.1
    unexplained = noise + 0.5 - 1 / (2 * np.pi) - 0.25
    assert unexplained / c2**2 == pytest.approx(1.199115, abs=2e-6)
    ratios = [specialisation(committee("relu", r)).samples_ratio / r for r in (10, 20)]
    gaps = [ratio * c2**2 / unexplained - 1 for ratio in ratios]
    assert 0 < gaps[1] < gaps[0] < 0.01


def test_votes_on_continuous_sums() -> None:
    """Waves that make up a step, against integrals over the directions."""
    told = Committee(Target("tanh(h1)"), 2, 0.2, 0.3, (0.0, 0.5, 1.0))
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    sums = 0.2 + np.tanh(nodes)[:, None] + np.tanh(nodes)
    above = ndtr(sums / np.sqrt(0.3))
    assert _second_moment(told) == pytest.approx(weights @ above @ weights, abs=1e-6)
    known = weights @ (xlogy(above, above) + xlogy(1 - above, 1 - above)) @ weights
    assert _expected_log_likelihood(told) == pytest.approx(known, abs=2e-4)
    noisy = Committee(Target("tanh(h1)"), 2, 0.2, 0.3, (0.0, 0.5, 1.0), 0.1)
    assert _second_moment(noisy) == pytest.approx(_second_moment(told) + 0.1, abs=1e-6)


def test_a_start_from_below_and_one_from_above_take_different_branches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of alpha(q-) that rises, falls and rises, the first and the last branch are reached."""
    ratios, nothing = {0.1: 2.0, 0.3: 5.0, 0.5: 3.0, 0.9: 6.0}, UnitAverages(0.0, 0.0, 0.0, 0.0)
    points = [Point(q, 0.95, ratio, nothing) for q, ratio in ratios.items()]
    monkeypatch.setattr(OverlapBranch, "scan", lambda self: iter(points))
    curve = committee_overlap_branch(committee("tanh", 2))
    low, high = first_specialised(curve, 4.0, 1.0), last_specialised(curve, 4.0)
    assert logit(0.1) < low[0] < logit(0.3) < logit(0.5) < high[0] < logit(0.9)
    assert last_specialised(curve, 1.5) is None
    for outside in (
        lambda: first_specialised(curve, 7.0, 1.0),
        lambda: last_specialised(curve, 7.0),
    ):
        with pytest.raises(NoTheory, match=r"known almost perfectly.* up to about 6d"):
            outside()


def test_a_linear_link_is_one_direction() -> None:
    """(h1 + .. + h4)/2 is one field of variance 1: the closed form of a linear channel."""
    linear = Committee(Target("h1/2"), 4, 0.0, 0.25)
    q = unspecialised_overlap(linear, 1.0)
    assert q / (1 - q) == pytest.approx(1 / (1 - q + 0.25), rel=1e-6)
    assert mean_averages(linear, q).growth < 1e-10
    variance = 1 - q + 0.25
    psi = -np.log(2 * np.pi * np.e * variance) / 2
    assert mean_averages(linear, q).log_partition == pytest.approx(psi, abs=1e-6)
    assert specialisation(linear).samples_ratio == np.inf


@pytest.mark.parametrize(
    ("link", "closed"),
    [
        ("erf(h1)", lambda rho: 2 / np.pi * np.arcsin(2 * rho / 3)),
        ("sign(h1)", lambda rho: 2 / np.pi * np.arcsin(rho)),
        (
            "relu(h1)",
            lambda rho: (np.sqrt(1 - rho**2) + rho * (np.pi - np.arccos(rho))) / (2 * np.pi),
        ),
    ],
)
def test_kernels(link: str, closed: object) -> None:
    for rho in (-0.7, 0.0, 0.3, 0.95, 1.0):
        assert committee_link_kernel(Target(link), rho) == pytest.approx(closed(rho), abs=1e-8)  # type: ignore[operator]


def test_units_that_are_alike() -> None:
    """Fixed points of the unspecialised branch, from a prototype that shares no code."""
    assert unspecialised_overlap(committee("tanh", 2), 1.5) == pytest.approx(0.702365, abs=1e-6)
    assert unspecialised_overlap(committee("relu", 3), 2.0) == pytest.approx(0.660631, abs=1e-6)
    found = committee_overlap(committee("tanh", 5), 5.0)
    assert not found.is_specialised
    assert committee_test_error(found, 0.1) == pytest.approx(0.05505, abs=5e-6)


def test_two_signs_by_other_code() -> None:
    """Two signs have closed forms: the two theories share no integral."""
    text, q_minus, q_plus = "sign(h1) + sign(h2)", 0.4, 0.8
    overlap = q_minus * np.eye(2) + (q_plus - q_minus) / 2
    population = population_of(Problem.of(text))
    minus, plus = np.linalg.eigvalsh(population.fisher(overlap))
    ours = averages(
        target_as_committee(Target(text)), q_minus, q_plus, committee_evolution_points(2)
    )
    assert (ours.minus, ours.plus) == pytest.approx((minus, plus), rel=1e-4)
    psi = float(population.log_partition(overlap))
    assert ours.log_partition == pytest.approx(psi, rel=1e-5)


def test_two_units_by_brute_force() -> None:
    """alpha at given (q-, q+), from tensor grids in omega and h that share no code."""
    branch = committee_overlap_branch(committee("tanh", 2))
    point = branch.point(0.35)
    assert point.q_plus == pytest.approx(0.942809, abs=2e-4)
    assert point.samples_ratio == pytest.approx(5.981, rel=1e-3)


@pytest.mark.slow
def test_five_units() -> None:
    """Within the two percent that 1024 points leave."""
    point = committee_overlap_branch(committee("relu", 5)).point(0.6)
    assert point.samples_ratio == pytest.approx(11.84, rel=0.02)
    rank = 5
    own = (point.q_plus + 4 * point.q_minus) / rank
    assert own == pytest.approx(0.6705, abs=1e-3)


def test_the_free_entropy_is_stationary() -> None:
    """d Phi/d alpha = Psi along a branch, which holds only at fixed points."""
    high, low, middle = (committee_overlap(majority(2), a) for a in (3.03, 2.97, 3.0))
    slope = (committee_free_entropy(high) - committee_free_entropy(low)) / 0.06
    assert slope == pytest.approx(middle.averages.log_partition, rel=1e-4)


def test_two_and_three_votes_part_differently() -> None:
    assert spinodal(majority(2)) is None
    assert information_threshold(majority(2)) is None
    begins, known = spinodal(majority(3)), information_threshold(majority(3))
    assert begins is not None
    assert known is not None
    assert begins[0] == pytest.approx(10.91, rel=0.01)
    # Free entropies of nearly equal branches: three rules of averages gave 11.2, 11.4 and 11.6.
    assert known == pytest.approx(11.4, rel=0.03)


def test_verbs() -> None:
    """`predict amp` answers beyond three fields, and counts noise inside the label."""
    outside = predict(Problem.of(_sum(4), noise=0.1), Amp(samples="4d"))
    inside = predict(Problem.of(f"{_sum(4)} + sqrt(0.1)*z1"), Amp(samples="4d"))
    assert outside.metrics["overlap_squared"].tolist() == inside.metrics["overlap_squared"].tolist()
    extra = inside.metrics["test_error"] - outside.metrics["test_error"]
    assert extra == pytest.approx(0.1, abs=1e-9)
    assert outside.statuses["overlap_squared"] == "theorem"
    assert outside.statuses["free_entropy"] == "replica"


@pytest.mark.unchecked
def test_units_that_have_specialised_are_said_to_have() -> None:
    law = predict(Problem.of("(tanh(h1) + tanh(h2))/sqrt(2)", noise=0.1), Amp(samples="5d"))
    values = law.metrics["overlap_squared_singular_values"]
    assert values == pytest.approx([0.929, 0.19], abs=3e-3)
    assert np.all(law.errors["overlap_squared"] > 0)
    assert law.notes[0].startswith("the units have specialised")


def test_explain_knows_where_units_part() -> None:
    (found,) = easy_thresholds(Target(_sum(3)), 0.1)
    expected = specialisation(target_as_committee(Target(_sum(3))).with_noise(0.1)).samples_ratio
    assert found.alpha.value == pytest.approx(expected, rel=1e-9)
    assert len(found.directions) == 2


def _sum(rank: int) -> str:
    return "(" + " + ".join(f"relu(h{i})" for i in range(1, rank + 1)) + f")/sqrt({rank})"
