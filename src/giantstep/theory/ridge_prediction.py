"""From sizes and a spectrum to the metrics of a prediction, their gradient, and the best ridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from giantstep.errors import SettingsError
from giantstep.numerics.float64 import float64
from giantstep.theory.deterministic_equivalent import Spectrum, ridge_risk
from giantstep.theory.optimal_ridge import BestRidge, optimal_ridge

_risk = jax.jit(ridge_risk)


def _test_error(samples: Any, width: Any, ridge: Any, noise: Any, spectrum: Spectrum) -> Any:
    return ridge_risk(samples, width, ridge, spectrum, noise).test_error


_gradient = jax.jit(jax.grad(_test_error, argnums=(0, 1, 2, 3)))


def _ridge_metrics(
    samples: float, width: float, ridge: float, spectrum: Spectrum, noise: float
) -> dict[str, float]:
    with float64():
        risk = jax.device_get(_risk(samples, width, ridge, spectrum, noise))
    found = {name: float(value) for name, value in risk._asdict().items()}
    return {**found, "test_error_noisy": found["test_error"] + noise}


def _ridge_gradient(
    samples: float, width: float, ridge: float, spectrum: Spectrum, noise: float
) -> dict[str, float]:
    """d test_error / d (samples, width, ridge, noise), in the units of the arguments."""
    with float64():
        slopes = jax.device_get(_gradient(samples, width, ridge, noise, spectrum))
    return dict(zip(("samples", "width", "ridge", "noise"), map(float, slopes), strict=True))


def _best_ridge(
    samples: float, width: float, spectrum: Spectrum, noise: float
) -> tuple[float, str]:
    """The ridge of least test error, and a remark."""

    def risk(ridge: float) -> float:
        with float64():
            return float(_risk(samples, width, ridge, spectrum, noise).test_error)

    def slope(ridge: float) -> float:
        with float64():
            return float(_gradient(samples, width, ridge, noise, spectrum)[2])

    return _described(optimal_ridge(risk, slope))


def _described(best: BestRidge) -> tuple[float, str]:
    if best.interior:
        return best.ridge, f"ridge: the best one, {best.ridge:.6g}"
    return best.ridge, f"ridge: the risk is least at the end of the range, {best.ridge:.3g}"


def _check_optimise(optimise: Sequence[str]) -> bool:
    """Whether the ridge is to be optimised; it is the only setting that can be."""
    chosen = (optimise,) if isinstance(optimise, str) else tuple(optimise)
    if set(chosen) - {"ridge"}:
        raise SettingsError(f"optimise = {chosen!r}: only ('ridge',) can be optimised")
    return bool(chosen)


def _check_well_posed(
    samples: float, width: float, ridge: float, spectrum: Spectrum, cause: str
) -> None:
    """Refuse a fit without ridge whose features have a rank below samples and width."""
    rank = float(np.sum(np.where(spectrum.eigenvalues > 0, spectrum.multiplicities, 0.0)))
    trace = float(spectrum.eigenvalues @ spectrum.multiplicities)
    finite_rank = float(spectrum.tail_trace) <= 1e-12 * max(trace, 1e-300)
    if ridge == 0 and finite_rank and min(samples, width) >= rank:
        raise SettingsError(
            f"ridge = 0 with {cause}: its features span fewer dimensions than there are samples, "
            "so the fit is singular; give a ridge above 0"
        )


def _peak_note(samples: float, width: float, ridge: float) -> list[str]:
    if samples == width and ridge == 0:
        return ["test_error: infinite, at the interpolation peak (samples = width without ridge)"]
    if abs(samples / width - 1) < 0.02 and ridge < 1e-3:
        return ["near the interpolation peak a simulation differs by about 10 % at d = 300"]
    return []
