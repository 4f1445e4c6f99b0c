"""The schedule of step sizes, and the ridge, of least risk; and what each further step buys."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory, SettingsError, raise_refusal
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.over_sizes import RiskOverSizes
from giantstep.theory.giant_step.risk.sizes import RiskSizes

#: Where the best step sizes and ridge are looked for.
SEARCH = {"step_size": (1e-2, 30.0), "ridge": (1e-5, 1e4)}
#: Points a side of the grid, of one step size for all steps and a ridge, that starts the search.
COARSE = 6
#: Relative precision of the best sizes; so close to an end of the search there is no optimum.
PRECISION, EDGE = 0.02, 0.05


class BestSchedule(NamedTuple):
    """The best settings; the least error of 0, 1, ..., T steps on as many samples in all.

    ``errors[0]`` is that of random features at their own best ridge; ``gain_over_linear``: against
    the energy beyond degree one, the floor of linear methods. ``at_edge`` names what ended at an
    end of the search: there the risk was least, and it is no optimum.
    """

    settings: GiantStep
    errors: Float[np.ndarray, " steps1"]
    gain_over_linear: float
    at_edge: tuple[str, ...]

    @property
    def test_error(self) -> float:
        """The least error."""
        return float(self.errors[-1])

    def metrics(self) -> dict[str, Any]:
        """What was found, by the names of metrics; NaN for what has no optimum."""
        found: dict[str, Any] = {"ridge": float(self.settings.ridge)}
        if self.settings.steps == 1:
            found["step_size"] = float(self.settings.step_size.at(self.settings.dim or 1.0))
        else:
            found["error_of_fewer_steps"] = self.errors
        return {
            **found,
            **dict.fromkeys(self.at_edge, math.nan),
            "gain_over_random_features": float(self.errors[0]) - self.test_error,
            "gain_over_linear": self.gain_over_linear,
        }

    def notes(self) -> list[str]:
        """What each further step buys, and a remark on each size without an optimum."""
        notes = [
            f"{name}: no optimum between {SEARCH[name][0]:g} and {SEARCH[name][1]:g}; the error "
            f"is least at the end, {getattr(self.settings, name)!s}, where it is given"
            for name in self.at_edge
        ]
        if self.settings.steps <= 1:
            return notes
        total = sum(RiskSizes.of(self.settings).samples_ratios)
        words = ", ".join(
            f"{t} step{'s' if t > 1 else ''} on {total / t:.3g}d: {error:.4g}"
            for t, error in enumerate(self.errors.tolist())
            if t
        )
        return [f"least test error at equal total samples: {words}", *notes]


def best_schedule(
    problem: Problem, settings: GiantStep, optimise: Sequence[str] = ("step_size", "ridge")
) -> BestSchedule:
    r"""One step size per step, and the ridge, of least risk; the same for fewer steps.

    .. math:: \min_{\eta_1,\dots,\eta_T,\lambda} R_T(\eta_1, \dots, \eta_T; \lambda)

    The best of t < T steps has :math:`\sum_sn_s/t` samples in each: the difference is what taking
    more steps, not more samples, buys.

    Symbols: eta ``step_size``, lambda ``ridge``; those not in ``optimise`` stay as they are, for
    fewer steps the first ones.

    Assumes: as :func:`~giantstep.theory.giant_step.risk.prediction.predict_risk`; a coarse grid
    over 0.01 <= eta <= 30, the same in all steps, and 1e-5 <= lambda <= 1e4 finds the valley of the
    minimum. Sizes are found to two per cent, the risk to the square of that; ``at_edge`` tells
    where no minimum is inside.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, and Dandi et al. 2024, arXiv:2410.18938, for one
        step.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="2d", steps=2, step_size=3, width="1d",
    ...     readout_samples="2d", ridge=0.05)
    >>> best = best_schedule(Problem.of("sin(h1)"), settings, ("ridge",))
    >>> bool(best.errors[2] < 0.0643), str(best.settings.step_size)
    (True, '3')
    """
    if set(optimise) - SEARCH.keys() or not optimise:
        raise SettingsError(f"optimise = {tuple(optimise)!r}: use step_size, ridge or both")
    powers = any(size.power for size in settings.step_size.over(settings.steps))
    raise_refusal(
        {
            f"step_size = {settings.step_size}: the best sizes are looked for among plain numbers; "
            "give one, or --dim": settings.dim is None and powers
        }
    )
    over = RiskOverSizes(problem, settings, coarse=settings.steps > 1)
    total, errors = sum(over.sizes.samples_ratios), []
    for steps in range(settings.steps + 1):
        ratios = over.sizes.samples_ratios
        if steps < settings.steps:
            ratios = (total / max(steps, 1),) * steps
        sizes = over.sizes._replace(step_sizes=over.sizes.step_sizes[:steps], samples_ratios=ratios)
        free = ["step_size"] * steps if "step_size" in optimise else []
        # Random features always have their best ridge.
        free += ["ridge"] if "ridge" in optimise or not steps else []
        search = _Search(over, sizes, free)
        found, error, at_edge = search.least()
        errors.append(error)
    best = settings.replace(ridge=found.ridge) if "ridge" in optimise else settings
    if "step_size" in optimise and settings.steps:
        sizes_of_steps = found.step_sizes
        best = best.replace(step_size=sizes_of_steps if settings.steps > 1 else sizes_of_steps[0])
    linear = target_tail_energy(problem.target, 1).value
    return BestSchedule(best, np.array(errors), linear - errors[-1], at_edge)


class _Search:
    """The risk as a function of the logarithms of the free sizes, by the names of ``free``."""

    def __init__(self, over: RiskOverSizes, sizes: RiskSizes, free: list[str]) -> None:
        self.over, self.sizes, self.free = over, sizes, free
        ends = np.log([SEARCH[name] for name in free]).reshape(len(free), 2)
        self.low, self.high = ends.T

    def chosen(self, logarithms: np.ndarray) -> RiskSizes:
        """The sizes at a point."""
        values = np.exp(np.clip(logarithms, self.low, self.high)).tolist()
        sizes = self.sizes
        if "step_size" in self.free:
            sizes = sizes._replace(step_sizes=tuple(values[: len(sizes.step_sizes)]))
        return sizes._replace(ridge=values[-1]) if "ridge" in self.free else sizes

    def risk(self, logarithms: np.ndarray, corrected: bool = True) -> float:
        """The risk on noisy labels; more outside the range, infinite where it is not found."""
        outside = np.sum((logarithms - np.clip(logarithms, self.low, self.high)) ** 2)
        try:
            errors = self.over.at(self.chosen(logarithms), corrected=corrected)
        except NoTheory:
            return math.inf
        noisy = errors.test + self.over.problem.noise
        return float(noisy * (1 + outside)) if errors.converged else math.inf

    def least(self) -> tuple[RiskSizes, float, tuple[str, ...]]:
        """The best sizes, their error, and which of them ended at an end of the search."""
        from scipy.optimize import minimize

        best, count = np.zeros(len(self.free)), len(self.free)
        if count:
            # Without corrections of order 1/d, which cost most, the valley is found all the same.
            grid = self._grid()
            if self.free[-1] == "ridge":
                self.over.along = np.unique(np.exp([point[-1] for point in grid]))
            first, begin = min((self.risk(point, False), tuple(point)) for point in grid)
            self.over.along = np.zeros(0)
            if not math.isfinite(first):
                raise NoTheory(
                    f"optimise = {','.join(dict.fromkeys(self.free))}: the equations converge "
                    "nowhere in the range searched"
                )
            best = np.array(begin)
            stages = ((False, 0.5), (True, 0.05)) if self.over.corrected else ((True, 0.5),)
            for corrected, width in stages:
                simplex = np.vstack([best, best + width * np.eye(count)])
                precision = {"xatol": PRECISION, "fatol": PRECISION**2 * first}
                options = {**precision, "initial_simplex": simplex}
                best = minimize(
                    self.risk, best, (corrected,), method="Nelder-Mead", options=options
                ).x
            best = np.clip(best, self.low, self.high)
        least = self.risk(best)
        for index in range(count):
            for end in (self.low[index], self.high[index]):
                there = np.where(np.arange(count) == index, end, best)
                if abs(best[index] - end) < EDGE or self.risk(there) < least:
                    best, least = there, self.risk(there)
        ended = (best == self.low) | (best == self.high)
        edges = dict.fromkeys(name for name, at in zip(self.free, ended, strict=True) if at)
        return self.chosen(best), least - self.over.problem.noise, tuple(edges)

    def _grid(self) -> list[np.ndarray]:
        """Points of one step size for all steps and a ridge, which varies fastest."""
        names = list(dict.fromkeys(self.free))
        places = np.arange(1, COARSE + 1) / (COARSE + 1)
        axes = [low * (high / low) ** places for low, high in map(SEARCH.__getitem__, names)]
        axes = [np.log(axis) for axis in axes]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(names))
        return [point[[names.index(name) for name in self.free]] for point in points]
