"""What is known of two and three layers on a tree: the first layer's span, floors and rates."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.language.problem import TreeProblem
from giantstep.settings.three_layer import ThreeLayer
from giantstep.theory.three_layer.floors import tree_moments
from giantstep.theory.three_layer.inner_parts import (
    expected_inner_parts,
    gap_of_the_theorem,
)
from giantstep.theory.three_layer.moment_span import leaf_overlap, moment_span, samples_for_span
from giantstep.theory.three_layer.samples import (
    first_layer_threshold,
    random_layer_degree,
    sample_exponents,
)

REFERENCES = cite("2502.13961", "1702.06435", "0910.2120")
#: Shares of the leaves whose samples are predicted.
SPANS = {"kappa_half_span": 0.5, "kappa_nine_tenths_span": 0.9}


def predict(problem: TreeProblem, settings: ThreeLayer) -> Prediction:
    """Span of the moment matrix's eigenvectors, samples for it, floors, and rates in d.

    Metrics: ``moment_span``, the squared projection of the leaves on as many eigenvectors of the
    moment matrix; ``threshold``, the samples beyond which it shows any; ``kappa_half_span`` and
    ``kappa_nine_tenths_span``, where n = d^kappa samples hold these shares; ``floor``, the share of
    the variance beyond the best polynomials of degree 1, 2, .. in the true leaves;
    ``first_layer_exponent`` and ``second_layer_exponent``, powers of d in the samples that the
    layers need; ``random_layer_degree``, the degree that a random second layer fits on a first one
    that is learned, from the given samples. There is no exact curve of the test error.

    Assumes: Gaussian inputs; for the span one branch, a bounded outer function and labels without
        noise; for the rates an inner polynomial with a part along He2 and none below.
    Status: theorem for floors and exponents; heuristic for the span, its threshold and its samples;
        conjecture for the degree.
    References: Dandi et al. 2025, arXiv:2502.13961; Lu, Li 2017, arXiv:1702.06435;
        Benaych-Georges, Nadakuditi 2009, arXiv:0910.2120.

    >>> law = predict(TreeProblem("tree-he2"), ThreeLayer(dim=64, samples=4096))
    >>> round(law.metrics["moment_span"], 3), round(law.metrics["kappa_nine_tenths_span"], 2)
    (0.918, 1.95)
    >>> law.statuses["moment_span"], law.statuses["floor"]
    ('heuristic', 'theorem')
    """
    tree, dim = problem.target, settings.dim
    parts = expected_inner_parts(tree)
    found: dict[str, tuple[Any, Status]] = {}
    errors: dict[str, Any] = {}
    notes = ["no exact curve of the test error is known, use simulate for that"]
    if dim is None:
        notes.append("dim is missing: spans and floors are predicted at a dimension, give --dim")
    else:
        moments = tree_moments(tree, tree.sizes(dim)[1])
        floors = moments.floors[1:]
        found["floor"] = np.array([floor.value for floor in floors]), "theorem"
        errors["floor"] = np.array([floor.error for floor in floors])
        if parts.quadratic_share:
            branches, leaves = tree.sizes(dim)
            # Noise in the labels takes its share of their variance, and of what it correlates with.
            clean = moments.variance.value / (moments.variance.value + problem.noise)
            sizes = dim, leaves, branches, parts.quadratic_share
            seen = moments.correlation_squared.value * clean
            found["threshold"] = first_layer_threshold(*sizes, seen), "heuristic"
        spans, more = _spans(problem, settings, dim)
        found |= {name: (span, "heuristic") for name, span in spans.items()}
        notes += more
    gap = gap_of_the_theorem(tree, parts)
    if gap:
        notes.append(f"no rates: {gap}")
    else:
        assert parts.degree is not None
        epsilon = tree.leaves.power
        first, second = sample_exponents(epsilon, parts.degree)
        found["first_layer_exponent"] = first, "theorem"
        found["second_layer_exponent"] = second, "theorem"
        kappa = settings.samples.power
        if dim is not None:
            kappa = math.log(settings.samples.at(dim)) / math.log(dim)
        if kappa > 0:
            found["random_layer_degree"] = random_layer_degree(kappa, epsilon), "conjecture"
    if not found:
        raise NoTheory(f"target = {tree.text!r:.80}: {'; '.join(notes[1:])}")
    metrics = {name: value for name, (value, _) in found.items()}
    statuses = {name: status for name, (_, status) in found.items()}
    return Prediction.of(settings, metrics, statuses, REFERENCES, notes, errors=errors)


def _spans(
    problem: TreeProblem, settings: ThreeLayer, dim: int
) -> tuple[dict[str, float], list[str]]:
    """The span and the samples for it; a note where they are not known."""
    if problem.noise:
        return {}, ["no span: it is predicted for labels without noise"]
    tree, leaves = problem.target, problem.target.sizes(dim)[1]
    try:
        samples = settings.samples.count(dim, "samples")
        found = {"moment_span": moment_span(tree, leaves, dim, samples)}
        for name, share in SPANS.items():
            needed = samples_for_span(tree, leaves, dim, share)
            if needed < math.inf:
                found[name] = math.log(needed) / math.log(dim)
    except NoTheory as reason:
        return {}, [f"no span: {reason}"]
    alone = leaf_overlap(tree, leaves, dim, samples).overlap_squared
    return found, [] if alone else ["moment_span: no eigenvalue leaves the bulk yet"]
