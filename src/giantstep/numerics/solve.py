"""Roots, fixed points and searches: every one returns a ``Solution`` that says how it ended."""

from __future__ import annotations

import enum
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

if TYPE_CHECKING:
    import jax

Vector = Float[np.ndarray, " n"]
Value = TypeVar("Value")
Map = Callable[[np.ndarray], np.ndarray]

#: Least relative distance that scipy accepts.
RELATIVE = 4 * 2.0**-52
#: Length of a complex step: so small that its square is lost.
STEP = 1e-30


class Ending(enum.IntEnum):
    """How a search ended."""

    CONVERGED = 0
    NO_BRACKET = 1
    NOT_FINITE = 2
    TOO_MANY_ITERATIONS = 3


class Solution(NamedTuple, Generic[Value]):
    """What a search reached; only what ``converged`` is a solution.

    ``residual`` is the last change of a fixed point, or the function at a root; ``status`` is one
    :class:`Ending`, or an array of them where many equations were solved at once.
    """

    value: Value
    residual: Any
    iterations: Any
    status: Any

    @property
    def converged(self) -> Any:
        """Whether the value solves the equation."""
        return self.status == Ending.CONVERGED


def bracketed_root(
    function: Callable[[float], float],
    low: float,
    high: float,
    *,
    absolute: float = 1e-12,
    relative: float = RELATIVE,
    max_iterations: int = 500,
) -> Solution[float]:
    """The root of a function between two ends, by Brent's method; NaN if there is none.

    There is no bracket where the function has the same sign at both ends. Ends found by other
    arithmetic than ``function``, such as a scan over many points at once, can differ from it in
    the last digits: whoever has such ends must look at the status.

    >>> root = bracketed_root(lambda x: x**3 - 8, 0.0, 10.0)
    >>> round(root.value, 9), root.converged
    (2.0, True)
    >>> bracketed_root(lambda x: x**2 + 1, 0.0, 10.0).status
    <Ending.NO_BRACKET: 1>
    """
    from scipy.optimize import brentq

    left, right = function(low), function(high)
    for end, value in ((low, left), (high, right)):
        if value == 0:
            return Solution(float(end), 0.0, 0, Ending.CONVERGED)
    if math.isnan(left) or math.isnan(right):
        return Solution(math.nan, math.nan, 0, Ending.NOT_FINITE)
    if (left > 0) == (right > 0):
        return Solution(math.nan, min(abs(left), abs(right)), 0, Ending.NO_BRACKET)
    last = left

    def watched(x: float) -> float:
        nonlocal last
        if not math.isnan(last):
            last = function(x)
        # scipy raises on NaN; any number lets it finish, and the answer is then refused.
        return 0.0 if math.isnan(last) else last

    value, report = brentq(
        watched,
        low,
        high,
        xtol=absolute,
        rtol=relative,
        maxiter=max_iterations,
        full_output=True,
        disp=False,
    )
    if math.isnan(last):
        return Solution(math.nan, last, report.iterations, Ending.NOT_FINITE)
    if not report.converged:
        return Solution(math.nan, abs(last), report.iterations, Ending.TOO_MANY_ITERATIONS)
    return Solution(float(value), abs(last), report.iterations, Ending.CONVERGED)


def bracketed_roots(
    function: Callable[..., np.ndarray], low: Vector, high: Vector, *parameters: Vector
) -> Solution[Vector]:
    """The roots of ``function(x, *parameters)`` in many brackets at once, to full precision.

    That is to rounding of the root, or of the narrowest bracket: a root at zero has no precision
    of its own, and would be sought down to 1e-308.

    >>> squares = np.array([2.0, 3.0])
    >>> found = bracketed_roots(lambda x, a: x**2 - a, np.zeros(2), squares, squares)
    >>> found.value.round(9).tolist(), bool(found.converged.all())
    ([1.414213562, 1.732050808], True)
    """
    from scipy.optimize.elementwise import find_root

    if not len(low):
        return Solution(np.zeros(0), np.zeros(0), np.zeros(0, int), np.zeros(0, int))
    rounding = float(np.finfo(float).eps * np.min(np.abs(high - low)))
    found = find_root(function, (low, high), args=parameters, tolerances={"xatol": rounding})
    codes = {0: Ending.CONVERGED, -1: Ending.NO_BRACKET, -2: Ending.TOO_MANY_ITERATIONS}
    status = np.array([codes.get(int(code), Ending.NOT_FINITE) for code in found.status])
    return Solution(found.x, np.abs(found.f_x), found.nit, status)


