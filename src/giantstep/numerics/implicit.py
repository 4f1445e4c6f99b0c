"""Fixed points whose derivative is compiled only where it is asked for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.flatten_util import ravel_pytree

from giantstep.numerics.fixed_point import FixedPoint, fixed_point


def lazy_fixed_point(
    f: Callable[[Any, Any], Any],
    theta: Any,
    start: Any,
    *,
    tolerance: float = 1e-11,
    **options: Any,
) -> FixedPoint:
    """The fixed point of ``x = f(x, theta)``, with derivatives of every order in theta.

    The same implicit function theorem as :func:`implicit_fixed_point`, by ``lax.custom_root``: a
    caller who wants the value alone does not compile the Jacobian of ``f``, which costs more than
    the iteration itself when ``f`` is long.

    >>> from giantstep.numerics.float64 import float64
    >>> def root(t):
    ...     return lazy_fixed_point(lambda x, t: jnp.cos(t * x), t, jnp.asarray(1.0)).value
    >>> with float64():
    ...     print(round(float(root(1.0)), 9), round(float(jax.grad(root)(1.0)), 9))
    0.739085133 -0.297474342
    """
    flat, unravel = ravel_pytree(start)

    def gap(x: Any) -> Any:
        return ravel_pytree(f(unravel(x), theta))[0] - x

    def solve(equation: Callable[[Any], Any], x: Any) -> tuple[Any, tuple[Any, Any]]:
        found = fixed_point(lambda y: y + equation(y), x, tolerance=tolerance, **options)
        # Whole numbers have no tangent, so the count travels as a float.
        return found.value, (found.residual, found.iterations.astype(x.dtype))

    def tangent_solve(linear: Callable[[Any], Any], image: Any) -> Any:
        return jnp.linalg.solve(jax.jacfwd(linear)(image), image)

    root, (residual, iterations) = lax.custom_root(gap, flat, solve, tangent_solve, has_aux=True)
    return FixedPoint(unravel(root), residual, iterations, residual <= tolerance)
