"""What the learners of structured inputs cost."""

from __future__ import annotations

from giantstep.errors import SettingsError
from giantstep.learners.cost import DRAW, EIGEN, EXPONENTIAL, Cost, ridge_fit
from giantstep.problem import Problem
from giantstep.settings.gradient_flow import GradientFlow
from giantstep.settings.langevin import Langevin
from giantstep.settings.pca import Pca


def gradient_flow(problem: Problem, settings: GradientFlow) -> Cost:
    """Samples in d dimensions, held; two products with every start in every step; a readout."""
    dim = _dim(settings.dim)
    n, p = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    starts = settings.starts * (1 if settings.has_start else 2)
    steps = max(settings.horizon / settings.step, 1)
    rows = n + settings.test_samples
    descent = steps * n * starts * (2.0 * dim + EXPONENTIAL)
    return Cost(
        8 * (3.0 * rows * dim + rows * p + 3.0 * n * starts + 6.0 * dim**2),
        rows * dim * (DRAW + dim) + EIGEN * float(dim) ** 3 + descent + ridge_fit(n, p),
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )


def pca(problem: Problem, settings: Pca) -> Cost:
    """Samples in d dimensions, held, and the eigenvectors of their covariance."""
    dim = _dim(settings.dim)
    n = settings.samples.count(dim, "samples")
    rows = n + settings.test_samples
    return Cost(
        8 * (1.0 * rows * (dim + settings.degree) + 4.0 * dim**2),
        rows * dim * (DRAW + dim) + EIGEN * float(dim) ** 3,
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )


def langevin(problem: Problem, settings: Langevin) -> Cost:
    """Units of every particle on every sample, two products and the noise of every step."""
    dim = _dim(settings.dim)
    n, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    rows = max(n, settings.test_samples)
    step = n * width * (2.0 * dim + EXPONENTIAL) + width * dim * DRAW
    return Cost(
        12.0 * (rows * (dim + 2.0 * width) + 4 * width * dim),
        settings.steps * step + rows * dim * DRAW,
        f"samples = {n}, width = {width} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )


def _dim(dim: int | None) -> int:
    if dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    return dim
