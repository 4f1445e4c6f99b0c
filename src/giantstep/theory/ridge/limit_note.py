"""A warning where the limit of large d is far from every size that one can run."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.theory.ridge.degree_energies import ridge_target_energies
from giantstep.theory.ridge.spectral_case import RidgeCase

#: The largest dimension, and the most samples or neurons, of a simulation on a laptop.
LARGEST_DIM, MOST = 1000, 10_000
#: A difference is worth a word above both shares: of the limit, and of the labels' energy.
SHARE_OF_LIMIT, SHARE_OF_ENERGY = 0.1, 0.01


def far_from_limit(
    problem: Problem, settings: Any, limit: float, case: Callable[[Any, Any], RidgeCase]
) -> list[str]:
    """What to say of a test error in the limit that differs from the one at a size one can run.

    A limit may be approached only where n is far above a large ridge, or where many neurons are
    still few beside d: at no size that fits. Nothing is said at a dimension, or under a spike.
    """
    sizes = [getattr(settings, name) for name in ("samples", "width") if hasattr(settings, name)]
    dim = limit_runnable_dim(*sizes)
    if dim is None or settings.dim is not None or problem.inputs.spike is not None:
        return []
    try:
        there = case(problem, settings.replace(dim=dim))
        found = there.metrics(settings.ridge, problem.noise)["test_error"]
    except (NoTheory, SettingsError):
        return []
    difference = abs(found - limit)
    energy = ridge_target_energies(problem.target).total + problem.noise
    worth = max(SHARE_OF_LIMIT * abs(limit), SHARE_OF_ENERGY * energy)
    if not (math.isfinite(difference) and difference > worth):
        return []
    return [
        f"test_error: {found:.3g} at d = {dim}, far from its limit {limit:.3g}; "
        "give --dim for the size you have in mind"
    ]


def limit_runnable_dim(*sizes: Size) -> int | None:
    """The largest dimension up to 1000 at which no size is beyond 10,000; None if below 3."""
    dims = [LARGEST_DIM]
    for size in sizes:
        if size.at(LARGEST_DIM) > MOST:
            fits = (MOST / size.coefficient) ** (1 / size.power) if size.power > 0 else 0.0
            dims.append(math.floor(fits * (1 + 1e-12)))
    return min(dims) if min(dims) >= 3 else None
