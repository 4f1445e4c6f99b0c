"""The transitions of message passing in the number of samples, found automatically."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from giantstep.channels import channel_for
from giantstep.channels.affine import Affine
from giantstep.channels.preimages import Preimages
from giantstep.channels.symmetry import invariant_basis
from giantstep.errors import NoTheory
from giantstep.problem import Problem
from giantstep.results import Prediction
from giantstep.settings.amp import Amp
from giantstep.theory.learnability.thresholds import weak_recovery_threshold
from giantstep.theory.message_passing.averages.population import Population, population_of
from giantstep.theory.message_passing.curve import Curve, curve_of
from giantstep.theory.message_passing.free_entropy import free_entropy_at
from giantstep.theory.message_passing.state_evolution import (
    REFERENCES,
    FixedOverlap,
    state_evolution,
)

Kind = Literal["trivial", "weak recovery", "jump", "perfect recovery", "hard", "information"]
#: Samples per dimension up to which transitions are looked for where the overlap is a matrix.
LARGEST_ALPHA = 8.0
#: Points of the first scan over alpha, and how closely a transition is then located.
_SCAN = 16
_ACCURACY = 5e-4
#: Overlaps below or above these count as none, or as perfect.
_NONE, _PERFECT = 1e-4, 1 - 1e-5
#: A change of the overlap within the accuracy that counts as a jump.
_JUMP = 0.02


@dataclass(frozen=True, eq=False)
class Transition:
    """What happens at one alpha: the overlaps of all directions just below and just above it.

    ``information`` marks what the data contain but message passing does not find yet: the overlap
    above is that of the informed branch, whose free entropy becomes the larger one there.
    """

    alpha: float
    kind: Kind
    before: Float[np.ndarray, " r"]
    after: Float[np.ndarray, " r"]

    def __str__(self) -> str:
        told = {
            "trivial": "every direction in reach is learned from any number of samples",
            "weak recovery": "the overlap leaves zero",
            "jump": "the overlap jumps",
            "perfect recovery": "perfect recovery begins",
            "hard": "message passing does not leave zero at any n = O(d)",
            "information": "the data contain more than message passing finds",
        }[self.kind]
        values = [", ".join(f"{m:.4f}" for m in side) for side in (self.before, self.after)]
        return f"alpha = {self.alpha:.5g}: {told}; overlap {values[0]} -> {values[1]}"


def phases(problem: Problem, largest_alpha: float = LARGEST_ALPHA) -> tuple[Transition, ...]:
    r"""The transitions in alpha = n/d, in increasing order, with what happens at each.

    Where the overlap is one number times I all fixed points are known at once,

    .. math:: \alpha(m) = \frac{m}{(1-m) f(m)}, \qquad E[g_{out} g_{out}^\top] = f(m) I,

    and message passing follows the running maximum of alpha(m): it jumps from a local maximum.
    The information-theoretic transition is where the free entropies of the two branches,

    .. math:: \Phi'(m) = \tfrac r2 f(m) (\alpha - \alpha(m)),

    are equal. Otherwise both branches are followed in alpha and their changes are bisected.

    Symbols: scan up to ``largest_alpha`` where the overlap is a matrix.

    Assumes: as :func:`giantstep.theory.message_passing.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Troiani et al. 2024, arXiv:2405.15480; Barbier et al. 2017, arXiv:1708.03395; Aubin
    et al. 2018, arXiv:1806.05451.

    >>> for transition in phases(Problem.of("abs(h1)")):
    ...     print(transition.kind, round(transition.alpha, 3))
    weak recovery 0.5
    information 1.0
    perfect recovery 1.128
    """
    population = population_of(channel_for(problem))
    if len(invariant_basis(problem.target)) == 1:
        found = _on_curve(population, curve_of(population.channel))
    else:
        found = _on_branches(problem, population, largest_alpha)
    return tuple(sorted(found, key=lambda transition: transition.alpha))


def predict_phases(problem: Problem, settings: Amp) -> Prediction:
    """The transitions as a prediction: their alphas as a metric, what happens at each as notes.

    Assumes: as :func:`phases`.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> found = predict_phases(Problem.of("h1^2"), Amp(phases=True))
    >>> found.metrics["transitions"].round(4).tolist()
    [0.5, 1.0, 1.1285]
    """
    found = phases(problem)
    metrics = {
        "transitions": np.array([transition.alpha for transition in found]),
        "overlap_squared_before": np.array([transition.before for transition in found]),
        "overlap_squared_after": np.array([transition.after for transition in found]),
    }
    notes = (*channel_for(problem).notes, *(str(transition) for transition in found))
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, "replica"),
        REFERENCES,
        notes,
    )


def linear_threshold(problem: Problem) -> float:
    r"""The alpha at which the uninformed fixed point M = 0 loses stability.

    .. math:: 1/\alpha_c = \lambda_{\max}\big(M \mapsto E_y[G M G]\big), \quad G = E[hh^\top|y] - I

    0 if some E[h|y] is not zero, infinite if all G vanish: the number of
    :func:`giantstep.theory.learnability.thresholds.weak_recovery_threshold`.

    Assumes: isotropic Gaussian inputs, n = alpha d with d to infinity.
    Status: theorem for message passing.
    References: Troiani et al. 2024, arXiv:2405.15480; Mondelli, Montanari 2017, arXiv:1708.05932.

    >>> round(linear_threshold(Problem.of("sign(h1*h2)")), 6)
    2.467401
    """
    try:
        return weak_recovery_threshold(problem.target, problem.noise).value
    except NoTheory:
        return float("inf")


def _on_curve(population: Population, curve: Curve) -> list[Transition]:
    """The transitions read off alpha(m)."""
    rank = population.channel.rank
    alphas, overlaps = curve.alphas, curve.overlaps
    closed = _perfect_alpha(population)
    found = [_departure(population, curve)]
    start = found[0].alpha if found[0].kind != "hard" else np.inf

    def at(alpha: float, kind: Kind, before: float, after: float) -> Transition:
        return Transition(float(alpha), kind, np.full(rank, before), np.full(rank, after))

    k = 0
    while k < len(alphas) - 1 and start < np.inf:
        # The overlap grows along a rising stretch, up to the next local maximum.
        while k < len(alphas) - 1 and alphas[k + 1] >= alphas[k]:
            k += 1
        if k == len(alphas) - 1:
            break
        peak, top = _refined(curve, k, -1) if k else (overlaps[0], start)
        landing = curve.first(top * (1 + 1e-9))
        beyond = np.flatnonzero(overlaps > max(landing, peak) * (1 + 1e-6))
        if landing > peak + 1e-3:
            kind: Kind = "perfect recovery" if landing == 1 else "jump"
            before = peak if k else 0.0
            if k == 0:
                found[0] = at(top, kind, before, landing)
            else:
                found.append(at(top, kind, before, landing))
        k = max(k + 1, beyond[0]) if len(beyond) else len(alphas) - 1
    if closed is not None and start < np.inf and found[-1].after[0] < 1:
        found.append(at(closed, "perfect recovery", 1.0, 1.0))
    for jump in [t for t in found if t.kind == "hard" or t.after[0] > t.before[0]]:
        before = _information(curve, jump, closed)
        if before is not None:
            low = curve.first(before) if jump.kind != "hard" else 0.0
            high = 1.0 if before == closed else curve.last(before)
            found.append(at(before, "information", low, high))
    return found


def _departure(population: Population, curve: Curve) -> Transition:
    """How the overlap leaves zero."""
    problem = Problem(population.channel.structure.target, population.channel.noise)
    alpha = linear_threshold(problem)
    zero = np.zeros(population.channel.rank)
    if alpha == 0:
        return Transition(0.0, "trivial", zero, zero)
    if alpha == np.inf:
        return Transition(np.inf, "hard", zero, zero)
    return Transition(alpha, "weak recovery", zero, zero)


def _perfect_alpha(population: Population) -> float | None:
    """alpha(1) of noiseless continuous labels; None where recovery is never perfect.

    Close to m = 1 a label off the flat pieces tells h exactly, f = P(not flat)/(1 - m).
    """
    channel, core = population.channel, population.channel.likelihood.core
    if channel.rank > 1 or channel.noise > 0 or channel.structure.target.is_random:
        return None
    if isinstance(core, Affine):
        return 1.0
    return 1 / (1 - core.atom_mass()) if isinstance(core, Preimages) else None


def _refined(curve: Curve, k: int, sign: int) -> tuple[float, float]:
    """The local maximum (sign -1) or minimum (sign 1) of alpha(m) next to point k of the scan."""
    from scipy.optimize import minimize_scalar

    t = np.log(curve.overlaps / (1 - curve.overlaps))
    logistic = lambda s: 1 / (1 + np.exp(-s))  # noqa: E731
    best = minimize_scalar(
        lambda s: sign * curve.alpha(logistic(s)),
        bounds=(t[max(k - 1, 0)], t[min(k + 1, len(t) - 1)]),
        method="bounded",
        options={"xatol": 1e-5},
    )
    return float(logistic(best.x)), float(sign * best.fun)


def _information(curve: Curve, jump: Transition, closed: float | None) -> float | None:
    """Where, before a jump, the free entropy of the upper branch overtakes that of the lower."""
    from scipy.optimize import brentq

    alphas, overlaps = curve.alphas, curve.overlaps
    above = overlaps > jump.before[0]
    lowest = float(alphas[above].min())
    if closed is not None and jump.after[0] in (0.0, 1.0):
        # The free entropy of perfect recovery is infinite as soon as alpha exceeds alpha(1).
        return closed if closed < jump.alpha * (1 - 1e-6) else None
    highest = jump.alpha if np.isfinite(jump.alpha) else 100 * lowest
    t = np.log(overlaps / (1 - overlaps))

    def gain(alpha: float) -> float:
        low, high = (curve.first(alpha) if jump.kind != "hard" else 0.0), curve.last(alpha)
        inside = (overlaps >= low) & (overlaps <= high)
        slope = curve.fisher * (alpha - alphas) * overlaps * (1 - overlaps)
        return float(np.trapezoid(np.where(inside, slope, 0.0), t))

    low, high = lowest * (1 + 1e-6), highest * (1 - 1e-6)
    if low >= high or gain(low) > 0 or gain(high) < 0:
        return None
    return float(brentq(gain, low, high, xtol=1e-7))


def _on_branches(problem: Problem, population: Population, largest: float) -> list[Transition]:
    """The transitions found by following both branches in alpha."""
    alphas = np.linspace(largest / _SCAN, largest, _SCAN)
    lower: list[FixedOverlap] = []
    for alpha in alphas:
        lower.append(state_evolution(problem, alpha, near=lower[-1] if lower else None))
    upper: list[FixedOverlap] = []
    for alpha in alphas[::-1]:
        upper.insert(0, state_evolution(problem, alpha, "informed", upper[0] if upper else None))
    zero = np.zeros(population.channel.rank)
    first = linear_threshold(problem)
    found = _changes(problem, lower)
    if first == 0:
        found.insert(0, Transition(0.0, "trivial", zero, _sizes(lower[0])))
    elif first == np.inf:
        found.insert(0, Transition(np.inf, "hard", zero, zero))
    else:
        for i, change in enumerate(found):
            if change.before.max() < _NONE:
                found[i] = Transition(first, change.kind, change.before, change.after)
    return found + _hidden(problem, lower, upper)


def _sizes(found: FixedOverlap) -> Float[np.ndarray, " r"]:
    """The eigenvalues of an overlap, largest first."""
    return np.linalg.eigvalsh(found.overlap)[::-1]


def _changes(problem: Problem, branch: list[FixedOverlap]) -> list[Transition]:
    """Emergences, jumps and perfect recoveries between neighbouring points, by bisection."""
    found: list[Transition] = []
    first = state_evolution(problem, branch[0].alpha * 1e-2)
    intervals = list(itertools.pairwise([first, *branch]))
    while intervals:
        low, high = intervals.pop(0)
        before, after = _sizes(low), _sizes(high)
        kind = _difference(before, after)
        if kind is None and np.abs(after - before).max() < 0.1:
            continue
        if high.alpha - low.alpha > _ACCURACY * high.alpha:
            middle = state_evolution(problem, (low.alpha + high.alpha) / 2, near=low)
            intervals = [(low, middle), (middle, high), *intervals]
            continue
        if kind is None and np.abs(after - before).max() > _JUMP:
            kind = "jump"
        if kind is not None:
            found.append(Transition((low.alpha + high.alpha) / 2, kind, before, after))
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
    left, best = (lower[i - 1].alpha if i else 1e-2 * lower[0].alpha), (lower[i], upper[i])
    start_low = lower[i - 1] if i else None
    while best[0].alpha - left > 10 * _ACCURACY * best[0].alpha:
        middle = (left + best[0].alpha) / 2
        pair = (
            state_evolution(problem, middle, near=start_low),
            state_evolution(problem, middle, "informed", best[1]),
        )
        if _is_ahead(problem, *pair):
            best = pair
        else:
            left = middle
    return [Transition(best[0].alpha, "information", _sizes(best[0]), _sizes(best[1]))]


def _is_ahead(problem: Problem, low: FixedOverlap, high: FixedOverlap) -> bool:
    """Whether the informed fixed point is another one, and the better explanation of the data.

    Perfect recovery of k directions from noiseless continuous labels has the free entropy
    (alpha - k)/2 times an infinite logarithm.
    """
    if _sizes(high).sum() <= _sizes(low).sum() + _JUMP:
        return False
    entropies = [free_entropy_at(problem, x.alpha, x.overlap) for x in (low, high)]
    perfect = [int((_sizes(x) >= _PERFECT).sum()) for x in (low, high)]
    if np.isinf(entropies[1]) and perfect[1] > perfect[0]:
        return low.alpha > perfect[1] - perfect[0]
    return bool(entropies[1] > entropies[0])
