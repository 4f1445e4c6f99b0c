"""A function of one variable that is expensive to evaluate, interpolated on panels."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: Chebyshev nodes per panel: a function whose poles lie a panel's length away comes out to 1e-10.
ORDER = 14


class Piecewise(NamedTuple):
    """Values at the Chebyshev nodes of each panel."""

    edges: Float[np.ndarray, " edges"]
    values: Float[np.ndarray, "panels nodes"]

    @classmethod
    def of(cls, function: Callable[[np.ndarray], np.ndarray], edges: np.ndarray) -> Piecewise:
        """Tabulate the function between the first and the last edge."""
        edges = np.unique(edges)
        half = np.diff(edges)[:, None] / 2
        return cls(edges, function(edges[:-1, None] + half * (1 + _nodes())))

    def __call__(self, at: Float[np.ndarray, " ..."]) -> Float[np.ndarray, " ..."]:
        """The interpolated function, by the barycentric formula.

        >>> wave = Piecewise.of(np.sin, np.linspace(-3, 3, 4))
        >>> bool(abs(wave(np.array([1.2345])) - np.sin(1.2345)) < 1e-10)
        True
        """
        panel = np.clip(np.searchsorted(self.edges, at) - 1, 0, len(self.values) - 1)
        low, high = self.edges[panel], self.edges[panel + 1]
        gaps = (2 * (at - low) / (high - low) - 1)[..., None] - _nodes()
        # A point on a node takes its value: the quotient below is then 1 to rounding.
        gaps = np.where(np.abs(gaps) < 1e-15, 1e-15, gaps)
        shares = (-1.0) ** np.arange(ORDER) * np.sin(_angles()) / gaps
        return np.sum(shares * self.values[panel], axis=-1) / np.sum(shares, axis=-1)


def _angles() -> np.ndarray:
    return np.pi * (np.arange(ORDER) + 0.5) / ORDER


def _nodes() -> np.ndarray:
    return -np.cos(_angles())
