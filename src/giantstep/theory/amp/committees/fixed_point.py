"""The fixed points of a committee: the specialised ones as a curve in q-, and which is reached."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from giantstep.errors import NoTheory
from giantstep.language.targets.symmetry import Committee
from giantstep.settings.amp import Amp
from giantstep.theory.amp.committees.averages import (
    Points,
    UnitAverages,
    averages,
    committee_evolution_points,
    mean_averages,
    unspecialised_overlap,
)
from giantstep.theory.amp.committees.specialisation import specialisation

#: The scan in log(q-/(1 - q-)).
SCAN = np.arange(-3.5, 5.01, 0.5)
#: How closely q+ follows q-, and a fixed point its equations, in log(q/(1 - q)).
_CLOSE, _TOLERANCE = 1e-4, 1e-6
_SECANTS, _STEPS = 12, 14
#: Step of the differences that give a first Jacobian, and the longest step of Newton's method.
_DIFFERENCE, _TRUST = 0.05, 1.0


class Point(NamedTuple):
    """A fixed point (q-, q+), the n/d it belongs to, and its averages."""

    q_minus: float
    q_plus: float
    samples_ratio: float
    averages: UnitAverages

    @property
    def coordinates(self) -> Float[np.ndarray, "2"]:
        """log(q/(1 - q)) of both."""
        return logit(np.array([self.q_minus, self.q_plus]))


class OverlapBranch:
    """All specialised fixed points of a committee, by one rule of averages.

    Points are computed when asked for, each from its neighbour.
    """

    def __init__(self, committee: Committee, points: Points) -> None:
        self.committee, self.points = committee, points
        self._known: dict[float, Point] = {}
        self._even = committee.is_even

    def averages(self, at: Float[np.ndarray, "2"]) -> UnitAverages:
        """The averages at log(q-/(1 - q-)), log(q+/(1 - q+))."""
        minus, plus = (float(expit(t)) for t in at)
        found = averages(self.committee, minus, minus if self._even else plus, self.points)
        if not self._even:
            return found
        # By the signs of the directions both are equal; their mean over directions is the better.
        rank = self.committee.rank
        both = (found.plus + (rank - 1) * found.minus) / rank
        return found._replace(plus=both, minus=both)

    def point(self, q_minus: float) -> Point:
        r"""The fixed point with this q-.

        .. math::
            \frac{q_+}{(1 - q_+) E_+} = \frac{q_-}{(1 - q_-) E_-} = \alpha

        Assumes: isotropic Gaussian inputs, d to infinity at fixed r, overlaps symmetric in units.
        Status: theorem.
        References: Aubin et al. 2018, arXiv:1806.05451.
        """
        t = float(logit(q_minus))
        key = round(t, 9)
        if key not in self._known:
            self._known[key] = self._solved(t)
        return self._known[key]

    def _solved(self, t: float) -> Point:
        if self._even:
            found = self.averages(np.array([t, t]))
            q = float(expit(t))
            return Point(q, q, q / ((1 - q) * found.minus), found)
        plus, before = self._guess(t), None
        for _ in range(_SECANTS):
            found = self.averages(np.array([t, plus]))
            gap = plus - t - float(np.log(found.plus / found.minus))
            if abs(gap) < _CLOSE:
                ratio = np.exp(t) / found.minus
                return Point(float(expit(t)), float(expit(plus)), float(ratio), found)
            slope = 1.0 if before is None else (gap - before[1]) / (plus - before[0])
            before = (plus, gap)
            plus -= float(np.clip(gap / (slope if slope > 0.1 else 1.0), -2.0, 2.0))
        raise NoTheory(
            f"link = {self.committee.link.text!r}: no fixed point was found with q- = "
            f"{expit(t):.3g}; other numbers of samples may work"
        )

    def _guess(self, t: float) -> float:
        """log(q+/(1 - q+)) from the neighbours, or from where the branch begins."""
        if len(self._known) > 1:
            near = sorted(self._known, key=lambda other: abs(other - t))[:2]
            (a, b), (fa, fb) = near, (float(self._known[n].coordinates[1]) for n in near)
            return fa + (fb - fa) / (b - a) * (t - a) if abs(t - a) < 1.1 else fa
        if self._known:
            return float(next(iter(self._known.values())).coordinates[1])
        overlap = specialisation(self.committee).mean_overlap
        return float(logit(np.clip(overlap, 0.05, 1 - 1e-6)))

    def scan(self) -> Iterator[Point]:
        """Points with growing q-."""
        for t in SCAN:
            yield self.point(expit(float(t)))

    def jacobian(self, at: Float[np.ndarray, "2"]) -> Float[np.ndarray, "2 2"]:
        """Of the equations log(q/(1 - q)) - log(alpha E), by differences."""
        here = self._gains(at)
        columns = []
        for axis in range(2):
            moved = at + _DIFFERENCE * np.eye(2)[axis]
            columns.append((self._gains(moved) - here) / _DIFFERENCE)
        return np.eye(2) - np.array(columns).T

    def _gains(self, at: np.ndarray) -> np.ndarray:
        found = self.averages(at)
        return np.log([found.minus, found.plus])

    def solved(
        self, samples_ratio: float, at: Float[np.ndarray, "2"], slopes: Float[np.ndarray, "2 2"]
    ) -> tuple[Point, Float[np.ndarray, "2 2"]]:
        """The fixed point at this n/d close to ``at``, by Broyden's method; its last Jacobian."""
        jacobian, before = slopes.copy(), None
        for _ in range(_STEPS):
            found = self.averages(at)
            residual = at - np.log(samples_ratio * np.array([found.minus, found.plus]))
            if before is not None:
                step, old = before
                jacobian += np.outer(residual - old - jacobian @ step, step) / (step @ step)
            if np.abs(residual).max() < _TOLERANCE:
                minus, plus = (float(expit(t)) for t in at)
                return Point(minus, plus, samples_ratio, found), jacobian
            step = -np.linalg.solve(jacobian, residual)
            step *= min(1.0, _TRUST / max(float(np.abs(step).max()), 1e-300))
            before, at = (step, residual), at + step
        raise NoTheory(
            f"samples = {samples_ratio:g}d: state evolution found no stable fixed point of the "
            "committee; further from a transition it will"
        )


