"""Message passing at finite size: exact fixed points, starts, forms of A, seeds, reports."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.channels import preprocessing
from giantstep.channels.channel import channel_of_problem, label_posteriors
from giantstep.channels.preprocessing import Labels
from giantstep.errors import SettingsError, TargetError
from giantstep.language.inputs import Sphere, Spiked
from giantstep.language.problem import Problem
from giantstep.learners.amp.data import draw_amp_data
from giantstep.learners.amp.iteration import (
    Messages,
    _message_covariance,
    _message_precision,
    iterate_messages,
    pass_messages,
)
from giantstep.learners.amp.simulation import simulate
from giantstep.numerics.float64 import float64
from giantstep.settings.amp import Amp

LINEAR = Problem.of("h1", noise=0.25)
SIGN = Problem.of("sign(h1)")


def nothing_known(samples: int, dim: int, rank: int = 1) -> Messages:
    return Messages(np.zeros((dim, rank)), np.eye(rank), np.zeros((samples, rank)))


def test_linear_labels_end_at_the_posterior_mean() -> None:
    dim, samples = 60, 150
    data = draw_amp_data(LINEAR, dim, samples, 0.25, np.random.default_rng(0))
    labels = Labels(channel_of_problem(LINEAR), data.labels)
    settings = Amp(tolerance=1e-11, form="hessian")
    found = pass_messages(data.inputs, labels, nothing_known(samples, dim), settings)
    x = data.inputs / np.sqrt(dim)
    expected = np.linalg.solve(x.T @ x + 0.25 * np.eye(dim), x.T @ data.labels)
    assert found.converged
    np.testing.assert_allclose(found.state.estimate[:, 0], expected, atol=1e-9)


def test_one_iteration_by_hand() -> None:
    dim, samples, noise = 5, 7, 0.25
    data = draw_amp_data(LINEAR, dim, samples, noise, np.random.default_rng(1))
    rng = np.random.default_rng(2)
    what, v, g = rng.normal(size=(dim, 1)), np.array([[0.6]]), rng.normal(size=(samples, 1))
    labels = Labels(channel_of_problem(LINEAR), data.labels)
    found = iterate_messages(data.inputs, labels, Messages(what, v, g), 0.0, False)
    x, y = data.inputs / np.sqrt(dim), data.labels[:, None]
    new_g = (y - (x @ what - 0.6 * g)) / (0.6 + noise)
    a = samples / dim / (0.6 + noise)
    np.testing.assert_allclose(found.output, new_g, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, 1 / (1 + a), rtol=1e-10)
    np.testing.assert_allclose(found.estimate, (x.T @ new_g + a * what) / (1 + a), rtol=1e-10)
    damped = iterate_messages(data.inputs, labels, Messages(what, v, g), 0.4, False)
    for mixed, old, new in zip(damped, (what, v, g), found, strict=True):
        np.testing.assert_allclose(mixed, 0.4 * old + 0.6 * new, rtol=1e-10)


def test_the_guarded_form_averages_unless_it_would_collapse() -> None:
    output = np.array([[1.0, 0.0], [0.0, 2.0]])
    hessian = -np.array([np.diag([3.0, 0.0]), np.diag([0.0, -1.0])])
    np.testing.assert_allclose(_message_precision(hessian, output, 2, False), np.diag([1.5, -0.5]))
    # Positive part diag(1.5, 0), g^T g/d = diag(0.5, 2): the traces 2.5 < 2 * 1.5.
    np.testing.assert_allclose(_message_precision(hessian, output, 2, True), np.diag([1.0, 1.0]))
    np.testing.assert_allclose(
        _message_precision(hessian, 2 * output, 2, True), np.diag([1.5, 0.0])
    )
    assert np.linalg.eigvalsh(_message_covariance(np.diag([-3.0, 1.0]))).tolist() == pytest.approx(
        [0.5, 10.0]
    )


@pytest.mark.parametrize("large", [128, 512])
def test_labels_in_blocks_are_labels_at_once(large: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In large blocks and in small ones, the last of them filled up."""
    monkeypatch.setattr(preprocessing, "_BLOCK", 64)
    monkeypatch.setattr(preprocessing, "_LARGE_BLOCK", large)
    samples, rng = 300, np.random.default_rng(3)
    channel, y = channel_of_problem(SIGN), np.sign(rng.normal(size=samples))
    omega, cov = rng.normal(size=(samples, 1)), np.array([[0.4]])
    gradient, hessian = Labels(channel, y).posteriors(omega, cov)
    with float64():
        given = jax.tree.map(jnp.asarray, (channel.labels(y), omega, cov))
        whole = jax.jit(label_posteriors, static_argnums=0)(channel.likelihood, *given)
    for part, all_at_once in ((gradient, whole.gradient), (hessian, whole.hessian)):
        # Another length of a block is another order of instructions: equal up to rounding.
        scale = np.abs(all_at_once).max()
        np.testing.assert_allclose(part, all_at_once, rtol=1e-13, atol=1e-14 * scale)


