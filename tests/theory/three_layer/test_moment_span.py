"""Eigenvectors of the moment matrix of a tree's labels: theory against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.targets import TreeTarget
from giantstep.theory.three_layer.moment_span import leaf_overlap, moment_span, samples_for_span


def simulated(tree: TreeTarget, dim: int, samples: int, seed: int) -> tuple[float, float]:
    """Span of the leaves, and mean absolute eigenvalue, of one draw with balanced signs."""
    rng = np.random.default_rng([seed, dim, samples])
    leaves = tree.sizes(dim)[1]
    signs = np.resize([1.0, -1.0], (1, leaves))
    x = rng.standard_normal((samples, dim))
    y = tree.numpy(x[:, None, :leaves], signs)
    y = (y - y.mean()) / y.std()
    values, vectors = np.linalg.eigh((x * y[:, None]).T @ x / samples)
    top = np.argsort(-np.abs(values))[:leaves]
    return float(np.sum(vectors[:leaves, top] ** 2)) / leaves, float(np.mean(np.abs(values[top])))


@pytest.mark.parametrize(
    ("dim", "samples", "seeds"),
    [(36, 1296, 12), (64, 4096, 12), (144, 20_736, 8), (400, 40_000, 3)],
)
def test_span_and_eigenvalue_agree(dim: int, samples: int, seeds: int) -> None:
    tree = TreeTarget("tree-he2")
    leaves = tree.sizes(dim)[1]
    runs = np.array([simulated(tree, dim, samples, seed) for seed in range(seeds)])
    mean, sem = runs.mean(axis=0), runs.std(axis=0, ddof=1) / math.sqrt(seeds)
    law = leaf_overlap(tree, leaves, dim, samples)
    theory = np.array([moment_span(tree, leaves, dim, samples), law.eigenvalue])
    # From d = 64 on to one per cent, of which a half is seen at these seeds.
    near = 0.01 if dim >= 64 else 0.02
    assert np.all(np.abs(mean / theory - 1) <= near), (mean, theory, sem)
    assert np.all(sem < near / 2 * theory)


def test_span_near_the_threshold() -> None:
    """At n = 1.5 n0 leaves are in the bulk: alone each would hold .376, and eight hold .44."""
    tree = TreeTarget("tree-he2")
    spans = np.array([simulated(tree, 64, 512, seed)[0] for seed in range(60)])
    mean, sem = spans.mean(), spans.std(ddof=1) / math.sqrt(len(spans))
    found, alone = moment_span(tree, 8, 64, 512), leaf_overlap(tree, 8, 64, 512).overlap_squared
    assert abs(mean - found) < 4 * sem + 0.01
    assert abs(mean - alone) > 4 * sem + 0.03


def test_either_sign_and_samples_for_a_span() -> None:
    tree = TreeTarget("tree-he2")
    up, down = (leaf_overlap(tree, 8, 64, 4096, sign) for sign in (1, -1))
    assert up.eigenvalue == pytest.approx(-down.eigenvalue, rel=1e-6)
    for span in (0.3, 0.5, 0.9):
        samples = samples_for_span(tree, 8, 64, span)
        assert moment_span(tree, 8, 64, samples) == pytest.approx(span, abs=1e-6)
    # Below the threshold no eigenvalue stands apart; what is left goes down to chance.
    assert leaf_overlap(tree, 8, 64, 200).overlap_squared == 0
    few = [moment_span(tree, 8, 64, n) for n in (1, 200, 400)]
    assert few == sorted(few)
    assert few[0] == 8 / 64
    assert samples_for_span(tree, 8, 64, few[1]) == pytest.approx(200, rel=1e-4)
    assert samples_for_span(tree, 8, 64, 0.1) == 0
    assert samples_for_span(TreeTarget("tree(tanh(u), He3(z))"), 8, 64, 0.5) == math.inf


def test_many_leaves_and_samples_give_the_one_line_formula() -> None:
    """span = 1 - d l/(2 rho^2 n) for weak labels, that is for many leaves."""
    tree, leaves = TreeTarget("tree-he2"), 400
    u = np.linspace(-8, 8, 4001)
    normal, labels = np.exp(-(u**2) / 2), np.tanh(2.449 * u)
    rho2 = (normal @ (u * labels)) ** 2 / (normal @ labels**2) / (normal @ u**2)
    dim = leaves**2
    samples = 10 * dim * leaves / (2 * rho2)
    found = moment_span(tree, leaves, dim, samples)
    assert found == pytest.approx(0.9, abs=0.003)


def test_what_is_not_covered_says_so() -> None:
    with pytest.raises(NoTheory, match="branches = 2: the span is predicted for one branch"):
        moment_span(TreeTarget("tree(tanh(u), He2(z), branches=2)"), 4, 64, 1000)
    with pytest.raises(NoTheory, match="the span is predicted if it is bounded"):
        moment_span(TreeTarget("tree(u, He2(z))"), 4, 64, 1000)
