"""Which fixed point of a committee message passing reaches at a given number of samples."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.targets.committee import Committee
from giantstep.theory.message_passing.averages.overlaps import logistic, logit
from giantstep.theory.message_passing.committees.averages import Averages
from giantstep.theory.message_passing.committees.branch import Branch, Point, branch_of
from giantstep.theory.message_passing.committees.specialisation import specialisation
from giantstep.theory.message_passing.committees.unspecialised import (
    mean_averages,
    unspecialised_overlap,
)

#: A first look takes one of this many points.
_LOOK = {2: 4, 3: 4, 4: 8, 5: 8}
_LOOK_BEYOND = 4
#: The step of the difference that gives the rate along the mean.
_SHIFT = 1e-3


@dataclass(frozen=True, eq=False)
class CommitteeOverlap:
    """A fixed point of state evolution, M = q- I + (q+ - q-)/r 11^T.

    ``rate`` is the factor by which distances to it shrink at each iteration. ``other`` is the
    point as another rule of averages gives it, which tells the error; None where none is left.
    """

    committee: Committee
    samples_ratio: float
    q_minus: float
    q_plus: float
    averages: Averages
    rate: float
    other: CommitteeOverlap | None = None

    @property
    def matrix(self) -> Float[np.ndarray, "r r"]:
        """The overlap M."""
        rank = self.committee.rank
        return self.q_minus * np.eye(rank) + (self.q_plus - self.q_minus) / rank

    @property
    def is_specialised(self) -> bool:
        """Whether units differ."""
        return self.q_minus > 0


@functools.lru_cache(maxsize=256)
def committee_overlap(
    committee: Committee, samples_ratio: float, start: str = "uninformed"
) -> CommitteeOverlap:
    r"""The overlap (q-, q+) that message passing reaches with n = alpha d samples.

    .. math::
        q_\pm = \frac{\alpha E_\pm}{1 + \alpha E_\pm}, \qquad
        E_+ = \tfrac1r E\big[(\textstyle\sum_i g_i)^2\big], \quad
        E_- = \tfrac1{r-1} \big(E[\textstyle\sum_i g_i^2] - E_+\big), \quad g = g_{out}

    From an uninformed start units stay alike up to the threshold of specialisation; beyond it
    the overlap grows to the smallest q- at which alpha(q-) = alpha. From an informed one it is the
    largest. Those values lie on a curve in q-, which nothing needs to be iterated for.

    Symbols: alpha ``samples_ratio``; the branch is that from ``start``.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r, overlaps symmetric in the units.
    Status: theorem for message passing; replica for the informed branch.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.targets import Target
    >>> from giantstep.targets.committee import committee_of
    >>> committee = committee_of(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> found = committee_overlap(committee, 5.0)
    >>> round(found.q_minus, 2), round(found.q_plus, 2)
    (0.19, 0.93)
    """
    leaves = specialisation(committee).samples_ratio
    look = branch_of(committee, _LOOK.get(committee.rank, _LOOK_BEYOND))
    if start == "informed":
        near = last_point(look, samples_ratio)
    else:
        near = first_point(look, samples_ratio, leaves) if samples_ratio > leaves else None
    if near is None:
        return _unspecialised(committee, samples_ratio)
    slopes = look.jacobian(near)
    branch = branch_of(committee)
    point, slopes = branch.solved(samples_ratio, near, slopes)
    rate = float(np.linalg.eigvals(np.eye(2) - slopes).real.max())
    return _placed(committee, point, rate, _other(committee, point, slopes, rate))


def _unspecialised(committee: Committee, samples_ratio: float) -> CommitteeOverlap:
    q = unspecialised_overlap(committee, samples_ratio)
    here = mean_averages(committee, q)
    rates = [samples_ratio * here.growth]
    if q > 0:
        t = float(logit(q))
        up = mean_averages(committee, logistic(t + _SHIFT)).fisher
        rates.append(float(np.log(up / here.fisher)) / _SHIFT)
    found = Averages(here.fisher, 0.0, here.log_partition, here.explained)
    return CommitteeOverlap(committee, samples_ratio, 0.0, q, found, max(rates))


def _placed(
    committee: Committee, point: Point, rate: float, other: CommitteeOverlap | None = None
) -> CommitteeOverlap:
    where = (point.q_minus, point.q_plus)
    return CommitteeOverlap(committee, point.samples_ratio, *where, point.averages, rate, other)


def _other(
    committee: Committee, point: Point, slopes: Float[np.ndarray, "2 2"], rate: float
) -> CommitteeOverlap:
    """The fixed point by another rule, to first order: one step of Newton's method."""
    share, seed = (2, 0) if committee.rank <= 3 else (1, 1)
    found = branch_of(committee, share, seed).averages(point.coordinates)
    gains = np.log(point.samples_ratio * np.array([found.minus, found.plus]))
    moved = point.coordinates - np.linalg.solve(slopes, point.coordinates - gains)
    minus, plus = (logistic(t) for t in moved)
    return _placed(committee, Point(minus, plus, point.samples_ratio, found), rate)


def first_point(branch: Branch, samples_ratio: float, leaves: float) -> Float[np.ndarray, "2"]:
    """Coordinates of the specialised point reached from below, where alpha(q-) first reaches alpha.

    Symbols: the alpha at which q- leaves zero, ``leaves``.
    """
    before: Point | None = None
    for point in branch.scan():
        if point.samples_ratio >= samples_ratio:
            if before is None:
                # Between zero and the first point alpha(q-) is nearly linear in q-.
                share = (samples_ratio - leaves) / max(point.samples_ratio - leaves, 1e-300)
                first = logit(np.clip(share * point.q_minus, 1e-6, point.q_minus))
                return np.array([float(first), point.coordinates[1]])
            return _between(before, point, samples_ratio)
        before = point
    raise NoTheory(
        f"samples = {samples_ratio:g}d: the units of the committee are known almost perfectly, and "
        f"averages lose their accuracy; up to about {before.samples_ratio if before else 0:.3g}d "
        "is covered"
    )


def last_point(branch: Branch, samples_ratio: float) -> Float[np.ndarray, "2"] | None:
    """Coordinates of the specialised point reached from above; None if there is none."""
    known = list(branch.scan())
    if known[-1].samples_ratio <= samples_ratio:
        raise NoTheory(
            f"samples = {samples_ratio:g}d: the units of the committee are known almost perfectly, "
            f"and averages lose their accuracy; up to about {known[-1].samples_ratio:.3g}d is "
            "covered"
        )
    for below, above in reversed(list(itertools.pairwise(known))):
        if below.samples_ratio <= samples_ratio:
            return _between(below, above, samples_ratio)
    return None


def _between(below: Point, above: Point, samples_ratio: float) -> Float[np.ndarray, "2"]:
    """Interpolated in log alpha."""
    low, high = np.log([below.samples_ratio, above.samples_ratio])
    share = (np.log(samples_ratio) - low) / (high - low)
    return below.coordinates + share * (above.coordinates - below.coordinates)
