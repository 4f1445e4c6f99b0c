"""All fixed points of state evolution at once, where the overlap is one number times I."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.channels.channel import Channel
from giantstep.theory.message_passing.averages.population import Population, population_of

#: Overlaps closer than this to 0 or 1 are taken for 0 or 1.
EDGE = 1e-7
#: Spacing of the scan in log(m / (1 - m)): two fixed points that are closer can be missed.
_SPACING = 0.2
#: Under noise averages cost more and overlaps never get that close to 1.
_NOISY_SPACING, _NOISY_EDGE = 0.4, 1e-5
_REFINEMENTS = 60


@dataclass(frozen=True, eq=False)
class Curve:
    """The samples per dimension at which an overlap m I is a fixed point, for every m.

    m = alpha f / (1 + alpha f), with E[g_out g_out^T] = f(m) I, holds at
    alpha(m) = m / ((1 - m) f(m)). Where alpha(m) < alpha the overlap grows, elsewhere it shrinks.
    """

    population: Population
    overlaps: Float[np.ndarray, " k"]
    fisher: Float[np.ndarray, " k"]

    @property
    def alphas(self) -> Float[np.ndarray, " k"]:
        """alpha at each of the overlaps."""
        return self.overlaps / ((1 - self.overlaps) * self.fisher)

    def alpha(self, overlap: float) -> float:
        """alpha at one overlap."""
        rank = self.population.channel.rank
        fisher = self.population.fisher(overlap * np.eye(rank))[0, 0]
        return float(overlap / ((1 - overlap) * max(fisher, 1e-300)))

    def first(self, alpha: float) -> float:
        """The overlap reached from below: the smallest m at which alpha(m) reaches alpha."""
        beyond = np.flatnonzero(self.alphas >= alpha).tolist()
        if not len(beyond):
            return 1.0
        return 0.0 if beyond[0] == 0 else self._between(beyond[0] - 1, beyond[0], alpha)

    def last(self, alpha: float) -> float:
        """The overlap reached from above: the largest m from which growth has stopped."""
        below = np.flatnonzero(self.alphas <= alpha).tolist()
        if not len(below):
            return 0.0
        last = below[-1]
        return 1.0 if last == len(self.alphas) - 1 else self._between(last, last + 1, alpha)

    def _between(self, left: int, right: int, alpha: float) -> float:
        """The crossing of alpha between two neighbouring overlaps of the scan."""
        from scipy.optimize import brentq

        ends = np.log(self.overlaps[[left, right]] / (1 - self.overlaps[[left, right]]))
        gap = lambda t: np.log(self.alpha(_logistic(t)) / alpha)  # noqa: E731
        if gap(ends[0]) >= 0:
            return float(self.overlaps[left])
        return float(_logistic(brentq(gap, *ends, xtol=1e-11, maxiter=_REFINEMENTS)))


def _logistic(t: float) -> float:
    return float(1 / (1 + np.exp(-t)))


@functools.lru_cache(maxsize=64)
def curve_of(channel: Channel) -> Curve:
    """The fixed points of a channel whose overlap stays a multiple of I."""
    population = population_of(channel)
    noisy = channel.kind == "quadrature"
    spacing, edge = (_NOISY_SPACING, _NOISY_EDGE) if noisy else (_SPACING, EDGE)
    reach = np.log((1 - edge) / edge)
    t = np.linspace(-reach, reach, 2 * int(np.ceil(reach / spacing)) + 1)
    overlaps = 1 / (1 + np.exp(-t))
    fishers = population.fisher(overlaps[:, None, None] * np.eye(channel.rank))
    return Curve(population, overlaps, np.maximum(fishers[:, 0, 0], 1e-300))