def test_a_seed_does_not_depend_on_how_many_run() -> None:
    settings = Amp(dim=60, samples="2d")
    few, many = (simulate(SIGN, settings, seeds=n) for n in (2, 5))
    shifted = simulate(SIGN, settings, seeds=2, seed=1)
    for name in few.metrics:
        np.testing.assert_array_equal(few.metrics[name], many.metrics[name][:2])
        np.testing.assert_array_equal(shifted.metrics[name], many.metrics[name][1:3])
    assert len(np.unique(many.metrics["overlap_squared"])) == 5


def test_every_start_of_a_trivial_target_ends_at_the_same_place() -> None:
    data = draw_amp_data(SIGN, 150, 300, 0.0, np.random.default_rng(4))
    labels = Labels(channel_of_problem(SIGN), data.labels)
    blind = nothing_known(300, 150)
    near = Messages(0.9 * data.truth, 0.1 * np.eye(1), blind.output)
    ends = [pass_messages(data.inputs, labels, start, Amp()) for start in (blind, near)]
    assert all(end.converged for end in ends)
    np.testing.assert_allclose(ends[0].state.estimate, ends[1].state.estimate, atol=1e-4)


@pytest.mark.parametrize("start", ["zero", "random", "spectral", "informed"])
def test_starts_of_an_even_target(start: str) -> None:
    settings = Amp(dim=150, samples="2d", start=start)
    run = simulate(Problem.of("abs(h1)"), settings, seeds=3)
    assert np.all(run.metrics["converged"] == 1)
    # Nothing tells h from -h: an estimate of exactly zero stays there.
    reached = 0.0 if start == "zero" else 1.0
    np.testing.assert_allclose(run.metrics["overlap_squared"], reached, atol=1e-6)


def test_a_random_start_has_to_rest_twice() -> None:
    data = draw_amp_data(LINEAR, 60, 120, 0.25, np.random.default_rng(7))
    labels = Labels(channel_of_problem(LINEAR), data.labels)
    small = 1e-3 * np.random.default_rng(8).normal(size=(60, 1))
    begin = nothing_known(120, 60)._replace(estimate=small)
    kicked = pass_messages(data.inputs, labels, begin, Amp())
    resting = pass_messages(data.inputs, labels, begin, Amp(start="informed"))
    assert kicked.converged
    assert resting.converged
    assert kicked.iterations > resting.iterations + 3
    np.testing.assert_allclose(kicked.state.estimate, resting.state.estimate, atol=1e-5)


@pytest.mark.slow
def test_specialised_units_do_not_swing() -> None:
    """Undamped further, precision and length alternate: after 8 iterations the error was .9."""
    five = "(relu(h1) + relu(h2) + relu(h3) + relu(h4) + relu(h5))/sqrt(5)"
    problem = Problem.of(five, noise=0.1)
    settings = Amp(dim=40, samples="12d", start="informed", iterations=8, form="hessian")
    default, kept = (
        simulate(problem, asked).mean("test_error")
        for asked in (settings, settings.replace(damping=0.3))
    )
    # State evolution ends at .063.
    assert default < 0.1 < kept


