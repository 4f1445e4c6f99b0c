"""Averages over labels and fields of a committee: at any (q-, q+); at q- = 0 by one integral."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from giantstep.channels.committees.fields import Fields, committee_label_partitions
from giantstep.channels.committees.sums import committee_label_sums
from giantstep.errors import NoTheory
from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.quadrature import gauss_hermite, normal_points, tensor_rule
from giantstep.numerics.solve import bracketed_root

#: Densities below this are dropped: it is above the error that the cut of frequencies leaves.
_RARE = 3e-7
#: Gauss rules for two and three units: nodes along the mean, across it, and on angles.
_TWO = (28, 32)
_THREE = (18, 10, 6)
#: Sobol points for more units; a quarter of them is a first look.
_FEW_UNITS, _SOBOL = 5, (1024, 512)


@dataclass(frozen=True, eq=False)
class Points:
    """Standard normal fields, split into their part along (1, .., 1)/sqrt(r) and the others."""

    mean: Float[np.ndarray, "n 1"]
    others: Float[np.ndarray, "n r"]
    weights: Float[np.ndarray, " n"]

    def fields(self, q_minus: float, q_plus: float) -> Float[np.ndarray, "n r"]:
        """omega ~ N(0, M), M with the eigenvalues q+ and q-."""
        along = self.mean / np.sqrt(self.others.shape[1])
        return np.sqrt(q_minus) * self.others + np.sqrt(q_plus) * along


@functools.lru_cache(maxsize=32)
def committee_evolution_points(rank: int, share: int = 1, seed: int = 0) -> Points:
    """The points of averages over the fields of r units; only one of ``share`` for a first look.

    Averages are symmetric in the units, so one of r! equal sectors will do: for two units the sign
    of the difference drops out, for three the plane of differences has six sectors.
    """
    if rank == 2:
        along, across = (max(8, count // share) for count in _TWO)
        y, wy = gauss_hermite(2 * (across // 2))
        half = y > 0
        product = tensor_rule([gauss_hermite(along), (y[half], 2 * wy[half])])
        mean, difference = np.split(product.nodes, 2, axis=1)
        others = difference * np.array([1.0, -1.0]) / np.sqrt(2)
        return Points(mean, others, product.weights)
    if rank == 3:
        # Gauss-Hermite along the mean, Gauss-Laguerre in the squared radius, even angles.
        along, radial, angular = (max(4, round(count / np.sqrt(share))) for count in _THREE)
        squares, wr = np.polynomial.laguerre.laggauss(radial)
        angles = (np.arange(angular) + 0.5) * np.pi / (3 * angular)
        even = np.full(angular, 1 / angular)
        product = tensor_rule([gauss_hermite(along), (np.sqrt(2 * squares), wr), (angles, even)])
        mean, radius, angle = np.split(product.nodes, 3, axis=1)
        first = np.array([1.0, -1.0, 0.0]) / np.sqrt(2)
        second = np.array([1.0, 1.0, -2.0]) / np.sqrt(6)
        others = radius * (np.cos(angle) * first + np.sin(angle) * second)
        return Points(mean, others, product.weights)
    # Sobol points with their first axis on the mean, and the second moments of the others exact:
    # where q- is small averages are linear in these, and the branch leaves exactly at the threshold
    # of specialisation.
    count = _SOBOL[0 if rank <= _FEW_UNITS else 1] // share
    points = normal_points(count, rank, np.random.default_rng(seed))
    frame = np.linalg.qr(np.column_stack([np.ones(rank), np.eye(rank)[:, 1:]]))[0][:, 1:]
    others = points[:, 1:] - points[:, 1:].mean(axis=0)
    values, vectors = np.linalg.eigh(others.T @ others / count)
    white = others @ (vectors / np.sqrt(values)) @ vectors.T
    return Points(points[:, :1], white @ frame.T, np.full(count, 1 / count))


class UnitAverages(NamedTuple):
    """E+ and E-, the eigenvalues of E[g_out g_out^T]; Psi = E[log Z]; E[E[y | omega]^2]."""

    plus: float
    minus: float
    log_partition: float
    explained: float


def averages(committee: Committee, q_minus: float, q_plus: float, points: Points) -> UnitAverages:
    """The averages that state evolution and the free entropy are made of."""
    sums, rank = committee_label_sums(committee), committee.rank
    fields = Fields(sums, 1 - q_minus, 1 - q_plus)
    omega = points.fields(q_minus, q_plus)
    total = np.zeros(4)
    for part, found in committee_label_partitions(fields, omega):
        safe = np.maximum(found.value, _RARE)
        mass = points.weights[part, None] * sums.weights
        seen = mass * (found.value > _RARE)
        total += [
            np.sum(seen * (found.gradient**2).sum(axis=1) / safe),
            np.sum(seen * found.gradient.sum(axis=1) ** 2 / safe),
            np.sum(seen * found.value * np.log(safe)),
            points.weights[part] @ (found.value @ (sums.weights * sums.labels)) ** 2,
        ]
    every, along, log_partition, explained = (float(value) for value in total)
    return UnitAverages(along / rank, (every - along / rank) / (rank - 1), log_partition, explained)


#: Points on omega_0, evenly up to this many standard deviations.
_POINTS, _WIDTH = 41, 6.5
#: Densities of labels below this are rounding.
_NOTHING = 1e-10
#: A label that tells less than this about the mean direction tells nothing.
_BLIND = 1e-9
#: Smallest overlap of the mean direction that is looked at where labels are blind to it.
_SMALL = 1e-4
#: Steps of the scans in log(q/(1 - q)), and where they end.
_STEP, _LAST = 1.0, 13.0


class Mean(NamedTuple):
    """Averages at q- = 0: E+ of the mean direction, E[gamma^2], Psi, and E[E[y | omega]^2]."""

    fisher: float
    growth: float
    log_partition: float
    explained: float


@functools.lru_cache(maxsize=512)
def mean_averages(committee: Committee, overlap: float) -> Mean:
    r"""Averages over labels when only the mean direction has an overlap q+.

    .. math::
        E_+ = \frac1r E\Big[\frac{(\partial_{\omega_0} Z)^2}{Z^2}\Big], \qquad
        1 + \gamma(y, \omega_0) = \frac1Z\,
        \mathrm{FT}\big[\phi^{r-2} (\phi_2 \phi - \phi_1^2)\big], \quad
        \phi_m = E[(h - \omega_0)^m e^{i k g(h) + i l (h - \omega_0)}],

    with omega_0 ~ N(0, q+/r) for every unit: one integral, whatever r. By Schur's lemma
    E[h h^T - I | y, omega_0] is gamma times the projector on the complement of (1, .., 1).

    Symbols: q+ ``overlap``.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + z1"))
    >>> found = mean_averages(committee, 0.5)
    >>> round(found.fisher, 5), round(found.growth, 5)
    (0.30629, 0.0177)
    """
    sums, rank = committee_label_sums(committee), committee.rank
    x = np.linspace(-_WIDTH, _WIDTH, _POINTS) if overlap > 0 else np.zeros(1)
    weights = np.exp(-(x**2) / 2)
    weights /= weights.sum()
    fields = Fields(sums, 1.0, 1.0 - overlap)
    phi = fields.phi(np.sqrt(overlap / rank) * x, second=True)
    assert phi.two is not None

    def density(values: np.ndarray) -> Float[np.ndarray, "x y"]:
        return ((values @ fields.masses) @ sums.matrix).real

    rest = phi.zero ** (rank - 2)
    z = density(rest * phi.zero**2)
    slope = rank * density(rest * phi.zero * fields.first_derivative(phi))
    second = density(rest * (phi.two * phi.zero - phi.one**2))
    seen, safe = z > _NOTHING, np.maximum(z, _NOTHING)
    mass = weights[:, None] * sums.weights * seen
    label_means = z @ (sums.weights * sums.labels)
    return Mean(
        float(np.sum(mass * slope**2 / safe)) / rank,
        float(np.sum(mass * z * (second / safe - 1) ** 2)),
        float(np.sum(mass * z * np.log(safe))),
        float(weights @ label_means**2),
    )


def unspecialised_ratio(committee: Committee, overlap: float) -> float:
    r"""The ratio n/d at which q+ is a fixed point with q- = 0.

    .. math:: \alpha(q_+) = \frac{q_+}{(1 - q_+)\, E_+(q_+)}

    Symbols: q+ ``overlap``.

    Assumes: as :func:`mean_averages`.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(unspecialised_ratio(committee, 0.702365), 5)
    1.5
    """
    return overlap / ((1 - overlap) * max(mean_averages(committee, overlap).fisher, 1e-300))


def is_blind(committee: Committee) -> bool:
    """Whether labels tell nothing about the mean direction when nothing is known."""
    return mean_averages(committee, 0.0).fisher < _BLIND


def unspecialised_overlap(committee: Committee, samples_ratio: float) -> float:
    r"""The overlap q+ of the mean direction that message passing reaches while units are alike.

    .. math:: q_+ = \frac{\alpha E_+(q_+)}{1 + \alpha E_+(q_+)}, \text{ the smallest}

    Symbols: alpha ``samples_ratio``.

    Assumes: as :func:`mean_averages`.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(unspecialised_overlap(committee, 1.5), 6)
    0.702365
    """

    def ahead(t: float) -> float:
        """log of the gain that q+ needs over the gain that it has: negative while q+ grows."""
        gain = samples_ratio * mean_averages(committee, expit(t)).fisher
        return t - np.log(max(gain, 1e-300))

    if is_blind(committee):
        low = float(logit(np.array(_SMALL)))
        if ahead(low) >= 0:
            return 0.0
    else:
        # The map increases with q+: its image of zero is below every fixed point.
        low = float(np.log(samples_ratio * mean_averages(committee, 0.0).fisher))
    high = low + _STEP
    while ahead(high) < 0:
        low, high = high, high + _STEP
        if high > _LAST:
            raise NoTheory(
                f"samples = {samples_ratio:g}d: the mean direction is known almost perfectly, and "
                "averages lose their accuracy; fewer samples or more noise are covered"
            )
    return float(expit(bracketed_root(ahead, low, high, absolute=1e-9).value))
