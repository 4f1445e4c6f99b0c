"""The step size and the ridge of least risk after one giant step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation.over_sizes import RiskOverSizes

#: Where the best step size and ridge are looked for.
SEARCH = {"step_size": (1e-2, 30.0), "ridge": (1e-5, 1e4)}
#: Points a side of the coarse grid from which the search starts.
COARSE = 6
#: Relative precision of the best sizes; so close to an end of the search there is no optimum.
PRECISION, EDGE = 0.02, 0.05


class Optimum(NamedTuple):
    """The best sizes, their excess risk, and what they gain.

    ``gain_over_random_features``: against random features at their own best ridge;
    ``gain_over_linear``: against the energy beyond degree one, the floor of linear methods.
    ``at_edge`` names the sizes that ended at an end of the search: they are where the risk was
    least, and not optimal.
    """

    step_size: float
    ridge: float
    test_error: float
    gain_over_random_features: float
    gain_over_linear: float
    at_edge: tuple[str, ...]

    def metrics(self) -> dict[str, float]:
        """The best sizes and what they gain; NaN for a size without an optimum."""
        sizes = {"step_size": self.step_size, "ridge": self.ridge}
        return {
            **{name: math.nan if name in self.at_edge else at for name, at in sizes.items()},
            "gain_over_random_features": self.gain_over_random_features,
            "gain_over_linear": self.gain_over_linear,
        }

    def notes(self) -> list[str]:
        """A remark on each size without an optimum."""
        return [
            f"{name}: no optimum between {SEARCH[name][0]:g} and {SEARCH[name][1]:g}; the error "
            f"is least at the end, {getattr(self, name):g}, where it is given"
            for name in self.at_edge
        ]


def best_sizes(
    problem: Problem,
    settings: GiantStep,
    optimise: Sequence[str] = ("step_size", "ridge"),
) -> Optimum:
    r"""The step size and the ridge of least risk, all else as in the settings.

    .. math:: \min_{\eta,\lambda} R(\eta, \lambda)

    Symbols: eta ``step_size``, lambda ``ridge``; those not in ``optimise`` stay as they are.

    Assumes: as :func:`giantstep.theory.one_step.prediction.predict`; a coarse grid over
    0.01 <= eta <= 30, 1e-5 <= lambda <= 1e4 finds the valley of the minimum. Sizes are found to
    two per cent, the risk to the square of that; ``at_edge`` tells where no minimum is inside.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> best = best_sizes(Problem.of("sin(h1)"), settings, ("ridge",))
    >>> best.test_error < 0.0363 and best.step_size == 3.0
    True
    """
    from scipy.optimize import minimize

    unknown = set(optimise) - SEARCH.keys()
    if unknown or not optimise:
        raise SettingsError(f"optimise = {tuple(optimise)!r}: use step_size, ridge or both")
    names = tuple(name for name in SEARCH if name in optimise)
    over = RiskOverSizes(problem, settings)
    sizes = over.sizes
    low, high = np.log([SEARCH[name] for name in names]).T

    def risk(logarithms: np.ndarray, corrected: bool = True) -> float:
        inside = np.clip(logarithms, low, high)
        chosen = sizes._replace(**dict(zip(names, np.exp(inside).tolist(), strict=True)))
        outside = float(np.sum((logarithms - inside) ** 2))
        errors = over.at(chosen, corrected=corrected)
        noisy = errors.test + problem.noise
        return noisy * (1 + outside) if errors.converged else math.inf

    axes = [np.linspace(a, b, COARSE + 2)[1:-1] for a, b in zip(low, high, strict=True)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(names))
    # Without corrections of order 1/d, which cost most, the valley is found all the same.
    coarse = [risk(point, False) for point in grid]
    if not np.isfinite(coarse).any():
        raise NoTheory(
            f"optimise = {','.join(names)}: the equations converge nowhere in the range searched"
        )
    begin = grid[np.argmin(coarse)]
    stages = ((False, 0.5), (True, 0.05)) if over.corrected else ((True, 0.5),)
    for corrected, width in stages:
        simplex = np.vstack([begin, begin + width * np.eye(len(names))])
        precision = {"xatol": PRECISION, "fatol": PRECISION**2 * min(coarse)}
        found = minimize(
            risk, begin, (corrected,), method="Nelder-Mead",
            options={**precision, "initial_simplex": simplex},
        )  # fmt: skip
        begin = found.x
    best, least = np.clip(found.x, low, high), found.fun
    for index, ends in enumerate(zip(low, high, strict=True)):
        for end in ends:
            there = np.where(np.arange(len(names)) == index, end, best)
            if abs(best[index] - end) < EDGE or risk(there) < least:
                best, least = there, risk(there)
    chosen = sizes._replace(**dict(zip(names, np.exp(best).tolist(), strict=True)))
    test = float(least) - problem.noise
    reference = _best_random_features(over)
    ended = (best == low) | (best == high)
    return Optimum(
        step_size=float(chosen.step_size),
        ridge=float(chosen.ridge),
        test_error=test,
        gain_over_random_features=reference - test,
        gain_over_linear=tail_energy(problem.target, 1).value - test,
        at_edge=tuple(name for name, there in zip(names, ended, strict=True) if there),
    )


def _best_random_features(over: RiskOverSizes) -> float:
    """Excess risk of random features at their best ridge."""
    from scipy.optimize import minimize_scalar

    def risk(logarithm: float) -> float:
        return over.without_step(over.sizes._replace(ridge=math.exp(logarithm)))

    bounds = tuple(np.log(SEARCH["ridge"]))
    return float(minimize_scalar(risk, bounds=bounds, method="bounded").fun)