def test_what_does_not_converge_is_reported() -> None:
    run = simulate(SIGN, Amp(dim=60, samples="4d", iterations=5), seeds=3)
    assert run.metrics["converged"].tolist() == [0, 0, 0]
    assert run.metrics["iterations"].tolist() == [5, 5, 5]
    assert any("3 of 3 seeds did not converge" in note for note in run.notes)


def test_the_guarded_form_steps_in_and_says_so() -> None:
    settings = Amp(dim=60, samples="2d", iterations=150)
    run = simulate(Problem.of("h1*h2", noise=0.3), settings, seeds=6)
    rescued, lost = int(run.metrics["fallback"].sum()), int((run.metrics["converged"] == 0).sum())
    assert rescued > 0
    assert f"{rescued} of 6 seeds needed the guarded form of A to converge" in run.notes
    assert (lost > 0) == any("did not converge" in note for note in run.notes)


def test_several_directions_are_matched_whatever_their_order() -> None:
    run = simulate(Problem.of("sign(h1*h2)"), Amp(dim=100, samples="8d"), seeds=2)
    assert run.metrics["overlap_squared"].shape == (2, 2)
    assert np.all(run.metrics["overlap_squared"] > 0.8)
    values = run.metrics["overlap_squared_singular_values"]
    assert np.all(values[:, 0] >= run.metrics["overlap_squared"].max(axis=1) - 1e-9)


def test_float32_ends_where_float64_does() -> None:
    data = draw_amp_data(SIGN, 200, 800, 0.0, np.random.default_rng(5))
    labels = Labels(channel_of_problem(SIGN), data.labels)
    ends = [
        pass_messages(data.inputs.astype(dtype), labels, nothing_known(800, 200), Amp())
        for dtype in ("float32", "float64")
    ]
    assert all(end.converged for end in ends)
    np.testing.assert_allclose(ends[0].state.estimate, ends[1].state.estimate, atol=2e-4)


def test_test_error_is_that_of_fresh_samples() -> None:
    # With linear labels the posterior mean is omega, and E(h - omega)^2 = 1 - 2m + q.
    run = simulate(LINEAR, Amp(dim=100, samples="2d"), seeds=3)
    assert np.all(np.abs(run.metrics["test_error"] + run.metrics["overlap_squared"] - 1) < 0.05)


def test_inputs_on_the_sphere_are_on_it() -> None:
    data = draw_amp_data(Problem.of("h1", inputs=Sphere()), 30, 20, 0.0, np.random.default_rng(6))
    np.testing.assert_allclose(np.linalg.norm(data.inputs, axis=1), np.sqrt(30))
    np.testing.assert_allclose(data.labels, (data.inputs @ data.truth)[:, 0] / np.sqrt(30))


def test_progress_reaches_one() -> None:
    seen: list[float] = []
    simulate(SIGN, Amp(dim=30, samples="1d"), seeds=3, progress=seen.append)
    assert seen == sorted(seen)
    assert seen[-1] == 1.0


@pytest.mark.parametrize(
    ("problem", "settings", "expected"),
    [
        (SIGN, Amp(), "dim"),
        (SIGN, Amp(dim=50, phases=True), "phases"),
        (Problem.of("sign(h1*h2)"), Amp(dim=1), "directions"),
        (Problem.of("h1", inputs=Spiked("d^0.5")), Amp(dim=50), "spike"),
        (Problem.of("h1*h2*h3*h4", noise=0.1), Amp(dim=50), "at most 3"),
    ],
)
def test_bad_input_gets_one_line(problem: Problem, settings: Amp, expected: str) -> None:
    with pytest.raises((SettingsError, TargetError), match=expected) as refusal:
        simulate(problem, settings, seeds=1)
    assert "\n" not in str(refusal.value)


def test_labels_out_of_range_are_refused() -> None:
    with pytest.raises(TargetError):
        Labels(channel_of_problem(SIGN), np.array([1.0, 0.3]))
    with pytest.raises(TargetError):
        Labels(channel_of_problem(Problem.of("abs(h1)")), np.array([1.0, -2.0]))
