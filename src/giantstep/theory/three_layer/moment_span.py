"""How much of a tree's leaves the eigenvectors of the moment matrix of its labels hold."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.targets import TreeTarget
from giantstep.numerics.solve import bisected
from giantstep.theory.three_layer.branch_law import limit_branch_law
from giantstep.theory.three_layer.many_spikes import many_spikes_span

#: Halvings of a bracket: beyond them its middle is one of its ends.
HALVINGS = 50
#: Spikes are sought where the weights 1/(1 - mT) of the labels T stay below this.
SHARPEST = 1e3
#: An outer function that grows by more than this from 20 standard deviations on is not bounded.
BOUNDED = 1.01
#: Ratios of directions to samples below this are rounding errors: no number of samples is enough.
ROUNDING = 1e-12


class LeafOverlap(NamedTuple):
    """Eigenvalue that a leaf causes, and how much of its eigenvector lies in the leaves."""

    eigenvalue: float
    overlap_squared: float


@dataclass(frozen=True, eq=False)
class _Leaf:
    """Labels T of variance 1 on a grid, their law, and that law times E[z^2 - 1 | T]."""

    labels: Float[np.ndarray, " points"]
    law: Float[np.ndarray, " points"]
    excess: Float[np.ndarray, " points"]

    @property
    def highest(self) -> float:
        return (1 - 1 / SHARPEST) / float(np.max(self.labels))

    def ratio(self, m: float) -> float:
        weighted = m * self.labels / (1 - m * self.labels)
        return float(self.excess @ weighted)

    def overlap(self, m: float) -> LeafOverlap | None:
        """What the spike at m gives; None inside the bulk."""
        weighted, ratio = self.labels / (1 - m * self.labels), self.ratio(m)
        slope = float(self.law @ weighted**2) - ratio / m**2
        if slope >= 0:
            return None
        leak = float((self.law + self.excess) @ weighted**2)
        return LeafOverlap(ratio / m + float(self.law @ weighted), 1 / (1 - leak / slope))


def leaf_overlap(
    tree: TreeTarget, leaves: int, dim: int, samples: float, sign: int = 1
) -> LeafOverlap:
    r"""Eigenvalue and squared overlap of the spike that a leaf makes in the moment matrix.

    .. math:: M = \frac1n \sum_i T_i x_i x_i^\top, \quad
        \gamma = \frac{d - l}{n} = \mathbb{E}\Big[(z^2 - 1) \frac{mT}{1 - mT}\Big], \quad
        \lambda = \frac{\gamma}{m} + \mathbb{E}\frac{T}{1 - mT}, \quad
        q = \frac{1}{1 - \mathbb{E}\big[\frac{z^2 T^2}{(1 - mT)^2}\big] / \lambda'(m)}

    for lambda'(m) = E[T^2/(1-mT)^2] - gamma/m^2 < 0, and else no spike: the eigenvalue is NaN and
    the overlap 0. Here m = tr(lambda - M)^{-1}/n over the d - l directions beside the leaves, from
    which a sample adds T/(1-mT) to the block of the leaves. For weak labels q = 1 - d/(n s^2) with
    s = E[(z^2 - 1) T].

    Symbols: l ``leaves``, d ``dim``, n ``samples``; T is the label less its mean over its standard
    deviation, z a leaf of that ``sign``; for sign -1 the eigenvalue is -lambda.
    Assumes: one branch, a bounded outer function, signs of the other leaves in balance, no
    correlation between two leaves at a given label (exact for even inner functions).
    Status: heuristic.
    References: Dandi et al. 2025, arXiv:2502.13961; Lu, Li 2017, arXiv:1702.06435.

    >>> found = leaf_overlap(TreeTarget("tree-he2"), 8, 64, 4096)
    >>> round(found.eigenvalue, 3), round(found.overlap_squared, 3)
    (0.469, 0.919)
    """
    leaf, ratio = _predicted_leaf(tree, leaves, sign), (dim - leaves) / samples
    m = _crossing(lambda m: leaf.ratio(m) > ratio, leaf.highest)
    found = None if m is None else leaf.overlap(m)
    if found is None:
        return LeafOverlap(math.nan, 0.0)
    return LeafOverlap(sign * found.eigenvalue, found.overlap_squared)


def moment_span(tree: TreeTarget, leaves: int, dim: int, samples: float) -> float:
    r"""Squared projection of the leaves on as many eigenvectors of the moment matrix.

    .. math:: \mathrm{span} = \frac1l \sum_{j \le l} |P\, w^*_j|^2 = f\Big(\frac{q_+ + q_-}{2}\Big)

    Symbols: P projects on the l eigenvectors of largest absolute eigenvalue, q_+ and q_- are the
    overlaps of :func:`leaf_overlap` for leaves of either sign, f is :func:`many_spikes_span`.
    Below the threshold n_c, where these are 0, f is taken at 1 - n_c/n.
    Assumes: as there.
    Status: heuristic.
    References: Dandi et al. 2025, arXiv:2502.13961; Benaych-Georges, Nadakuditi 2009,
    arXiv:0910.2120.

    >>> round(moment_span(TreeTarget("tree-he2"), 8, 64, 4096), 3)
    0.918
    """
    found = [leaf_overlap(tree, leaves, dim, samples, sign) for sign in (1, -1)]
    overlap = sum(each.overlap_squared for each in found) / 2
    if not overlap:
        overlap = 1 - _samples_for_overlap(tree, leaves, dim, 0.0) / samples
    return many_spikes_span(overlap, leaves, dim)


def samples_for_span(tree: TreeTarget, leaves: int, dim: int, span: float) -> float:
    r"""Samples from which the eigenvectors of the moment matrix hold that share of the leaves.

    .. math:: n = \max_\pm\, (d - l)/\gamma(m), \qquad f(q(m)) = \mathrm{span}

    Symbols: gamma and q are those of :func:`leaf_overlap`, f is :func:`many_spikes_span`; infinite
    if no number is enough, 0 if chance is.
    Assumes: as there.
    Status: heuristic.
    References: Dandi et al. 2025, arXiv:2502.13961.

    >>> round(samples_for_span(TreeTarget("tree-he2"), 8, 64, 0.9), -1)
    3350.0
    """
    if span <= leaves / dim:
        return 0.0
    # Below 1 - 1/s^2 = -99 nothing but chance is left.
    above = _crossing(lambda rest: many_spikes_span(1 - rest, leaves, dim) < span, 100.0)
    overlap = 1 - (100.0 if above is None else above)
    if overlap >= 0:
        return _samples_for_overlap(tree, leaves, dim, overlap)
    return _samples_for_overlap(tree, leaves, dim, 0.0) / (1 - overlap)


def _samples_for_overlap(tree: TreeTarget, leaves: int, dim: int, overlap: float) -> float:
    """Samples from which leaves of either sign, each as if alone, have that squared overlap."""
    needed = []
    for sign in (1, -1):
        leaf = _predicted_leaf(tree, leaves, sign)

        def is_less(m: float, leaf: _Leaf = leaf) -> bool:
            found = leaf.overlap(m)
            return found is None or found.overlap_squared < overlap

        m = _crossing(is_less, leaf.highest)
        ratio = 0.0 if m is None else leaf.ratio(m)
        needed.append((dim - leaves) / ratio if ratio > ROUNDING else math.inf)
    return max(needed)


def _predicted_leaf(tree: TreeTarget, leaves: int, sign: int) -> _Leaf:
    if tree.branches.power or tree.branches.coefficient != 1:
        raise NoTheory(f"branches = {tree.branches}: the span is predicted for one branch")
    law, outer = limit_branch_law(tree, leaves), tree.outer.numpy
    far = np.array([-1e9, 1e9, -20 * law.spread, 20 * law.spread])
    ends = np.abs(outer(far))
    if not np.max(ends[:2]) <= BOUNDED * np.max(ends[2:]) + BOUNDED - 1:
        raise NoTheory(f"outer = {tree.outer.text}: the span is predicted if it is bounded")
    one, two = (part if sign > 0 else part.conj() for part in (law.leaf[0], law.leaf[2]))
    # The others are in balance: as many of either sign, counting the leaf itself if that is even.
    even = leaves % 2 == 0
    others = np.abs(one) ** (leaves - 1 - even) * (one.conj() if even else 1)
    points, weights = law.points, law.weights(one * others)
    labels = outer(points)
    mean = float(weights @ labels)
    spread = math.sqrt(float(weights @ labels**2) - mean**2)
    # A leaf of sign -1 is one of sign +1 for minus the label.
    return _Leaf(sign * (labels - mean) / spread, weights, law.weights(math.sqrt(2) * two * others))


def _crossing(is_beyond: Callable[[float], bool], high: float) -> float | None:
    """Where a condition that fails at 0 begins to hold; None if it does not up to ``high``."""
    if not is_beyond(high):
        return None
    ends = np.zeros(1), np.full(1, high)
    return float(bisected(lambda m: np.array([is_beyond(float(m[0]))]), *ends, HALVINGS)[1][0])
