"""Kernel regression with a spike: reference risks, huge dimensions, gradients."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from giantstep.language.activations.kernels import SERIES_LENGTH, kernel
from giantstep.language.targets import Target
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.theory.ridge.deterministic_equivalent import ridge_risk
from giantstep.theory.ridge.spectra import kernel_spectrum
from giantstep.theory.ridge.spiked_kernel import SpikedRisk, spiked_kernel_risk

H, WEIGHTS = gauss_hermite(48)
DEGREES = (H, (H**2 - 1) / 2**0.5, (H**3 - 3 * H) / 6**0.5)
TARGETS = (*DEGREES, sum(DEGREES) / 3**0.5)


def padded(name: str) -> np.ndarray:
    series = np.zeros(SERIES_LENGTH)
    series[: len(kernel(name).series)] = kernel(name).series
    return series


def risk(
    name: str, n: float, d: float, gamma: float, ridge: float, noise: float, target: np.ndarray
) -> SpikedRisk:
    with float64():
        found = spiked_kernel_risk(
            *(float(n), float(d), float(d) ** gamma, float(ridge), float(noise)),
            *(padded(name), target, H, WEIGHTS),
        )
        found = jax.device_get(found)
    assert found.converged
    return found


CUBIC = "1+t+t^2/2+t^3/6"
#: (kernel, n, d, gamma, ridge) -> risk of degrees 1, 2, 3 and of their sum.
REFERENCE = {
    ("exp", 300, 300, 0.3, 0.01): (0.0400, 1.0035, 1.1859, 0.7484),
    ("exp", 300, 300, 0.5, 0.01): (0.0099, 0.4520, 1.0811, 0.5188),
    ("exp", 300, 300, 0.7, 0.01): (0.0038, 0.0590, 0.5788, 0.2087),
    ("exp", 1200, 600, 0.6, 0.1): (0.0027, 0.0483, 0.7234, 0.2567),
    ("exp", 1200, 600, 0.75, 0.1): (0.0025, 0.0058, 0.1006, 0.0345),
    (CUBIC, 150, 300, 0.7, 0.01): (0.0071, 0.1571, 0.766, 0.306),
}


@pytest.mark.parametrize("case", REFERENCE, ids=str)
def test_reference_risks(case: tuple[str, float, float, float, float]) -> None:
    found = [float(risk(*case, 0.01, target).test_error) for target in TARGETS]
    # 3 %, and half a unit of the last digit that is given.
    assert found == pytest.approx(REFERENCE[case], rel=0.03, abs=5e-5)


@pytest.mark.parametrize(
    ("ridge", "expected", "tolerance"),
    [(0.01, (0.8234, 0.4117, 0.0), 1e-4), (math.log(1e24), (0.6669, 0.3335, 0.0006), 1e-4)],
)
def test_plateaus_at_dimension_1e24(
    ridge: float, expected: tuple[float, ...], tolerance: float
) -> None:
    found = [
        float(risk("exp", 1e24, 1e24, gamma, ridge, 0.0, TARGETS[3]).test_error)
        for gamma in (0.4, 0.58, 0.71)
    ]
    assert found == pytest.approx(expected, abs=tolerance)


def test_degrees_are_learned_one_after_the_other() -> None:
    """Degree k at gamma > 1 - 1/k: the width of the transition shrinks as 1/log d."""
    gammas = np.linspace(0.05, 0.8, 7)
    widths = []
    for d in (300.0, 1e6, 1e24):
        curves = np.array(
            [[risk("exp", d, d, g, 1.0, 0.0, t).test_error for g in gammas] for t in DEGREES]
        )
        assert np.all(np.diff(curves, axis=1) < 1e-9), "a stronger spike never hurts"
        assert np.all(np.diff(curves, axis=0) > -1e-9), "higher degrees are learned later"
        widths.append(np.mean((curves > 0.1) & (curves < 0.9)))
    assert widths[0] > widths[1] > widths[2]


def test_without_a_spike_it_is_the_isotropic_equivalent() -> None:
    with float64():
        for text, target in (("h1", DEGREES[0]), ("He2(h1)/sqrt(2)", DEGREES[1])):
            spectrum = kernel_spectrum(kernel("exp"), Target(text), 300, inputs="gaussian")
            expected = jax.device_get(jax.jit(ridge_risk)(300.0, math.inf, 0.01, spectrum, 0.01))
            found = risk("exp", 300, 300, -math.inf, 0.01, 0.01, target)
            assert found.test_error == pytest.approx(expected.test_error, rel=0.01)
            assert found.norm == pytest.approx(expected.norm, rel=0.02)
            assert found.degrees_of_freedom == pytest.approx(expected.degrees_of_freedom, rel=1e-3)


def test_norm_is_the_slope_of_the_objective() -> None:
    """objective = train + ridge * norm, and its derivative in the ridge is the norm."""
    points = [risk("exp", 300, 300, 0.5, x, 0.1, TARGETS[3]) for x in (0.4995, 0.5, 0.5005)]
    objective = [
        p.train_error + x * p.norm for p, x in zip(points, (0.4995, 0.5, 0.5005), strict=True)
    ]
    assert (objective[2] - objective[0]) / 1e-3 == pytest.approx(points[1].norm, rel=1e-5)
