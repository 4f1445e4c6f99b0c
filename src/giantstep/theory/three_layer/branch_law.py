"""The law of a branch, a sum of many independent leaves, by its characteristic function."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Complex, Float

from giantstep.errors import NoTheory
from giantstep.language.targets import TreeTarget
from giantstep.numerics.hermite import normalised_hermite

#: Half the period of functions of a branch, and their highest frequency, in standard deviations.
#: A leaf of degree 3 passes 21 of them with probability 1e-7; tanh(6^0.5 u) has 1e-6 beyond 24.
HALF_PERIOD, HIGHEST = 30.0, 24.0
#: Functions of a branch are faded out beyond this share of half their period.
UNFADED = 0.7
#: Leaves are integrated on this grid: what lies outside has probability 1e-15.
LEAF_RANGE, LEAF_POINTS = 8.0, 8001
#: Points of a branch at which a function of it is read.
BRANCH_POINTS = 1 << 14
#: Hermite degrees of a leaf that are kept.
HIGHEST_DEGREE = 4


@dataclass(frozen=True, eq=False)
class BranchLaw:
    """u = leaves^{-1/2} sum_j a_j p(z_j) at frequencies t >= 0, averaged over the signs a.

    ``leaf[k]`` is E[exp(i s p(z)) He_k(z)]/sqrt(k!) at s = t/sqrt(leaves); ``slope`` is
    E[p(z) exp(i s p(z))]; ``spread`` the standard deviation of a branch.
    """

    leaves: int
    spread: float
    frequencies: Float[np.ndarray, " modes"]
    leaf: Complex[np.ndarray, "degrees modes"]
    slope: Complex[np.ndarray, " modes"]

    def up_to(self, share: float) -> BranchLaw:
        """The same law with that share of the frequencies, to see what the rest is worth."""
        kept = int(share * len(self.frequencies))
        cut = (self.frequencies[:kept], self.leaf[:, :kept], self.slope[:kept])
        return BranchLaw(self.leaves, self.spread, *cut)

    @property
    def points(self) -> Float[np.ndarray, " points"]:
        """Values of a branch at which functions of it are read: one period, from 0 on."""
        return _UNIT * HALF_PERIOD * self.spread

    def modes(self, function: Callable[[np.ndarray], np.ndarray]) -> Complex[np.ndarray, " modes"]:
        """Fourier coefficients of a function of u, faded out before the end of the period."""
        return np.fft.fft(function(self.points) * _FADE)[: len(self.frequencies)] / BRANCH_POINTS

    def weights(self, known: Complex[np.ndarray, " modes"]) -> Float[np.ndarray, " points"]:
        """Weights of the points for E[F(u) weight], with E[exp(itu) weight] at the frequencies."""
        waves = np.fft.fft(known, BRANCH_POINTS)
        return _FADE * (2 * waves - known[0]).real / BRANCH_POINTS

    def mean(
        self,
        function: Callable[[np.ndarray], np.ndarray],
        known: Complex[np.ndarray, " modes"] | None = None,
    ) -> float:
        """E[F(u) weight]; without one the weight is 1, and signs are averaged over."""
        known = self.leaf[0].real ** self.leaves + 0j if known is None else known
        return float(self.weights(known) @ function(self.points))


def _limit_branch_fade(unit: np.ndarray) -> np.ndarray:
    """1 up to a share of the half period, 0 at its end, with all derivatives."""
    late = np.clip((np.abs(unit) - UNFADED) / (1 - UNFADED), 1e-9, 1 - 1e-9)
    return 1 / (1 + np.exp(np.clip(1 / (1 - late) - 1 / late, -600, 600)))


_PLACES = np.arange(BRANCH_POINTS) / BRANCH_POINTS
_UNIT = np.where(_PLACES < 0.5, _PLACES, _PLACES - 1) * 2
_FADE = _limit_branch_fade(_UNIT)


@lru_cache(maxsize=8)
def limit_branch_law(tree: TreeTarget, leaves: int) -> BranchLaw:
    """The law of one branch with that many leaves."""
    z = np.linspace(-LEAF_RANGE, LEAF_RANGE, LEAF_POINTS)
    weights = np.exp(-(z**2) / 2)
    weights /= weights.sum()
    values = np.broadcast_to(np.asarray(tree.inner.numpy(z), dtype=float), z.shape)
    centre = float(weights @ values)
    spread = float(np.sqrt(weights @ (values - centre) ** 2))
    if not (np.isfinite(spread) and spread > 0 and abs(centre) < 1e-6 * spread):
        raise NoTheory(
            f"the inner function {tree.inner.text} has the mean {centre:.3g}: trees are explained "
            "for inner functions of mean zero, such as He2(z)"
        )
    step = np.pi / (HALF_PERIOD * spread)
    frequencies = step * np.arange(int(HIGHEST / spread / step) + 1)
    waves = np.exp(1j * np.outer(frequencies / np.sqrt(leaves), values))
    hermite = normalised_hermite(z, HIGHEST_DEGREE)
    leaf = np.stack([waves @ (weights * polynomial) for polynomial in hermite])
    return BranchLaw(leaves, spread, frequencies, leaf, waves @ (weights * values))
