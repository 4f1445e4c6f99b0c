"""Double precision for JAX without touching the process-wide flag, and derivatives by entry."""

from __future__ import annotations

import functools
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import numpy as np

#: Entries that are given to a compiled function at once.
BLOCK = 4096
Function = TypeVar("Function", bound=Callable[..., Any])


def float64() -> AbstractContextManager[None]:
    """A context in which JAX computes in float64; the flag outside it is left as it was."""
    import jax

    return jax.enable_x64(True)


def elementwise_derivative(function: Callable[[Any], Any], x: Any) -> Any:
    """The derivative, in JAX, of a function that acts on each entry.

    >>> float(elementwise_derivative(lambda x: x**2, 3.0))
    6.0
    """
    import jax
    import jax.numpy as jnp

    x = jnp.asarray(x)
    return jax.jvp(function, (x,), (jnp.ones_like(x),))[1]


def by_blocks(function: Callable[[Any], Any], x: np.ndarray) -> np.ndarray:
    """What a compiled function makes of each entry, in blocks of one length: it compiles once.

    >>> by_blocks(lambda part: part + 1, np.arange(3.0)).tolist()
    [1.0, 2.0, 3.0]
    """
    flat = np.ravel(x)
    padded = np.concatenate([flat, np.zeros(-len(flat) % BLOCK)]).reshape(-1, BLOCK)
    with float64():
        values = [np.asarray(function(part)) for part in padded]
    return np.concatenate([*values, np.zeros(0)])[: len(flat)].reshape(np.shape(x))


def in_float64(function: Function) -> Function:
    """Run a function inside :func:`float64`, whatever the caller's precision is."""

    @functools.wraps(function)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        with float64():
            return function(*args, **kwargs)

    return wrapped  # type: ignore[return-value]
