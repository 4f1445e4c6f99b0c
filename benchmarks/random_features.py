"""Random features and kernels: how long a curve of predictions takes."""

from __future__ import annotations

from collections.abc import Iterator

import jax
import numpy as np

from benchmarks.row import Row, seconds, under_a_gibibyte, under_limit
from giantstep.language.problem import NoTarget, Problem
from giantstep.numerics.float64 import float64
from giantstep.settings.kernel import Kernel
from giantstep.settings.power_law import PowerLaw
from giantstep.settings.random_features import RandomFeatures
from giantstep.theory import kernel, power_law, random_features
from giantstep.theory.convex.convex_loss import convex_risk
from giantstep.theory.ridge import spectral_case
from giantstep.theory.ridge.deterministic_equivalent import Spectrum, ridge_risk

QUADRATIC = Problem.of("h1 + He2(h1)/sqrt(2)", noise=0.1)
LOGISTIC = RandomFeatures(samples="3d", width="2d", ridge=1e-3, activation="tanh", loss="logistic")


def rows() -> Iterator[Row]:
    """Every curve after compilation, then how often new numbers compiled again."""
    yield under_limit("2,000 ridges in one call", _ridges(), 0.05)
    yield under_limit("double descent, 200 widths, both errors", _double_descent(), 0.3)
    sign = Problem.of("sign(h1)")
    yield under_limit("logistic fixed point, ridge 1e-3", _seconds(sign, LOGISTIC), 0.5)
    hinge = LOGISTIC.replace(loss="hinge", ridge=0.01)
    yield under_limit("hinge fixed point, ridge 0.01", _seconds(sign, hinge), 0.5)
    closed = _seconds(sign, LOGISTIC)
    for loss in ("log(1+exp(-y*f))", "huber(y-f)"):
        yield _against_logistic(loss, _seconds(sign, LOGISTIC.replace(loss=loss)), closed)
    words = ("--target", "h1", "--noise", "0.5", "--loss", "huber(y-f)", "--samples", "2d")
    yield under_a_gibibyte("memory of huber(y-f)", "predict", "random-features", *words)
    spiked = Kernel(samples="1d", dim=10**24)
    cubic = Problem("h1 + He2(h1) + He3(h1)", inputs="spiked:d^0.5")
    kernel.predict(cubic, spiked)
    took = seconds(lambda: kernel.predict(cubic, spiked))
    yield under_limit("spiked kernel at d = 1e24", took, 0.5)
    law = PowerLaw(samples=1e8, width=1e8)
    noisy = NoTarget(noise=0.1)
    power_law.predict(noisy, law)
    took = seconds(lambda: power_law.predict(noisy, law))
    yield under_limit("power law at n = 1e8", took, 0.05)
    yield _recompilations()


def _seconds(problem: Problem, settings: RandomFeatures) -> float:
    random_features.predict(problem, settings)
    return seconds(lambda: random_features.predict(problem, settings))


def _against_logistic(loss: str, written: float, closed: float) -> Row:
    work, ratio = f"a generic loss, {loss}, against the logistic one", written / closed
    return Row(work, f"{written:.3f} s", f"{closed:.3f} s", ratio, "<= 10", ratio <= 10)


def _ridges() -> float:
    @jax.jit
    def curve(ridges: jax.Array) -> jax.Array:
        one = np.ones(1)
        spectrum = Spectrum(0.25 * one, one, one, 0.0908450569, 1.0)
        return jax.vmap(lambda ridge: ridge_risk(2.0, 1.0, ridge, spectrum, 0.1))(ridges)

    with float64():
        ridges = np.geomspace(1e-4, 10, 2000)
        jax.block_until_ready(curve(ridges))
        return seconds(lambda: jax.block_until_ready(curve(ridges)), 10)


def _double_descent() -> float:
    points = [
        RandomFeatures(samples="2d", width=f"{x}d", ridge=0) for x in np.linspace(0.1, 5, 200)
    ]
    random_features.predict(QUADRATIC, points[0])
    return seconds(lambda: [random_features.predict(QUADRATIC, point) for point in points])


def _recompilations() -> Row:
    def compiled() -> int:
        return spectral_case._slopes._cache_size() + convex_risk._cache_size()

    random_features.gradient(QUADRATIC, RandomFeatures())
    before = compiled()
    for ridge in (0.01, 0.2, 3.0):
        random_features.gradient(QUADRATIC, RandomFeatures(samples="1.3d", ridge=ridge))
        random_features.predict(Problem.of("sign(h1)"), LOGISTIC.replace(ridge=ridge))
    again = compiled() - before
    return Row(
        "recompilations over new numbers", str(again), "limit 0", float(again), "== 0", again == 0
    )
