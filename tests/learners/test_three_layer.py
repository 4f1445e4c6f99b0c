"""The learner `three-layer`: what it reports, and that its shortcuts are exact."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.asking.verbs import simulate
from giantstep.errors import SettingsError, TargetError
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem, TreeProblem
from giantstep.language.targets import TreeTarget
from giantstep.learners.three_layer import layers
from giantstep.learners.three_layer.adam import adamw_step
from giantstep.learners.three_layer.layers import (
    HiddenLayer,
    LayerCurve,
    orthonormal_layer,
    trained_leaf_span,
)
from giantstep.learners.three_layer.layerwise import (
    count_leaves_in_samples,
    sample_eigenvectors,
    sample_moments,
    train_moment_units,
)
from giantstep.learners.three_layer.samples import draw_tree_data
from giantstep.numerics.ridge import large
from giantstep.numerics.ridge.large import krylov_ridge, ridge_by_chunks
from giantstep.numerics.ridge.path import GCV, RidgePath, ridge_or_gcv
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.three_layer import ThreeLayer

SMALL: dict[str, Any] = {"dim": 9, "samples": 80, "width": 20, "second_width": 10}
SMALL |= {"test_samples": 50}


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    phi = rng.standard_normal((300, 12))
    y = phi @ rng.standard_normal(12) + rng.standard_normal(300)
    path = RidgePath.fit(phi, y, intercept=True)
    whole = path.coefficients(ridge_or_gcv(path, GCV))[0]
    monkeypatch.setattr(large, "ENTRIES", 100)
    fit = ridge_by_chunks(phi.__getitem__, y, 12)
    np.testing.assert_allclose(fit.coefficients, whole, rtol=1e-8)
    assert fit.mean == pytest.approx(y.mean())


def test_products_alone_give_the_same_ridge_regression() -> None:
    rng = np.random.default_rng(1)
    design = rng.standard_normal((400, 60))
    y = design @ rng.standard_normal(60) / 8 + rng.standard_normal(400)
    path = RidgePath.fit(design, y)
    found = krylov_ridge(lambda v: design @ v, lambda r: design.T @ r, y, 60, rng)
    # The ridge is one of a coarser ladder: its GCV is as good as the best.
    exact = float(path.gcv(ridge_or_gcv(path, GCV))[0])
    distance = [np.linalg.norm(found - path.coefficients(r)[0]) for r in np.logspace(-4, 5, 400)]
    own = np.logspace(-4, 5, 400)[int(np.argmin(distance))]
    assert min(distance) < 0.02 * np.linalg.norm(found)
    assert float(path.gcv(own)[0]) < 1.005 * exact


def test_a_turn_without_normal_equations_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(2)
    x, slopes = rng.standard_normal((500, 10)), rng.standard_normal((500, 3))
    truth = 0.3 * rng.standard_normal((3, 10))
    directions = orthonormal_layer(rng.standard_normal((3, 10)))
    residuals = np.sum(slopes * (x @ truth.T), axis=1) + 0.5 * rng.standard_normal(500)
    layer = HiddenLayer(activation("relu"), directions, np.eye(3), np.zeros(3))
    dense = layers.turn_trained_layer(layer, x, slopes, residuals, rng).directions
    monkeypatch.setattr(layers, "MOST_COLUMNS", 0)
    free = layers.turn_trained_layer(layer, x, slopes, residuals, rng).directions
    np.testing.assert_allclose(free, dense, atol=0.01)
    assert np.max(np.abs(dense - directions)) > 0.1
    np.testing.assert_allclose(dense @ dense.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("name", ["relu", "tanh"])
def test_slopes_are_derivatives(name: str) -> None:
    rng = np.random.default_rng(3)
    layer = HiddenLayer.draw(
        activation(name), orthonormal_layer(rng.standard_normal((2, 5))), 30, rng
    )
    x, a = rng.standard_normal((40, 5)), rng.standard_normal(30)
    moved = x + 1e-7 * layer.directions[0]
    finite = (layer.output(moved, a) - layer.output(x, a)) / 1e-7
    np.testing.assert_allclose(layer.slopes(x, a)[:, 0], finite, atol=1e-4)
    u = layer.output(x, a)
    link = LayerCurve.of(u, np.sin(u))
    inside = np.min(np.abs(u[:, None] - link.knots), axis=1) > 1e-5
    finite = (link.value(u + 1e-7) - link.value(u)) / 1e-7
    np.testing.assert_allclose(link.slope(u)[inside], finite[inside], atol=1e-5)


def test_adamw_is_that_of_the_paper() -> None:
    """Three steps by hand: decoupled decay, moments freed of their start."""
    gradients, rate, decay = [0.5, -1.0, 2.0], 0.1, 0.3
    weights: Any = ((np.float32(1.0), np.float32(-2.0)),)
    first: Any = ((np.float32(0.0), np.float32(0.0)),)
    second: Any = first
    w, m, v = 1.0, 0.0, 0.0
    for count, g in enumerate(gradients):
        both = ((np.float32(g), np.float32(0.0)),)
        now = (jnp.int32(count), jnp.float32(rate), jnp.float32(decay))
        weights, first, second = adamw_step(weights, first, second, both, *now)
        m, v = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * g**2
        corrected = m / (1 - 0.9 ** (count + 1)), v / (1 - 0.999 ** (count + 1))
        w = w - rate * decay * w - rate * corrected[0] / (corrected[1] ** 0.5 + 1e-8)
    assert float(weights[0][0]) == pytest.approx(w, rel=1e-4)
    assert float(weights[0][1]) == pytest.approx(-2 * (1 - rate * decay) ** 3, rel=1e-5)


@pytest.mark.parametrize(
    ("given", "networks", "stages"),
    [
        ({"scenario": "lazy"}, ("lazy",), ()),
        ({"scenario": "first-layer"}, ("two-layer", "first-layer"), ("steps", "fitted")),
        ({"scenario": "adam", "steps": 2}, ("adam-2", "adam-3"), ("adam-2", "adam-3")),
        ({"scenario": "adam", "steps": 2, "layers": "3"}, ("adam-3",), ("adam-3",)),
        (
            {"scenario": "authors", "steps": 2},
            ("two-layer", "first-layer", "second-layer"),
            ("steps",),
        ),
    ],
)
def test_each_scenario_names_what_it_reports(
    given: dict[str, Any], networks: tuple[str, ...], stages: tuple[str, ...]
) -> None:
    settings = ThreeLayer(**{**SMALL, **given})
    assert settings.networks == networks
    assert settings.stages == stages
    run = simulate(settings, "tree-he2", seeds=1, noise=0.25)
    places = {(entry.metric, dict(entry.place).get("network")) for entry in run.numbers()}
    assert {("test_error", name) for name in networks} <= places
    assert np.all(np.isfinite(run.metrics["test_error"]))
    assert np.all((run.metrics["alignment"] >= 0) & (run.metrics["alignment"] <= 1))
    noisy = run.metrics["test_error_noisy"] - run.metrics["test_error"]
    np.testing.assert_allclose(noisy, 0.25)


@pytest.mark.parametrize(
    "given", [{"scenario": "first-layer"}, {"scenario": "authors", "steps": 2}]
)
def test_several_branches_where_the_second_layer_has_many_units(given: dict[str, Any]) -> None:
    tree = "tree(tanh(u), He2(z), branches=2, leaves=3)"
    run = simulate(ThreeLayer(**{**SMALL, **given}), tree, seeds=1)
    assert run.metrics["leaves"].tolist() == [6]
    assert np.all((run.metrics["span"] > 0) & (run.metrics["span"] <= 1))
    assert np.all((run.metrics["alignment"] >= 0) & (run.metrics["alignment"] <= 1))


def test_lazy_without_monomials_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = ThreeLayer(dim=10, samples=600, scenario="lazy")
    dense = simulate(settings, "tree-he2", seeds=2).mean("test_error")
    monkeypatch.setattr("giantstep.learners.three_layer.layerwise.MOST_COLUMNS", 0)
    free = simulate(settings, "tree-he2", seeds=2).mean("test_error")
    np.testing.assert_allclose(free, dense, rtol=0.02)


def test_the_oracle_knows_the_leaves_and_says_so() -> None:
    run = simulate(ThreeLayer(**SMALL, oracle=True), "tree-he2", seeds=1)
    assert run.mean("span").tolist() == [1, 1, 1]
    assert any("oracle first layer" in note for note in run.notes)


def test_leaves_are_counted_where_their_samples_are_enough() -> None:
    counts = []
    for seed in range(6):
        rng = np.random.default_rng([seed, 16])
        (x, _, _, y), _, leaves = draw_tree_data(TreeProblem("tree-he2"), 4096, 2, 64, rng)
        counts.append(count_leaves_in_samples(x, y, rng))
    assert leaves == 8
    # Thirty of thirty at n = 4096; of pure noise about one in a thousand lies beyond three.
    assert np.sum(np.array(counts) == 8) >= 5
    shuffled = [
        count_leaves_in_samples(x, np.random.default_rng(s).permutation(y), rng) for s in range(6)
    ]
    assert np.mean(shuffled) < 2
    run = simulate(ThreeLayer(**{**SMALL, "leaves": "auto"}), "tree-he2", seeds=2)
    assert any(note.startswith("leaves counted") for note in run.notes)


def test_signs_of_seven_to_one_lose_a_leaf_in_four_steps() -> None:
    """As the page on depth says: not in the moment matrix, and not in two steps."""
    rng = np.random.default_rng(16)
    x, signs = rng.standard_normal((4096, 64)), np.resize([-1.0] + 7 * [1.0], (1, 8))
    y = TreeTarget("tree-he2").numpy(x[:, None, :8], signs)
    eigenvectors = sample_eigenvectors(sample_moments(x, y), 8)
    two, four = (train_moment_units(x, y, steps, 8, rng) for steps in (2, 4))
    # A leaf is an eighth of the span; five draws gave .918 and .896 at worst, and .81.
    assert (
        min(trained_leaf_span(eigenvectors, 8), trained_leaf_span(two, 8))
        > 0.88
        > trained_leaf_span(four, 8)
    )


@pytest.mark.parametrize(
    ("settings", "target", "words"),
    [
        ({}, "h1", "target = 'h1' is no tree: write tree"),
        ({}, "tree(tanh(w), He2(z))", "the name 'w' is unknown"),
        ({}, "tree(tanh(u), He2(z), leaves=10)", "branches * leaves = 1 * 10 is more than dim = 9"),
        ({}, "tree(tanh(u), He2(z), leaves=0)", "leaves = '0' is not positive"),
        ({"leaves": 12}, "tree-he2", "leaves = 12 is more than dim = 9"),
        ({"dim": None}, "tree-he2", "dim is missing"),
        ({"samples": 1}, "tree-he2", "samples = 1: the labels drawn are all equal"),
        ({}, "tree(tanh(u), He2(z), branches=2, leaves=2)", "branches = 2 with scenario = joint"),
        ({}, None, "three-layer needs a target: give one such as 'tree-he2'"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    settings: dict[str, Any], target: str | None, words: str
) -> None:
    with pytest.raises((SettingsError, TargetError)) as caught:
        simulate(ThreeLayer(**{**SMALL, **settings}), target, seeds=1)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"leaves": 0}, "leaves = 0 is not positive"),
        ({"scenario": "deep"}, "scenario = 'deep' is unknown"),
        ({"scenario": "lazy", "oracle": True}, "oracle goes with scenario"),
        ({"scenario": "adam", "leaves": 3}, "leaves = 3 goes with scenario"),
        ({"oracle": True, "leaves": "auto"}, "the oracle knows the leaves"),
        ({"layers": "2"}, "layers = 2 goes with scenario = adam alone"),
    ],
)
def test_settings_that_do_not_go_together(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        ThreeLayer(**given)
    assert words in str(caught.value)


def test_trees_and_other_targets_keep_to_their_learners() -> None:
    with pytest.raises(TargetError, match="a tree has no fixed number of directions"):
        simulate(GiantStep(dim=9), TreeProblem("tree-he2"), seeds=1)  # type: ignore[call-overload]
    with pytest.raises(SettingsError, match="'h1' is no tree"):
        simulate(ThreeLayer(dim=9), Problem("h1"), seeds=1)
    with pytest.raises(SettingsError, match="gaussian inputs alone"):
        simulate(ThreeLayer(dim=9), "tree-he2", inputs="sphere", seeds=1)
