"""The prediction for the learner `power-law`: the risk at given sizes, or the rates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import jax

from giantstep.answer import Prediction
from giantstep.errors import NoTheory
from giantstep.language.problem import NoTarget
from giantstep.numerics.float64 import float64
from giantstep.settings.power_law import PowerLaw
from giantstep.theory.ridge.deterministic_equivalent import ridge_risk
from giantstep.theory.ridge.scaling_laws import (
    optimal_exponents,
    power_law_spectrum,
    scaling_exponents,
)
from giantstep.theory.ridge.spectral_case import (
    SpectralCase,
    best_ridge,
    optimal_ridge_remark,
    peak_note,
    wants_ridge,
)

REFERENCES = ("Defilippis et al. 2024, arXiv:2405.15699",)
METRICS = ("test_error", "bias", "variance", "train_error", "norm", "degrees_of_freedom")


def predict(problem: NoTarget, settings: PowerLaw, *, optimise: Sequence[str] = ()) -> Prediction:
    """Risk, bias, variance and training error; with ``exponents`` the rates in n.

    Metrics: ``test_error``, its ``bias`` and ``variance``, ``train_error``, ``norm`` and
    ``degrees_of_freedom`` per sample; with ``exponents`` only ``gamma``, ``gamma_bias``,
    ``gamma_variance``, ``optimal_gamma``, ``optimal_ridge_exponent`` and ``fewest_width_exponent``.
    The target is the settings' power law: the problem says how noisy the labels are. With
    ``optimise=("ridge",)`` the ridge is replaced by the one of least test error, and returned.

    Assumes: Gaussian features with eigenvalues k^-a, random projections of them.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699.

    >>> case = PowerLaw(capacity=1.5, source=0.4, samples=200, width=100, modes=2000)
    >>> round(predict(NoTarget(noise=0.01), case).metrics["test_error"], 6)
    0.05801
    """
    chosen = wants_ridge(optimise)
    if settings.exponents:
        return _rates(problem, settings)
    case, ridge, noise, notes = _case(settings), settings.ridge_value(), problem.noise, []
    if chosen:
        best = best_ridge(case, noise)
        ridge, notes = best.ridge, [optimal_ridge_remark(best)]
    found = case.metrics(ridge, noise)
    metrics = {name: found[name] for name in METRICS}
    notes += peak_note(case.samples, case.width, ridge)
    if chosen:
        metrics["ridge"] = best.optimum
        settings = settings.replace(ridge=ridge, ridge_exponent=None)
    return Prediction.of(settings, metrics, "theorem", REFERENCES, notes)


def gradient(problem: NoTarget, settings: PowerLaw) -> dict[str, float]:
    r"""The derivative of the predicted test error in each continuous setting.

    .. math:: \frac{dR}{d\theta} = \frac{\partial R}{\partial\theta}
        - \frac{\partial R}{\partial\nu} \Big(\frac{\partial F}{\partial\nu}\Big)^{-1}
        \frac{\partial F}{\partial\theta}, \qquad F(\nu, \theta) = 0 .

    Symbols: F the equation solved by :func:`predict`, nu its unknown; theta is ``samples``,
    ``width``, ``ridge``, ``noise``, ``capacity``, ``source``.

    Assumes: settings that :func:`predict` covers, without ``exponents``.
    Status: theorem
    References: Defilippis et al. 2024, arXiv:2405.15699.

    >>> case = PowerLaw(capacity=1.5, source=0.4, samples=200, width=100, modes=2000)
    >>> round(gradient(NoTarget(noise=0.01), case)["noise"], 4)
    0.8881
    """
    numbers = {
        "samples": settings.number_of_samples(),
        "width": settings.number_of_projections(),
        "ridge": settings.ridge_value(),
        "noise": problem.noise,
        "capacity": settings.capacity,
        "source": settings.source,
    }
    with float64():
        slopes = jax.device_get(_slopes(numbers, settings.modes or math.inf))
    return {name: float(slopes[name]) for name in numbers}


@jax.jit
@jax.grad
def _slopes(given: dict[str, Any], modes: Any) -> Any:
    spectrum = power_law_spectrum(given["capacity"], given["source"], modes)
    fit = given["samples"], given["width"], given["ridge"]
    return ridge_risk(*fit, spectrum, given["noise"]).test_error


_spectrum = jax.jit(power_law_spectrum)


def _case(settings: PowerLaw) -> SpectralCase:
    modes = math.inf if settings.modes is None else float(settings.modes)
    with float64():
        spectrum = jax.device_get(_spectrum(settings.capacity, settings.source, modes))
    sizes = settings.number_of_samples(), settings.number_of_projections()
    return SpectralCase(*sizes, spectrum, f"modes = {settings.modes}", "theorem", REFERENCES, "")


def _rates(problem: NoTarget, settings: PowerLaw) -> Prediction:
    ell = settings.ridge_exponent
    assert ell is not None, "the settings check it"
    q = math.inf if settings.width_exponent is None else settings.width_exponent
    if q == 1 and ell >= settings.capacity:
        raise NoTheory(
            "width_exponent = 1 with ridge_exponent >= capacity is the interpolation peak, which "
            "has no rate: change one of them"
        )
    rates = scaling_exponents(settings.capacity, settings.source, ell, q, noisy=problem.noise > 0)
    best = optimal_exponents(settings.capacity, settings.source)
    metrics = {
        "gamma_bias": rates.bias,
        "gamma_variance": rates.variance,
        "gamma": rates.total,
        "optimal_ridge_exponent": best.ridge,
        "optimal_gamma": best.rate,
        "fewest_width_exponent": best.width,
    }
    note = "test_error ~ n^-gamma_bias + noise n^-gamma_variance; optimal_*: with noise"
    return Prediction.of(settings, metrics, "theorem", REFERENCES, (note,))
