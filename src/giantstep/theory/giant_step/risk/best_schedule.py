"""The schedule of step sizes, and the ridge, of least risk; and what each further step buys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import ratio_to_dim, ratios_of_steps
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.gradient_step import first_layers
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.prediction import GAUSSIAN_KINDS, check_several_steps
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.one_step.readout_law import readout_blocks

#: Where step sizes and the ridge are looked for, the values of a common step size and of the ridge
#: from which the search starts, and its relative precision.
STEPS, RIDGES = (1e-2, 30.0), (1e-5, 1e4)
FIRST_STEPS, FIRST_RIDGES = (0.1, 0.3, 1.0, 3.0, 10.0), (1e-3, 0.03, 1.0, 30.0)
PRECISION, EDGE = 0.03, 0.05


class BestSchedule(NamedTuple):
    """The best settings; the least error of 0, 1, ..., T steps on as many samples in all.

    ``at_edge`` names what ended at an end of the search, where there is no optimum.
    """

    settings: GiantStep
    errors: Float[np.ndarray, " steps1"]
    gain_over_linear: float
    at_edge: tuple[str, ...]

    def metrics(self) -> dict[str, Any]:
        """What was found, by the names of metrics; NaN for what has no optimum."""
        found = {"ridge": float(self.settings.ridge)} | dict.fromkeys(self.at_edge, math.nan)
        return {
            **found,
            "error_of_fewer_steps": self.errors,
            "gain_over_random_features": float(self.errors[0] - self.errors[-1]),
            "gain_over_linear": self.gain_over_linear,
        }

    def notes(self) -> list[str]:
        """What each further step buys, and a remark on each end of the search."""
        total = sum(ratios_of_steps(self.settings))
        words = ", ".join(
            f"{t} step{'s' if t > 1 else ''} on {total / t:.3g}d: {error:.4g}"
            for t, error in enumerate(self.errors.tolist())
            if t
        )
        edges = [
            f"{name}: no optimum inside the range of the search; the error is least at its end"
            for name in self.at_edge
        ]
        return [f"least test error at equal total samples: {words}", *edges]


def best_schedule(
    problem: Problem, settings: GiantStep, optimise: Sequence[str] = ("step_size", "ridge")
) -> BestSchedule:
    r"""One step size per step, and the ridge, of least risk; the same for fewer steps.

    .. math:: \min_{\eta_1,\dots,\eta_T,\lambda} R_T(\eta_1, \dots, \eta_T; \lambda)

    The best of t < T steps has :math:`\sum_sn_s/t` samples in each: the difference is what taking
    more steps, not more samples, buys.

    Symbols: eta ``step_size``, lambda ``ridge``; those not in ``optimise`` stay as they are, for
    fewer steps the first ones.

    Assumes: as :func:`~giantstep.theory.giant_step.risk.prediction.predict_several_steps`; the
    valley of the minimum is that of the best common step size. Corrections of order 1/d but for
    the strength of spikes are left out of the search.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938, for one step.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="2d", steps=2, step_size=3, width="1d",
    ...     readout_samples="2d", ridge=0.05)
    >>> best = best_schedule(Problem.of("sin(h1)"), settings, ("ridge",))
    >>> bool(best.errors[2] < 0.0643), str(best.settings.step_size)
    (True, '3')
    """
    unknown = set(optimise) - {"step_size", "ridge"}
    if unknown or not optimise:
        raise SettingsError(f"optimise = {tuple(optimise)!r}: use step_size, ridge or both")
    if settings.batches != "fresh":
        raise NoTheory("batches = reused: the best schedule is known for fresh batches")
    if settings.ridge is None:
        raise NoTheory("ridge is missing: the risk is that of a fitted readout; give one, as 0.1")
    check_several_steps(problem, settings)
    total = sum(ratios_of_steps(settings))
    given = settings.step_size.over(settings.steps)
    sizes = [float(size.at(settings.dim or 1.0)) for size in given]
    errors: list[float] = []
    for steps in range(settings.steps + 1):
        ratios = [total / max(steps, 1)] * steps
        if steps == settings.steps:
            ratios = ratios_of_steps(settings)
        search = _Search(problem, settings, ratios, sizes[:steps], tuple(optimise))
        found = search.least()
        errors.append(found.error)
    best = settings.replace(ridge=found.ridge)
    if "step_size" in optimise:
        best = best.replace(step_size=tuple(float(f"{size:.4g}") for size in found.step_sizes))
    linear = tail_energy(problem.target, 1).value
    return BestSchedule(best, np.array(errors), linear - errors[-1], found.at_edge)


class _Found(NamedTuple):
    step_sizes: list[float]
    ridge: float
    error: float
    at_edge: tuple[str, ...]


class _Search:
    """The risk after a number of steps as a function of the logarithms of its sizes."""

    def __init__(
        self,
        problem: Problem,
        settings: GiantStep,
        ratios: list[float],
        sizes: list[float],
        optimise: tuple[str, ...],
    ) -> None:
        self.problem, self.sigma = problem, activation(settings.activation)
        self.ratios, self.sizes, self.loss = ratios, sizes, settings.loss
        self.free_steps = len(ratios) if "step_size" in optimise else 0
        self.free_ridge, self.ridge = "ridge" in optimise, float(settings.ridge)
        name = "readout_samples" if settings.readout_samples is not None else "samples"
        self.sides = ratio_to_dim(settings, name), ratio_to_dim(settings, "width")
        self.dim = settings.dim
        values, fractions = readout_blocks(settings, GAUSSIAN_KINDS[1])
        self.neurons = Neurons.of(
            values,
            fractions,
            paired=settings.readout == "symmetric-sign",
            gaussian=settings.start == "gaussian",
        )
        self._readout: tuple[tuple[float, ...], Readout] | None = None
        self._near: State | None = None

    def error(self, step_sizes: Sequence[float], ridge: float) -> float:
        """The risk, on noisy labels; infinite where it is not found."""
        key = tuple(step_sizes)
        if self._readout is None or self._readout[0] != key:
            try:
                *_, layer = self._layers(key)
            except NoTheory:
                return math.inf
            self._readout = key, Readout(self.problem, self.sigma, layer, coarse=True)
            self._near = None
        found = readout_risk(
            self._readout[1], Fit.of(*self.sides, ridge, self.dim), near=self._near
        )
        self._near = found.state or self._near
        return found.test if found.converged else math.inf

    def _layers(self, sizes: tuple[float, ...]) -> list[FirstLayer]:
        return list(
            first_layers(
                self.problem,
                self.sigma,
                self.neurons,
                step_sizes=sizes,
                samples_ratios=self.ratios,
                loss=self.loss,
                coarse=True,
            )
        )

    def least(self) -> _Found:
        """The minimum, from the best of a few common step sizes and ridges."""
        from scipy.optimize import minimize

        ridges = FIRST_RIDGES if self.free_ridge else (self.ridge,)
        starts = [[size] * self.free_steps for size in FIRST_STEPS] if self.free_steps else [[]]
        points = [[*steps, ridge] for steps in starts for ridge in ridges]
        error, begin = min((self._at(point), point) for point in points)
        if not math.isfinite(error):
            raise NoTheory("optimise: the equations converge nowhere in the range searched")
        free = self.free_steps + int(self.free_ridge)
        ends = np.array([*[STEPS] * self.free_steps, RIDGES][:free]).reshape(free, 2)
        low, high = np.log(ends).T

        def risk(logarithms: np.ndarray) -> float:
            inside = np.clip(logarithms, low, high)
            outside = float(np.sum((logarithms - inside) ** 2))
            return self._at(np.exp(inside).tolist()) * (1 + outside)

        start = np.log(begin[:free])
        simplex = np.vstack([start, start + 0.5 * np.eye(free)])
        options = {"xatol": PRECISION, "fatol": PRECISION**2 * error, "initial_simplex": simplex}
        best = start
        if free:
            found = minimize(risk, start, method="Nelder-Mead", options=options)
            best = np.clip(found.x, low, high)
        chosen = np.exp(best).tolist()
        ended = (best - low < EDGE) | (high - best < EDGE)
        names = ["step_size"] * self.free_steps + ["ridge"] * int(self.free_ridge)
        edges = tuple(dict.fromkeys(n for n, there in zip(names, ended, strict=True) if there))
        steps = chosen[: self.free_steps] if self.free_steps else self.sizes
        ridge = chosen[-1] if self.free_ridge else self.ridge
        return _Found(steps, ridge, self._at(chosen) - self.problem.noise, edges)

    def _at(self, free: list[float]) -> float:
        steps = free[: self.free_steps] if self.free_steps else self.sizes
        return self.error(steps, free[self.free_steps] if self.free_ridge else self.ridge)
