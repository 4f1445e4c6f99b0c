"""What the learners of ridge regression cost."""

from __future__ import annotations

import math

from giantstep.errors import SettingsError
from giantstep.learners.cost import DRAW, EIGEN, ENTRY, EXPONENTIAL, Cost, ridge_fit
from giantstep.learners.ridge.power_law import LEAST_MODES, MODES_EACH
from giantstep.problem import NoTarget, Problem
from giantstep.settings.kernel import KernelRidge
from giantstep.settings.power_law import PowerLaw
from giantstep.settings.random_features import RandomFeatures
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

#: Products with the features that a classifier takes, and terms of the series that integrates a
#: pair of neurons.
_PRODUCTS, _TERMS = 300, 35


def random_features(problem: Problem, settings: RandomFeatures) -> Cost:
    """Inputs and features of training and test samples, and a fit."""
    dim = _dim(settings.dim)
    n, p = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    rows = n + settings.test_samples
    fit = ridge_fit(n, p) if settings.loss == "square" else _PRODUCTS * ENTRY * n * p
    return Cost(
        8 * (rows * (dim + 2.0 * p) + p * dim + 4.0 * min(n, p) ** 2),
        rows * dim * (p + DRAW) + rows * p * EXPONENTIAL + fit,
        f"samples = {n}, width = {p} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )


def kernel(problem: Problem, settings: KernelRidge) -> Cost:
    """The kernel matrix of the samples, its eigenvectors, and that with the test samples."""
    dim = _dim(settings.dim)
    n, m = settings.samples.count(dim, "samples"), settings.test_samples
    return Cost(
        8 * ((n + m) * float(dim) + 5.0 * n**2 + 2.0 * n * m),
        (n + m) * dim * (n + DRAW) + (n + m) * n * EXPONENTIAL + EIGEN * float(n) ** 3,
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )


def spiked_random_features(problem: Problem, settings: SpikedRandomFeatures) -> Cost:
    """Inputs and features of the samples, a fit, and integrals over pairs of neurons."""
    dim = _dim(settings.dim)
    n = settings.readout_samples.count(dim, "readout_samples")
    p = settings.width.count(dim, "width")
    return Cost(
        8 * (n * (dim + 2.0 * p) + p * dim + 4.0 * min(n, p) ** 2 + 5.0 * p**2),
        n * dim * (p + DRAW) + p**2 * (dim + _TERMS * EXPONENTIAL) + ridge_fit(n, p),
        f"readout_samples = {n}, width = {p} at dim = {dim}",
        "lower --readout-samples, --width or --dim",
    )


def power_law(problem: NoTarget, settings: PowerLaw) -> Cost:
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


def _dim(dim: int | None) -> int:
    if dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    return dim
