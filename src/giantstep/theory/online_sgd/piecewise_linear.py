"""Moves of neurons whose slope is constant between kinks: Gaussian means in closed form."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation

#: Slopes that differ by less are equal.
STRAIGHT = 1e-9


class Slopes(NamedTuple):
    """sigma' between the kinks: one value more than there are kinks."""

    kinks: Float[np.ndarray, " kinks"]
    values: Float[np.ndarray, " pieces"]

    @classmethod
    def of(cls, sigma: Activation) -> Slopes | None:
        """The slopes of a piecewise linear activation; None for any other."""
        if not sigma.kinks or not sigma.is_continuous:
            return None
        kinks = np.array(sorted(sigma.kinks))
        edges = np.concatenate([[kinks[0] - 12.0], kinks, [kinks[-1] + 12.0]])
        inside = edges[:-1] + np.diff(edges) * np.linspace(0.03, 0.97, 9)[:, None]
        slopes = sigma.numpy_derivative(inside)
        if np.max(np.abs(slopes - slopes[4])) > STRAIGHT:
            return None
        return cls(kinks, slopes[4])

    def __call__(self, z: Float[np.ndarray, " ..."]) -> Float[np.ndarray, " ..."]:
        """sigma'(z)."""
        return self.values[np.searchsorted(self.kinks, z)]

    def ahead(self, ahead: Float[np.ndarray, " n"]) -> Jumps:
        """h -> sigma'(h + ahead sigma'(h)) for each look ahead, by its jumps."""
        cuts = [np.broadcast_to(self.kinks, (len(ahead), len(self.kinks)))]
        if np.any(ahead):
            # On a piece of slope v the argument is h + ahead v, and meets a kink there.
            cuts += [self.kinks - ahead[:, None] * value for value in self.values]
        edges = np.sort(np.concatenate(cuts, axis=1), axis=1)
        middles = np.concatenate(
            [edges[:, :1] - 1, (edges[:, 1:] + edges[:, :-1]) / 2, edges[:, -1:] + 1], axis=1
        )
        slopes = self(middles)
        slopes = self(middles + ahead[:, None] * slopes)
        jumps, squares = np.diff(slopes, axis=1), np.diff(slopes**2, axis=1)
        # Many cuts change nothing; those that do come first, and the rest is left out.
        real = (jumps != 0) | (squares != 0)
        order = np.argsort(~real, axis=1, kind="stable")[:, : max(int(real.sum(1).max()), 1)]
        edges, jumps, squares = (
            np.take_along_axis(values, order, axis=1) for values in (edges, jumps, squares)
        )
        return Jumps(slopes[:, 0], edges, jumps, squares)


class Jumps(NamedTuple):
    """Piecewise constant functions s of a field: values far below, and jumps of s and s^2."""

    lowest: Float[np.ndarray, " n"]
    edges: Float[np.ndarray, "n jumps"]
    jumps: Float[np.ndarray, "n jumps"]
    squares: Float[np.ndarray, "n jumps"]

    def moments(
        self, mean: Float[np.ndarray, " n"], spread: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[s], E[s h] and E[s^2] for a normal field h.

        Symbols: E[h] ``mean``, its standard deviation ``spread``.
        """
        from scipy.special import ndtr

        scaled = (self.edges - mean[:, None]) / spread
        above, density = ndtr(-scaled), np.exp(-(scaled**2) / 2) / np.sqrt(2 * np.pi)
        first = self.lowest + np.sum(self.jumps * above, axis=1)
        with_field = mean * first + spread * np.sum(self.jumps * density, axis=1)
        return first, with_field, self.lowest**2 + np.sum(self.squares * above, axis=1)
