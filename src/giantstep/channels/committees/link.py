"""The link of a committee on panels between its kinks: its laws, its range, its lattice."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.numerics.quadrature import CUTOFF, split_gaussian
from giantstep.targets import Target

#: Nodes of a panel, and the longest panel.
_ORDER = 8
_PANEL = 0.5
#: The sum of the links leaves its range with a probability below exp(-this).
_RARE = 19.0
#: Most steps between the values of a link that count as a lattice.
_MOST_LEVELS = 12


@dataclass(frozen=True, eq=False)
class Panels:
    """Nodes h and weights for integrals over dh, with the values of the link."""

    nodes: Float[np.ndarray, " m"]
    weights: Float[np.ndarray, " m"]
    values: Float[np.ndarray, " m"]

    def conditional(
        self, omega: Float[np.ndarray, " n"], variance: float
    ) -> tuple[Float[np.ndarray, "n m"], Float[np.ndarray, "n m"]]:
        """The weights of h ~ N(omega, variance), and h - omega."""
        away = self.nodes[None, :] - omega[:, None]
        law = np.exp(-(away**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
        return self.weights * law, away


def panels(link: Target, longest: float = _PANEL) -> Panels:
    """Panels between the kinks of the link, none longer than that; of a few lengths only."""
    finer = max(0, int(np.ceil(2 * np.log2(_PANEL / longest) - 1e-9)))
    return _panels(link, _PANEL / 2 ** (finer / 2))


@functools.lru_cache(maxsize=16)
def _panels(link: Target, length: float) -> Panels:
    nodes, weights = split_gaussian(link.kinks[0], _ORDER, CUTOFF, length)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return Panels(nodes, weights / density, link_values(link, nodes))


def link_values(link: Target, h: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """g(h)."""
    return np.broadcast_to(link.numpy(h[..., None]), h.shape).astype(float)


def expectation(link: Target, power: int = 1) -> float:
    """E[g^power]."""
    grid = panels(link)
    weights, _ = grid.conditional(np.zeros(1), 1.0)
    return float(weights[0] @ grid.values**power)


def sum_range(link: Target, rank: int) -> tuple[float, float]:
    """Where the sum of the links lies, by Chernoff's bound on both sides."""
    grid = panels(link)
    mass = grid.conditional(np.zeros(1), 1.0)[0][0]
    seen = mass > np.exp(-40.0)
    values, mass = grid.values[seen], mass[seen]
    spread = np.sqrt(max(expectation(link, 2) - expectation(link) ** 2, 1e-300))
    tilts = np.geomspace(1e-2, 1e2, 60) / spread

    def end(side: float) -> float:
        top = (side * values).max()
        logs = [np.log(mass @ np.exp(t * (side * values - top))) + t * top for t in tilts]
        return min(float(np.min((rank * np.array(logs) + _RARE) / tilts)), rank * float(top))

    return -end(-1.0), end(1.0)


def largest_slope(link: Target) -> float:
    """The largest |g'| where h is likely; infinite where the link jumps."""
    for at in link.kinks[0]:
        low, high = link_values(link, np.array([at - 1e-9, at + 1e-9]))
        if abs(high - low) > 1e-6 * (1 + abs(low)):
            return np.inf
    h = np.linspace(-7.0, 7.0, 4001)
    return float(np.abs(np.diff(link_values(link, h))).max() / (h[1] - h[0]))


def lattice(link: Target) -> tuple[float, float, int] | None:
    """Lowest value, step and number of steps of a link with equally spaced values; else None.

    >>> lattice(Target("sign(h1)"))
    (-1.0, 2.0, 1)
    """
    values = link.discrete_values
    if values is None:
        return None
    # A tie at a single point has no weight: only values that panels see count.
    seen = np.unique(np.round(panels(link).values, 12))
    if len(seen) < 2:
        return None
    step = float(np.diff(seen).min())
    levels = (seen - seen[0]) / step
    whole = np.abs(levels - np.round(levels)).max() < 1e-9
    most = round(float(levels[-1]))
    return (float(seen[0]), step, most) if whole and most <= _MOST_LEVELS else None
