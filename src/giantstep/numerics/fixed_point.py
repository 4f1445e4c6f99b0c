"""Fixed points and roots that say whether they converged, and that can be differentiated."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree


class FixedPoint(NamedTuple):
    """What the iteration reached, and whether its residual fell below the tolerance."""

    value: Any
    residual: jax.Array
    iterations: jax.Array
    converged: jax.Array


def fixed_point(
    f: Callable[[Any], Any],
    start: Any,
    *,
    damping: float = 1.0,
    tolerance: float = 1e-11,
    max_iterations: int = 10_000,
) -> FixedPoint:
    """Iterate ``x <- (1 - damping) x + damping f(x)`` until the largest relative change is small.

    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     found = fixed_point(jnp.cos, jnp.asarray(1.0))
    >>> round(float(found.value), 9), bool(found.converged)
    (0.739085133, True)
    """
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
    return FixedPoint(unravel(x), residual, count, residual <= tolerance)


def implicit_fixed_point(
    f: Callable[[Any, Any], Any],
    theta: Any,
    start: Any,
    **options: Any,
) -> FixedPoint:
    """The fixed point of ``x = f(x, theta)``, differentiable in theta.

    One Newton step from the converged point, its Jacobian held constant, has the value of the
    fixed point and the gradient of the implicit function theorem:
    ``dx/dtheta = (I - df/dx)^-1 df/dtheta``.
    """
    frozen = lax.stop_gradient(theta)
    found = fixed_point(lambda x: f(x, frozen), start, **options)
    root = lax.stop_gradient(found.value)
    flat, unravel = ravel_pytree(root)

    def image(x: Any, parameters: Any) -> Any:
        return ravel_pytree(f(unravel(x), parameters))[0]

    jacobian = jnp.eye(flat.size, dtype=flat.dtype) - jax.jacfwd(image)(flat, frozen)
    newton = flat + jnp.linalg.solve(lax.stop_gradient(jacobian), image(flat, theta) - flat)
    return found._replace(value=unravel(newton))


def bisect(
    f: Callable[[Any, Any], Any],
    low: Any,
    high: Any,
    theta: Any,
    steps: int = 64,
) -> FixedPoint:
    """The root of a scalar ``f(x, theta)`` increasing in x, its value differentiable in theta.

    ``converged`` is False, and the value no root, unless f(low) <= 0 <= f(high): then bisection
    cannot fail on a monotone function. The Newton step at the end sharpens the root to full
    precision and carries the implicit gradient.

    >>> from giantstep.numerics.float64 import float64
    >>> with float64():
    ...     slope = jax.grad(lambda t: bisect(lambda x, t: x**3 - t, 0.0, 10.0, t).value)(8.0)
    >>> round(float(slope), 12) == round(1 / 12, 12)
    True
    """
    frozen = lax.stop_gradient(theta)

    def halve(_: Any, bracket: tuple[Any, Any]) -> tuple[Any, Any]:
        left, right = bracket
        middle = (left + right) / 2
        above = f(middle, frozen) > 0
        return jnp.where(above, left, middle), jnp.where(above, middle, right)

    dtype = jnp.result_type(float)
    bracket = (jnp.asarray(low, dtype), jnp.asarray(high, dtype))
    left, right = lax.fori_loop(0, steps, halve, bracket)
    root = lax.stop_gradient((left + right) / 2)
    slope = lax.stop_gradient(jax.grad(f)(root, frozen))
    value = root - f(root, theta) / slope
    ends = f(bracket[0], frozen), f(bracket[1], frozen)
    # NaN compares False: what cannot be evaluated is no bracket.
    converged = (ends[0] <= 0) & (ends[1] >= 0) & jnp.isfinite(lax.stop_gradient(value))
    return FixedPoint(value, jnp.abs(f(root, frozen)), jnp.asarray(steps), converged)
