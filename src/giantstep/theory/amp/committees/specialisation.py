"""Where the units of a committee begin to specialise, without sampling; and for many units."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

from scipy.special import expit

from giantstep.errors import NoTheory
from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.amp.committees.averages import (
    is_blind,
    mean_averages,
    unspecialised_ratio,
)

#: The scan in log(q+/(1 - q+)).
_FIRST, _STEP, _LAST = -3.0, 1.0, 13.0
#: A relative growth below this is rounding: such units never part.
_NEVER = 1e-12


class Specialisation(NamedTuple):
    """The ratio n/d from which units specialise, and the overlap q+ of their mean there."""

    samples_ratio: float
    mean_overlap: float


@functools.lru_cache(maxsize=128)
def specialisation(committee: Committee) -> Specialisation:
    r"""The alpha = n/d at which the branch of equal units becomes unstable.

    .. math:: \alpha_{spec}\, E[\gamma(y, \omega_0)^2] = 1

    along the branch alpha(q+) of
    :func:`~giantstep.theory.amp.committees.averages.unspecialised_ratio`: all
    symmetric perturbations on the complement of (1, .., 1) grow at this one rate. Infinite where
    units never part.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r, the target and the noise known.
    Status: theorem for message passing.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(specialisation(committee).samples_ratio, 4)
    3.944
    """
    if is_blind(committee):
        growth = mean_averages(committee, 0.0).growth
        small = expit(-9.0)
        if growth > _NEVER and 1 / growth <= unspecialised_ratio(committee, small) * (1 + 1e-3):
            return Specialisation(1 / growth, 0.0)

    def excess(t: float) -> float:
        """log(alpha E[gamma^2]) on the branch."""
        overlap = expit(t)
        growth = mean_averages(committee, overlap).growth
        return math.log(max(unspecialised_ratio(committee, overlap) * growth, 1e-300))

    if mean_averages(committee, expit(0.0)).growth < _NEVER:
        return Specialisation(math.inf, 1.0)
    low = high = _FIRST
    while excess(high) < 0:
        low, high = high, high + _STEP
        if high > _LAST:
            return Specialisation(math.inf, 1.0)
    while excess(low) > 0:
        low, high = low - _STEP, low
        if low < -_LAST:
            raise NoTheory(f"link = {committee.link.text!r}: its units are never alike")
    found = bracketed_root(excess, low, high, absolute=1e-9)
    overlap = float(expit(found.value))
    return Specialisation(unspecialised_ratio(committee, overlap), overlap)
