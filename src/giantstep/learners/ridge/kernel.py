"""Kernel ridge regression with an inner-product kernel."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from giantstep.activations.kernels import Kernel, kernel
from giantstep.errors import SettingsError
from giantstep.learners.ridge.labelled_inputs import labelled_inputs
from giantstep.learners.seeds import run_of_seeds
from giantstep.problem import Problem
from giantstep.results import Run
from giantstep.settings.kernel import KernelRidge

#: Eigenvalues below this fraction of the largest are rounding errors of the kernel matrix.
NEGLIGIBLE = 1e-13


def simulate(
    problem: Problem,
    settings: KernelRidge,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Fit the kernel once for each seed; errors on fresh samples."""
    if settings.dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    if problem.target.rank > settings.dim:
        raise SettingsError(
            f"dim = {settings.dim} is below the {problem.target.rank} target directions"
        )

    def run(rng: np.random.Generator) -> dict[str, float]:
        return _one_run(problem, settings, kernel(settings.kernel), rng)

    return run_of_seeds(run, problem, settings, seeds=seeds, seed=seed, progress=progress)


def _one_run(
    problem: Problem, settings: KernelRidge, shape: Kernel, rng: np.random.Generator
) -> dict[str, float]:
    dim, ridge = settings.dim, settings.ridge
    assert dim is not None
    samples = settings.samples.count(dim, "samples")
    train = labelled_inputs(problem, samples, dim, rng)
    test = labelled_inputs(problem, settings.test_samples, dim, rng)
    eigenvalues, vectors = np.linalg.eigh(shape.matrix(train.inputs, train.inputs))
    kept = eigenvalues > NEGLIGIBLE * samples * eigenvalues[-1]
    eigenvalues, vectors = eigenvalues[kept], vectors[:, kept]

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
