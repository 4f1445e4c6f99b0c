"""The transitions of a committee in n/d: specialisation, spinodal, information."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit, logit

from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.quadrature import legendre_panels
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.amp.committees.averages import (
    is_blind,
    mean_averages,
    unspecialised_overlap,
    unspecialised_ratio,
)
from giantstep.theory.amp.committees.fixed_point import committee_overlap_branch
from giantstep.theory.amp.committees.specialisation import specialisation
from giantstep.theory.amp.transitions import Kind, Transition

#: A dip of alpha(q-) below the threshold by less than this, relatively, is within the averages.
_DIP = {2: 1e-3, 3: 5e-3}
_DIP_BEYOND = 0.01
#: Relative errors of what is located on the curve: rules of averages differ by about as much.
LOCATED: dict[Kind, float] = {"spinodal": 0.01, "information": 0.03}
#: One of so many points of the rule is enough for a whole curve.
_SHARE = 2
#: Points of the interpolated curve.
_FINE = 400


class CommitteeCurve(NamedTuple):
    """q-, q+, alpha and E+- along the specialised branch, from where q- leaves zero."""

    q_minus: Float[np.ndarray, " k"]
    q_plus: Float[np.ndarray, " k"]
    samples_ratios: Float[np.ndarray, " k"]
    plus: Float[np.ndarray, " k"]
    minus: Float[np.ndarray, " k"]


@functools.lru_cache(maxsize=16)
def branch_curve(committee: Committee) -> CommitteeCurve:
    """The specialised branch on a fine grid, by splines through computed points."""
    from scipy.interpolate import PchipInterpolator

    leaves = specialisation(committee)
    here = mean_averages(committee, leaves.mean_overlap)
    known = list(committee_overlap_branch(committee, _SHARE).scan())
    rows = np.array(
        [[p.q_minus, p.q_plus, p.samples_ratio, p.averages.plus, p.averages.minus] for p in known]
    )
    # At q- = 0, E- vanishes like q- / alpha.
    first = [0.0, leaves.mean_overlap, leaves.samples_ratio, here.fisher, 0.0]
    rows = np.vstack([first, rows])
    x = np.concatenate([[0.0], np.arange(1, len(rows))])
    fine = np.linspace(0, x[-1], _FINE)
    logs = np.log(np.maximum(rows[:, 2:4], 1e-300))
    smooth = PchipInterpolator(x, np.column_stack([rows[:, :2], logs]))(fine)
    ratios, plus = np.exp(smooth[:, 2]), np.exp(smooth[:, 3])
    minus = smooth[:, 0] / ((1 - smooth[:, 0]) * ratios)
    return CommitteeCurve(smooth[:, 0], smooth[:, 1], ratios, plus, minus)


def spinodal(committee: Committee) -> tuple[float, float] | None:
    r"""Where the specialised branch begins, (alpha, q-), if that is below the threshold.

    .. math:: \alpha_{sp} = \min_{q_-} \alpha(q_-) < \alpha_{spec}

    None where units specialise continuously, as far as the averages can tell.

    Assumes: as
    :func:`~giantstep.theory.amp.committees.fixed_point.committee_overlap`.
    Status: replica.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> spinodal(target_as_committee(Target("sign(sign(h1) + sign(h2))"))) is None
    True
    """
    curve = branch_curve(committee)
    lowest = int(np.argmin(curve.samples_ratios))
    dip = 1 - curve.samples_ratios[lowest] / curve.samples_ratios[0]
    if dip < _DIP.get(committee.rank, _DIP_BEYOND):
        return None
    return float(curve.samples_ratios[lowest]), float(curve.q_minus[lowest])


def information_threshold(committee: Committee) -> float | None:
    r"""Where the specialised branch gets the larger free entropy, before message passing finds it.

    .. math::
        \Phi_{spec} - \Phi_{unspec} = \tfrac12 \int (\alpha - \alpha(q_-))
        \big[(r-1) E_-\, dq_- + E_+\, dq_+\big] = 0

    along the specialised branch, and back along the other one: the gradient of the free entropy
    is known on both, so that no difference of two sampled numbers is taken.

    Assumes: as :func:`spinodal`, which must exist; otherwise None.
    Status: replica.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> information_threshold(target_as_committee(Target("sign(sign(h1) + sign(h2))"))) is None
    True
    """
    begins = spinodal(committee)
    if begins is None:
        return None
    curve, rank = branch_curve(committee), committee.rank
    leaves = specialisation(committee)
    lowest = int(np.argmin(curve.samples_ratios))

    def gain(alpha: float) -> float:
        beyond = np.flatnonzero(curve.samples_ratios[lowest:] >= alpha)
        end = lowest + (int(beyond[0]) if len(beyond) else len(curve.q_minus) - lowest - 1)
        part = slice(0, end + 1)
        ahead = alpha - curve.samples_ratios[part]
        along = np.trapezoid(ahead * (rank - 1) * curve.minus[part], curve.q_minus[part])
        along += np.trapezoid(ahead * curve.plus[part], curve.q_plus[part])
        return float(along) / 2 + _unspecialised_gain(committee, alpha, leaves.mean_overlap)

    low, high = begins[0] * (1 + 1e-6), leaves.samples_ratio * (1 - 1e-6)
    found = bracketed_root(gain, low, high, absolute=1e-4 * low)
    return found.value if found.converged else None


def _unspecialised_gain(committee: Committee, alpha: float, to: float) -> float:
    """What the free entropy gains from the fixed point with q- = 0 up to another q+."""
    q = unspecialised_overlap(committee, alpha)
    nodes, lengths = legendre_panels(logit(np.array([max(q, 1e-9), max(to, 1e-9)])), 8)
    total = 0.0
    for t, length in zip(nodes.tolist(), lengths.tolist(), strict=True):
        overlap = expit(t)
        ahead = alpha - unspecialised_ratio(committee, overlap)
        gain = mean_averages(committee, overlap).fisher * ahead
        total += length * gain * overlap * (1 - overlap)
    return total / 2


def committee_transitions(committee: Committee) -> list[Transition]:
    """All transitions of a committee, in increasing n/d; overlaps are eigenvalues of M."""
    leaves, rank = specialisation(committee), committee.rank

    def sizes(q_plus: float, q_minus: float) -> np.ndarray:
        return np.array([q_plus] + [q_minus] * (rank - 1))

    found: list[Transition] = []
    nothing = np.zeros(rank)
    if not is_blind(committee):
        found.append(Transition(0.0, "trivial", nothing, sizes(0.0, 0.0)))
    if not math.isfinite(leaves.samples_ratio):
        return [*found, Transition(math.inf, "hard", nothing, nothing)]
    before = sizes(leaves.mean_overlap, 0.0)
    begins = spinodal(committee)
    kind: Kind = "specialisation" if leaves.mean_overlap > 0 else "weak recovery"
    if begins is None:
        return [*found, Transition(leaves.samples_ratio, kind, before, before)]
    curve = branch_curve(committee)
    lowest = int(np.argmin(curve.samples_ratios))

    def above(alpha: float) -> np.ndarray:
        upper = curve.samples_ratios[lowest:]
        at = [np.interp(alpha, upper, part[lowest:]) for part in (curve.q_plus, curve.q_minus)]
        return sizes(*(float(value) for value in at))

    def below(alpha: float) -> np.ndarray:
        return sizes(unspecialised_overlap(committee, alpha), 0.0)

    found.append(Transition(begins[0], "spinodal", below(begins[0]), above(begins[0])))
    hidden = information_threshold(committee)
    if hidden is not None:
        found.append(Transition(hidden, "information", below(hidden), above(hidden)))
    after = above(leaves.samples_ratio)
    return [*found, Transition(leaves.samples_ratio, kind, before, after)]


def committee_phase_remarks(committee: Committee, found: list[Transition]) -> list[str]:
    """What the curve of a committee cannot tell of its transitions."""
    sampled = any(transition.kind in LOCATED for transition in found)
    if sampled and found[-1].samples_ratio > branch_curve(committee).samples_ratios[-1]:
        return ["overlap_squared after the last transition is at least what is shown"]
    if committee.rank > 3 and not sampled:
        least = _DIP.get(committee.rank, _DIP_BEYOND)
        return [f"a jump is not seen, but one of less than {least:.0%} in n/d may be"]
    return []
