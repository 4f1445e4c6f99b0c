"""From sizes and a spectrum to the metrics of a prediction, their gradient, and the best ridge."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import jax
import numpy as np

from giantstep.answer import Status
from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.numerics.float64 import float64
from giantstep.theory.ridge.deterministic_equivalent import (
    Spectrum,
    equivalent_numbers,
    ridge_risk,
)
from giantstep.theory.ridge.optimal_ridge import RANGE, BestRidge, optimal_ridge

#: Metrics of random features and kernels with the square loss, in the order of the interface.
METRICS = ("test_error", "test_error_noisy", "train_error", "norm", "degrees_of_freedom", "ridge")


def _test_error(samples: Any, width: Any, ridge: Any, noise: Any, spectrum: Spectrum) -> Any:
    return ridge_risk(samples, width, ridge, spectrum, noise).test_error


_slopes = jax.jit(jax.grad(_test_error, argnums=(0, 1, 2, 3)))


@dataclass(frozen=True, eq=False)
class SpectralCase:
    """Sizes and a spectrum that decide a ridge fit, and where they come from.

    ``cause`` names what an error about the spectrum blames.
    """

    samples: float
    width: float
    spectrum: Spectrum
    cause: str
    status: Status
    references: tuple[str, ...]
    note: str
    ridges: ClassVar[tuple[float, float]] = RANGE

    def metrics(self, ridge: float, noise: float) -> dict[str, float]:
        """Every number of the equivalent, and the test error with label noise."""
        self._check_well_posed(ridge)
        risk = equivalent_numbers(self.samples, self.width, ridge, self.spectrum, noise)
        if not risk.converged:
            raise NoTheory(
                f"samples = {self.samples:.4g}, width = {self.width:.4g}, ridge = {ridge:.4g}: the "
                "equivalent ridge nu is beyond what float64 can hold; sizes and ridges of 1e-100 "
                "to 1e100 are covered"
            )
        found = {name: float(value) for name, value in risk._asdict().items()}
        return {**found, "test_error_noisy": found["test_error"] + noise}

    def gradient(self, ridge: float, noise: float) -> dict[str, float]:
        """d test_error / d (samples, width, ridge, noise), in the units of the sizes."""
        with float64():
            slopes = jax.device_get(_slopes(self.samples, self.width, ridge, noise, self.spectrum))
        return dict(zip(("samples", "width", "ridge", "noise"), map(float, slopes), strict=True))

    def _check_well_posed(self, ridge: float) -> None:
        """Refuse a fit without ridge whose features have a rank below samples and width."""
        spectrum = self.spectrum
        rank = float(np.sum(np.where(spectrum.eigenvalues > 0, spectrum.multiplicities, 0.0)))
        trace = float(spectrum.eigenvalues @ spectrum.multiplicities)
        finite_rank = float(spectrum.tail_trace) <= 1e-12 * max(trace, 1e-300)
        if ridge == 0 and finite_rank and min(self.samples, self.width) >= rank:
            raise SettingsError(
                f"ridge = 0 with {self.cause}: its features span fewer dimensions than there are "
                "samples, so the fit is singular; give a ridge above 0"
            )


def equivalent_status_at(problem: Problem, dim: int) -> tuple[Status, str]:
    """How well an equivalent at a dimension is founded, and what to say of it.

    Norms of Gaussian inputs fluctuate, which the theorem on concentrated features leaves out.
    """
    target = problem.target
    if problem.inputs.has_fixed_norm and target.rank == 1 and not target.is_random:
        return "theorem", f"the equivalent at d = {dim}"
    return "heuristic", f"the equivalent at d = {dim}, right to O(1/d)"


class RidgeCase(Protocol):
    """A fit whose risk is predicted at every ridge."""

    @property
    def note(self) -> str:
        """What kind of prediction it is."""

    @property
    def ridges(self) -> tuple[float, float]:
        """Ridges between which the best one is looked for."""

    def metrics(self, ridge: float, noise: float) -> dict[str, float]:
        """Every number that is predicted at a ridge; NaN where the equations were not solved."""

    def gradient(self, ridge: float, noise: float) -> dict[str, float]:
        """The derivative of the test error in each setting."""


def metrics_at_ridge(
    case: RidgeCase, settings: Any, noise: float, optimise: Sequence[str]
) -> tuple[Any, dict[str, float], list[str]]:
    """Settings, metrics and notes at the ridge that was given, or at the best, then one of them."""
    if not wants_ridge(optimise):
        return settings, case.metrics(settings.ridge, noise), [case.note]
    best = best_ridge(case, noise)
    metrics = case.metrics(best.ridge, noise) | {"ridge": best.optimum}
    return settings.replace(ridge=best.ridge), metrics, [case.note, optimal_ridge_remark(best)]


def best_ridge(case: RidgeCase, noise: float) -> BestRidge:
    """The ridge of least test error; ridges without a solution are left out."""

    def risk(ridge: float) -> float:
        try:
            return case.metrics(ridge, noise)["test_error"]
        except NoTheory:
            return math.nan

    return optimal_ridge(risk, lambda ridge: case.gradient(ridge, noise)["ridge"], *case.ridges)


def wants_ridge(optimise: Sequence[str]) -> bool:
    """Whether the ridge is to be optimised; it is the only setting that can be."""
    chosen = (optimise,) if isinstance(optimise, str) else tuple(optimise)
    if set(chosen) - {"ridge"}:
        raise SettingsError(f"optimise = {chosen!r}: only ('ridge',) can be optimised")
    return bool(chosen)


def optimal_ridge_remark(best: BestRidge) -> str:
    """What to say of a ridge that was optimised."""
    if best.interior:
        return f"ridge: the best one, {best.ridge:.6g}"
    return (
        f"ridge: no optimum inside the range searched; the risk is least at the end, "
        f"{best.ridge:.3g}, where it is given"
    )


def peak_note(samples: float, width: float, ridge: float) -> list[str]:
    """What to say at the interpolation peak and near it."""
    if samples == width and ridge == 0:
        return ["test_error: infinite, at the interpolation peak (samples = width without ridge)"]
    if abs(samples / width - 1) < 0.02 and ridge < 1e-3:
        return ["near the interpolation peak a simulation differs by about 10 % at d = 300"]
    return []
