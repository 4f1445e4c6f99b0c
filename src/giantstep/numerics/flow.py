"""Ordinary differential equations with error control, and whether the solution can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float


class Flow(NamedTuple):
    """Values at the times that were reached, NaN at the others; ``message`` says why it stopped.

    ``crossing`` is the first time at which the event's function rose through zero; infinite where
    it did not.
    """

    values: Float[np.ndarray, "times n"]
    crossing: float
    converged: bool
    message: str


def flow(
    velocity: Callable[[np.ndarray], np.ndarray],
    start: Float[np.ndarray, " n"],
    times: Sequence[float],
    *,
    event: Callable[[np.ndarray], float] | None = None,
    tolerance: float = 1e-8,
    most_calls: int = 100_000,
) -> Flow:
    """Follow dx/dt = velocity(x) from time 0; local errors stay below ``tolerance``.

    >>> decay = flow(lambda x: -x, np.ones(1), [0.0, 1.0])
    >>> decay.converged, bool(abs(decay.values[1, 0] - np.exp(-1)) < 1e-8)
    (True, True)
    """
    from scipy.integrate import solve_ivp

    calls = 0

    def right_side(_: float, x: np.ndarray) -> np.ndarray:
        nonlocal calls
        calls += 1
        if calls > most_calls or not np.all(np.isfinite(x)):
            raise _Stop("it takes too many steps" if calls > most_calls else "it diverges")
        return velocity(x)

    crossed = None
    if event is not None:

        def crossed(_: float, x: np.ndarray) -> float:
            return event(x)

        crossed.direction = 1.0  # type: ignore[attr-defined]
    wanted = np.asarray(times, dtype=float)
    nothing = np.full((len(wanted), len(start)), np.nan)
    crossing = 0.0 if event is not None and event(start) >= 0 else np.inf
    if wanted[-1] == 0:
        return Flow(np.tile(start, (len(wanted), 1)), crossing, True, "")
    try:
        with np.errstate(over="raise", invalid="raise"):
            found = solve_ivp(
                *(right_side, (0.0, wanted[-1]), start),
                t_eval=wanted,
                events=crossed,
                rtol=tolerance,
                atol=tolerance / 10,
            )
    except (_Stop, FloatingPointError) as stop:
        message = str(stop) if isinstance(stop, _Stop) else "it diverges"
        return Flow(nothing, np.inf, False, message)
    reached = len(found.t)
    if reached:
        nothing[:reached] = found.y.T
    if event is not None and np.isinf(crossing) and len(found.t_events[0]):
        crossing = float(found.t_events[0][0])
    return Flow(nothing, crossing, bool(found.success), "" if found.success else found.message)


class _Stop(Exception):
    pass
