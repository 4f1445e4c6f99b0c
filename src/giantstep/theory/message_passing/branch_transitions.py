"""Transitions where the overlap is a matrix: both branches followed in the number of samples."""

from __future__ import annotations

import itertools

import numpy as np
from jaxtyping import Float

from giantstep.problem import Problem
from giantstep.theory.message_passing.free_entropy import free_entropy_at
from giantstep.theory.message_passing.state_evolution import (
    FixedOverlap,
    settled,
    state_evolution,
)
from giantstep.theory.message_passing.transitions import Kind, Transition

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

    Assumes: as :func:`giantstep.theory.message_passing.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> (only,) = branch_transitions(Problem.of("h1 + 2*h2", noise=1.0), 0.0, 4.0)
    >>> only.kind
    'trivial'
    """
    ratios = np.linspace(largest / _SCAN, largest, _SCAN)
    lower: list[FixedOverlap] = []
    for ratio in ratios:
        lower.append(_at(problem, ratio, near=lower[-1] if lower else None))
    upper: list[FixedOverlap] = []
    for ratio in ratios[::-1]:
        upper.insert(0, _at(problem, ratio, "informed", upper[0] if upper else None))
    zero = np.zeros(problem.target.rank)
    found = _changes(problem, lower)
    if departure == 0:
        found.insert(0, Transition(0.0, "trivial", zero, _sizes(lower[0])))
    elif departure == np.inf:
        found.insert(0, Transition(np.inf, "hard", zero, zero))
    else:
        for i, change in enumerate(found):
            if change.before.max() < _NONE:
                found[i] = Transition(departure, change.kind, change.before, change.after)
    return found + _hidden(problem, lower, upper)


def _at(
    problem: Problem, ratio: float, start: str = "uninformed", near: FixedOverlap | None = None
) -> FixedOverlap:
    return settled(state_evolution(problem, ratio, start, near))


def _sizes(found: FixedOverlap) -> Float[np.ndarray, " r"]:
    """The eigenvalues of an overlap, largest first."""
    return np.linalg.eigvalsh(found.overlap)[::-1]


def _changes(problem: Problem, branch: list[FixedOverlap]) -> list[Transition]:
    """Emergences, jumps and perfect recoveries between neighbouring points, by bisection."""
    found: list[Transition] = []
    first = _at(problem, branch[0].samples_ratio * 1e-2)
    intervals = list(itertools.pairwise([first, *branch]))
    while intervals:
        low, high = intervals.pop(0)
        before, after = _sizes(low), _sizes(high)
        kind = _difference(before, after)
        if kind is None and np.abs(after - before).max() < 0.1:
            continue
        if high.samples_ratio - low.samples_ratio > ACCURACY * high.samples_ratio:
            middle = _at(problem, (low.samples_ratio + high.samples_ratio) / 2, near=low)
            intervals = [(low, middle), (middle, high), *intervals]
            continue
        if kind is None and np.abs(after - before).max() > _JUMP:
            kind = "jump"
        if kind is not None:
            found.append(
                Transition((low.samples_ratio + high.samples_ratio) / 2, kind, before, after)
            )
    return found


def _difference(before: np.ndarray, after: np.ndarray) -> Kind | None:
    """What distinguishes two states, whatever lies between them."""
    if np.any((before < _PERFECT) & (after >= _PERFECT)):
        return "perfect recovery"
    return "weak recovery" if np.any((before < _NONE) & (after >= _NONE)) else None


def _hidden(
    problem: Problem, lower: list[FixedOverlap], upper: list[FixedOverlap]
) -> list[Transition]:
    """Where the informed branch first has more overlap and a larger free entropy."""
    ahead = [i for i in range(len(lower)) if _is_ahead(problem, lower[i], upper[i])]
    if not ahead:
        return []
    i = ahead[0]
    left, best = (
        (lower[i - 1].samples_ratio if i else 1e-2 * lower[0].samples_ratio),
        (lower[i], upper[i]),
    )
    start_low = lower[i - 1] if i else None
    while best[0].samples_ratio - left > HIDDEN_ACCURACY * best[0].samples_ratio:
        middle = (left + best[0].samples_ratio) / 2
        pair = (
            _at(problem, middle, near=start_low),
            _at(problem, middle, "informed", best[1]),
        )
        if _is_ahead(problem, *pair):
            best = pair
        else:
            left = middle
    return [Transition(best[0].samples_ratio, "information", _sizes(best[0]), _sizes(best[1]))]


def _is_ahead(problem: Problem, low: FixedOverlap, high: FixedOverlap) -> bool:
    """Whether the informed fixed point is another one, and the better explanation of the data.

    Perfect recovery of k directions from noiseless continuous labels has the free entropy
    (alpha - k)/2 times an infinite logarithm.
    """
    if _sizes(high).sum() <= _sizes(low).sum() + _JUMP:
        return False
    entropies = [free_entropy_at(problem, x.samples_ratio, x.overlap) for x in (low, high)]
    perfect = [int((_sizes(x) >= _PERFECT).sum()) for x in (low, high)]
    if np.isinf(entropies[1]) and perfect[1] > perfect[0]:
        return low.samples_ratio > perfect[1] - perfect[0]
    return bool(entropies[1] > entropies[0])