def iterated_fixed_point(
    f: Map,
    start: Vector,
    *,
    tolerance: float = 1e-11,
    max_iterations: int = 10_000,
    memory: int = 0,
) -> Solution[Vector]:
    """The fixed point of a map of numpy arrays; for JAX see :func:`fixed_point`.

    With ``memory``, each step is Anderson's: the combination of the last images whose residual is
    least. It pays where f is expensive. The residual is
    the largest change of an entry relative to 1 plus that entry.

    >>> found = iterated_fixed_point(np.cos, np.array([1.0]))
    >>> round(float(found.value[0]), 9), found.converged
    (0.739085133, True)
    >>> iterated_fixed_point(np.cos, np.array([1.0]), memory=3).iterations < found.iterations / 4
    True
    """
    x, image, count, residual = start, start, 0, math.inf
    points: list[np.ndarray] = []
    gaps: list[np.ndarray] = []
    while count < max_iterations:
        image, count = f(x), count + 1
        gap = image - x
        residual = float(np.max(np.abs(gap) / (1 + np.abs(image))))
        # A NaN compares False: the iteration stops, and has not converged.
        if not residual > tolerance:
            break
        points, gaps = [*points, x][-memory - 1 :], [*gaps, gap][-memory - 1 :]
        x = image
        if len(gaps) > 1:
            steps, changes = np.diff(points, axis=0).T, np.diff(gaps, axis=0).T
            mix = np.linalg.lstsq(changes, gap, rcond=1e-10)[0]
            x = image - (steps + changes) @ mix
    return Solution(image, residual, count, _solution_status(residual, tolerance))


def linear_responses(
    image: Map, sources: Float[np.ndarray, "*systems n"], tolerance: Any, most: int = 100
) -> Float[np.ndarray, "*systems n"]:
    """How far fixed points of linear maps move: ``x = image(x) + source``, system by system.

    Each iteration adds the image of what is left to the space in which this is least (generalised
    conjugate residuals); it ends where that is below the tolerance relative to the source. NaN
    where it is not after ``most`` of them.

    >>> moved = linear_responses(lambda x: x[..., ::-1] / 2, np.array([[1.0, 0.0]]), 1e-12)
    >>> moved.round(9).tolist()
    [[1.333333333, 0.666666667]]
    """
    found, left = np.zeros_like(sources), sources
    steps: list[np.ndarray] = []
    changes: list[np.ndarray] = []
    size = tolerance * np.linalg.norm(sources, axis=-1)
    for _ in range(most):
        if not np.any(np.linalg.norm(left, axis=-1) > size):
            break
        step = left
        change = step - image(step)
        for before, gone in zip(steps, changes, strict=True):
            part = np.sum(gone * change, axis=-1, keepdims=True)
            step, change = step - part * before, change - part * gone
        length = np.linalg.norm(change, axis=-1, keepdims=True)
        length[length == 0] = 1.0
        steps.append(step / length)
        changes.append(change / length)
        part = np.sum(changes[-1] * left, axis=-1, keepdims=True)
        found, left = found + part * steps[-1], left - part * changes[-1]
    near = np.linalg.norm(left, axis=-1, keepdims=True) <= size[..., None]
    return np.where(near, found, np.nan)


def _solution_status(residual: float, tolerance: float) -> Ending:
    if residual <= tolerance:
        return Ending.CONVERGED
    return Ending.TOO_MANY_ITERATIONS if math.isfinite(residual) else Ending.NOT_FINITE


def fixed_point(
    f: Callable[[Value], Value],
    start: Value,
    *,
    damping: float = 1.0,
    tolerance: float = 1e-11,
    max_iterations: int = 10_000,
) -> Solution[Value]:
    """Iterate ``x <- (1 - damping) x + damping f(x)`` in JAX until no entry changes any more.

    >>> import jax.numpy as jnp
    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     found = fixed_point(jnp.cos, jnp.asarray(1.0))
    >>> round(float(found.value), 9), bool(found.converged)
    (0.739085133, True)
    """
    import jax.numpy as jnp
    from jax import lax
    from jax.flatten_util import ravel_pytree

    flat, unravel = ravel_pytree(start)

    def step(state: tuple[Any, Any, Any]) -> tuple[Any, Any, Any]:
        x, _, count = state
        image, _ = ravel_pytree(f(unravel(x)))
        residual = jnp.max(jnp.abs(image - x) / (1 + jnp.abs(image)))
        return (1 - damping) * x + damping * image, residual, count + 1

    def unfinished(state: tuple[Any, Any, Any]) -> Any:
        _, residual, count = state
        # A NaN residual compares False, so a diverged iteration stops and reports it.
        return (residual > tolerance) & (count < max_iterations)

    infinite = jnp.asarray(jnp.inf, flat.dtype)
    x, residual, count = lax.while_loop(unfinished, step, (flat, infinite, jnp.asarray(0)))
    return Solution(unravel(x), residual, count, _jax_status(residual, tolerance))


