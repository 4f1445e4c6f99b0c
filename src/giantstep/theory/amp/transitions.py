"""Transitions of message passing in the number of samples: where they are, what happens there."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from giantstep.channels.cells import Affine
from giantstep.channels.preimages import Preimages
from giantstep.language.problem import Problem
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.amp.averages.population import Population
from giantstep.theory.amp.free_entropy import free_entropy_at
from giantstep.theory.amp.state_evolution import (
    FixedOverlap,
    OverlapCurve,
    settled_overlap,
    state_evolution,
)

Kind = Literal[
    "trivial",
    "weak recovery",
    "specialisation",
    "spinodal",
    "jump",
    "perfect recovery",
    "hard",
    "information",
]


@dataclass(frozen=True, eq=False)
class Transition:
    """What happens at one ratio n/d: the overlaps of all directions just below and just above it.

    ``information`` marks what the data contain but message passing does not find yet: the overlap
    above is that of the informed branch, whose free entropy becomes the larger one there.
    """

    samples_ratio: float
    kind: Kind
    before: Float[np.ndarray, " r"]
    after: Float[np.ndarray, " r"]

    def __str__(self) -> str:
        told = {
            "trivial": "every direction in reach is learned from any number of samples",
            "weak recovery": "the overlap leaves zero",
            "specialisation": "the units of the committee specialise",
            "spinodal": "a fixed point of specialised units appears, for informed starts only",
            "jump": "the overlap jumps",
            "perfect recovery": "perfect recovery begins",
            "hard": "message passing does not leave zero at any n = O(d)",
            "information": "the data contain more than message passing finds",
        }[self.kind]
        before, after = (", ".join(f"{m:.4f}" for m in side) for side in (self.before, self.after))
        how = f"{before} -> {after}" if before != after else f"{before} there, without a jump"
        nothing = not (self.before.any() or self.after.any())
        values = "" if nothing else f"; overlap_squared {how}"
        return f"n/d = {self.samples_ratio:.5g}: {told}{values}"


def curve_transitions(curve: OverlapCurve, departure: float) -> list[Transition]:
    r"""The transitions read off the curve of all fixed points m I.

    .. math:: \alpha(m) = \frac{m}{(1-m) f(m)}, \qquad
              \Phi'(m) = \tfrac r2 f(m) (\alpha - \alpha(m))

    Message passing follows the running maximum of alpha(m) and jumps from a local maximum; the
    information-theoretic transition is where the free entropies before and after are equal.

    Symbols: the alpha at which m = 0 becomes unstable, ``departure``.

    Assumes: an overlap that is a multiple of I.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Barbier et al. 2017, arXiv:1708.03395; Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.averages.population import population_of
    >>> from giantstep.theory.amp.state_evolution import fixed_point_curve
    >>> curve = fixed_point_curve(population_of(Problem.of("abs(h1)")))
    >>> [round(t.samples_ratio, 3) for t in curve_transitions(curve, 0.5)]
    [0.5, 1.128, 1.0]
    """
    rank = curve.population.channel.rank
    alphas, overlaps = curve.samples_ratios, curve.overlaps
    closed = _perfect_alpha(curve.population)
    zero = np.zeros(rank)
    kinds: dict[float, Kind] = {0.0: "trivial", np.inf: "hard"}
    found = [Transition(departure, kinds.get(departure, "weak recovery"), zero, zero)]

    def at(alpha: float, kind: Kind, before: float, after: float) -> Transition:
        return Transition(float(alpha), kind, np.full(rank, before), np.full(rank, after))

    reached = 0.0
    for k in curve.peaks if departure < np.inf else []:
        if overlaps[k] < reached:
            continue
        top, before = (alphas[k], float(overlaps[k])) if k else (departure, 0.0)
        reached = curve.first(top * (1 + 1e-9))
        if reached > overlaps[k] + 1e-3:
            jump = at(top, "perfect recovery" if reached == 1 else "jump", before, reached)
            found = [*found, jump] if k else [jump]
    if closed is not None and departure < np.inf and found[-1].after[0] < 1:
        found.append(at(closed, "perfect recovery", 1.0, 1.0))
    for jump in [t for t in found if t.kind == "hard" or t.after[0] > t.before[0]]:
        hidden = _information(curve, jump, closed)
        if hidden is not None:
            low = curve.first(hidden) if jump.kind != "hard" else 0.0
            high = 1.0 if hidden == closed else curve.last(hidden)
            found.append(at(hidden, "information", low, high))
    return found


def _perfect_alpha(population: Population) -> float | None:
    """alpha(1) of noiseless continuous labels; None where recovery is never perfect.

    Close to m = 1 a label off the flat pieces tells h exactly, f = P(not flat)/(1 - m).
    """
    channel, core = population.channel, population.channel.likelihood.core
    if channel.rank > 1 or channel.noise > 0 or not channel.structure.is_exact:
        return None
    if isinstance(core, Affine):
        return 1.0
    return 1 / (1 - core.atom_mass()) if isinstance(core, Preimages) else None


def _information(curve: OverlapCurve, jump: Transition, closed: float | None) -> float | None:
    """Where, before a jump, the free entropy of the upper branch overtakes that of the lower."""
    lowest = float(curve.samples_ratios[curve.overlaps > jump.before[0]].min())
    if closed is not None and jump.after[0] in (0.0, 1.0):
        # The free entropy of perfect recovery is infinite as soon as alpha exceeds alpha(1).
        return closed if closed < jump.samples_ratio * (1 - 1e-6) else None
    highest = jump.samples_ratio if np.isfinite(jump.samples_ratio) else 100 * lowest

    def gain(alpha: float) -> float:
        low = curve.first(alpha) if jump.kind != "hard" else 0.0
        ends = (m * np.eye(curve.population.channel.rank) for m in (low, curve.last(alpha)))
        before, after = (free_entropy_at(curve.population, alpha, overlap) for overlap in ends)
        return after - before

    low, high = lowest * (1 + 1e-6), highest * (1 - 1e-6)
    if low >= high or gain(low) > 0 or gain(high) < 0:
        return None
    return bracketed_root(gain, low, high, absolute=1e-7).value


#: Points of the first scan over n/d; how closely a transition, and one of the information, is then
#: located, relatively.
_SCAN = 16
ACCURACY, HIDDEN_ACCURACY = 5e-4, 5e-3
#: Overlaps below or above these count as none, or as perfect.
_NONE, _PERFECT = 1e-4, 1 - 1e-5
#: A change of the overlap within the accuracy that counts as a jump.
_JUMP = 0.02


def branch_transitions(problem: Problem, departure: float, largest: float) -> list[Transition]:
    """The transitions found by following both branches in alpha = n/d, and bisecting changes.

    Symbols: the alpha at which M = 0 becomes unstable, ``departure``; the last alpha, ``largest``.

    Assumes: as :func:`giantstep.theory.amp.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> (only,) = branch_transitions(Problem.of("h1 + 2*h2", noise=1.0), 0.0, 4.0)
    >>> only.kind
    'trivial'
    """
    ratios = np.linspace(largest / _SCAN, largest, _SCAN)
    lower: list[FixedOverlap] = []
    for ratio in ratios:
        lower.append(_evolved(problem, ratio, near=lower[-1] if lower else None))
    upper: list[FixedOverlap] = []
    for ratio in ratios[::-1]:
        upper.insert(0, _evolved(problem, ratio, "informed", upper[0] if upper else None))
    zero = np.zeros(problem.target.rank)
    found = _phase_changes(problem, lower)
    if departure == 0:
        found.insert(0, Transition(0.0, "trivial", zero, _overlap_sizes(lower[0])))
    elif departure == np.inf:
        found.insert(0, Transition(np.inf, "hard", zero, zero))
    else:
        for i, change in enumerate(found):
            if change.before.max() < _NONE:
                found[i] = Transition(departure, change.kind, change.before, change.after)
    return found + _hidden_phase(problem, lower, upper)


def _evolved(
    problem: Problem, ratio: float, start: str = "uninformed", near: FixedOverlap | None = None
) -> FixedOverlap:
    return settled_overlap(state_evolution(problem, ratio, start, near))


def _overlap_sizes(found: FixedOverlap) -> Float[np.ndarray, " r"]:
    """The eigenvalues of an overlap, largest first."""
    return np.linalg.eigvalsh(found.overlap)[::-1]


def _phase_changes(problem: Problem, branch: list[FixedOverlap]) -> list[Transition]:
    """Emergences, jumps and perfect recoveries between neighbouring points, by bisection."""
    found: list[Transition] = []
    first = _evolved(problem, branch[0].samples_ratio * 1e-2)
    intervals = list(itertools.pairwise([first, *branch]))
    while intervals:
        low, high = intervals.pop(0)
        before, after = _overlap_sizes(low), _overlap_sizes(high)
        kind = _phase_difference(before, after)
        if kind is None and np.abs(after - before).max() < 0.1:
            continue
        if high.samples_ratio - low.samples_ratio > ACCURACY * high.samples_ratio:
            middle = _evolved(problem, (low.samples_ratio + high.samples_ratio) / 2, near=low)
            intervals = [(low, middle), (middle, high), *intervals]
            continue
        if kind is None and np.abs(after - before).max() > _JUMP:
            kind = "jump"
        if kind is not None:
            found.append(
                Transition((low.samples_ratio + high.samples_ratio) / 2, kind, before, after)
            )
    return found


def _phase_difference(before: np.ndarray, after: np.ndarray) -> Kind | None:
    """What distinguishes two states, whatever lies between them."""
    if np.any((before < _PERFECT) & (after >= _PERFECT)):
        return "perfect recovery"
    return "weak recovery" if np.any((before < _NONE) & (after >= _NONE)) else None


def _hidden_phase(
    problem: Problem, lower: list[FixedOverlap], upper: list[FixedOverlap]
) -> list[Transition]:
    """Where the informed branch first has more overlap and a larger free entropy."""
    ahead = [i for i in range(len(lower)) if _is_informed_phase_ahead(lower[i], upper[i])]
    if not ahead:
        return []
    i = ahead[0]
    below, low, high = lower[i - 1] if i else None, lower[i], upper[i]
    left = 1e-2 * lower[0].samples_ratio if below is None else below.samples_ratio
    while low.samples_ratio - left > HIDDEN_ACCURACY * low.samples_ratio:
        middle = (left + low.samples_ratio) / 2
        pair = _evolved(problem, middle, near=below), _evolved(problem, middle, "informed", high)
        if _is_informed_phase_ahead(*pair):
            low, high = pair
        else:
            left = middle
    return [Transition(low.samples_ratio, "information", _overlap_sizes(low), _overlap_sizes(high))]


def _is_informed_phase_ahead(low: FixedOverlap, high: FixedOverlap) -> bool:
    """Whether the informed fixed point is another one, and the better explanation of the data.

    Perfect recovery of k directions from noiseless continuous labels has the free entropy
    (alpha - k)/2 times an infinite logarithm.
    """
    if _overlap_sizes(high).sum() <= _overlap_sizes(low).sum() + _JUMP:
        return False
    entropies = [free_entropy_at(x.population, x.samples_ratio, x.overlap) for x in (low, high)]
    perfect = [int((_overlap_sizes(x) >= _PERFECT).sum()) for x in (low, high)]
    if np.isinf(entropies[1]) and perfect[1] > perfect[0]:
        return low.samples_ratio > perfect[1] - perfect[0]
    return bool(entropies[1] > entropies[0])
