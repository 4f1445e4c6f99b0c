"""From the links of a committee to its label: frequencies, and a matrix that turns them into Z(y).

Every kind of label has Z(y) = Re sum_k T(k, y) E[exp(i k u)], with u the sum of the links, or
its place on a lattice. Links are integrated on panels between their kinks.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from giantstep.channels.cells import log_likelihoods
from giantstep.errors import TargetError
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.quadrature import CUTOFF, split_gaussian

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


def label_panels(link: Target, longest: float = _PANEL) -> Panels:
    """Panels between the kinks of the link, none longer than that; of a few lengths only."""
    finer = max(0, int(np.ceil(2 * np.log2(_PANEL / longest) - 1e-9)))
    return _channel_panels(link, _PANEL / 2 ** (finer / 2))


@functools.lru_cache(maxsize=16)
def _channel_panels(link: Target, length: float) -> Panels:
    nodes, weights = split_gaussian(link.kinks[0], _ORDER, CUTOFF, length)
    density = np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return Panels(nodes, weights / density, channel_link_values(link, nodes))


def channel_link_values(link: Target, h: Float[np.ndarray, "*n"]) -> Float[np.ndarray, "*n"]:
    """g(h)."""
    return np.broadcast_to(link.numpy(h[..., None]), h.shape).astype(float)


def channel_link_moment(link: Target, power: int = 1) -> float:
    """E[g^power]."""
    grid = label_panels(link)
    weights, _ = grid.conditional(np.zeros(1), 1.0)
    return float(weights[0] @ grid.values**power)


def _channel_sum_range(link: Target, rank: int) -> tuple[float, float]:
    """Where the sum of the links lies, by Chernoff's bound on both sides."""
    grid = label_panels(link)
    mass = grid.conditional(np.zeros(1), 1.0)[0][0]
    seen = mass > np.exp(-40.0)
    values, mass = grid.values[seen], mass[seen]
    spread = np.sqrt(max(channel_link_moment(link, 2) - channel_link_moment(link) ** 2, 1e-300))
    tilts = np.geomspace(1e-2, 1e2, 60) / spread

    def end(side: float) -> float:
        top = (side * values).max()
        logs = [np.log(mass @ np.exp(t * (side * values - top))) + t * top for t in tilts]
        return min(float(np.min((rank * np.array(logs) + _RARE) / tilts)), rank * float(top))

    return -end(-1.0), end(1.0)


def _channel_largest_slope(link: Target) -> float:
    """The largest |g'| where h is likely; infinite where the link jumps."""
    for at in link.kinks[0]:
        low, high = channel_link_values(link, np.array([at - 1e-9, at + 1e-9]))
        if abs(high - low) > 1e-6 * (1 + abs(low)):
            return np.inf
    h = np.linspace(-7.0, 7.0, 4001)
    return float(np.abs(np.diff(channel_link_values(link, h))).max() / (h[1] - h[0]))


def label_lattice(link: Target) -> tuple[float, float, int] | None:
    """Lowest value, step and number of steps of a link with equally spaced values; else None.

    >>> label_lattice(Target("sign(h1)"))
    (-1.0, 2.0, 1)
    """
    values = link.discrete_values
    if values is None:
        return None
    # A tie at a single point has no weight: only values that panels see count.
    seen = np.unique(np.round(label_panels(link).values, 12))
    if len(seen) < 2:
        return None
    step = float(np.diff(seen).min())
    levels = (seen - seen[0]) / step
    whole = np.abs(levels - np.round(levels)).max() < 1e-9
    most = round(float(levels[-1]))
    return (float(seen[0]), step, most) if whole and most <= _MOST_LEVELS else None


#: exp(-x^2/2) is dropped beyond this: it divides by Z in the tails, where 4.8 would not do.
CUT = 6.3
#: How many standard deviations of noise the range of a label has beyond that of the sum.
_MARGIN = 7.0
#: Spacing of labels, in standard deviations of their noise.
_SPACING = 0.5
#: Nodes of labels, and frequencies, that are affordable.
_MOST_LABELS = 4000
_MOST_FREQUENCIES = 600


@dataclass(frozen=True, eq=False)
class Sums:
    """A committee's label, given the characteristic function of the sum of its links.

    ``frequencies`` k; ``steepness`` is the largest slope of u in h; ``labels`` and ``weights``
    sum over the labels of theory. ``units`` turns the value of a link into what it adds to u,
    ``rows`` labels into T(k, y). Made by :func:`committee_label_sums`.
    """

    committee: Committee
    frequencies: Float[np.ndarray, " k"]
    steepness: float
    labels: Float[np.ndarray, " y"]
    weights: Float[np.ndarray, " y"]
    rows: Callable[[np.ndarray], Complex[np.ndarray, "k y"]]
    units: Callable[[np.ndarray], Float[np.ndarray, " m"]] = np.asarray

    @functools.cached_property
    def matrix(self) -> Complex[np.ndarray, "k y"]:
        """T(k, y) at the labels of theory."""
        return self.rows(self.labels)


def _real_label_rows(given: Committee, step: float, k: np.ndarray, y: np.ndarray) -> np.ndarray:
    """T(k, y) of y = shift + S + noise, frequencies being a step apart."""
    sizes = np.exp(-given.noise * k**2 / 2) * np.where(k == 0, 1, 2) * step / (2 * np.pi)
    return sizes[:, None] * np.exp(-1j * k[:, None] * (y[None, :] - given.shift))


