"""Kernels for one run made into compiled functions of a group of runs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax

from giantstep.learners.giant_step.network import Model


def over_runs(
    kernel: Callable[..., Any], shared: tuple[int, ...] = (), donated: tuple[int, ...] = ()
) -> Callable[..., Any]:
    """The kernel ``(model, *arrays)`` over a leading axis of runs, compiled once for its shapes.

    Positions count from the first array: those in ``shared`` have no axis of runs, those in
    ``donated`` are overwritten. One run is no batch of one: XLA multiplies a batch of matrices by
    slower code.
    """

    @functools.wraps(kernel)
    def batched(model: Model, *arrays: Any) -> Any:
        runs = next(len(jax.tree.leaves(x)[0]) for i, x in enumerate(arrays) if i not in shared)
        single = functools.partial(kernel, model)
        if runs == 1:
            squeezed = [
                x if i in shared else jax.tree.map(lambda leaf: leaf[0], x)
                for i, x in enumerate(arrays)
            ]
            return jax.tree.map(lambda leaf: leaf[None], single(*squeezed))
        axes = [None if i in shared else 0 for i in range(len(arrays))]
        return jax.vmap(single, in_axes=axes)(*arrays)

    return jax.jit(batched, static_argnums=0, donate_argnums=[1 + i for i in donated])
