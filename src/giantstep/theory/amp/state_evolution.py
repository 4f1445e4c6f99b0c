"""State evolution: the overlap that Bayes-optimal message passing reaches as d goes to infinity."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_moments
from giantstep.language.targets.symmetry import target_invariant_basis
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.amp.averages.overlaps import EDGE, Overlap, overlap_inside
from giantstep.theory.amp.averages.population import (
    Population,
    check_exchangeable,
    population_of,
)
from giantstep.theory.amp.fixed_points import START, Rest, settle_amp_overlap

#: Spacing of the scan in log(m / (1 - m)): two fixed points that are closer can be missed.
_SPACING = 0.2
#: Under noise averages cost more and overlaps never get that close to 1.
_NOISY_SPACING, _NOISY_EDGE = 0.4, 1e-5
#: Relative changes of alpha(m) from point to point below this are rounding, no maxima or minima.
_ROUNDING = 1e-7


@dataclass(frozen=True, eq=False)
class OverlapCurve:
    """The ratio n/d at which an overlap m I is a fixed point, for every m.

    m = alpha f / (1 + alpha f), with E[g_out g_out^T] = f(m) I, holds at
    alpha(m) = m / ((1 - m) f(m)). Where alpha(m) < alpha the overlap grows, elsewhere it shrinks.
    The maxima and minima of alpha(m) are among the overlaps: between two of them it is monotone.
    """

    population: Population
    overlaps: Float[np.ndarray, " k"]
    fisher: Float[np.ndarray, " k"]

    @property
    def samples_ratios(self) -> Float[np.ndarray, " k"]:
        """alpha(m) at each of the overlaps."""
        return self.overlaps / ((1 - self.overlaps) * self.fisher)

    @property
    def peaks(self) -> list[int]:
        """Where alpha(m) begins to fall: the first point too, where it falls from there."""
        rising = np.diff(np.log(self.samples_ratios), prepend=-np.inf, append=np.inf) > 0
        return np.flatnonzero(rising[:-1] & ~rising[1:]).tolist()

    def samples_ratio(self, overlap: float) -> float:
        """alpha(m) at one overlap."""
        rank = self.population.channel.rank
        fisher = self.population.fisher(overlap * np.eye(rank))[0, 0]
        return float(overlap / ((1 - overlap) * max(fisher, 1e-300)))

    def first(self, samples_ratio: float) -> float:
        """The overlap reached from below: the smallest m at which alpha(m) reaches alpha."""
        beyond = np.flatnonzero(self.samples_ratios >= samples_ratio).tolist()
        if not len(beyond):
            return 1.0
        if beyond[0] == 0:
            return 0.0
        return self._between(beyond[0] - 1, beyond[0], samples_ratio)

    def last(self, samples_ratio: float) -> float:
        """The overlap reached from above: the largest m from which growth has stopped."""
        below = np.flatnonzero(self.samples_ratios <= samples_ratio).tolist()
        if not len(below):
            return 0.0
        last = below[-1]
        at_end = last == len(self.overlaps) - 1
        return 1.0 if at_end else self._between(last, last + 1, samples_ratio)

    def _between(self, left: int, right: int, samples_ratio: float) -> float:
        """The crossing of alpha between two neighbouring overlaps of the scan."""

        def gap(t: float) -> float:
            return float(np.log(self.samples_ratio(expit(t)) / samples_ratio))

        low, high = (float(end) for end in logit(self.overlaps[[left, right]]))
        found = bracketed_root(gap, low, high, absolute=1e-11)
        # The scan can differ from single points in the last digits: the crossing is at an end then.
        end = left if gap(low) >= 0 else right
        return float(expit(found.value) if found.converged else self.overlaps[end])

    def _turn(self, k: int, sign: float) -> tuple[float, float]:
        """The overlap and alpha of the maximum (sign -1) or minimum (sign 1) next to point k."""
        from scipy.optimize import minimize_scalar

        best = minimize_scalar(
            lambda t: sign * self.samples_ratio(expit(t)),
            bounds=tuple(logit(self.overlaps[[k - 1, k + 1]])),
            method="bounded",
            options={"xatol": 1e-5},
        )
        return float(expit(best.x)), float(sign * best.fun)


@functools.lru_cache(maxsize=64)
def fixed_point_curve(population: Population) -> OverlapCurve:
    """The fixed points of a population whose overlap stays a multiple of I.

    Assumes: as :func:`giantstep.theory.amp.state_evolution.state_evolution`.
    Status: theorem.
    References: Barbier et al. 2017, arXiv:1708.03395.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.averages.population import population_of
    >>> linear = fixed_point_curve(population_of(Problem.of("h1", noise=0.25)))
    >>> round(linear.first(1.0), 6)
    0.609612
    """
    noisy = population.channel.kind == "quadrature"
    spacing, edge = (_NOISY_SPACING, _NOISY_EDGE) if noisy else (_SPACING, EDGE)
    reach = np.log((1 - edge) / edge)
    t = np.linspace(-reach, reach, 2 * int(np.ceil(reach / spacing)) + 1)
    overlaps = 1 / (1 + np.exp(-t))
    fishers = population.fisher(overlaps[:, None, None] * np.eye(population.channel.rank))
    scan = OverlapCurve(population, overlaps, np.maximum(fishers[:, 0, 0], 1e-300))
    rises = np.diff(np.log(scan.samples_ratios))
    slopes = np.where(np.abs(rises) > _ROUNDING, np.sign(rises), 0.0)
    turns = (np.flatnonzero(slopes[1:] * slopes[:-1] < 0) + 1).tolist()
    found = np.array([scan._turn(k, float(slopes[k])) for k in turns]).reshape(-1, 2)
    overlaps = np.concatenate([overlaps, found[:, 0]])
    fisher = np.concatenate([scan.fisher, found[:, 0] / ((1 - found[:, 0]) * found[:, 1])])
    order = np.argsort(overlaps)
    return OverlapCurve(population, overlaps[order], fisher[order])


REFERENCES = (
    "Troiani et al. 2024, arXiv:2405.15480",
    "Aubin et al. 2018, arXiv:1806.05451",
    "Barbier et al. 2017, arXiv:1708.03395",
)
#: An informed start knows all but this.
_UNKNOWN = 1e-3


@dataclass(frozen=True, eq=False)
class FixedOverlap:
    """A fixed point M of state evolution; ``converged`` is False if it was not reached.

    ``rest`` tells how it was reached, where the overlap is a matrix; with one number the curve of
    all fixed points gives it directly.
    """

    overlap: Overlap
    samples_ratio: float
    start: str
    converged: bool
    population: Population
    rest: Rest | None = None

    @property
    def test_error(self) -> float:
        """E(g - E[y | omega])^2: the error of the posterior mean, label noise not counted."""
        target = self.population.channel.structure.target
        explained = float(self.population.explained(overlap_inside(self.overlap)))
        return max(target_moments(target).second_moment - explained, 0.0)


def state_evolution(
    problem: Problem,
    samples_ratio: float,
    start: str = "uninformed",
    near: FixedOverlap | None = None,
) -> FixedOverlap:
    r"""The overlap M = W_hat^T W* / d at the fixed point of message passing with n = alpha d.

    .. math::
        \hat M = \alpha\, E[g_{out} g_{out}^\top], \qquad M \leftarrow \hat M (I + \hat M)^{-1},

    with omega ~ N(0, M), h = omega + N(0, I - M) and y ~ P(. | h) in the average.

    Symbols: alpha ``samples_ratio``; the branch is that from ``start``: "uninformed" (M close to
    0), "informed" (M close to I) or "zero" (M = 0 exactly, which even targets never leave).
    ``near`` is a fixed point of the same branch at a smaller alpha (informed: a larger one) to
    begin from.

    Assumes: isotropic Gaussian inputs, d to infinity with n/d and r <= 3 fixed, the target and the
    noise known to the algorithm.
    Status: theorem for message passing; replica for the informed branch.
    References: Aubin et al. 2018, arXiv:1806.05451; Barbier et al. 2017, arXiv:1708.03395; Troiani
    et al. 2024, arXiv:2405.15480.

    >>> found = state_evolution(Problem.of("sign(h1)"), 2.0)
    >>> round(float(found.overlap[0, 0]), 6), found.converged
    (0.728298, True)
    """
    alpha = float(samples_ratio)
    if not (np.isfinite(alpha) and alpha > 0):
        raise SettingsError(f"samples_ratio = {alpha!r} (n/d) must be positive and finite")
    check_exchangeable(problem, "message passing is predicted")
    population = population_of(problem)
    if start not in ("uninformed", "informed", "zero"):
        raise SettingsError(f"start = {start!r} is unknown: use uninformed, informed or zero")
    rank = population.channel.rank
    if start == "zero" and population.is_blind:
        return FixedOverlap(np.zeros((rank, rank)), alpha, start, True, population)
    basis = target_invariant_basis(problem.target)
    if len(basis) == 1:
        curve = fixed_point_curve(population)
        overlap = curve.last(alpha) if start == "informed" else curve.first(alpha)
        return FixedOverlap(overlap * np.eye(rank), alpha, start, True, population)
    if near is not None and near.converged:
        first = overlap_inside(near.overlap, START)
    else:
        first = (1 - _UNKNOWN if start == "informed" else START) * np.eye(rank)
    rest = settle_amp_overlap(population, alpha, first, basis, upward=start != "informed")
    return FixedOverlap(rest.overlap, alpha, start, rest.converged, population, rest)


def settled_overlap(found: FixedOverlap) -> FixedOverlap:
    """The fixed point as it was given; raises NoTheory if it was not reached.

    Assumes: as :func:`state_evolution`.
    Status: theorem for message passing; replica for the informed branch.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> settled_overlap(state_evolution(Problem.of("h1", noise=0.25), 1.0)).converged
    True
    """
    if not found.converged:
        steps = "" if found.rest is None else f" in {found.rest.steps} steps"
        raise NoTheory(
            f"samples = {found.samples_ratio:g}d: state evolution found no stable fixed point"
            f"{steps}; further from a transition, or with other label noise, it will"
        )
    return found