@functools.lru_cache(maxsize=32)
def committee_overlap_branch(committee: Committee, share: int = 1, seed: int = 0) -> OverlapBranch:
    """The branch by one of ``share`` points of the rule; the same object for the same question."""
    return OverlapBranch(committee, committee_evolution_points(committee.rank, share, seed))


#: Dimension for which iterations are counted where none is given.
DIM = 1000
#: A first look takes one of this many points.
_LOOK = {2: 4, 3: 4, 4: 8, 5: 8}
_LOOK_BEYOND = 4
#: The step of the difference that gives the rate along the mean.
_SHIFT = 1e-3


@dataclass(frozen=True, eq=False)
class CommitteeOverlap:
    """A fixed point of state evolution, M = q- I + (q+ - q-)/r 11^T.

    ``rate`` is the factor by which distances to it shrink at each iteration. ``other`` is the
    point as another rule of averages gives it, which tells the error; None where none is left.
    """

    committee: Committee
    q_minus: float
    q_plus: float
    samples_ratio: float
    averages: UnitAverages
    rate: float
    other: CommitteeOverlap | None = None

    @property
    def matrix(self) -> Float[np.ndarray, "r r"]:
        """The overlap M."""
        rank = self.committee.rank
        return self.q_minus * np.eye(rank) + (self.q_plus - self.q_minus) / rank

    @property
    def is_specialised(self) -> bool:
        """Whether units differ."""
        return self.q_minus > 0

    def moved(self, by: float, beyond: float) -> CommitteeOverlap:
        """Where the point goes, to first order, if log(n/d) changes, and ``beyond``."""
        shift = by / max(1 - self.rate, 1e-3)
        both = (self.q_minus, self.q_plus)
        minus, plus = (
            min(float(expit(logit(q) + shift)) + beyond, 1.0) if q > 0 else beyond for q in both
        )
        return dataclasses.replace(self, q_minus=minus, q_plus=plus)

    def iterations(self, settings: Amp) -> float:
        """A heuristic count: q- grows out of 1/d, then the fixed point is approached, twice."""
        damping = settings.damping_for(self.committee.rank)
        slower = damping + (1 - damping) * min(max(self.rate, 0.05), 1 - 1e-6)
        approach = -2 * math.log(settings.tolerance) / -math.log(slower)
        if not self.is_specialised or settings.start == "informed":
            return float(approach)
        leaves = specialisation(self.committee).samples_ratio
        growth = (1 - damping) * (self.samples_ratio / leaves - 1)
        passage = math.log((settings.dim or DIM) * self.q_minus) / math.log1p(max(growth, 1e-3))
        return float(approach + max(passage, 0.0))


