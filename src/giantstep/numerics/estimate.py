"""Numbers with errors: estimates, and means over independent replicas of a calculation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float


@dataclass(frozen=True)
class Estimate:
    """A value, the size of its error (quadrature difference or standard error), its method."""

    value: float
    error: float
    method: str


#: Squares below this are rounding errors.
TINY = 1e-24


def mean_and_error(values: Float[np.ndarray, "replicas ..."]) -> tuple[np.ndarray, np.ndarray]:
    """The mean over the replicas and its standard error.

    >>> [float(x) for x in mean_and_error(np.array([1.0, 3.0]))]
    [2.0, 1.0]
    """
    mean, deviation = values.mean(axis=0), values.std(axis=0, ddof=1)
    return np.asarray(mean), np.asarray(deviation / np.sqrt(len(values)))


def jackknife_replicas(count: int) -> list[np.ndarray]:
    """The numbers of all replicas, then those of all but one of them.

    >>> [kept.tolist() for kept in jackknife_replicas(2)]
    [[0, 1], [1], [0]]
    """
    every = np.arange(count)
    return [every, *[np.delete(every, one) for one in every]]


def jackknife(versions: Float[np.ndarray, "versions ..."]) -> Float[np.ndarray, " ..."]:
    """Standard error of the first version from the others, each of which leaves a replica out.

    >>> values = np.array([1.0, 3.0, 5.0])
    >>> versions = [values[kept].mean() for kept in jackknife_replicas(3)]
    >>> bool(np.isclose(jackknife(np.array(versions)), mean_and_error(values)[1]))
    True
    """
    others = versions[1:]
    count = len(others)
    squares = np.sum((others - others.mean(axis=0)) ** 2, axis=0)
    return np.asarray(np.sqrt((count - 1) / count * squares))


def mean_outer_of_replicas(
    values: Float[np.ndarray, "replicas steps kinds r"], shares: Float[np.ndarray, " kinds"]
) -> Float[np.ndarray, "steps r r"]:
    """The mean over kinds of c c^T, c the mean of the values over infinitely many replicas.

    Products of different replicas have no bias, where the square of a mean would have its variance.

    >>> values = np.array([1.0, -1.0]).reshape(2, 1, 1, 1)
    >>> float(mean_outer_of_replicas(values, np.ones(1)).item())
    -1.0
    """
    count, total = len(values), values.sum(axis=0)
    products = np.einsum("i,tik,tim->tkm", shares, total, total)
    products -= np.einsum("i,rtik,rtim->tkm", shares, values, values)
    return products / (count * (count - 1))


def root_and_error(
    square: Float[np.ndarray, " ..."], error: Float[np.ndarray, " ..."]
) -> tuple[np.ndarray, np.ndarray]:
    """The root of an estimated square; where that is compatible with 0, the root of its error.

    >>> [float(x) for x in root_and_error(np.array(4.0), np.array(0.4))]
    [2.0, 0.1]
    """
    root = np.sqrt(np.maximum(square, 0.0))
    least = np.sqrt(np.maximum(error, TINY))
    return np.asarray(root), np.asarray(error / np.maximum(2 * root, least))


#: How rarely a theory that is right is called wrong.
FALSE_ALARMS = 1e-4


def student_quantile(draws: int, false_alarms: float = FALSE_ALARMS) -> float:
    """How many standard errors, estimated from ``draws``, a mean may lie off a right theory."""
    from scipy.special import stdtrit

    return -float(stdtrit(draws - 1, false_alarms / 2))
