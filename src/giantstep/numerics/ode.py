"""Ordinary differential equations with error control, and whether the solution can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.numerics.solve import bracketed_root


class Trajectory(NamedTuple):
    """Values at the times that were reached, NaN at the others; ``message`` says why it stopped.

    ``crossing`` is the first time at which the event's function rose through zero; infinite where
    it did not.
    """

    values: Float[np.ndarray, "times n"]
    crossing: float
    converged: bool
    message: str


def ode_trajectory(
    velocity: Callable[[np.ndarray], np.ndarray],
    start: Float[np.ndarray, " n"],
    times: Sequence[float],
    *,
    event: Callable[[np.ndarray], float] | None = None,
    tolerance: float = 1e-8,
    most_calls: int = 100_000,
) -> Trajectory:
    """Follow dx/dt = velocity(x) from time 0; local errors stay below ``tolerance``.

    >>> decay = ode_trajectory(lambda x: -x, np.ones(1), [0.0, 1.0])
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

    def crossed(_: float, x: np.ndarray) -> float:
        return 1.0 if event is None else event(x)

    crossed.direction = 1.0  # type: ignore[attr-defined]
    wanted = np.asarray(times, dtype=float)
    nothing = np.full((len(wanted), len(start)), np.nan)
    crossing = 0.0 if event is not None and event(start) >= 0 else np.inf
    if wanted[-1] == 0:
        return Trajectory(np.tile(start, (len(wanted), 1)), crossing, True, "")
    try:
        with np.errstate(over="raise", invalid="raise"):
            found = solve_ivp(
                right_side,
                (0.0, wanted[-1]),
                start,
                t_eval=wanted,
                events=crossed,
                rtol=tolerance,
                atol=tolerance / 10,
            )
    except (_Stop, FloatingPointError) as stop:
        message = str(stop) if isinstance(stop, _Stop) else "it diverges"
        return Trajectory(nothing, np.inf, False, message)
    reached = len(found.t)
    if reached:
        nothing[:reached] = found.y.T
    if np.isinf(crossing) and len(found.t_events[0]):
        crossing = float(found.t_events[0][0])
    return Trajectory(
        nothing, crossing, bool(found.success), "" if found.success else found.message
    )


class _Stop(Exception):
    pass


#: Steps in a row without a change that the tolerance can see: the flow has come to rest.
RESTING_STEPS = 30

Rate = Callable[[np.ndarray], np.ndarray]


class OdeSolution(NamedTuple):
    """Where a flow ended, when, whether at its event, and whether it has ended at all."""

    state: Float[np.ndarray, "k 1"]
    time: Float[np.ndarray, " 1"]
    reached: Bool[np.ndarray, " 1"]
    finished: Bool[np.ndarray, " 1"]


def integrate(
    rate: Rate,
    start: Float[np.ndarray, "k 1"],
    horizon: float,
    *,
    event: Callable[[np.ndarray], np.ndarray] | None = None,
    tolerance: float = 1e-8,
    smallest: float = 1e-11,
    most_steps: int = 20_000,
) -> OdeSolution:
    """Solve y' = rate(y) from ``start`` until ``event(y)`` is no longer negative, or the horizon.

    Errors of a step stay below ``smallest + tolerance * |y|``, by the formulas of Dormand and
    Prince. What has not ended after ``most_steps`` is not ``finished``.

    >>> found = integrate(lambda y: y, np.array([[1.0]]), np.inf, event=lambda y: y[0] - np.e)
    >>> round(float(found.time[0]), 6), bool(found.reached[0])
    (1.0, True)
    """
    from scipy.integrate import DOP853

    def beyond(y: np.ndarray) -> float:
        return -1.0 if event is None else float(event(y[:, None])[0])

    def path_from(y: np.ndarray, left: float) -> DOP853:
        return DOP853(
            lambda _, y: rate(y[:, None])[:, 0], 0.0, y, left, rtol=tolerance, atol=smallest
        )

    y = np.array(start[:, 0], dtype=np.float64)
    before, time, resting, reached = 0.0, 0.0, 0, beyond(y) >= 0
    # A step that is far too long may overflow on its way: it is not accepted, and shortened.
    with np.errstate(over="ignore", invalid="ignore"):
        path = path_from(y, horizon)
        for _ in range(most_steps):
            if reached or path.status != "running" or resting == RESTING_STEPS:
                break
            path.step()
            reached = beyond(path.y) >= 0
            seen = smallest + tolerance * np.maximum(np.abs(y), np.abs(path.y))
            resting = resting + 1 if np.all(np.abs(path.y - y) <= 10 * seen) else 0
            y, time = path.y, path.t
            if path.status == "failed" and time:  # its clock is too coarse for shorter steps
                before, time, path = before + time, 0.0, path_from(y, horizon - before - time)
        if reached and path.t:
            along = path.dense_output()
            time = bracketed_root(lambda t: beyond(along(t)), path.t_old, path.t).value
            y = along(time)
    ended = reached or path.status == "finished" or resting == RESTING_STEPS
    return OdeSolution(
        y[:, None], *(np.array([value]) for value in (before + time, reached, ended))
    )
