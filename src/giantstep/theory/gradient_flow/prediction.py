"""Predictions of the learner `gradient-flow`: the population flow, or its hitting time."""

from __future__ import annotations

import math

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.numerics.ode import OdeSolution, Rate, integrate
from giantstep.settings.flow_start import setting_overlaps, spike_setting
from giantstep.settings.gradient_flow import GradientFlow
from giantstep.theory.gradient_flow.hitting_times import hitting_time
from giantstep.theory.gradient_flow.link_series import (
    NEGLIGIBLE,
    alignment_speed,
    information_exponent,
)
from giantstep.theory.gradient_flow.population_flows import FLOWS, Spike, flow_overlap
from giantstep.theory.gradient_flow.random_start import start_overlap

REFERENCES = cite("2309.03843")
#: Errors of the integration, in overlaps and relative in times.
ERROR = 1e-6


def predict(problem: Problem, settings: GradientFlow) -> Prediction:
    """Overlaps of a neuron that follows the population flow, and the time it takes.

    Metrics: ``overlap`` is omega, the correlation of the pre-activation with what the label reads;
    ``spike_overlap`` and ``target_overlap`` are the cosines m and b of w with mu and u;
    ``initial_overlap`` is omega at the start, without a given start its root mean square over the
    sphere; ``time`` is the hitting time of ``until``, infinite where it is never reached.

    Assumes: Gaussian inputs with one spike or none; a polynomial link of h1; no label noise needed,
        since it does not move the population flow.
    Status: theorem from a given start; heuristic from a random one, for which a typical one stands.
    References: Mousavi-Hosseini et al. 2023, arXiv:2309.03843.

    >>> from giantstep.language.problem import Problem
    >>> link = "0.8*He2(h1)/sqrt(2) + 0.6*He3(h1)/sqrt(6)"
    >>> start = {"start_spike_overlap": 0.3, "start_target_overlap": 0.4, "times": 0.3}
    >>> law = predict(Problem(link, inputs="spiked:8,alignment=0.5"), GradientFlow(**start))
    >>> round(law.metrics["overlap"], 5)
    0.79283
    """
    theta, cosine = spike_setting(problem, settings.dim)
    sigma, target = activation(settings.activation), problem.target
    check_starts(sigma, target, given=settings.has_start)
    notes: list[str] = []
    status: Status = "theorem"
    begin = settings.start_overlap
    if not settings.has_start:
        status, begin = "heuristic", start_overlap(_flow_dim(settings), theta, cosine)
        notes.append("a random start: its root mean square stands for the whole law")
    alone = settings.geometry == "preconditioned" and begin is not None
    if alone:
        # The flow closes in omega, omega' = 2 zeta(omega) (1 - omega^2): an aligned spike of
        # strength 0 has m = b = omega and the same equation.
        spike, m, b = Spike(0.0, 1.0), begin, begin
    else:
        start = setting_overlaps if settings.has_start else _typical_start
        spike, (m, b) = Spike(theta, cosine), start(settings, theta, cosine)
    state = np.array([[m], [b], [1.0]])
    if settings.has_start or begin is None:
        begin = float(flow_overlap(state, spike)[0])
    flow = _flow(settings, FLOWS[settings.geometry](sigma, target, spike), state, spike)
    found = _flow_metrics(settings, flow, spike)
    if alone:
        del found["spike_overlap"], found["target_overlap"]
        if settings.until is not None and 0 < begin < settings.until and settings.times is None:
            found["time"] = hitting_time(alignment_speed(sigma, target), begin, settings.until)
    found["initial_overlap"] = begin
    if math.isnan(found["overlap"]):
        notes.append("the integration took too many steps and was given up")
    if found.get("time") == math.inf:
        notes.append(f"time: infinite, the flow does not reach omega = {settings.until:g}")
    errors = {name: ERROR * max(1.0, abs(v)) for name, v in found.items() if math.isfinite(v)}
    return Prediction.of(settings, found, status, REFERENCES, notes, errors=errors)


def check_starts(sigma: Activation, target: Target, *, given: bool = False) -> None:
    """Refuse a neuron that does not see the first degree of the link: its flow cannot start."""
    zeta, order = alignment_speed(sigma, target), information_exponent(target)
    blind = abs(zeta[order - 1]) < NEGLIGIBLE
    if (blind and not given) or np.all(np.abs(zeta) < NEGLIGIBLE):
        raise NoTheory(
            f"activation = {sigma.name!r} has no Hermite coefficient of degree {order}, the first "
            f"of target = {target.text!r}: the flow cannot start; use one that has it, "
            "such as relu(z-1)"
        )


def _typical_start(settings: GradientFlow, theta: float, cosine: float) -> tuple[float, float]:
    """Root mean squares of the two independent parts of w, both positive."""
    dim = _flow_dim(settings)
    m = dim**-0.5
    beside = math.sqrt(max((1 - cosine**2) * (1 - m**2) / (dim - 1), 0.0))
    return m, cosine * m + beside


def _flow_dim(settings: GradientFlow) -> int:
    if settings.dim is None:
        raise NoTheory(
            "dim is missing: a random start needs --dim; or give --start-overlap, or "
            "--start-spike-overlap and --start-target-overlap"
        )
    return settings.dim


def _flow(settings: GradientFlow, rate: Rate, state: np.ndarray, spike: Spike) -> OdeSolution:
    until = settings.until
    if until is None:
        return integrate(rate, state, settings.horizon)
    horizon = np.inf if settings.times is None else settings.times
    side = 1.0 if until >= flow_overlap(state, spike)[0] else -1.0

    def event(state: np.ndarray) -> np.ndarray:
        return side * (flow_overlap(state, spike) - until)

    return integrate(rate, state, horizon, event=event)


def _flow_metrics(settings: GradientFlow, flow: OdeSolution, spike: Spike) -> dict[str, float]:
    m, b, square = flow.state[:, 0]
    found = {
        "overlap": float(flow_overlap(flow.state, spike)[0]),
        "spike_overlap": float(m / math.sqrt(square)),
        "target_overlap": float(b / math.sqrt(square)),
    }
    if settings.until is not None:
        found["time"] = float(flow.time[0]) if flow.reached[0] else math.inf
    return found if flow.finished[0] else dict.fromkeys(found, math.nan)