def _vote_label_rows(given: Committee, k: np.ndarray, y: np.ndarray) -> np.ndarray:
    """T(k, y) of a label that the sign of a continuous sum plus noise decides.

    A Fourier series of the step: theta(S) = 1/2 + sum over odd j of 2/(pi j) sin(k_j S), with
    k_j = j k_1, and k[0] = 0.
    """
    assert given.vote is not None
    odd = 2 * np.arange(1, len(k)) - 1
    waves = -2j / (np.pi * odd) * np.exp(1j * k[1:] * given.shift - given.noise * k[1:] ** 2 / 2)
    classes = np.stack([np.r_[0.5, -waves], np.r_[0.5, waves]], axis=1)
    values = np.array([given.vote[0], given.vote[2]])
    return classes @ _label_chances(values, given.vote_noise, y)


def _lattice_rows(given: Committee, sums: np.ndarray, k: np.ndarray, y: np.ndarray) -> np.ndarray:
    """T(k, y) of a sum that takes these values, one step apart: a sum over all of them."""
    back = np.exp(-1j * k[:, None] * np.arange(len(sums))[None, :]) / len(sums)
    if given.vote is None:
        return back @ _label_chances(sums, given.noise, y)
    values, shares = _label_votes(sums, given.noise, given.vote)
    return back @ (shares @ _label_chances(values, given.vote_noise, y))


def _label_votes(
    sums: np.ndarray, noise: float, vote: tuple[float, float, float]
) -> tuple[Float[np.ndarray, " c"], Float[np.ndarray, "m c"]]:
    """The values that votes take, and the chance of each given the sum."""
    from scipy.special import ndtr

    low, tie, high = vote
    if noise > 0:
        above = ndtr(sums / np.sqrt(noise))
        return np.array([low, high]), np.stack([1 - above, above], axis=1)
    side = np.where(np.abs(sums) < 1e-9 * (1 + np.abs(sums).max()), 0, np.sign(sums))
    outcomes = np.choose(side.astype(int) + 1, (low, tie, high))
    values = np.unique(outcomes)
    return values, (outcomes[:, None] == values[None, :]).astype(float)


def _label_chances(
    values: Float[np.ndarray, " c"], noise: float, y: Float[np.ndarray, " y"]
) -> Float[np.ndarray, "c y"]:
    """P(y | value)."""
    return np.exp(log_likelihoods(values, noise, y)).T


@functools.lru_cache(maxsize=64)
def committee_label_sums(committee: Committee, cut: float = CUT) -> Sums:
    """The labels of a committee; real ones and votes on continuous sums need noise in the sum.

    ``cut`` is where the Gaussian of that noise ends, in frequencies.
    """
    steps = label_lattice(committee.link)
    if steps is not None:
        return _on_lattice(committee, steps)
    low, high = _channel_sum_range(committee.link, committee.rank)
    deviation = np.sqrt(committee.noise)
    highest = cut / deviation
    if committee.vote is None:
        low, high = low - _MARGIN * deviation, high + _MARGIN * deviation
        step = 2 * np.pi / (high - low)
        k = step * np.arange(_affordable_label_frequencies(highest / step) + 1)
        rows = functools.partial(_real_label_rows, committee, step, k)
        count = max(2 * len(k) + 2, int((high - low) / (_SPACING * deviation)))
        labels = committee.shift + low + (high - low) * np.arange(count) / count
        weights = np.full(count, (high - low) / count)
    else:
        reach = max(abs(low + committee.shift), abs(high + committee.shift)) + _MARGIN * deviation
        first = np.pi / (1.1 * reach)
        odd = 2 * np.arange(_affordable_label_frequencies(highest / (2 * first)) + 1) + 1
        k = np.r_[0.0, first * odd]
        rows = functools.partial(_vote_label_rows, committee, k)
        labels, weights = _label_nodes([committee.vote[0], committee.vote[2]], committee.vote_noise)
    return Sums(committee, k, _channel_largest_slope(committee.link), labels, weights, rows)


def _on_lattice(committee: Committee, steps: tuple[float, float, int]) -> Sums:
    lowest, step, levels = steps
    count = committee.rank * levels + 1
    sums = committee.shift + committee.rank * lowest + step * np.arange(count)
    values, noise = sums, committee.noise
    if committee.vote is not None:
        values, noise = _label_votes(sums, committee.noise, committee.vote)[0], committee.vote_noise
    labels, weights = _label_nodes(values, noise)
    k = 2 * np.pi * np.arange(count) / count
    rows = functools.partial(_lattice_rows, committee, sums, k)
    units = functools.partial(_label_levels, lowest, step)
    return Sums(committee, k, np.inf, labels, weights, rows, units)


def _label_levels(lowest: float, step: float, values: np.ndarray) -> np.ndarray:
    """How many steps above the lowest value of a link."""
    return np.round((values - lowest) / step)


def _affordable_label_frequencies(count: float) -> int:
    if count > _MOST_FREQUENCIES:
        raise TargetError(
            f"the label noise is too small for a committee: it would take {count:.0f} frequencies, "
            f"and {_MOST_FREQUENCIES} are affordable; use a larger --noise"
        )
    return int(count)


def _label_nodes(values: Any, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """All labels of finitely many values; under noise, an even grid over them."""
    values = np.unique(np.asarray(values, dtype=float))
    if noise == 0:
        return values, np.ones(len(values))
    deviation = np.sqrt(noise)
    low, high = values[0] - _MARGIN * deviation, values[-1] + _MARGIN * deviation
    count = int((high - low) / (_SPACING * deviation)) + 1
    if count > _MOST_LABELS:
        raise TargetError(
            f"noise = {noise:g} is too small beside labels from {values[0]:g} to {values[-1]:g}: "
            f"use no noise, or more than {(_SPACING * (high - low) / _MOST_LABELS) ** 2:.1g}"
        )
    grid = np.linspace(low, high, count)
    return grid, np.full(count, grid[1] - grid[0])
