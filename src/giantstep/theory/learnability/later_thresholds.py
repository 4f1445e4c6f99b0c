"""Thresholds of easy directions that become visible only once others are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import TargetError
from giantstep.language.targets import Target
from giantstep.language.targets.integration import TargetBlock, integrate_target, target_block
from giantstep.numerics.estimate import Estimate
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.linear_algebra import Rows, complement
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian


def threshold_matrix_basis(size: int) -> Float[np.ndarray, "n m m"]:
    """An orthonormal basis of the symmetric matrices (Frobenius product).

    >>> threshold_matrix_basis(2).shape
    (3, 2, 2)
    """
    i, j = np.triu_indices(size)
    places, entries = np.arange(len(i)), np.where(i == j, 1.0, math.sqrt(0.5))
    matrices = np.zeros((len(i), size, size))
    matrices[places, i, j] = matrices[places, j, i] = entries
    return matrices


def sandwich_spectrum(
    product: Float[np.ndarray, "m m m m"],
) -> tuple[Float[np.ndarray, " n"], Float[np.ndarray, "n m m"]]:
    """Eigenvalues (ascending) and eigen-matrices of M -> E[G M G], given E[G_ij G_kl].

    >>> values, _ = sandwich_spectrum(np.ones((1, 1, 1, 1)) * 3.0)
    >>> values.tolist()
    [3.0]
    """
    basis = threshold_matrix_basis(len(product))
    flat = basis.reshape(len(basis), -1)
    operator = flat @ product.transpose(0, 3, 1, 2).reshape(flat.shape[1], -1) @ flat.T
    values, vectors = np.linalg.eigh((operator + operator.T) / 2)
    return values, np.einsum("un,uij->nij", vectors, basis)


#: A label with more values than this, given the learned directions, counts as continuous.
MAX_CLASSES = 16
#: Other directions, and noises inside the label, that are integrated over; more are sampled.
MAX_OTHERS = 2
#: Relative difference of two rules at which the finer one is good enough.
AGREEMENT = 1e-8
#: Nodes on the learned direction, and random points on more than ``MAX_OTHERS`` other axes.
LEARNED_NODES = 96
POINTS = 40_000
#: State evolution is followed up to this overlap; beyond it a label without noise leads to 1.
NEARLY_ONE = 0.97
#: Its grid of the learned direction, its points on the other axes, and its cells of labels.
Z = np.linspace(-7.0, 7.0, 4001)
COARSE = 256
CELLS = 200


class LaterThreshold(NamedTuple):
    """The alpha of a later stair; or why it is not known, and a lower bound if there is one."""

    alpha: Estimate | None
    reason: str | None = None
    above: Estimate | None = None


def later_threshold(
    target: Target, learned: Rows, directions: Rows, noise: float = 0.0
) -> LaterThreshold:
    r"""The threshold of a later easy stair, or the reason why it is not known.

    .. math::
        \alpha^{-1} = \lambda_{\max}\big(M \mapsto E[G_\perp M G_\perp]\big), \qquad
        G_\perp = E[h_\perp h_\perp^\top - I \mid y, h_U]

    if the learned directions U are recovered perfectly at that alpha. This is so when the label,
    given h_U, takes finitely many values, and the state evolution of U alone climbs to overlap 1.
    Otherwise U is known in part only, the threshold depends on how well, and this is a bound.

    Symbols: g ``target``, U ``learned``, the stair's own directions ``directions``.

    Assumes: isotropic Gaussian inputs, n = alpha d; the other directions stay at overlap zero
    until then. Covers one learned direction and no label noise.
    Status: replica (linear stability of state evolution at the fixed point of U).
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> rows = np.eye(3)
    >>> found = later_threshold(Target("h1**2 + sign(h1*h2*h3)"), rows[:1], rows[1:])
    >>> round(found.alpha.value, 5)
    2.4674
    """
    if noise > 0:
        return LaterThreshold(None, "label noise leaves the directions before it partly unknown")
    if len(learned) > 1:
        return LaterThreshold(None, "it comes after several directions, and only one is covered")
    law = _ConditionalLaw.of(target_block(target), learned, directions)
    try:
        product, error, method = law.mean_product()
    except _ContinuousLabel:
        reason = "the label is continuous even when the directions before it are known"
        return LaterThreshold(None, reason)
    rate = float(sandwich_spectrum(product)[0][-1])
    alpha = Estimate(1 / rate, error / rate**2, f"given the directions before it, {method}")
    if law.recovers(alpha.value):
        return LaterThreshold(alpha)
    reason = f"it is above {alpha.value:.5g}, where the directions before it are not fully known"
    return LaterThreshold(None, reason, alpha)


class _ContinuousLabel(Exception):
    pass


@dataclass(frozen=True, eq=False)
class _ConditionalLaw:
    """The label given one learned direction; ``frame`` has it first, then the stair's own."""

    block: TargetBlock
    frame: Float[np.ndarray, "D D"]
    own: int

    @classmethod
    def of(cls, block: TargetBlock, learned: np.ndarray, directions: np.ndarray) -> _ConditionalLaw:
        frame = np.eye(len(block.names))
        rest = complement(np.vstack([learned, directions]))
        frame[: block.latent, : block.latent] = np.vstack([learned, directions, rest])
        return cls(block, frame, len(directions))

    def mean_product(self) -> tuple[Float[np.ndarray, "n n n n"], float, str]:
        """E[G_ij G_kl] over label and learned direction, its error, and the method."""
        if len(self.frame) - 1 > MAX_OTHERS:
            return self._sampled_product()
        return integrate_target(self.block, self._product_on, self.frame, AGREEMENT)

    def _product_on(self, grid: GaussianGrid, labels: np.ndarray) -> np.ndarray:
        """The mean product by a rule whose first axis is the learned direction."""
        own = grid.points()[..., 1 : 1 + self.own].reshape(len(labels), -1, self.own)
        total = np.zeros((self.own,) * 4)
        for here, points, mass in zip(labels, own, grid.masses(), strict=True):
            total += _threshold_product(here.ravel(), points, mass.ravel())
        return total

    def _sampled_product(self) -> tuple[Float[np.ndarray, "n n n n"], float, str]:
        """The same at random points of the other directions, in two halves for the error."""
        nodes, masses = split_gaussian(panel_order=LEARNED_NODES // 6)
        points = np.random.default_rng(0).standard_normal((POINTS, len(self.frame) - 1))
        weights = np.full(POINTS // 2, 2 / POINTS)
        halves = []
        for part in (points[::2], points[1::2]):
            total = np.zeros((self.own,) * 4)
            for x, mass in zip(nodes, masses, strict=True):
                labels = self.labels(np.array([x]), part)[0]
                total += mass * _threshold_product(labels, part[:, : self.own], weights)
            halves.append(total)
        error = float(np.abs(halves[0] - halves[1]).max()) / math.sqrt(2)
        return (halves[0] + halves[1]) / 2, error, f"Monte Carlo, {POINTS} points"

    def labels(
        self, x: Float[np.ndarray, " x"], points: Float[np.ndarray, "points others"]
    ) -> Float[np.ndarray, "x points"]:
        """The labels at h_U = x and the points of the other directions."""
        whole = np.empty((len(x), len(points), len(self.frame)))
        whole[:, :, 0] = x[:, None]
        whole[:, :, 1:] = points
        return self.block(whole @ self.frame)

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
        points = _threshold_points(len(self.frame) - 1)
        labels = np.round(self.labels(Z, points), 9)
        mass = np.exp(-(Z**2) / 2)[:, None] / len(points)
        order = np.argsort(labels, axis=None)
        share = np.cumsum(np.broadcast_to(mass, labels.shape).ravel()[order])
        quantiles = np.arange(1, CELLS) / CELLS
        edges = np.unique(np.interp(quantiles, share / share[-1], labels.ravel()[order]))
        cell = np.searchsorted(edges, labels)
        place = cell * len(Z) + np.arange(len(Z))[:, None]
        table = np.bincount(place.ravel(), minlength=CELLS * len(Z)) / len(points)
        return table.reshape(CELLS, len(Z))


def _threshold_product(
    labels: Float[np.ndarray, " points"],
    own: Float[np.ndarray, "points n"],
    weights: Float[np.ndarray, " points"],
) -> Float[np.ndarray, "n n n n"]:
    """E[G_ij G_kl] over the values of the label, of which there may be finitely many.

    Times the total weight of the points.
    """
    values, which = np.unique(np.round(labels, 9), return_inverse=True)
    if len(values) > MAX_CLASSES:
        raise _ContinuousLabel
    second = own[:, :, None] * own[:, None, :] - np.eye(own.shape[1])
    total = np.zeros((own.shape[1],) * 4)
    for value in range(len(values)):
        inside = weights * (which == value)
        if inside.sum() > 0:
            moment = np.tensordot(inside, second, axes=(0, 0))
            total += np.multiply.outer(moment, moment) / inside.sum()
    return total


def _threshold_points(axes: int) -> Float[np.ndarray, "points axes"]:
    """Points that are equally likely: a product of quantiles on few axes, random on more."""
    from scipy.special import ndtri

    if axes > MAX_OTHERS:
        return np.random.default_rng(0).standard_normal((COARSE, axes))
    count = round(COARSE ** (1 / axes))
    line = ndtri((np.arange(count) + 0.5) / count)
    return np.stack(np.meshgrid(*[line] * axes, indexing="ij"), axis=-1).reshape(-1, axes)


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


#: Relative error of the integral over labels and the mean direction.
_ACCURACY = 1e-6


def specialised_threshold(target: Target, directions: Rows, noise: float) -> LaterThreshold | None:
    r"""The threshold of a stair that is all differences between the units of a committee.

    .. math:: \\alpha\\, E[\\gamma(y, \\omega_0)^2] = 1

    on the branch where only the mean direction is known, in part: see
    :func:`~giantstep.theory.amp.committees.specialisation.specialisation`. None for
    other targets and stairs.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r.
    Status: theorem for message passing.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> rows = np.array([[1.0, -1.0]]) / np.sqrt(2)
    >>> text = "(relu(h1) + relu(h2))/sqrt(2)"
    >>> round(specialised_threshold(Target(text), rows, 0.1).alpha.value, 4)
    2.2515
    """
    # The channel of a committee needs JAX, which other targets do without.
    from giantstep.channels.committees.core import committee_with_channel
    from giantstep.theory.amp.committees.specialisation import specialisation

    differences = len(directions) == target.rank - 1 and np.allclose(directions.sum(axis=1), 0.0)
    if not differences:
        return None
    try:
        covered = committee_with_channel(target, noise)
    except TargetError:
        return None
    if covered is None or covered.altered:
        return None
    found = specialisation(covered.committee).samples_ratio
    if not math.isfinite(found):
        return None
    method = "the branch on which all units are alike"
    return LaterThreshold(Estimate(found, _ACCURACY * found, method))