def implicit_fixed_point(
    f: Callable[[Value, Any], Value],
    theta: Any,
    start: Value,
    *,
    tolerance: float = 1e-11,
    **options: Any,
) -> Solution[Value]:
    """The fixed point of ``x = f(x, theta)`` in JAX, with derivatives of every order in theta.

    By the implicit function theorem, ``dx/dtheta = (I - df/dx)^-1 df/dtheta``. A caller who wants
    the value alone does not compile the Jacobian of ``f``, which costs more than the iteration
    itself when ``f`` is long.

    >>> import jax, jax.numpy as jnp
    >>> from giantstep.numerics.float64 import float64
    >>> def root(t):
    ...     return implicit_fixed_point(lambda x, t: jnp.cos(t * x), t, jnp.asarray(1.0)).value
    >>> with float64():
    ...     print(round(float(root(1.0)), 9), round(float(jax.grad(root)(1.0)), 9))
    0.739085133 -0.297474342
    """
    import jax
    import jax.numpy as jnp
    from jax import lax
    from jax.flatten_util import ravel_pytree

    flat, unravel = ravel_pytree(start)

    def gap(x: Any) -> Any:
        return ravel_pytree(f(unravel(x), theta))[0] - x

    def solve(equation: Callable[[Any], Any], x: Any) -> tuple[Any, tuple[Any, Any]]:
        found = fixed_point(lambda y: y + equation(y), x, tolerance=tolerance, **options)
        # Whole numbers have no tangent, so the count travels as a float.
        return found.value, (found.residual, found.iterations.astype(x.dtype))

    def tangent_solve(linear: Callable[[Any], Any], image: Any) -> Any:
        return jnp.linalg.solve(jax.jacfwd(linear)(image), image)

    root, (residual, count) = lax.custom_root(gap, flat, solve, tangent_solve, has_aux=True)
    return Solution(unravel(root), residual, count, _jax_status(residual, tolerance))


def _jax_status(residual: jax.Array, tolerance: float) -> jax.Array:
    import jax.numpy as jnp

    stopped = jnp.where(jnp.isfinite(residual), Ending.TOO_MANY_ITERATIONS, Ending.NOT_FINITE)
    return jnp.where(residual <= tolerance, Ending.CONVERGED, stopped)


def bisected(
    is_above: Map, low: np.ndarray, high: np.ndarray, steps: int
) -> tuple[np.ndarray, np.ndarray]:
    """Brackets halved in numpy, entry by entry, until the place where ``is_above`` becomes true.

    >>> low, high = bisected(lambda x: x * x > 2, np.zeros(1), np.full(1, 2.0), 20)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (1.4142, 1.4142)
    """
    for _ in range(steps):
        middle = (low + high) / 2
        above = is_above(middle)
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return low, high


def narrowed_minima(
    function: Map, low: np.ndarray, high: np.ndarray, steps: int = 60
) -> Float[np.ndarray, "..."]:
    """Where a function is least between two ends, entry by entry; it has one minimum there.

    >>> narrowed_minima(np.cos, np.array([3.0, 9.0]), np.array([3.5, 10.0])).round(6).tolist()
    [3.141593, 9.424778]
    """
    for _ in range(steps):
        first, second = (2 * low + high) / 3, (low + 2 * high) / 3
        down = function(first) < function(second)
        low, high = np.where(down, low, first), np.where(down, second, high)
    return (low + high) / 2


def halved_brackets(
    is_above: Callable[[jax.Array], jax.Array], low: Any, high: Any, steps: int
) -> tuple[jax.Array, jax.Array]:
    """Brackets halved in JAX, entry by entry, until the place where ``is_above`` becomes true.

    >>> import jax.numpy as jnp
    >>> low, high = halved_brackets(lambda x: x * x > 2, jnp.zeros(1), jnp.full(1, 2.0), 20)
    >>> round(float(low[0]), 4), round(float(high[0]), 4)
    (1.4142, 1.4142)
    """
    import jax.numpy as jnp
    from jax import lax

    def halve(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
        left, right = bracket
        middle = (left + right) / 2
        above = is_above(middle)
        return jnp.where(above, left, middle), jnp.where(above, middle, right)

    return lax.fori_loop(0, steps, halve, (low, high))


def bisect(
    f: Callable[[Any, Any], Any], low: float, high: float, theta: Any, steps: int = 64
) -> Solution[jax.Array]:
    """The root of a scalar ``f(x, theta)`` increasing in x, in JAX, differentiable in theta.

    The value is no root unless f(low) <= 0 <= f(high): then bisection cannot fail on a monotone
    function. The Newton step at the end sharpens the root to full precision and carries the
    implicit gradient.

    >>> import jax
    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     slope = jax.grad(lambda t: bisect(lambda x, t: x**3 - t, 0.0, 10.0, t).value)(8.0)
    >>> round(float(slope), 12) == round(1 / 12, 12)
    True
    """
    import jax
    import jax.numpy as jnp
    from jax import lax

    frozen = lax.stop_gradient(theta)
    first, last = (jnp.asarray(end, jnp.result_type(float)) for end in (low, high))
    left, right = halved_brackets(lambda x: f(x, frozen) > 0, first, last, steps)
    root = lax.stop_gradient((left + right) / 2)
    slope = lax.stop_gradient(jax.grad(f)(root, frozen))
    value = root - f(root, theta) / slope
    # NaN compares False: what cannot be evaluated is no bracket.
    bracket = (f(first, frozen) <= 0) & (f(last, frozen) >= 0)
    status = jnp.where(jnp.isfinite(value), Ending.CONVERGED, Ending.NOT_FINITE)
    status = jnp.where(bracket, status, Ending.NO_BRACKET)
    return Solution(value, jnp.abs(f(root, frozen)), jnp.asarray(steps), status)
