"""The learner `pca`: what the inputs alone say about the direction, and a curve along it."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.language.problem import Problem
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, EIGEN, Cost, needed_dim
from giantstep.numerics.hermite import normalised_hermite
from giantstep.numerics.ridge.path import RidgePath, ridge_or_gcv
from giantstep.settings.pca import Pca


@once_per_seed
def simulate(problem: Problem, settings: Pca, rng: np.random.Generator) -> dict[str, float]:
    """Top component and polynomial fit, once for each seed.

    ``overlap_squared`` is the squared cosine of the component with the spike (with h1 where there
    is none), ``target_overlap_squared`` that with h1. Projections are divided by their own root
    mean square, the training ones and the test ones each: the component has adapted to the
    training inputs, whose projections are therefore too long.
    """
    dim = needed_dim(settings.dim)
    train = problem.draw(settings.samples.count(dim, "samples"), dim, rng)
    test = problem.draw(settings.test_samples, dim, rng)
    values, vectors = np.linalg.eigh(train.inputs.T @ train.inputs / len(train.inputs))
    component = vectors[:, -1]
    path = RidgePath.fit(_simulated_curve(train.inputs @ component, settings.degree), train.labels)
    ridge = ridge_or_gcv(path, settings.ridge)
    fit = path.predict(_simulated_curve(test.inputs @ component, settings.degree), ridge)[0]
    test_error = float(np.mean((fit - test.clean) ** 2))
    spike = problem.inputs.leading_direction(problem.target.rank, dim)
    return {
        "overlap_squared": float((component @ spike) ** 2),
        "target_overlap_squared": float(component[0] ** 2),
        "eigenvalue": float(values[-1]),
        "test_error": test_error,
        "test_error_noisy": test_error + problem.noise,
        "train_error": float(path.train_error(ridge)[0]),
    }


def _simulated_curve(projections: Float[np.ndarray, " n"], degree: int) -> Float[np.ndarray, "n k"]:
    """Hermite polynomials of the projections, orthonormal for a standard normal variable."""
    z = projections / np.sqrt(np.mean(projections**2))
    return normalised_hermite(z, degree).T


def cost(problem: Problem, settings: Pca) -> Cost:
    """Samples in d dimensions, held, and the eigenvectors of their covariance."""
    dim = needed_dim(settings.dim)
    n = settings.samples.count(dim, "samples")
    rows = n + settings.test_samples
    return Cost(
        8 * (1.0 * rows * (dim + settings.degree) + 4.0 * dim**2),
        rows * dim * (DRAW + dim) + EIGEN * float(dim) ** 3,
        f"samples = {n} at dim = {dim}",
        "lower --samples, --dim or --test-samples",
    )
