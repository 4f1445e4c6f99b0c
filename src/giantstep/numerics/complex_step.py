"""Fixed points of analytic maps in numpy, and their derivatives by complex steps.

A function written in numpy without absolute values or conjugates also takes complex numbers, and
Im f(x + i h v) / h is its derivative along v: exact to rounding, since nothing is subtracted.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

Map = Callable[[np.ndarray], np.ndarray]

#: So small that its square is lost.
STEP = 1e-30
#: Up to so many unknowns the whole Jacobian is built, beyond it is only applied.
DENSE = 64
#: Iterations that go half the way before differences of iterates are used.
FIRST = 4
MEMORY = 8


class Root(NamedTuple):
    """What was reached, the last relative change, the iterations, and whether it converged."""

    value: Float[np.ndarray, " n"]
    residual: float
    iterations: int
    converged: bool


def derivative_along(
    f: Map, x: Float[np.ndarray, " n"], direction: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """The derivative of f at x along a direction.

    >>> float(derivative_along(np.square, np.array([3.0]), np.array([2.0]))[0])
    12.0
    """
    return f(x + 1j * STEP * direction).imag / STEP


def response(
    f: Map, x: Float[np.ndarray, " n"], source: Float[np.ndarray, "n sources"]
) -> Float[np.ndarray, "n sources"]:
    """How far a fixed point x of f moves when f is shifted: (1 - f'(x))^-1 source.

    >>> moved = response(lambda x: x / 2, np.array([0.0]), np.array([[1.0]]))
    >>> float(moved[0, 0])
    2.0
    """
    if len(x) <= DENSE:
        columns = [derivative_along(f, x, unit) for unit in np.eye(len(x))]
        return np.linalg.solve(np.eye(len(x)) - np.stack(columns, axis=1), source)
    from scipy.sparse.linalg import LinearOperator, gmres

    def defect(v: np.ndarray) -> np.ndarray:
        return v - derivative_along(f, x, v)

    operator = LinearOperator((len(x), len(x)), matvec=defect, dtype=float)
    solved = np.stack(
        [gmres(operator, column, rtol=1e-10, restart=80, maxiter=4)[0] for column in source.T],
        axis=1,
    )
    for column, found in zip(source.T, solved.T, strict=True):
        # What did not converge must not pass for a number.
        if not np.max(np.abs(defect(found) - column)) <= 1e-6 * np.max(np.abs(column)):
            found[:] = np.nan
    return solved


def anderson(
    f: Map, start: Float[np.ndarray, " n"], *, tolerance: float = 1e-10, max_iterations: int = 100
) -> Root:
    """Anderson's iteration: each step combines the last images so that their changes cancel.

    >>> root = anderson(np.cos, np.array([1.0]))
    >>> round(float(root.value[0]), 9), root.converged
    (0.739085133, True)
    """
    x, residual = start, np.inf
    points: list[np.ndarray] = []
    gaps: list[np.ndarray] = []
    for count in range(1, max_iterations + 1):
        gap = f(x) - x
        residual = _relative(gap, x)
        # A NaN compares False: the iteration stops, and has not converged.
        if not residual > tolerance:
            break
        points, gaps = [*points, x][-MEMORY:], [*gaps, gap][-MEMORY:]
        if count <= FIRST:
            x = x + 0.5 * gap
            continue
        steps = np.array([x - point for point in points[:-1]]).T
        changes = np.array([gap - other for other in gaps[:-1]]).T
        mix = np.linalg.lstsq(changes, gap, rcond=1e-10)[0]
        x = x + gap - (steps + changes) @ mix
    return Root(x, residual, count, bool(residual <= tolerance))


def newton(
    f: Map, start: Float[np.ndarray, " n"], *, tolerance: float = 1e-10, max_iterations: int = 15
) -> Root:
    """Newton's iteration for a fixed point of f, from a good start.

    >>> root = newton(np.cos, np.array([0.7]))
    >>> round(float(root.value[0]), 9), root.iterations < 6
    (0.739085133, True)
    """
    x, residual, count = start, np.inf, 0
    while count < max_iterations:
        gap, count = f(x) - x, count + 1
        residual = _relative(gap, x)
        if not residual > tolerance:
            break
        x = x + response(f, x, gap[:, None])[:, 0]
    return Root(x, residual, count, bool(residual <= tolerance))


def _relative(gap: np.ndarray, x: np.ndarray) -> float:
    return float(np.max(np.abs(gap)) / max(float(np.max(np.abs(x))), 1e-300))
