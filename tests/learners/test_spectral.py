"""Spectral estimates at finite size: both solvers, every method, what it refuses."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.channels.channel import channel_of_problem
from giantstep.channels.preprocessing import Labels
from giantstep.errors import SettingsError
from giantstep.language.problem import Problem
from giantstep.learners import spectral
from giantstep.learners.amp.data import draw_amp_data
from giantstep.learners.spectral import estimate_by_linearised_messages, simulate
from giantstep.settings.spectral import Spectral

EVEN = Problem.of("abs(h1)")
PARITY = Problem.of("sign(h1*h2)")


def test_lanczos_finds_what_the_dense_solver_does(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Spectral(dim=80, samples="6d")
    dense = simulate(PARITY, settings, seeds=2)
    monkeypatch.setattr(spectral, "DENSE", 10)
    lanczos = simulate(PARITY, settings, seeds=2)
    for name in ("overlap_squared", "eigenvalue"):
        np.testing.assert_allclose(dense.metrics[name], lanczos.metrics[name], rtol=1e-6)


def test_the_eigenvalue_is_that_of_the_matrix() -> None:
    rng = np.random.default_rng(0)
    x, weights = rng.normal(size=(50, 20)), np.tanh(rng.normal(size=50))
    values, vectors = spectral._top_sample_eigenvectors(x, weights, 2, rng)
    matrix = x.T @ np.diag(weights) @ x / 50
    np.testing.assert_allclose(values, np.linalg.eigvalsh(matrix)[::-1][:2])
    np.testing.assert_allclose(matrix @ vectors, vectors * values, atol=1e-12)


def test_linearised_products_are_those_of_the_matrix() -> None:
    data = draw_amp_data(PARITY, 20, 60, 0.0, np.random.default_rng(1))
    value, estimate = estimate_by_linearised_messages(
        channel_of_problem(PARITY), data, np.random.default_rng(2)
    )
    g = Labels(channel_of_problem(PARITY), data.labels).moments()[1]
    np.testing.assert_allclose(g[:, 0, 1], data.labels * 2 / np.pi, rtol=1e-9)
    gram = data.inputs @ data.inputs.T / 20
    np.fill_diagonal(gram, 0.0)
    dense = np.einsum("ab,bij->aibj", gram, g).reshape(120, 120)
    assert value == pytest.approx(np.linalg.eigvals(dense).real.max(), rel=1e-8)
    assert estimate.shape == (20, 2)
    np.testing.assert_allclose(estimate.T @ estimate, np.eye(2), atol=1e-12)


def projector(span: np.ndarray) -> np.ndarray:
    return span @ span.T


def test_the_linearised_span_depends_on_neither_start_nor_basis_nor_rounding() -> None:
    """Two outliers of the parity of two are equal in the limit: any mixture of them may come."""
    data = draw_amp_data(PARITY, 60, 600, 0.0, np.random.default_rng(3))
    _, span = estimate_by_linearised_messages(
        channel_of_problem(PARITY), data, np.random.default_rng(4)
    )
    cosines = np.linalg.svd(span.T @ data.truth, compute_uv=False) ** 2 / 60
    assert cosines.min() > 0.4
    turn = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    turned = Problem.of("sign(h1 + h2)*sign(h1 - h2)")
    nudged = data.inputs * (1 + 1e-13 * np.random.default_rng(5).normal(size=data.inputs.shape))
    others = [
        (PARITY, data, 6),
        (turned, data._replace(truth=data.truth @ turn), 4),
        (PARITY, data._replace(inputs=nudged), 4),
    ]
    for problem, given, seed in others:
        _, other = estimate_by_linearised_messages(
            channel_of_problem(problem), given, np.random.default_rng(seed)
        )
        np.testing.assert_allclose(projector(other), projector(span), atol=1e-7)


def labels_that_say(weights: np.ndarray) -> type:
    """Labels with G(y) = clip(y - 1) diag(weights), whatever the channel."""

    class Stub:
        def __init__(self, channel: object, y: np.ndarray) -> None:
            self._y = y

        def moments(self) -> tuple[None, np.ndarray]:
            return None, np.clip(self._y - 1, -1, 1)[:, None, None] * np.diag(weights)

    return Stub


def test_outliers_that_coincide_show_all_directions(monkeypatch: pytest.MonkeyPatch) -> None:
    """G = g(y) I: every eigenvalue comes twice, with the same vector in either column."""
    monkeypatch.setattr(spectral, "Labels", labels_that_say(np.array([1.0, 1.0])))
    data = draw_amp_data(Problem.of("(h1^2 + h2^2)/2"), 60, 900, 0.0, np.random.default_rng(7))
    spans = [
        estimate_by_linearised_messages(
            channel_of_problem(PARITY), data, np.random.default_rng(seed)
        )[1]
        for seed in (8, 9)
    ]
    assert spans[0].shape == (60, 2)
    assert (np.linalg.svd(spans[0].T @ data.truth, compute_uv=False) ** 2 / 60).min() > 0.4
    np.testing.assert_allclose(projector(spans[0]), projector(spans[1]), atol=1e-7)


def test_what_no_outlier_shows_has_no_overlap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spectral, "Labels", labels_that_say(np.array([1.0, 0.0])))
    data = draw_amp_data(Problem.of("(h1^2 + h2^2)/2"), 60, 900, 0.0, np.random.default_rng(7))
    settings, rng = Spectral(method="linearised"), np.random.default_rng(8)
    overlap = spectral._simulated_estimate(channel_of_problem(PARITY), settings, data, rng)[
        "overlap_squared"
    ]
    assert overlap[0] > 0.4
    assert overlap[1] == 0.0


def test_a_seed_does_not_depend_on_how_many_run() -> None:
    few, many = (simulate(EVEN, Spectral(dim=40, samples="2d"), seeds=n) for n in (2, 4))
    for name in few.metrics:
        np.testing.assert_array_equal(few.metrics[name], many.metrics[name][:2])


def test_a_given_preprocessing_and_the_linearised_method() -> None:
    given = simulate(EVEN, Spectral(dim=100, samples="6d", preprocessing="tanh(y)"), seeds=4)
    assert given.mean("overlap_squared") > 0.2
    linear = simulate(PARITY, Spectral(dim=80, samples="8d", method="linearised"), seeds=2)
    assert linear.metrics["overlap_squared"].shape == (2, 2)
    assert linear.mean("overlap_squared")[0] > 0.4


@pytest.mark.parametrize(
    ("problem", "settings", "expected"),
    [
        (EVEN, Spectral(), "dim"),
        (EVEN, Spectral(dim=20, phases=True), "phases"),
        (EVEN, Spectral(dim=20, preprocessing="foo(y)"), "preprocessing"),
        (PARITY, Spectral(dim=1), "directions"),
    ],
)
def test_bad_input_gets_one_line(problem: Problem, settings: Spectral, expected: str) -> None:
    with pytest.raises(SettingsError, match=expected) as refusal:
        simulate(problem, settings, seeds=1)
    assert "\n" not in str(refusal.value)
