"""The best polynomials in the true leaves of a tree: what a random second layer can fit at most."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.targets import TreeTarget
from giantstep.numerics.estimate import Estimate
from giantstep.theory.three_layer.branch_law import (
    HALF_PERIOD,
    HIGHEST_DEGREE,
    UNFADED,
    BranchLaw,
    limit_branch_law,
)


class TreeMoments(NamedTuple):
    """Variance of a tree's labels, its parts by degree, and the correlation of g(u) with u."""

    variance: Estimate
    energies: tuple[Estimate, ...]
    correlation_squared: Estimate

    @property
    def floors(self) -> tuple[Estimate, ...]:
        """Share of the variance beyond polynomials of degree 0, 1, .. in the leaves."""
        rest, error, found = 1.0, 0.0, []
        for part in self.energies:
            rest -= part.value / self.variance.value
            error += part.error / self.variance.value
            found.append(Estimate(max(rest, 0.0), error, part.method))
        return tuple(found)


def tree_moments(tree: TreeTarget, leaves: int) -> TreeMoments:
    r"""Energy of a tree's labels in Hermite polynomials of its leaves, degree by degree.

    .. math:: \sum_k x^k E_k = \mathbb{E}[g(u) g(u')] = \sum_{t, t'} \hat g_t \bar{\hat g}_{t'}
        \Big(\mathrm{Re} \sum_k x^k \phi_k(t) \bar\phi_k(t')\Big)^l, \qquad
        \phi_k(t) = \mathbb{E}\Big[e^{i t p(z)/\sqrt l} \frac{He_k(z)}{\sqrt{k!}}\Big]

    where the leaves of u and u' have correlation x, and the real part is the mean over the signs.
    Several branches have independent leaves, so that the shares are those of one.

    Symbols: g and p are the functions of ``tree``, l is ``leaves``; E_0, which is the squared mean,
    comes back as 0.
    Assumes: leaves of mean zero; the mean over random signs a.
    Status: theorem.
    References: Dandi et al. 2025, arXiv:2502.13961.

    >>> [round(floor.value, 3) for floor in tree_moments(TreeTarget("tree-he2"), 8).floors]
    [1.0, 1.0, 0.241, 0.241, 0.145]
    """
    law = limit_branch_law(tree, leaves)
    fine, coarse = _predicted_tree_moments(tree, law), _predicted_tree_moments(tree, law.up_to(0.7))
    method = "characteristic functions"
    # Of a function that grows no faster than u beyond this edge, so much of E[g^2] is missed.
    edge = UNFADED * HALF_PERIOD
    steepest = np.max(np.abs(tree.outer.numpy(np.array([-edge, edge]) * law.spread))) / edge
    missed = float(abs(1 - law.mean(np.square) / law.spread**2) * steepest**2)
    made = [
        Estimate(a, abs(a - b) + missed / (fine[0] if place == 1 else 1.0), method)
        for place, (a, b) in enumerate(zip(fine, coarse, strict=True))
    ]
    return TreeMoments(made[0], (Estimate(0.0, 0.0, method), *made[2:]), made[1])


def _predicted_tree_moments(tree: TreeTarget, law: BranchLaw) -> list[float]:
    leaves, outer = law.leaves, tree.outer.numpy
    parts = _energies(law.modes(outer), law.leaf, leaves).tolist()
    variance = law.mean(lambda u: outer(u) ** 2) - parts[0]
    # E[u exp(itu)] = -i d/dt Re(phi_0)^l, and the derivative of Re(phi_0) is -Im(slope)/sqrt(l).
    weight = 1j * np.sqrt(leaves) * law.leaf[0].real ** (leaves - 1) * law.slope.imag
    correlation = law.mean(outer, weight) ** 2 / (variance * law.spread**2)
    return [variance, correlation, *parts[1:]]


def _energies(modes: np.ndarray, leaf: np.ndarray, leaves: int) -> Float[np.ndarray, " degrees"]:
    """E_0, E_1, ..: both signs of each frequency, and powers of series in x by squaring."""
    both = np.concatenate([modes[:0:-1].conj(), modes])
    sides = np.concatenate([leaf[:, :0:-1].conj(), leaf], axis=1)
    base = [np.outer(row, row.conj()).real for row in sides]
    power: list[np.ndarray] | None = None
    for bit in bin(leaves)[2:]:
        power = None if power is None else _predicted_series_product(power, power)
        if bit == "1":
            power = base if power is None else _predicted_series_product(power, base)
    assert power is not None
    return np.array([float((both.conj() @ (matrix @ both)).real) for matrix in power])


def _predicted_series_product(left: list[np.ndarray], right: list[np.ndarray]) -> list[np.ndarray]:
    """The product of two power series in x, cut off."""
    return [
        sum((left[i] * right[k - i] for i in range(k + 1)), np.zeros_like(left[0]))
        for k in range(HIGHEST_DEGREE + 1)
    ]
