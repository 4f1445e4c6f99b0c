"""Ordinary differential equations with error control, and whether the solution can be trusted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.numerics.solve import bisected


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


#: Dormand and Prince 1980: the stages, the solution of order five, and its distance to order four.
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (71 / 57600, 0.0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40)
#: Steps in a row without a change that the tolerance can see: the flow has come to rest.
RESTING_STEPS = 30
BISECTIONS = 52

Rate = Callable[[np.ndarray], np.ndarray]


class OdeSolution(NamedTuple):
    """Where each flow ended, when, whether at its event, and whether it has ended at all."""

    state: Float[np.ndarray, "k flows"]
    time: Float[np.ndarray, " flows"]
    reached: Bool[np.ndarray, " flows"]
    finished: Bool[np.ndarray, " flows"]


def integrate(
    rate: Rate,
    start: Float[np.ndarray, "k flows"],
    horizon: float,
    *,
    event: Callable[[np.ndarray], np.ndarray] | None = None,
    tolerance: float = 1e-8,
    smallest: float = 1e-11,
    most_steps: int = 20_000,
) -> OdeSolution:
    """Solve y' = rate(y) from ``start`` until ``event(y)`` is no longer negative, or the horizon.

    Errors of a step stay below ``smallest + tolerance * |y|``. The end is found by bisection in
    the length of the last step, as exact as a step itself. What has not ended after ``most_steps``
    is not ``finished``.

    >>> found = integrate(lambda y: y, np.array([[1.0]]), np.inf, event=lambda y: y[0] - np.e)
    >>> round(float(found.time[0]), 6), bool(found.reached[0])
    (1.0, True)
    """
    y, flows = np.array(start, dtype=np.float64), start.shape[1]
    slope, t = rate(y), np.zeros(flows)
    h = 0.01 * (np.abs(y).max(axis=0) + 1e-3) / (np.abs(slope).max(axis=0) + 1e-30)
    reached = np.zeros(flows, bool) if event is None else event(y) >= 0
    last, resting = np.zeros(flows), np.zeros(flows, int)
    active = ~reached & (t < horizon)
    crossed = np.zeros(flows, bool)
    for _ in range(most_steps):
        if not active.any():
            break
        h = np.where(active, np.minimum(h, horizon - t), 0.0)
        # A step that is far too long may overflow on its way: it is not accepted, and shortened.
        with np.errstate(over="ignore", invalid="ignore"):
            moved, new_slope, error = _runge_kutta_step(rate, y, slope, h)
            scale = smallest + tolerance * np.maximum(np.abs(y), np.abs(moved))
            ratio = np.max(np.abs(error) / scale, axis=0)
        ratio = np.where(np.isfinite(ratio), ratio, 1e10)
        accepted = active & (ratio <= 1)
        if event is not None:
            now = accepted & (event(np.where(accepted, moved, y)) >= 0)
            crossed |= now
            last = np.where(now, h, last)
            accepted &= ~now
            active &= ~now
        still = np.all(np.abs(moved - y) <= 10 * scale, axis=0) & (h < horizon - t)
        resting = np.where(accepted, np.where(still, resting + 1, 0), resting)
        y, slope = np.where(accepted, moved, y), np.where(accepted, new_slope, slope)
        t = np.where(accepted, t + h, t)
        active &= (resting < RESTING_STEPS) & (t < horizon * (1 - 1e-15))
        h = np.where(active, h * np.clip(0.9 * np.maximum(ratio, 1e-10) ** -0.2, 0.2, 5.0), 0.0)
    if event is not None and crossed.any():
        ended, before = event, y
        # Where a step of at most that length meets the event.
        length = np.where(crossed, last, 0.0)
        _, high = bisected(
            lambda h: ended(_runge_kutta_step(rate, before, slope, h)[0]) >= 0,
            np.zeros_like(length),
            length,
            BISECTIONS,
        )
        y, t = np.where(length > 0, _runge_kutta_step(rate, y, slope, high)[0], y), t + high
    return OdeSolution(y, t, reached | crossed, ~active)


def _runge_kutta_step(
    rate: Rate, y: np.ndarray, slope: np.ndarray, h: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """One step of length h: the new state, the rate there, and the estimate of the error."""
    slopes = [slope]
    for weights in _STAGES:
        moved = y + h * sum(w * k for w, k in zip(weights, slopes, strict=True))
        slopes.append(rate(moved))
    return moved, slopes[-1], h * sum(w * k for w, k in zip(_ERROR, slopes, strict=True))
