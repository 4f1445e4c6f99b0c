"""Random features: a random first layer, a fitted readout."""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.language.activations.activation import activation
from giantstep.language.losses import CLASSIFIERS, loss_from_text
from giantstep.language.problem import Labelled, Problem
from giantstep.learners.convex_fit import (
    ON_KINK,
    ON_MARGIN,
    train_classifier_readout,
    train_convex_readout,
    trained_susceptibility,
)
from giantstep.learners.seeds import once_per_seed
from giantstep.numerics.cost import DRAW, ENTRY, EXPONENTIAL, Cost, needed_dim, ridge_fit
from giantstep.numerics.ridge.path import RidgePath
from giantstep.settings.problem_rules import check_loss_setting, has_binary_labels
from giantstep.settings.random_features import RandomFeatures

#: Products with the features that a classifier takes.
_PRODUCTS = 300


@once_per_seed
def simulate(
    problem: Problem, settings: RandomFeatures, rng: np.random.Generator
) -> dict[str, Any]:
    """Fit the readout of random neurons, once for each seed; errors on fresh samples."""
    dim = needed_dim(settings.dim, problem.target.rank)
    if settings.loss in CLASSIFIERS:
        check_loss_setting(problem, settings.loss)
    samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    sigma = activation(settings.activation)
    neurons, biases = _first_layer(settings, width, dim, rng)

    def features(inputs: np.ndarray) -> np.ndarray:
        return sigma.numpy(inputs @ neurons.T + biases) / np.sqrt(width)

    train = problem.draw(samples, dim, rng)
    test = problem.draw(settings.test_samples, dim, rng)
    phi, fresh = features(train.inputs), features(test.inputs)
    if settings.loss != "square":
        return _train_other_loss(problem, settings, phi, train, fresh, test)
    path, ridge = RidgePath.fit(phi, train.labels), settings.ridge
    readout = path.coefficients(ridge)[0]
    test_error = float(np.mean((test.clean - fresh @ readout) ** 2))
    return {
        "test_error": test_error,
        "test_error_noisy": test_error + problem.noise,
        "train_error": float(path.train_error(ridge)[0]),
        "norm": float(readout @ readout) / samples,
        "degrees_of_freedom": float(path.degrees_of_freedom(ridge)[0]) / samples,
    }


def _first_layer(
    settings: RandomFeatures, width: int, dim: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Rows on the unit sphere or N(0, I/d); biases 0, N(0, 1), or uniform on [-1, 1]."""
    rows = rng.standard_normal((width, dim))
    sphere = settings.start == "sphere"
    rows /= np.linalg.norm(rows, axis=1, keepdims=True) if sphere else np.sqrt(dim)
    if settings.biases == "none":
        return rows, np.zeros(width)
    normal = settings.biases == "normal"
    return rows, rng.standard_normal(width) if normal else rng.uniform(-1, 1, width)


def _train_other_loss(
    problem: Problem,
    settings: RandomFeatures,
    phi: np.ndarray,
    train: Labelled,
    fresh: np.ndarray,
    test: Labelled,
) -> dict[str, Any]:
    name, ridge = settings.loss, settings.ridge
    binary = name in CLASSIFIERS or has_binary_labels(problem)
    labels, truth = train.labels, test.clean
    if binary:
        labels, truth = (np.where(part.clean > 0, 1.0, -1.0) for part in (train, test))
    expressed, on_kink = loss_from_text(name), ON_KINK
    if name in CLASSIFIERS:
        readout, on_kink = train_classifier_readout(name, phi, labels, ridge), ON_MARGIN
        outputs = phi @ readout
    else:
        readout, outputs, settled = train_convex_readout(expressed, phi, labels, ridge)
        if not settled:
            raise GiantstepError(
                f"loss = {name!r}: the fit did not settle at ridge = {ridge:g}; give a larger ridge"
            )
    fields = fresh @ readout
    overlap = test.latent.T @ fields / len(fields)
    wrong = np.sign(fields) != truth if binary and expressed.of_margin else (truth - fields) ** 2
    return {
        "test_error": float(np.mean(wrong)),
        "train_loss": float(np.mean(expressed.numpy(labels, outputs))),
        "norm": float(readout @ readout) / len(phi),
        "overlap_q": float(np.var(fields)),
        "overlap_m": float(overlap[0]) if problem.target.rank == 1 else overlap,
        "overlap_v": trained_susceptibility(expressed, phi, labels, outputs, ridge, fresh, on_kink),
        "intercept": float(np.mean(fields)),
    }


def cost(problem: Problem, settings: RandomFeatures) -> Cost:
    """Inputs and features of training and test samples, and a fit."""
    dim = needed_dim(settings.dim)
    n, p = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    rows = n + settings.test_samples
    fit = ridge_fit(n, p) if settings.loss == "square" else _PRODUCTS * ENTRY * n * p
    return Cost(
        8 * (rows * (dim + 2.0 * p) + p * dim + 4.0 * min(n, p) ** 2),
        rows * dim * (p + DRAW) + rows * p * EXPONENTIAL + fit,
        f"samples = {n}, width = {p} at dim = {dim}",
        "lower --samples, --width, --dim or --test-samples",
    )
