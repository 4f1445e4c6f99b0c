"""The risk after one giant step as a function of its sizes: curves, derivatives, the best."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import activation
from giantstep.errors import SettingsError
from giantstep.numerics.float64 import in_float64
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.targets.hermite import tail_energy
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.spiked_features.risk import Prepared

#: Where the best step size and ridge are looked for.
SEARCH = {"step_size": (1e-2, 30.0), "ridge": (1e-5, 1e4)}
#: Points a side of the coarse grid from which the search starts.
COARSE = 6


class Curve(NamedTuple):
    """Excess test error and train error along a curve; NaN where the equations did not converge."""

    values: Float[np.ndarray, " points"]
    test_error: Float[np.ndarray, " points"]
    train_error: Float[np.ndarray, " points"]


class Optimum(NamedTuple):
    """The best sizes, their excess risk, and what they gain.

    ``gain_over_random_features``: against random features at their own best ridge;
    ``gain_over_linear``: against the energy beyond degree one, the floor of linear methods.
    ``at_edge`` names the sizes that ended at the limit of the search.
    """

    step_size: float
    ridge: float
    test_error: float
    gain_over_random_features: float
    gain_over_linear: float
    at_edge: tuple[str, ...]


@in_float64
def risk_curve(
    problem: Problem, settings: GiantStep, name: str, values: Sequence[float] | np.ndarray
) -> Curve:
    r"""The risk along one of the sizes, by one compiled program.

    .. math:: t \mapsto R(\text{name} = t)

    Symbols: ``name`` is step_size, ridge, readout_samples_ratio or width_ratio.

    Assumes: as :func:`giantstep.theory.one_step.prediction.predict`.
    Status: replica.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> problem = Problem.of("sin(h1)")
    >>> curve = risk_curve(problem, settings, "readout_samples_ratio", [0.2, 1.6, 3.0])
    >>> curve.test_error.round(6).tolist()
    [0.048483, 0.037311, 0.032518]
    """
    names = ("step_size", "ridge", "readout_samples_ratio", "width_ratio")
    if name not in names:
        raise SettingsError(f"name = {name!r}: use {', '.join(names[:-1])} or {names[-1]}")
    points = np.asarray(values, dtype=np.float64)
    step, sizes = one_step(problem, settings)
    widest = sizes._replace(step_size=points) if name == "step_size" else sizes
    prepared = step.prepared(activation(settings.activation), problem, widest)
    numbers, words = _numbers(step)
    *errors, converged = _curve(numbers, prepared, sizes, points, words=words, name=name)
    test, train = (np.where(converged, error, np.nan) for error in errors)
    return Curve(points, test - problem.noise, train)


@in_float64
def risk_gradient(problem: Problem, settings: GiantStep) -> tuple[float, Sizes]:
    r"""The excess risk and its derivatives in the step size, the ridge and the three ratios.

    .. math:: \Big(R,\; \frac{\partial R}{\partial\eta}, \frac{\partial R}{\partial\lambda},
        \frac{\partial R}{\partial(n_0/d)}, \frac{\partial R}{\partial(n/d)},
        \frac{\partial R}{\partial(p/d)}\Big)

    by the implicit function theorem at the fixed point.

    Assumes: as :func:`giantstep.theory.one_step.prediction.predict`.
    Status: replica.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> risk, slopes = risk_gradient(Problem.of("sin(h1)"), settings)
    >>> round(risk, 6), round(slopes.readout_samples_ratio, 5)
    (0.037311, -0.00561)
    """
    step, sizes = one_step(problem, settings)
    prepared = step.prepared(activation(settings.activation), problem, sizes)
    numbers, words = _numbers(step)
    value, slopes = _value_and_slopes(numbers, prepared, sizes, words=words)
    return float(value) - problem.noise, Sizes(*(float(slope) for slope in slopes))


def best_sizes(
    problem: Problem,
    settings: GiantStep,
    optimise: Sequence[str] = ("step_size", "ridge"),
) -> Optimum:
    r"""The step size and the ridge of least risk, all else as in the settings.

    .. math:: \min_{\eta,\lambda} R(\eta, \lambda)

    Symbols: eta ``step_size``, lambda ``ridge``; those not in ``optimise`` stay as they are.

    Assumes: as :func:`giantstep.theory.one_step.prediction.predict`; a coarse grid over
    0.01 <= eta <= 30, 1e-5 <= lambda <= 1e4 finds the valley of the minimum.
    Status: replica.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> best = best_sizes(Problem.of("sin(h1)"), settings, ("ridge",))
    >>> best.test_error < 0.0373 and best.step_size == 3.0
    True
    """
    from scipy.optimize import minimize

    unknown = set(optimise) - SEARCH.keys()
    if unknown or not optimise:
        raise SettingsError(f"optimise = {tuple(optimise)!r}: use step_size, ridge or both")
    names = tuple(name for name in SEARCH if name in optimise)
    step, sizes = one_step(problem, settings)
    sigma = activation(settings.activation)
    low, high = np.log([SEARCH[name] for name in names]).T

    def risk(logarithms: np.ndarray) -> float:
        inside = np.clip(logarithms, low, high)
        chosen = sizes._replace(**dict(zip(names, np.exp(inside).tolist(), strict=True)))
        found = step.risk(step.prepared(sigma, problem, chosen), chosen)
        outside = float(np.sum((logarithms - inside) ** 2))
        return float(found.test) * (1 + outside) if found.converged else math.inf

    axes = [np.linspace(a, b, COARSE + 2)[1:-1] for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(names))
    begin = grid[np.argmin([risk(point) for point in grid])]
    simplex = np.vstack([begin, begin + 0.5 * np.eye(len(names))])
    options = {"xatol": 1e-3, "fatol": 1e-9, "initial_simplex": simplex}
    found = minimize(risk, begin, method="Nelder-Mead", options=options)
    best = np.clip(found.x, low, high)
    chosen = sizes._replace(**dict(zip(names, np.exp(best).tolist(), strict=True)))
    test = risk(best) - problem.noise
    reference = _best_random_features(problem, settings, sizes)
    near = np.minimum(best - low, high - best) < 0.01
    return Optimum(
        step_size=float(chosen.step_size),
        ridge=float(chosen.ridge),
        test_error=test,
        gain_over_random_features=reference - test,
        gain_over_linear=tail_energy(problem.target, 1).value - test,
        at_edge=tuple(name for name, close in zip(names, near, strict=True) if close),
    )


def _best_random_features(problem: Problem, settings: GiantStep, sizes: Sizes) -> float:
    """Excess risk of random features at their best ridge."""
    from scipy.optimize import minimize_scalar

    features = LinearFeatures.of(problem, activation(settings.activation))

    def risk(logarithm: float) -> float:
        return small_step_risk(
            features,
            samples_ratio=sizes.readout_samples_ratio,
            width_ratio=sizes.width_ratio,
            ridge=math.exp(logarithm),
        ).test

    bounds = tuple(np.log(SEARCH["ridge"]))
    return float(minimize_scalar(risk, bounds=bounds, method="bounded").fun)


def _numbers(step: OneStep) -> tuple[tuple[Any, ...], tuple[Any, ...]]:
    """A step's numbers, which are traced, and its words, which decide what is compiled."""
    return tuple(step[:5]), tuple(step[5:])


@functools.partial(jax.jit, static_argnames=("words", "name"))
def _curve(
    numbers: Any, prepared: Prepared, sizes: Sizes, points: Any, *, words: Any, name: str
) -> Any:
    step = OneStep(*numbers, *words)

    def at(point: Any) -> Any:
        risk = step.risk(prepared, sizes._replace(**{name: point}))
        return risk.test, risk.train, risk.converged

    return jax.lax.map(at, points)


@functools.partial(jax.jit, static_argnames=("words",))
def _value_and_slopes(numbers: Any, prepared: Prepared, sizes: Sizes, *, words: Any) -> Any:
    step = OneStep(*numbers, *words)
    return jax.value_and_grad(lambda given: step.risk(prepared, given, traced=True).test)(sizes)
