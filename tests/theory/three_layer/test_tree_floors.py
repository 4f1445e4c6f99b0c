"""Floors of a tree: against sums over every polynomial, and against the published table."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.targets import TreeTarget
from giantstep.theory.three_layer.floors import tree_moments
from giantstep.theory.three_layer.samples import first_layer_threshold


def by_every_polynomial(tree: TreeTarget) -> tuple[float, list[float], float]:
    """Variance, energies and squared correlation with two leaves, on a grid, signs averaged."""
    z = np.linspace(-8, 8, 801)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    hermite = [np.ones_like(z), z]
    for k in range(1, 4):
        hermite.append((z * hermite[-1] - np.sqrt(k) * hermite[-2]) / np.sqrt(k + 1))
    pairs = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1)[:, :, None, :]
    variance, covariance, energies = 0.0, 0.0, np.zeros(5)
    for signs in itertools.product((-1.0, 1.0), repeat=2):
        u = tree.branch_values(pairs, np.array([signs]))[..., 0]
        y = tree.outer.numpy(u)
        variance += (weights @ y**2 @ weights - (weights @ y @ weights) ** 2) / 4
        covariance += weights @ (y * u) @ weights / 4
        for i, j in itertools.product(range(5), repeat=2):
            if i + j <= 4:
                part = (weights * hermite[i]) @ y @ (weights * hermite[j])
                energies[i + j] += part**2 / 4
    spread = float(weights @ tree.inner.numpy(z) ** 2)
    return variance, energies.tolist(), covariance**2 / (variance * spread)


@pytest.mark.parametrize(
    "text",
    [
        "tree(tanh(2*u), He2(z)/2 + He3(z)/6, leaves=2)",
        "tree(u + u^2, He2(z) + z, leaves=2)",
    ],
)
def test_floors_are_those_of_a_sum_over_every_polynomial(text: str) -> None:
    tree = TreeTarget(text)
    found = tree_moments(tree, 2)
    variance, energies, correlation = by_every_polynomial(tree)
    np.testing.assert_allclose(found.variance.value, variance, rtol=2e-4)
    np.testing.assert_allclose(found.correlation_squared.value, correlation, rtol=2e-4)
    shares = [part.value / variance for part in found.energies[1:]]
    np.testing.assert_allclose(shares, np.array(energies[1:]) / variance, atol=2e-4)


def test_the_error_counts_what_lies_beyond_the_period() -> None:
    tree = TreeTarget("tree(relu(u), He3(z), leaves=2)")
    found, (variance, _, _) = tree_moments(tree, 2), by_every_polynomial(tree)
    missed = abs(found.variance.value - variance)
    assert 1e-4 * variance < missed <= found.variance.error


def test_floors_of_the_named_trees() -> None:
    """Handbook table at eight leaves: least squares on 40,000 samples, which adds its own error."""
    table = {
        "tree-he2": (0.244, 0.246, 0.152),
        "tree-authors": (0.364, 0.271, 0.176),
        "tree-slides": (0.783, 0.322, 0.261),
    }
    polynomials = np.array([45, 165, 495])
    for name, expected in table.items():
        floors = np.array([floor.value for floor in tree_moments(TreeTarget(name), 8).floors[2:]])
        # A fit of k coefficients on n samples errs by 1 + k/n; the rest is the draw of the signs.
        fitted = floors * (1 + polynomials / 40000)
        np.testing.assert_allclose(fitted, expected, atol=0.01, err_msg=name)


def test_an_inner_function_with_a_mean_has_no_floors() -> None:
    with pytest.raises(NoTheory, match="mean 1: trees are explained for inner functions of mean"):
        tree_moments(TreeTarget("tree(tanh(u), z^2)"), 4)


def test_thresholds_are_those_of_the_handbook() -> None:
    for name, share, expected in (("tree-he2", 1, 338), ("tree-authors", 0.75, 492)):
        seen = tree_moments(TreeTarget(name), 8).correlation_squared.value
        assert first_layer_threshold(64, 8, 1, share, seen) == pytest.approx(expected, rel=0.01)
