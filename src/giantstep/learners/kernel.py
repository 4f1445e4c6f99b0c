"""Kernel ridge regression with an inner-product kernel."""

from __future__ import annotations

import numpy as np

from giantstep.language.activations.kernels import kernel
from giantstep.language.problem import Problem
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EIGEN, EXPONENTIAL, Cost, needed_dim
from giantstep.numerics.ridge.path import positive_eigenpairs
from giantstep.settings.kernel import Kernel


@once_per_seed
def simulate(problem: Problem, settings: Kernel, rng: np.random.Generator) -> dict[str, float]:
    """Fit the kernel once for each seed; errors on fresh samples."""
    dim = needed_dim(settings.dim, problem.target.rank)
    ridge, shape = settings.ridge, kernel(settings.kernel)
    samples = settings.samples.count(dim, "samples")
    train = problem.draw(samples, dim, rng)
    test = problem.draw(settings.test_samples, dim, rng)
    eigenvalues, vectors = positive_eigenpairs(shape.matrix(train.inputs, train.inputs))

    scores = vectors.T @ train.labels
    shrunk = eigenvalues / (eigenvalues + ridge)
    weights = vectors @ (scores / (eigenvalues + ridge))
    fit = shape.matrix(test.inputs, train.inputs) @ weights
    test_error = float(np.mean((test.clean - fit) ** 2))
    residual = train.labels - vectors @ (shrunk * scores)
    return {
        "test_error": test_error,
        "test_error_noisy": test_error + problem.noise,
        "train_error": float(np.mean(residual**2)),
        "norm": float(np.sum(eigenvalues * (scores / (eigenvalues + ridge)) ** 2)) / samples,
        "degrees_of_freedom": float(np.sum(shrunk)) / samples,
    }


def cost(problem: Problem, settings: Kernel) -> Cost:
    """The kernel matrix of the samples, its eigenvectors, and that with the test samples."""
    dim = needed_dim(settings.dim)
    n, m = settings.samples.count(dim, "samples"), settings.test_samples
    return Cost(
        8 * ((n + m) * float(dim) + 5.0 * n**2 + 2.0 * n * m),
        (n + m) * dim * (n + DRAW) + (n + m) * n * EXPONENTIAL + EIGEN * float(n) ** 3,
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )
