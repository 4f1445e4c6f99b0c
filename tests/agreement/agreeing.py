"""The one rule by which a simulation agrees with a theory."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from giantstep.numerics.estimate import student_quantile


def mean_and_allowed(values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Mean over the first axis, and how far off it may be."""
    drawn = np.asarray(values, dtype=float)
    sem = drawn.std(axis=0, ddof=1) / np.sqrt(len(drawn))
    return drawn.mean(axis=0), student_quantile(len(drawn)) * sem


def agrees(
    values: ArrayLike,
    theory: ArrayLike,
    *,
    smaller: ArrayLike | None = None,
    size_ratio: float = 2.0,
    rest: float = 0.0,
    error: ArrayLike = 0.0,
    power: float | None = 0.05,
) -> None:
    """Assert that draws, one per seed, have the mean that theory gives.

    Their mean may be off by the Student quantile times its standard error; by what corrections of
    order 1/d leave, fitted from ``smaller``, the draws at a dimension that is smaller by
    ``size_ratio``; by ``rest``, a share of the theory that a test must explain; and by ``error``,
    the theory's own. Without
    ``power`` the test may be blind; with it, an error of that share would have been noticed.
    """
    expected = np.asarray(theory, dtype=float)
    mean, allowed = mean_and_allowed(values)
    if power is not None:
        assert np.all(allowed + rest * np.abs(expected) <= power * np.abs(expected)), (
            f"blind: {allowed} allowed at {expected}"
        )
    finite_size = 0.0
    if smaller is not None:
        finite_size = np.abs(mean - mean_and_allowed(smaller)[0]) / (size_ratio - 1)
    bound = allowed + finite_size + rest * np.abs(expected) + np.abs(error) + 1e-12
    assert np.all(np.abs(mean - expected) <= bound), f"{mean} +- {allowed}, theory {expected}"
