"""Thresholds of easy directions that become visible only once others are known."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.estimate import Estimate
from giantstep.numerics.grids import aligned_grid
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.numerics.tensors import complement, is_permutation
from giantstep.targets import Target
from giantstep.targets.integration import Block, block_of
from giantstep.theory.learnability.sandwich import sandwich_spectrum

#: A label with more values than this, given the learned directions, counts as continuous.
MAX_CLASSES = 16
#: Nodes on each learned direction.
LEARNED_NODES = 32
#: Random points on the other directions, where no product rule applies.
POINTS = 40_000
#: State evolution is followed up to this overlap; beyond it a label without noise leads to 1.
NEARLY_ONE = 0.97
#: Its grid of the learned direction, and its cells of labels.
Z = np.linspace(-7.0, 7.0, 4001)
CELLS = 200


def later_threshold(
    target: Target,
    learned: Float[np.ndarray, "m r"],
    directions: Float[np.ndarray, "n r"],
    noise: float = 0.0,
) -> tuple[Estimate | None, str | None]:
    r"""The threshold of a later easy stair, or None and the reason why it is not known.

    .. math::
        \alpha^{-1} = \lambda_{\max}\big(M \mapsto E[G_\perp M G_\perp]\big), \qquad
        G_\perp = E[h_\perp h_\perp^\top - I \mid y, h_U]

    if the learned directions U are recovered perfectly at that alpha. This is so when the label,
    given h_U, takes finitely many values, and the state evolution of U alone climbs to overlap 1.
    Otherwise U is known in part only, and the threshold depends on how well.

    Symbols: g ``target``, U ``learned``, the stair's own directions ``directions``.

    Assumes: isotropic Gaussian inputs, n = alpha d; the other directions stay at overlap zero
    until then. Covers one learned direction and no label noise.
    Status: replica (linear stability of state evolution at the fixed point of U).
    References: Troiani, Dandi, Defilippis, Zdeborova, Loureiro, Krzakala 2024 (2405.15480).

    >>> rows = np.eye(3)
    >>> alpha, _ = later_threshold(Target("h1**2 + sign(h1*h2*h3)"), rows[:1], rows[1:])
    >>> round(alpha.value, 5)
    2.4674
    """
    if noise > 0:
        return None, "label noise leaves the directions before it known in part only"
    if len(learned) > 1:
        return None, "more than one direction before it; only one is covered"
    law = _ConditionalLaw.of(block_of(target), learned, directions)
    product = law.mean_product()
    if product is None:
        return (
            None,
            "given the directions before it the label is continuous: they stay known in part",
        )
    alpha = 1 / float(sandwich_spectrum(product)[0][-1])
    if not law.recovers(alpha):
        bound = f"it is above {alpha:.4g}"
        return None, f"the directions before it are known in part only at its alpha; {bound}"
    method = f"given the recovered directions, {law.method}"
    return Estimate(alpha, law.relative_error * alpha, method), None


@dataclass(frozen=True, eq=False)
class _Cloud:
    """Weighted points on the directions that are not learned."""

    points: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class _ConditionalLaw:
    """The label given one learned direction."""

    block: Block
    frame: np.ndarray
    found: int
    fine: _Cloud
    coarse: _Cloud
    method: str
    relative_error: float

    @classmethod
    def of(cls, block: Block, learned: np.ndarray, directions: np.ndarray) -> _ConditionalLaw:
        axes, known = len(block.names), len(learned)
        frame = np.eye(axes)
        rest = complement(np.vstack([learned, directions]))
        frame[: block.latent, : block.latent] = np.vstack([learned, directions, rest])
        if block.aligned and is_permutation(frame) and axes - known <= 2:
            kinks = [block.kinks[axis] for axis in np.argmax(frame, axis=1)[known:]]
            fine, coarse = (_product_cloud(kinks, order) for order in (12, 2))
            return cls(block, frame, len(directions), fine, coarse, "exact sums", 1e-9)
        points = np.random.default_rng(0).standard_normal((POINTS, axes - known))
        fine = _Cloud(points, np.full(POINTS, 1 / POINTS))
        coarse = _Cloud(points[:256], np.full(256, 1 / 256))
        error = 3 / math.sqrt(POINTS)
        return cls(block, frame, len(directions), fine, coarse, "Monte Carlo sums", error)

    def labels(self, x: np.ndarray, cloud: _Cloud) -> Float[np.ndarray, "x points"]:
        """The labels at h_U = x and the points of the other directions."""
        axes = len(self.frame)
        whole = np.empty((len(x), len(cloud.points), axes))
        whole[:, :, 0] = x[:, None]
        whole[:, :, 1:] = cloud.points
        return np.round(self.block(whole @ self.frame), 9)

    def mean_product(self) -> Float[np.ndarray, "n n n n"] | None:
        """E[G_ij G_kl] over label and learned direction; None if the label is continuous."""
        nodes, masses = gauss_hermite(LEARNED_NODES)
        own = self.fine.points[:, : self.found]
        second = own[:, :, None] * own[:, None, :] - np.eye(self.found)
        total = np.zeros((self.found,) * 4)
        for x, mass in zip(nodes, masses, strict=True):
            (labels,) = self.labels(np.array([x]), self.fine)
            values, which = np.unique(labels, return_inverse=True)
            if len(values) > MAX_CLASSES:
                return None
            for value in range(len(values)):
                inside = self.fine.weights * (which == value)
                moment = np.tensordot(inside, second, axes=(0, 0))
                total += mass * np.multiply.outer(moment, moment) / inside.sum()
        return total

    def recovers(self, alpha: float) -> bool:
        """Whether the overlap of the learned direction climbs to 1 from a small start."""
        channel = self.channel()
        overlaps = np.geomspace(1e-3, NEARLY_ONE, 24)
        return alpha > 1 and all(_next_overlap(channel, m, alpha) > m for m in overlaps)

    def channel(self) -> Float[np.ndarray, "cells z"]:
        """P(y in cell | h_U = z) on the grid Z of the learned direction.

        Cells are much wider than the steps of the label between grid points: if they were not, a
        label would tell its grid point.
        """
        labels = self.labels(Z, self.coarse)
        mass = np.exp(-(Z**2) / 2)[:, None] * self.coarse.weights
        order = np.argsort(labels, axis=None)
        share = np.cumsum(mass.ravel()[order])
        quantiles = np.arange(1, CELLS) / CELLS
        edges = np.unique(np.interp(quantiles, share / share[-1], labels.ravel()[order]))
        cell = np.searchsorted(edges, labels)
        place = cell * len(Z) + np.arange(len(Z))[:, None]
        weights = np.broadcast_to(self.coarse.weights, labels.shape)
        table = np.bincount(place.ravel(), weights.ravel(), minlength=CELLS * len(Z))
        return table.reshape(CELLS, len(Z))


def _product_cloud(kinks: list[tuple[float, ...]], order: int) -> _Cloud:
    grid = aligned_grid(kinks, 3.0, order)
    points = grid.points()
    weights = np.ones(grid.shape)
    for axis, (_, mass) in enumerate(grid.axes):
        weights = weights * mass.reshape(*mass.shape, *[1] * (len(kinks) - axis - 1))
    return _Cloud(points.reshape(-1, len(kinks)), weights.ravel())


def _next_overlap(channel: np.ndarray, overlap: float, alpha: float) -> float:
    """One step of state evolution: M^ = alpha E[(d log Z / d omega)^2], then M^ / (1 + M^)."""
    nodes, masses = gauss_hermite(40)
    variance = 1 - overlap
    distance = Z[:, None] - math.sqrt(overlap) * nodes
    density = np.exp(-(distance**2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)
    likelihood = channel @ density
    slope = channel @ (density * distance / variance)
    step = Z[1] - Z[0]
    information = step * np.sum(slope**2 / np.maximum(likelihood, 1e-300), axis=0) @ masses
    return float(alpha * information / (1 + alpha * information))
