"""A ridge that is given, or that generalised cross-validation chooses."""

from __future__ import annotations

import numpy as np

from giantstep.learners.ridge.readout import RidgePath

#: The word that asks for generalised cross-validation.
GCV = "gcv"
#: Ridges that are tried, as multiples of the largest eigenvalue.
TRIED = np.logspace(-12, 1, 66)


def chosen_ridge(path: RidgePath, given: float | str) -> float:
    """The ridge itself, or for ``gcv`` the one of least generalised cross-validation error.

    Below the rounding of the features a ridge fits that rounding. The errors are nearly level
    there, so that a fit which goes far astray on new samples may have the least.

    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((50, 20))
    >>> path = RidgePath.fit(x, x[:, 0] + rng.standard_normal(50))
    >>> chosen_ridge(path, 0.5), 1 < chosen_ridge(path, "gcv") < 1000
    (0.5, True)
    """
    if given != GCV:
        return float(given)
    largest = float(path.eigenvalues[-1]) if len(path.eigenvalues) else 1.0
    ridges = (TRIED[path.precision <= TRIED] * largest).tolist()
    errors = path.gcv(ridges)
    return ridges[int(np.argmin(np.where(np.isfinite(errors), errors, np.inf)))]
