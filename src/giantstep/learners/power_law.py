"""Ridge regression on Gaussian features whose variances decay as a power law."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from giantstep.errors import SettingsError
from giantstep.language.problem import NoTarget
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, Cost, ridge_fit
from giantstep.numerics.ridge.path import RidgePath
from giantstep.settings.power_law import PowerLaw

#: Modes simulated one by one: this many for each sample or projection, and at least that many.
MODES_EACH, LEAST_MODES = 8, 2000


class _Modes(NamedTuple):
    """Variances and target coefficients of the modes; variance and energy of all later ones."""

    variances: np.ndarray
    coefficients: np.ndarray
    tail_trace: float
    tail_energy: float


@functools.partial(once_per_seed, described=lambda problem: problem.noise)
def simulate(problem: NoTarget, settings: PowerLaw, rng: np.random.Generator) -> dict[str, float]:
    """Fit once for each seed; the risk given the fit is a sum over modes, not an estimate.

    Without ``modes`` the spectrum is infinite: modes far beyond the number of samples and of
    projections are so many and so weak that together they are Gaussian noise, independent for each
    sample and feature, and the target's part in them is label noise.
    """
    if settings.exponents:
        raise SettingsError("exponents are rates of the limit: simulate at given --samples")
    samples, width = round(settings.number_of_samples()), settings.number_of_projections()
    modes = _drawn_modes(settings, samples, width)
    return _simulate_once(problem.noise, settings.ridge_value(), samples, width, modes, rng)


def _drawn_modes(settings: PowerLaw, samples: int, width: float) -> _Modes:
    a, decay = settings.capacity, 2 * settings.capacity * settings.source + 1
    largest = max(samples, width if width < math.inf else 0)
    count = max(round(MODES_EACH * largest), LEAST_MODES)
    count = count if settings.modes is None else min(count, settings.modes)
    k = np.arange(1.0, count + 1)
    last = math.inf if settings.modes is None else settings.modes + 0.5
    return _Modes(
        k**-a,
        k ** (-decay / 2),
        _drawn_variance_sum(count + 0.5, last, a),
        _drawn_variance_sum(count + 0.5, last, decay),
    )


def _drawn_variance_sum(low: float, high: float, power: float) -> float:
    """The sum of k^-power between two half-integers, as an integral."""
    return (low ** (1 - power) - high ** (1 - power)) / (power - 1)


def _simulate_once(
    noise: float, ridge: float, samples: int, width: float, modes: _Modes, rng: np.random.Generator
) -> dict[str, float]:
    scale = np.sqrt(modes.variances)
    x = rng.standard_normal((samples, len(scale)))
    clean = x @ modes.coefficients
    clean = clean + math.sqrt(modes.tail_energy) * rng.standard_normal(samples)
    noises = math.sqrt(noise) * rng.standard_normal(samples)
    labels = np.stack([clean, noises], axis=1)
    if width == math.inf:
        return _train_all_features(x, scale, labels, ridge, modes)
    count = round(width)
    projections = rng.standard_normal((count, len(scale))) * scale / math.sqrt(count)
    leak = modes.tail_trace / count
    features = x @ projections.T + math.sqrt(leak) * rng.standard_normal((samples, count))
    readouts, fit, degrees = _ridge(features, labels, ridge)
    residual = labels.sum(axis=1) - fit
    energy = np.sum(readouts.sum(axis=1) ** 2)
    return {
        **_risk(modes, projections.T @ readouts, leak * np.sum(readouts**2, axis=0), leak * energy),
        "train_error": float(np.mean(residual**2)),
        "norm": float(energy) / samples,
        "degrees_of_freedom": degrees / samples,
    }


def _train_all_features(
    x: np.ndarray, scale: np.ndarray, labels: np.ndarray, ridge: float, modes: _Modes
) -> dict[str, float]:
    """Kernel regression: modes beyond those drawn add their trace to the kernel's diagonal."""
    samples, total = len(x), ridge + modes.tail_trace
    readouts, fit, degrees = _ridge(x * scale, labels, total)
    residual = labels.sum(axis=1) - fit
    share = ridge / total if total else 0.0
    dual = residual / total if total else np.zeros(samples)
    energy = np.sum(readouts.sum(axis=1) ** 2) + modes.tail_trace * np.sum(dual**2)
    return {
        **_risk(modes, scale[:, None] * readouts, np.zeros(2), 0.0),
        "train_error": float(np.mean((share * residual) ** 2)) if total else 0.0,
        "norm": float(energy) / samples,
        "degrees_of_freedom": 1 - share * (1 - degrees / samples),
    }


def _ridge(
    features: np.ndarray, labels: np.ndarray, ridge: float
) -> tuple[np.ndarray, np.ndarray, float]:
    """Readouts of each column of labels, the fit to their sum, and the degrees of freedom."""
    path = RidgePath.fit(features, labels.sum(axis=1))
    assert path.scores is not None
    roots = np.sqrt(path.eigenvalues)
    shrunk = (path.scores.T @ labels) * (roots / (path.eigenvalues + ridge))[:, None]
    fit = path.scores @ (roots * shrunk.sum(axis=1))
    return path.loadings @ shrunk, fit, float(path.degrees_of_freedom(ridge)[0])


def _risk(modes: _Modes, fitted: np.ndarray, leaks: np.ndarray, leak: float) -> dict[str, float]:
    """Risk of the fit to signal and noise together, and of the two parts by themselves.

    ``fitted`` holds each part's coefficients on the modes; ``leaks`` what the part does to the
    modes beyond.
    """
    signal, noise = fitted.T
    missed = modes.tail_energy
    return {
        "test_error": float(np.sum((modes.coefficients - signal - noise) ** 2) + leak + missed),
        "bias": float(np.sum((modes.coefficients - signal) ** 2) + leaks[0] + missed),
        "variance": float(np.sum(noise**2) + leaks[1]),
    }


def cost(problem: NoTarget, settings: PowerLaw) -> Cost:
    """The samples and the projections, mode by mode, and a fit."""
    n, p = settings.number_of_samples(), settings.number_of_projections()
    finite = 0.0 if p == math.inf else p
    modes = max(MODES_EACH * max(n, finite), LEAST_MODES)
    modes = modes if settings.modes is None else min(modes, settings.modes)
    features = finite or modes
    return Cost(
        8 * (modes * (n + 2 * finite) + 2 * n * features + 4 * min(n, features) ** 2),
        (n + finite) * modes * DRAW + n * modes * finite + ridge_fit(n, features),
        f"samples = {n:g}, width = {p:g}",
        "lower --samples, --width or --modes",
    )
