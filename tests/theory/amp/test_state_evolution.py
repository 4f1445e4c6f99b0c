"""State evolution: published overlaps, independent quadrature, every named target, bad input."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

from giantstep.errors import GiantstepError, NoTheory, SettingsError, TargetError
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.language.targets import Target, catalogue
from giantstep.settings.amp import Amp
from giantstep.theory.amp import fixed_points
from giantstep.theory.amp.averages.population import Population, population_of
from giantstep.theory.amp.prediction import predict
from giantstep.theory.amp.state_evolution import state_evolution

PARITY = "sign(h1*h2)"
STAIRCASE = "h1^2 + sign(h1*h2*h3)"
#: Target, noise, tolerance, {alpha: M_11}.
TABLE = (
    ("h1", 0.25, 1e-5, {0.5: 0.359612, 1.0: 0.609612, 2.0: 0.824609}),
    (
        "sign(h1)",
        0.0,
        1e-5,
        {0.5: 0.280326, 1.0: 0.486264, 2.0: 0.728298, 4.0: 0.900257, 8.0: 0.971427},
    ),
    ("He3(h1)", 0.0, 1e-3, {0.3: 0.1895, 0.5: 0.3060, 0.8: 0.4747, 1.0: 0.597, 1.5: 1.0}),
    ("|h1|", 0.0, 1e-3, {0.4: 0.0, 0.6: 0.05182, 0.8: 0.21623, 1.0: 0.47645, 1.13: 1.0}),
    (
        PARITY,
        0.0,
        2e-3,
        {2.3: 0, 2.6: 0.0561, 3.0: 0.242706, 4.0: 0.643841, 6.0: 0.8969, 8.0: 0.952},
    ),
    (STAIRCASE, 0.0, 2e-3, {0.6: 0.009245, 0.8: 0.11846, 1.0: 0.27917, 1.2: 0.49158}),
)


@pytest.mark.parametrize(("text", "noise", "tolerance", "values"), TABLE, ids=lambda v: str(v)[:12])
def test_overlaps_of_the_table(text, noise, tolerance, values) -> None:
    problem, last = Problem.of(text, noise=noise), None
    for ratio, overlap in values.items():
        # Each point starts from its neighbour's.
        last = state_evolution(problem, ratio, "uninformed", last)
        assert last.converged
        assert last.overlap[0, 0] == pytest.approx(overlap, abs=tolerance)


def gaussian_grid(count: int) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(-9, 9, count)
    return x, np.exp(-x * x / 2) / np.sqrt(2 * np.pi) * (x[1] - x[0])


def fisher_of_absolute_value(m: float) -> float:
    """E[g_out^2] for |h|: z tanh(z omega/V) is smooth in z, so that two fine grids are exact."""
    x, weights = gaussian_grid(401)
    omega, v = np.sqrt(m) * x[:, None], 1 - m
    z = omega + np.sqrt(v) * x[None, :]
    g = (z * np.tanh(z * omega / v) - omega) / v
    return float(weights @ g**2 @ weights)


def fisher_of_first_stair(m: float) -> float:
    """E[g_out^2] for h1^2 +- 1 with a fair sign: the staircase while h2 and h3 are unknown."""
    unit, mass = np.polynomial.legendre.leggauss(60)
    angle, root = (unit + 1) * np.pi / 2, np.sqrt(2)
    cuts = np.array([-9, -3, -root, 0, root, 3, 9])
    low, length = cuts[:-1, None], np.diff(cuts)[:, None]
    z = (low + length * (1 - np.cos(angle)) / 2).ravel()
    z_weights = (length * np.sin(angle) * mass * np.pi / 4).ravel()
    z_weights *= np.exp(-z * z / 2) / np.sqrt(2 * np.pi)
    x, weights = gaussian_grid(401)
    omega, total = m * z[:, None] + np.sqrt(m * (1 - m)) * x, 0.0
    for sign in (1, -1):
        other = z * z + 2 * sign
        roots = np.stack([z, -z, *(s * np.sqrt(np.abs(other)) for s in (1, -1))])[:, :, None]
        there = np.stack([np.ones_like(z), np.ones_like(z), other > 0, other > 0])[:, :, None]
        logs = -((roots - omega) ** 2) / (2 * (1 - m)) - np.log(np.abs(roots))
        shares = np.exp(logs - np.where(there, logs, -np.inf).max(axis=0)) * there
        g = ((shares * roots).sum(axis=0) / shares.sum(axis=0) - omega) / (1 - m)
        total += (z_weights @ g**2 @ weights) / 2
    return float(total)


@pytest.mark.parametrize("alpha", [0.6, 1.0, 1.1])
def test_absolute_value_agrees_with_independent_quadrature(alpha: float) -> None:
    exact = brentq(lambda m: alpha * fisher_of_absolute_value(m) * (1 - m) - m, 0.01, 0.72)
    found = state_evolution(Problem.of("|h1|"), alpha).overlap[0, 0]
    assert found == pytest.approx(exact, abs=1e-6)


def test_averages_of_the_staircase_agree_with_independent_quadrature() -> None:
    population = population_of(Problem.of(STAIRCASE))
    for m in (1e-4, 0.1, 0.63, 0.85, 0.9):
        fisher = population.fisher(np.diag([m, 1e-11, 1e-11]))
        assert fisher[0, 0] == pytest.approx(fisher_of_first_stair(m), rel=1e-5)
        np.testing.assert_allclose(fisher - np.diag(np.diag(fisher)), 0.0, atol=1e-9)


@pytest.mark.slow
def test_first_stair_close_to_its_jump() -> None:
    """Between alpha = 1.3 and the jump at 1.4001, where the curve is steep; then perfect."""
    for alpha, bracket in ((1.3, (0.5, 0.68)), (1.4, (0.8, 0.851))):
        exact = brentq(
            lambda m, a=alpha: a * fisher_of_first_stair(m) * (1 - m) - m, *bracket, xtol=1e-7
        )
        found = state_evolution(Problem.of(STAIRCASE), alpha).overlap[0, 0]
        assert found == pytest.approx(exact, abs=2e-3)
    beyond = state_evolution(Problem.of(STAIRCASE), 1.41)
    assert beyond.overlap[0, 0] > 1 - 1e-6
    assert beyond.overlap[1, 1] < 1e-6


@pytest.mark.slow
def test_second_stair_is_the_parity_of_two() -> None:
    found = state_evolution(Problem.of(STAIRCASE), 4.0).overlap
    np.testing.assert_allclose(np.diag(found), [1.0, 0.643841, 0.643841], atol=2e-3)


def test_jump_of_the_absolute_value() -> None:
    problem = Problem.of("|h1|")
    below, above = (state_evolution(problem, alpha).overlap[0, 0] for alpha in (1.12, 1.13))
    assert below < 0.8
    assert above == 1.0
    assert state_evolution(problem, 1.05, "informed").overlap[0, 0] == 1.0


def test_noisy_square_agrees_with_a_grid_over_labels() -> None:
    """E[g_out^2] = E int (dZ/d omega)^2 / Z dy, by three plain grids."""
    m, noise = 0.5, 0.5
    x, weights = gaussian_grid(61)
    z, y = np.linspace(-7, 7, 561), np.linspace(-4, 45, 1500)
    likelihood = np.exp(-((y[:, None] - z**2) ** 2) / (2 * noise)) / np.sqrt(2 * np.pi * noise)
    total = 0.0
    for omega, weight in zip(np.sqrt(m) * x, weights, strict=True):
        pull = (z - omega) / (1 - m)
        prior = np.exp(-pull * (z - omega) / 2) / np.sqrt(2 * np.pi * (1 - m)) * (z[1] - z[0])
        partition = likelihood @ prior
        slope = likelihood @ (prior * pull)
        total += weight * np.sum(slope**2 / np.maximum(partition, 1e-250)) * (y[1] - y[0])
    found = population_of(Problem.of("h1^2", noise=noise)).fisher(m * np.eye(1))
    assert found[0, 0] == pytest.approx(total, rel=1e-4)


def test_branches_are_ordered_and_zero_stays_zero() -> None:
    problem = Problem.of("|h1|")
    for alpha in (0.8, 1.05, 1.2):
        low, high = (state_evolution(problem, alpha, s) for s in ("uninformed", "informed"))
        assert low.overlap[0, 0] <= high.overlap[0, 0] + 1e-9
    assert state_evolution(problem, 1.2, "zero").overlap[0, 0] == 0.0
    assert state_evolution(Problem.of("sign(h1)"), 2.0, "zero").overlap[0, 0] == pytest.approx(
        0.728298, abs=1e-5
    )


def test_test_error_of_closed_forms() -> None:
    """Linear: 1 - M. Sign: 1 - E[(2 Phi(omega / sqrt V) - 1)^2] = 1 - (2/pi) asin M."""
    linear = state_evolution(Problem.of("h1", noise=0.25), 1.0)
    assert linear.test_error == pytest.approx(1 - linear.overlap[0, 0], abs=1e-9)
    sign = state_evolution(Problem.of("sign(h1)"), 2.0)
    expected = 1 - 2 / np.pi * np.arcsin(sign.overlap[0, 0])
    assert sign.test_error == pytest.approx(expected, abs=1e-6)


def test_prediction_has_all_metrics() -> None:
    law = predict(Problem.of(PARITY), Amp(samples="4d"))
    np.testing.assert_allclose(law.metrics["overlap_squared"], [0.643841] * 2, atol=1e-4)
    assert law.metrics["converged"] == 1.0
    assert set(law.metrics) >= {"test_error", "free_entropy", "mutual_information"}
    assert law.statuses["overlap_squared"] == law.statuses["test_error"] == "theorem"
    assert law.statuses["free_entropy"] == law.statuses["mutual_information"] == "replica"
    informed = predict(Problem.of("h1"), Amp(samples="1d", start="informed"))
    assert informed.statuses["overlap_squared"] == "replica"


def test_non_convergence_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fixed_points, "_STEPS", 1)
    problem = Problem.of("sign(h1) + 2*sign(h2)")
    assert not state_evolution(problem, 1.0).converged
    with pytest.raises(NoTheory, match=r"^samples = 1d: .* no stable fixed point in 1 steps"):
        predict(problem, Amp(samples="1d"))


@pytest.mark.parametrize("alpha", [0.0, -1.0, np.nan, np.inf])
def test_bad_alpha(alpha: float) -> None:
    with pytest.raises(SettingsError, match=r"samples_ratio = .* must be positive and finite"):
        state_evolution(Problem.of("h1"), alpha)


def test_bad_start_inputs_and_ranks() -> None:
    with pytest.raises(SettingsError, match="start = 'cold' is unknown"):
        state_evolution(Problem.of("h1"), 1.0, "cold")
    with pytest.raises(NoTheory, match="isotropic"):
        state_evolution(Problem.of("h1", inputs=Spiked("1")), 1.0)
    with pytest.raises(TargetError, match=r"depends on 4 directions: .* at most 3"):
        state_evolution(Problem.of("h1*h2*h3*h4", noise=0.1), 1.0)


#: Several fields under noise, or a fast oscillation, cost many seconds each.
NAMED = [e.name for e in catalogue() if Target(e.name).rank == 1 and e.name != "cosine-three"] + [
    "parity-two",
    "parity-four",
    "product-two",
]


@pytest.mark.parametrize("name", NAMED)
def test_every_named_target_has_a_value_or_one_clear_error(name: str) -> None:
    problem = Problem.of(name)
    if problem.target.rank > 3:
        with pytest.raises(GiantstepError, match=r"^[^\n]*at most 3[^\n]*$"):
            state_evolution(problem, 1.5)
        return
    found = state_evolution(problem, 1.5)
    values = np.linalg.eigvalsh(found.overlap)
    assert found.converged
    assert np.all((values >= -1e-9) & (values <= 1))


@pytest.mark.slow
@pytest.mark.parametrize("name", [e.name for e in catalogue() if 1 < Target(e.name).rank <= 3])
def test_every_named_target_gets_a_structure(name: str) -> None:
    from giantstep.channels.structure import channel_structure

    structure = channel_structure(Target(name))
    assert 1 <= structure.fields <= 3 + Target(name).noises
    u = np.random.default_rng(0).normal(size=(20, structure.fields))
    h = u @ np.linalg.pinv(structure.matrix).T
    rank = Target(name).rank
    expected = Target(name).numpy(h[:, :rank], h[:, rank:])
    np.testing.assert_allclose(structure.numpy(u), expected)


@pytest.mark.slow
def test_quadrature_knows_how_good_it_is() -> None:
    circle, smooth = (
        population_of(problem).quadrature_error(0.3 * np.eye(2))
        for problem in (Problem.of("h1^2 + h2^2"), Problem.of("h1*h2", noise=0.3))
    )
    assert 1e-3 < circle < 0.05
    assert smooth < 1e-3


def test_quadrature_says_how_good_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    def remarks() -> list[str]:
        law = predict(Problem.of("sign(h1)", noise=0.3), Amp(samples="2d"))
        return [note for note in law.notes if "quadrature" in note]

    assert remarks() == []
    monkeypatch.setattr(Population, "quadrature_error", lambda *_: 0.02)
    assert remarks() == ["averages over labels by quadrature, with an error of 0.02"]
