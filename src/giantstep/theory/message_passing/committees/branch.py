"""The specialised branch of a committee, as a curve in q-: which n/d each overlap belongs to."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.targets.committee import Committee
from giantstep.theory.message_passing.averages.overlaps import logistic, logit
from giantstep.theory.message_passing.committees.averages import Averages, Rule, averages, rule
from giantstep.theory.message_passing.committees.specialisation import specialisation

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
    averages: Averages

    @property
    def coordinates(self) -> Float[np.ndarray, "2"]:
        """log(q/(1 - q)) of both."""
        return logit(np.array([self.q_minus, self.q_plus]))


class Branch:
    """All specialised fixed points of a committee, by one rule of averages.

    Points are computed when asked for, each from its neighbour.
    """

    def __init__(self, committee: Committee, points: Rule) -> None:
        self.committee, self.points = committee, points
        self._known: dict[float, Point] = {}
        self._even = committee.is_even

    def averages(self, at: Float[np.ndarray, "2"]) -> Averages:
        """The averages at log(q-/(1 - q-)), log(q+/(1 - q+))."""
        minus, plus = (logistic(t) for t in at)
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
            q = logistic(t)
            return Point(q, q, q / ((1 - q) * found.minus), found)
        plus, before = self._guess(t), None
        for _ in range(_SECANTS):
            found = self.averages(np.array([t, plus]))
            gap = plus - t - float(np.log(found.plus / found.minus))
            if abs(gap) < _CLOSE:
                ratio = np.exp(t) / found.minus
                return Point(logistic(t), logistic(plus), float(ratio), found)
            slope = 1.0 if before is None else (gap - before[1]) / (plus - before[0])
            before = (plus, gap)
            plus -= float(np.clip(gap / (slope if slope > 0.1 else 1.0), -2.0, 2.0))
        raise NoTheory(
            f"link = {self.committee.link.text!r}: no fixed point was found with q- = "
            f"{logistic(t):.3g}; other numbers of samples may work"
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
            yield self.point(logistic(float(t)))

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
                minus, plus = (logistic(t) for t in at)
                return Point(minus, plus, samples_ratio, found), jacobian
            step = -np.linalg.solve(jacobian, residual)
            step *= min(1.0, _TRUST / max(float(np.abs(step).max()), 1e-300))
            before, at = (step, residual), at + step
        raise NoTheory(
            f"samples = {samples_ratio:g}d: state evolution found no stable fixed point of the "
            "committee; further from a transition it will"
        )


@functools.lru_cache(maxsize=32)
def branch_of(committee: Committee, share: int = 1, seed: int = 0) -> Branch:
    """The branch by one of ``share`` points of the rule; the same object for the same question."""
    return Branch(committee, rule(committee.rank, share, seed))
