"""All fixed points of state evolution at once, where the overlap is one number times I."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.theory.message_passing.averages.overlaps import EDGE, logistic, logit
from giantstep.theory.message_passing.averages.population import Population

#: Spacing of the scan in log(m / (1 - m)): two fixed points that are closer can be missed.
_SPACING = 0.2
#: Under noise averages cost more and overlaps never get that close to 1.
_NOISY_SPACING, _NOISY_EDGE = 0.4, 1e-5
_REFINEMENTS = 60


@dataclass(frozen=True, eq=False)
class Curve:
    """The ratio n/d at which an overlap m I is a fixed point, for every m.

    m = alpha f / (1 + alpha f), with E[g_out g_out^T] = f(m) I, holds at
    alpha(m) = m / ((1 - m) f(m)). Where alpha(m) < alpha the overlap grows, elsewhere it shrinks.
    """

    population: Population
    overlaps: Float[np.ndarray, " k"]
    fisher: Float[np.ndarray, " k"]

    @property
    def samples_ratios(self) -> Float[np.ndarray, " k"]:
        """alpha(m) at each of the overlaps."""
        return self.overlaps / ((1 - self.overlaps) * self.fisher)

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
        from scipy.optimize import brentq

        ends = logit(self.overlaps[[left, right]])
        gap = lambda t: np.log(self.samples_ratio(logistic(t)) / samples_ratio)  # noqa: E731
        if gap(ends[0]) >= 0:
            return float(self.overlaps[left])
        if gap(ends[1]) <= 0:
            return float(self.overlaps[right])
        return logistic(brentq(gap, *ends, xtol=1e-11, maxiter=_REFINEMENTS))


@functools.lru_cache(maxsize=64)
def curve_of(population: Population) -> Curve:
    """The fixed points of a population whose overlap stays a multiple of I.

    Assumes: as :func:`giantstep.theory.message_passing.state_evolution.state_evolution`.
    Status: theorem.
    References: Barbier et al. 2017, arXiv:1708.03395.

    >>> from giantstep.channels import channel_for
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.message_passing.averages.population import population_of
    >>> linear = curve_of(population_of(channel_for(Problem.of("h1", noise=0.25))))
    >>> round(linear.first(1.0), 6)
    0.609612
    """
    noisy = population.channel.kind == "quadrature"
    spacing, edge = (_NOISY_SPACING, _NOISY_EDGE) if noisy else (_SPACING, EDGE)
    reach = np.log((1 - edge) / edge)
    t = np.linspace(-reach, reach, 2 * int(np.ceil(reach / spacing)) + 1)
    overlaps = 1 / (1 + np.exp(-t))
    fishers = population.fisher(overlaps[:, None, None] * np.eye(population.channel.rank))
    return Curve(population, overlaps, np.maximum(fishers[:, 0, 0], 1e-300))
