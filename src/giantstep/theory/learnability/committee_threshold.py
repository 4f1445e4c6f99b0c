"""The threshold from which the units of a committee are told apart, as `explain` shows it."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from giantstep.channels.committees.core import covered_committee
from giantstep.errors import TargetError
from giantstep.numerics.estimate import Estimate
from giantstep.targets import Target
from giantstep.theory.learnability.later_thresholds import LaterThreshold
from giantstep.theory.message_passing.committees.specialisation import specialisation

#: Relative error of the integral over labels and the mean direction.
_ACCURACY = 1e-6


def specialised_threshold(
    target: Target, directions: Float[np.ndarray, "n r"], noise: float
) -> LaterThreshold | None:
    r"""The threshold of a stair that is all differences between the units of a committee.

    .. math:: \\alpha\\, E[\\gamma(y, \\omega_0)^2] = 1

    on the branch where only the mean direction is known, in part: see
    :func:`~giantstep.theory.message_passing.committees.specialisation.specialisation`. None for
    other targets and stairs.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r.
    Status: theorem for message passing.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> rows = np.array([[1.0, -1.0]]) / np.sqrt(2)
    >>> text = "(relu(h1) + relu(h2))/sqrt(2)"
    >>> round(specialised_threshold(Target(text), rows, 0.1).alpha.value, 4)
    2.2515
    """
    differences = len(directions) == target.rank - 1 and np.allclose(directions.sum(axis=1), 0.0)
    if not differences:
        return None
    try:
        covered = covered_committee(target, noise)
    except TargetError:
        return None
    if covered is None or covered.altered:
        return None
    found = specialisation(covered.committee).samples_ratio
    if not math.isfinite(found):
        return None
    method = "the branch on which all units are alike"
    return LaterThreshold(Estimate(found, _ACCURACY * found, method))
