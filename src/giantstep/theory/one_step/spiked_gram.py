"""Features with a spike in a few blocks, and the first-order equations of their Gram matrix."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from giantstep.language.activations.activation import Activation
from giantstep.numerics.quadrature import CUTOFF
from giantstep.theory.spiked_random_features.conditional_features import (
    LIMIT,
    REACH,
    Table,
    conditional_feature_moments,
)
from giantstep.theory.spiked_random_features.finite_size import Blocks, Grid


class Resolvent(NamedTuple):
    """At each z: chi, N = (chi^-1 + C)^-1, N u and 1/(1+V)."""

    chi: Complex[np.ndarray, "z blocks"]
    inverse: Complex[np.ndarray, "z blocks blocks"]
    slopes: Complex[np.ndarray, "z blocks points"]
    gain: Complex[np.ndarray, "z points"]


class SpikedGram(NamedTuple):
    r"""Moments of the features on a grid of the learned projection, and the size ratios.

    ``mean``, ``slope``, ``noise``: m, u and e^2 of each block; ``widths``: p/d of each block.

    The methods are the first-order equations of the ridge regression with the ridge at -z,

    .. math::
        \chi_a = \frac{\beta_a}{-z + \alpha E[e_a^2/(1+V)] + (C(1+\chi C)^{-1})_{aa}}, \qquad
        C_{ab} = \alpha E\Big[\frac{u_au_b}{1+V}\Big], \\
        V = u^T(\chi^{-1}+C)^{-1}u + \sum_a e_a^2\chi_a ;

    a state holds :math:`\chi_a` and then :math:`C_{ab}` for a <= b, one row for each z.
    """

    kappa: Float[np.ndarray, " points"]
    weights: Float[np.ndarray, " points"]
    mean: Float[np.ndarray, "blocks points"]
    slope: Float[np.ndarray, "blocks points"]
    noise: Float[np.ndarray, "blocks points"]
    samples_ratio: float
    widths: Float[np.ndarray, " blocks"]

    @classmethod
    def of(
        cls, sigma: Activation, blocks: Blocks, *, samples_ratio: float, width_ratio: float
    ) -> SpikedGram:
        """The Gram matrix of an activation's features with these spikes."""
        steep, bulks = float(np.max(np.abs(blocks.spikes))), blocks.bulks
        steepness = float(np.max(np.abs(blocks.spikes) / np.sqrt(bulks)))
        grid = Grid.of("limit", LIMIT, (), steepness)
        reach = steep * CUTOFF + REACH * math.sqrt(float(np.max(bulks)))
        narrow, wide = (math.sqrt(float(extreme(bulks))) for extreme in (np.min, np.max))
        table = Table.of(sigma.numpy, sigma.kinks, reach=reach, narrow=narrow, wide=wide)
        shift = blocks.spikes[:, None] * grid.kappa[None, :]
        scale = np.sqrt(bulks)[:, None] * np.ones_like(grid.kappa)[None, :]
        mean, slope, _, power = conditional_feature_moments(table, shift, scale, LIMIT)
        rest = power - mean**2 - slope**2
        widths = width_ratio * blocks.fractions
        return cls(grid.kappa, grid.weights, mean, slope, rest, float(samples_ratio), widths)

    @property
    def scale(self) -> float:
        """Mean eigenvalue of the bulk, zeros counted."""
        spread = (self.slope**2 + self.noise) @ self.weights
        return float(self.samples_ratio * (self.widths @ spread) / self.widths.sum())

    @property
    def width(self) -> float:
        """p/d."""
        return float(self.widths.sum())

    @property
    def rank(self) -> float:
        """Rank over d of the features: d directions, too, if they have no part beyond linear."""
        linear = np.max(self.noise) <= 1e-12 * np.max(self.slope**2)
        return min(self.samples_ratio, self.width, 1.0 if linear else math.inf)

    def far_state(self, z: Complex[np.ndarray, " z"]) -> Complex[np.ndarray, "z unknowns"]:
        """The state far from the bulk, where V = 0."""
        coupling = _pairs(self.slope, self.slope) @ (self.samples_ratio * self.weights)
        chi = -self.widths[None, :] / z[:, None]
        return np.concatenate([chi, np.broadcast_to(coupling, (len(z), len(coupling)))], axis=1)

    def resolvent(self, state: Complex[np.ndarray, "z unknowns"]) -> Resolvent:
        """What the equations make of a state before they average over the grid."""
        blocks = len(self.widths)
        left, right = _triangle(blocks)
        matrix = np.empty((len(state), blocks, blocks), dtype=state.dtype)
        matrix[:, left, right] = matrix[:, right, left] = state[:, blocks:]
        chi, diagonal = state[:, :blocks], np.arange(blocks)
        matrix[:, diagonal, diagonal] += 1 / chi
        inverse = np.linalg.inv(matrix)
        slopes = inverse @ self.slope
        variance = chi @ self.noise + np.sum(self.slope * slopes, axis=1)
        return Resolvent(chi, inverse, slopes, 1 / (1 + variance))

    def image(
        self, z: Complex[np.ndarray, " z"], found: Resolvent
    ) -> Complex[np.ndarray, "z unknowns"]:
        """The right-hand sides of the equations."""
        fitted = self.samples_ratio * self.weights * found.gain
        held = 1 / found.chi - np.diagonal(found.inverse, axis1=1, axis2=2) / found.chi**2
        bound = -z[:, None] + fitted @ self.noise.T + held
        coupling = fitted @ _pairs(self.slope, self.slope).T
        return np.concatenate([self.widths / bound, coupling], axis=1)

    def sizes(self, found: Resolvent) -> Float[np.ndarray, "z unknowns"]:
        """What counts as large for each unknown.

        That of C_ab is the average of |u_a u_b|: C_ab itself can vanish by symmetry.
        """
        fitted = self.samples_ratio * self.weights * np.abs(found.gain)
        coupling = fitted @ np.abs(_pairs(self.slope, self.slope)).T
        return np.concatenate([np.abs(found.chi), coupling], axis=1)

    def jacobian(
        self, image: Complex[np.ndarray, "z unknowns"], found: Resolvent
    ) -> Complex[np.ndarray, "z unknowns unknowns"]:
        """Derivative of the right-hand sides: d(chi, C) -> dV on the grid -> d(chi, C)."""
        blocks = len(self.widths)
        left, right = _triangle(blocks)
        twice = np.where(left == right, 1.0, 2.0)
        chi, inverse, slopes, gain = found
        from_chi = self.noise + (slopes / chi[:, :, None]) ** 2
        from_coupling = -twice[None, :, None] * _pairs(slopes, slopes)
        to_variance = np.concatenate([from_chi, from_coupling], axis=1)
        weighted = -self.samples_ratio * self.weights * gain**2
        rows = np.concatenate([self.noise, _pairs(self.slope, self.slope)])
        change = rows @ np.swapaxes(to_variance * weighted[:, None, :], 1, 2)
        # H_aa = 1/chi_a - N_aa/chi_a^2 with dN = N (dchi/chi^2 - dC) N.
        diagonal = np.arange(blocks)
        held = -((inverse / (chi[:, :, None] * chi[:, None, :])) ** 2)
        held[:, diagonal, diagonal] += (2 * inverse[:, diagonal, diagonal] / chi - 1) / chi**2
        change[:, :blocks, :blocks] += held
        pulled = twice * inverse[:, :, left] * inverse[:, :, right] / chi[:, :, None] ** 2
        change[:, :blocks, blocks:] += pulled
        change[:, :blocks] *= -(image[:, :blocks] ** 2 / self.widths)[:, :, None]
        return change


@functools.lru_cache(maxsize=16)
def _triangle(blocks: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(blocks)


def _pairs(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Products of rows i <= j, the rows being the last axis but one."""
    i, j = _triangle(left.shape[-2])
    return left[..., i, :] * right[..., j, :]