@functools.lru_cache(maxsize=256)
def committee_overlap(
    committee: Committee, samples_ratio: float, start: str = "uninformed"
) -> CommitteeOverlap:
    r"""The overlap (q-, q+) that message passing reaches with n = alpha d samples.

    .. math::
        q_\pm = \frac{\alpha E_\pm}{1 + \alpha E_\pm}, \qquad
        E_+ = \tfrac1r E\big[(\textstyle\sum_i g_i)^2\big], \quad
        E_- = \tfrac1{r-1} \big(E[\textstyle\sum_i g_i^2] - E_+\big), \quad g = g_{out}

    From an uninformed start units stay alike up to the threshold of specialisation; beyond it
    the overlap grows to the smallest q- at which alpha(q-) = alpha. From an informed one it is the
    largest. Those values lie on a curve in q-, which nothing needs to be iterated for.

    Symbols: alpha ``samples_ratio``; the branch is that from ``start``.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r, overlaps symmetric in the units.
    Status: theorem for message passing; replica for the informed branch.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> found = committee_overlap(committee, 5.0)
    >>> round(found.q_minus, 2), round(found.q_plus, 2)
    (0.19, 0.93)
    """
    leaves = specialisation(committee).samples_ratio
    look = committee_overlap_branch(committee, _LOOK.get(committee.rank, _LOOK_BEYOND))
    if start == "informed":
        near = last_specialised(look, samples_ratio)
    else:
        near = first_specialised(look, samples_ratio, leaves) if samples_ratio > leaves else None
    if near is None:
        return _unspecialised(committee, samples_ratio)
    slopes = look.jacobian(near)
    branch = committee_overlap_branch(committee)
    point, slopes = branch.solved(samples_ratio, near, slopes)
    rate = float(np.linalg.eigvals(np.eye(2) - slopes).real.max())
    # The fixed point by another rule, to first order: one step of Newton's method.
    share, seed = (2, 0) if committee.rank <= 3 else (1, 1)
    others = committee_overlap_branch(committee, share, seed).averages(point.coordinates)
    gains = np.log(samples_ratio * np.array([others.minus, others.plus]))
    moved = point.coordinates - np.linalg.solve(slopes, point.coordinates - gains)
    minus, plus = (float(expit(t)) for t in moved)
    other = CommitteeOverlap(committee, minus, plus, samples_ratio, others, rate)
    return CommitteeOverlap(committee, *point, rate, other)


def _unspecialised(committee: Committee, samples_ratio: float) -> CommitteeOverlap:
    q = unspecialised_overlap(committee, samples_ratio)
    here = mean_averages(committee, q)
    rates = [samples_ratio * here.growth]
    if q > 0:
        t = float(logit(q))
        up = mean_averages(committee, expit(t + _SHIFT)).fisher
        rates.append(float(np.log(up / here.fisher)) / _SHIFT)
    found = UnitAverages(here.fisher, 0.0, here.log_partition, here.explained)
    return CommitteeOverlap(committee, 0.0, q, samples_ratio, found, max(rates))


def first_specialised(
    branch: OverlapBranch, samples_ratio: float, leaves: float
) -> Float[np.ndarray, "2"]:
    """Coordinates of the specialised point reached from below, where alpha(q-) first reaches alpha.

    Symbols: the alpha at which q- leaves zero, ``leaves``.
    """
    before: Point | None = None
    for point in branch.scan():
        if point.samples_ratio >= samples_ratio:
            if before is None:
                # Between zero and the first point alpha(q-) is nearly linear in q-.
                share = (samples_ratio - leaves) / max(point.samples_ratio - leaves, 1e-300)
                first = logit(np.clip(share * point.q_minus, 1e-6, point.q_minus))
                return np.array([float(first), point.coordinates[1]])
            return _overlap_between(before, point, samples_ratio)
        before = point
    raise _almost_perfect(samples_ratio, before)


def last_specialised(branch: OverlapBranch, samples_ratio: float) -> Float[np.ndarray, "2"] | None:
    """Coordinates of the specialised point reached from above; None if there is none."""
    known = list(branch.scan())
    if known[-1].samples_ratio <= samples_ratio:
        raise _almost_perfect(samples_ratio, known[-1])
    for below, above in reversed(list(itertools.pairwise(known))):
        if below.samples_ratio <= samples_ratio:
            return _overlap_between(below, above, samples_ratio)
    return None


def _almost_perfect(samples_ratio: float, last: Point | None) -> NoTheory:
    return NoTheory(
        f"samples = {samples_ratio:g}d: the units of the committee are known almost perfectly, and "
        f"averages lose their accuracy; up to about {last.samples_ratio if last else 0:.3g}d "
        "is covered"
    )


def _overlap_between(below: Point, above: Point, samples_ratio: float) -> Float[np.ndarray, "2"]:
    """Interpolated in log alpha."""
    low, high = np.log([below.samples_ratio, above.samples_ratio])
    share = (np.log(samples_ratio) - low) / (high - low)
    return below.coordinates + share * (above.coordinates - below.coordinates)
