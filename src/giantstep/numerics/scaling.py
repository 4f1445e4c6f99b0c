"""Measured exponents: the power of a size that measurements follow, with its standard error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from giantstep.numerics.estimate import mean_and_error


class PowerFit(NamedTuple):
    """A slope with its standard error, and how the residuals compare with the errors of the dots.

    ``chi_square`` is the sum of squared residuals, in errors, per degree of freedom, and ``p`` how
    often residuals are as large by chance; both are none where the dots came without errors. The
    standard error is the larger one of what the errors of the dots and the residuals say.
    """

    slope: float
    sem: float
    chi_square: float | None = None
    p: float | None = None

    def __str__(self) -> str:
        text = f"{self.slope:.3f} +- {self.sem:.3f}"
        if self.p is None or self.p > 0.01:
            return text
        return f"{text}, though residuals are larger than errors (chi^2/dof {self.chi_square:.1f})"


def weighted_line_slope(x: ArrayLike, y: ArrayLike, errors: ArrayLike | None = None) -> PowerFit:
    """The slope of a straight line through dots, weighted by their errors.

    >>> print(weighted_line_slope([0.0, 1.0, 2.0, 3.0], [1.0, 3.1, 4.9, 7.0], [0.1, 0.1, 0.1, 0.1]))
    1.980 +- 0.045
    """
    from scipy.stats import chi2

    across, up = np.asarray(x, float), np.asarray(y, float)
    weights = np.ones(len(up)) if errors is None else 1 / np.asarray(errors, float) ** 2
    across = across - np.average(across, weights=weights)
    up = up - np.average(up, weights=weights)
    spread, freedom = float(np.sum(weights * across**2)), len(up) - 2
    slope = float(np.sum(weights * across * up)) / spread
    squares = float(np.sum(weights * (up - slope * across) ** 2))
    per_freedom = squares / freedom if freedom else 0.0
    if errors is None:
        return PowerFit(slope, float(np.sqrt(per_freedom / spread)))
    sem = float(np.sqrt(max(per_freedom, 1.0) / spread))
    return PowerFit(slope, sem, per_freedom, float(chi2.sf(squares, freedom)) if freedom else 1.0)


def fit_power(size: ArrayLike, value: ArrayLike, errors: ArrayLike | None = None) -> PowerFit:
    """The exponent e of value = constant * size^e."""
    height = np.asarray(value, float)
    relative = None if errors is None else np.asarray(errors, float) / height
    return weighted_line_slope(np.log(np.asarray(size, float)), np.log(height), relative)


def root_mean_square(values: np.ndarray) -> tuple[float, float]:
    """The root of the mean square of some runs, and its standard error."""
    square, error = map(float, mean_and_error(values**2))
    return square**0.5, error / (2 * square**0.5)


def sample_median(values: np.ndarray) -> tuple[float, float]:
    """The median of some runs, some of them infinite, with an error from ranks around it."""
    ordered, count = np.sort(values), len(values)
    ends = np.clip(np.round(count / 2 + np.array([-1, 1]) * np.sqrt(count) / 2), 0, count - 1)
    low, high = ordered[ends.astype(int)]
    return float(np.median(values)), float(high - low) / 2 if np.isfinite(high) else np.inf


def sample_deviation(values: np.ndarray) -> tuple[float, float]:
    """The standard deviation of some runs, and its standard error for Gaussian ones."""
    deviation = float(np.std(values, ddof=1))
    return deviation, deviation / float(np.sqrt(2 * (len(values) - 1)))


#: How runs are put together, by name.
AVERAGES: dict[str, Callable[[np.ndarray], tuple[Any, Any]]] = {
    "mean": mean_and_error,
    "root mean square": root_mean_square,
    "median": sample_median,
    "spread": sample_deviation,
}


def first_step_of_size(runs: ArrayLike, size: float) -> np.ndarray:
    """The step, along the last axis, at which each run first has that size; infinite if none."""
    there = np.abs(np.asarray(runs, float)) >= size
    return np.where(there.any(axis=-1), there.argmax(axis=-1), np.inf)


def power_fit_of_samples(
    size: ArrayLike, runs: ArrayLike, *, average: str = "mean", along: str = "power"
) -> PowerFit:
    """A fit to runs at several sizes, one row of ``runs`` per size, or to one number per size.

    ``along`` says what the slope is: of logarithms ("power"); per logarithm of the size
    ("logarithm"), as for times that grow with log d; or, where the sizes are times, the rate at
    which the logarithm of the distance from the last value falls ("decay").

    >>> times = np.array([1.0, 2.0, 3.0, 4.0, 40.0])
    >>> print(power_fit_of_samples(times, 5 + np.exp(-0.7 * times), along="decay"))
    -0.700 +- 0.000
    """
    table = np.asarray(runs, float)
    values, errors = table, None
    if table.ndim > 1:
        values, errors = np.transpose([AVERAGES[average](row) for row in table])
    if along == "logarithm":
        return weighted_line_slope(np.log(np.asarray(size, float)), values, errors)
    if along == "decay":
        away = np.abs(values[:-1] - values[-1])
        relative = None if errors is None else np.hypot(errors[:-1], errors[-1]) / away
        return weighted_line_slope(np.asarray(size, float)[:-1], np.log(away), relative)
    return fit_power(size, np.abs(values), errors)
