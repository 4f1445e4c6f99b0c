"""Where the units of a committee begin to specialise, without sampling; and for many units."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from giantstep.channels.committees.sums import expectation, panels
from giantstep.errors import NoTheory
from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.amp.averages.overlaps import logistic
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
    >>> from giantstep.language.targets.symmetry import committee_of
    >>> committee = committee_of(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(specialisation(committee).samples_ratio, 4)
    3.944
    """
    if is_blind(committee):
        growth = mean_averages(committee, 0.0).growth
        small = logistic(-9.0)
        if growth > _NEVER and 1 / growth <= unspecialised_ratio(committee, small) * (1 + 1e-3):
            return Specialisation(1 / growth, 0.0)

    def excess(t: float) -> float:
        """log(alpha E[gamma^2]) on the branch."""
        overlap = logistic(t)
        growth = mean_averages(committee, overlap).growth
        return math.log(max(unspecialised_ratio(committee, overlap) * growth, 1e-300))

    if mean_averages(committee, logistic(0.0)).growth < _NEVER:
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
    overlap = logistic(found.value)
    return Specialisation(unspecialised_ratio(committee, overlap), overlap)


def many_units(committee: Committee) -> Specialisation:
    r"""The threshold of specialisation for many units, to leading order in r.

    .. math::
        \alpha_{spec} \to \frac{r s^2}{C_2^2} \ (C_2 \ne 0), \qquad
        \alpha_{spec} \to \frac{r^2}{C_3^2/s^2 + B^2/(2 s^4)} \ (C_2 = 0),

    with C_k = E[g He_k], s^2 = Delta + Var g - C_1^2, f = g - C_0 - C_1 h and B = E[f^2 He_2] for
    labels (1/sqrt(r)) sum_i g(h_i) + noise of variance Delta.

    Symbols: the link of ``committee`` is g/sqrt(r), its noise Delta.

    Assumes: real labels with noise, r to infinity after d.
    Status: heuristic.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.language.targets.symmetry import committee_of
    >>> text = " + ".join(f"relu(h{i})/2" for i in range(1, 5)) + " + sqrt(0.1)*z1"
    >>> round(many_units(committee_of(Target(text))).samples_ratio / 4, 4)
    1.1991
    """
    if committee.vote is not None:
        raise NoTheory("the law of many units covers sums with noise, not votes")
    grid = panels(committee.link)
    mass, h = grid.conditional(np.zeros(1), 1.0)
    g = math.sqrt(committee.rank) * grid.values

    def mean(values: np.ndarray) -> float:
        return float(mass[0] @ values)

    c0, c1 = mean(g), mean(g * h[0])
    c2, c3 = mean(g * (h[0] ** 2 - 1)), mean(g * (h[0] ** 3 - 3 * h[0]))
    unexplained = committee.noise + mean(g**2) - c0**2 - c1**2
    rest = g - c0 - c1 * h[0]
    bend = mean(rest**2 * (h[0] ** 2 - 1))
    rank = committee.rank
    if abs(c2) > 1e-9 * math.sqrt(committee.rank * expectation(committee.link, 2)):
        return Specialisation(rank * unexplained / c2**2, math.nan)
    rate = c3**2 / unexplained + bend**2 / (2 * unexplained**2)
    return Specialisation(rank**2 / rate, math.nan)
