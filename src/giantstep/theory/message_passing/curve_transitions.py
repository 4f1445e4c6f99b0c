"""Transitions where the overlap is one number times I: read off the curve of all fixed points."""

from __future__ import annotations

import numpy as np

from giantstep.channels.affine import Affine
from giantstep.channels.preimages import Preimages
from giantstep.theory.message_passing.averages.overlaps import logit
from giantstep.theory.message_passing.averages.population import Population
from giantstep.theory.message_passing.curve import Curve
from giantstep.theory.message_passing.iterations import extremum
from giantstep.theory.message_passing.transitions import Kind, Transition


def curve_transitions(curve: Curve, departure: float) -> list[Transition]:
    r"""The transitions read off the curve of all fixed points m I.

    .. math:: \alpha(m) = \frac{m}{(1-m) f(m)}, \qquad
              \Phi'(m) = \tfrac r2 f(m) (\alpha - \alpha(m))

    Message passing follows the running maximum of alpha(m) and jumps from a local maximum; the
    information-theoretic transition is where the free entropies before and after are equal.

    Symbols: the alpha at which m = 0 becomes unstable, ``departure``.

    Assumes: an overlap that is a multiple of I.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Barbier et al. 2017, arXiv:1708.03395; Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.channels import channel_for
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.message_passing.averages.population import population_of
    >>> from giantstep.theory.message_passing.curve import curve_of
    >>> curve = curve_of(population_of(channel_for(Problem.of("abs(h1)"))))
    >>> [round(t.samples_ratio, 3) for t in curve_transitions(curve, 0.5)]
    [0.5, 1.128, 1.0]
    """
    rank = curve.population.channel.rank
    alphas, overlaps = curve.samples_ratios, curve.overlaps
    closed = _perfect_alpha(curve.population)
    zero = np.zeros(rank)
    kinds: dict[float, Kind] = {0.0: "trivial", np.inf: "hard"}
    found = [Transition(departure, kinds.get(departure, "weak recovery"), zero, zero)]
    start = departure

    def at(alpha: float, kind: Kind, before: float, after: float) -> Transition:
        return Transition(float(alpha), kind, np.full(rank, before), np.full(rank, after))

    k = 0
    while k < len(alphas) - 1 and start < np.inf:
        # The overlap grows along a rising stretch, up to the next local maximum.
        while k < len(alphas) - 1 and alphas[k + 1] >= alphas[k]:
            k += 1
        if k == len(alphas) - 1:
            break
        peak, top = extremum(curve, k, -1) if k else (overlaps[0], start)
        landing = curve.first(top * (1 + 1e-9))
        beyond = np.flatnonzero(overlaps > max(landing, peak) * (1 + 1e-6)).tolist()
        if landing > peak + 1e-3:
            kind: Kind = "perfect recovery" if landing == 1 else "jump"
            before = peak if k else 0.0
            if k == 0:
                found[0] = at(top, kind, before, landing)
            else:
                found.append(at(top, kind, before, landing))
        k = max(k + 1, beyond[0]) if beyond else len(alphas) - 1
    if closed is not None and start < np.inf and found[-1].after[0] < 1:
        found.append(at(closed, "perfect recovery", 1.0, 1.0))
    for jump in [t for t in found if t.kind == "hard" or t.after[0] > t.before[0]]:
        before = _information(curve, jump, closed)
        if before is not None:
            low = curve.first(before) if jump.kind != "hard" else 0.0
            high = 1.0 if before == closed else curve.last(before)
            found.append(at(before, "information", low, high))
    return found


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


def _information(curve: Curve, jump: Transition, closed: float | None) -> float | None:
    """Where, before a jump, the free entropy of the upper branch overtakes that of the lower."""
    from scipy.optimize import brentq

    alphas, overlaps = curve.samples_ratios, curve.overlaps
    above = overlaps > jump.before[0]
    lowest = float(alphas[above].min())
    if closed is not None and jump.after[0] in (0.0, 1.0):
        # The free entropy of perfect recovery is infinite as soon as alpha exceeds alpha(1).
        return closed if closed < jump.samples_ratio * (1 - 1e-6) else None
    highest = jump.samples_ratio if np.isfinite(jump.samples_ratio) else 100 * lowest
    t = logit(overlaps)

    def gain(alpha: float) -> float:
        low, high = (curve.first(alpha) if jump.kind != "hard" else 0.0), curve.last(alpha)
        inside = (overlaps >= low) & (overlaps <= high)
        slope = curve.fisher * (alpha - alphas) * overlaps * (1 - overlaps)
        return float(np.trapezoid(np.where(inside, slope, 0.0), t))

    low, high = lowest * (1 + 1e-6), highest * (1 - 1e-6)
    if low >= high or gain(low) > 0 or gain(high) < 0:
        return None
    return float(brentq(gain, low, high, xtol=1e-7))
