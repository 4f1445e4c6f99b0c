"""Random features: a random first layer, a fitted readout."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.activations.activation import activation
from giantstep.errors import GiantstepError, SettingsError
from giantstep.learners.ridge.classifiers import classifier, mean_loss, susceptibility
from giantstep.learners.ridge.convex_fit import convex_fit, fit_susceptibility
from giantstep.learners.ridge.labelled_inputs import Labelled, labelled_inputs
from giantstep.learners.ridge.readout import RidgePath
from giantstep.learners.seeds import run_of_seeds
from giantstep.losses import loss_of
from giantstep.problem import Problem
from giantstep.results import Run
from giantstep.settings.problem_rules import check_binary_labels, has_binary_labels
from giantstep.settings.random_features import RandomFeatures

#: Losses that scikit-learn fits.
CLASSIFIERS = ("logistic", "hinge")


def simulate(
    problem: Problem,
    settings: RandomFeatures,
    *,
    seeds: int = 8,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Run:
    """Fit the readout of random neurons, once for each seed; errors on fresh samples."""
    if settings.dim is None:
        raise SettingsError("dim is missing: a simulation needs --dim, the dimension of the inputs")
    if settings.loss in CLASSIFIERS:
        check_binary_labels(problem, settings.loss)

    def run(rng: np.random.Generator) -> dict[str, Any]:
        return _one_run(problem, settings, rng)

    return run_of_seeds(run, problem, settings, seeds=seeds, seed=seed, progress=progress)


def _one_run(
    problem: Problem, settings: RandomFeatures, rng: np.random.Generator
) -> dict[str, Any]:
    dim = settings.dim
    assert dim is not None
    samples, width = settings.samples.count(dim, "samples"), settings.width.count(dim, "width")
    if problem.target.rank > dim:
        raise SettingsError(f"dim = {dim} is below the {problem.target.rank} target directions")
    sigma = activation(settings.activation)
    neurons, biases = _first_layer(settings, width, dim, rng)

    def features(inputs: np.ndarray) -> np.ndarray:
        return sigma.numpy(inputs @ neurons.T + biases) / np.sqrt(width)

    train = labelled_inputs(problem, samples, dim, rng)
    test = labelled_inputs(problem, settings.test_samples, dim, rng)
    fit = _square if settings.loss == "square" else _expressed
    if settings.loss in CLASSIFIERS:
        fit = _classification
    return fit(problem, settings, features(train.inputs), train, features(test.inputs), test)


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


def _square(
    problem: Problem,
    settings: RandomFeatures,
    phi: np.ndarray,
    train: Labelled,
    fresh: np.ndarray,
    test: Labelled,
) -> dict[str, Any]:
    path, ridge, samples = RidgePath.fit(phi, train.labels), settings.ridge, len(phi)
    readout = path.coefficients(ridge)[0]
    test_error = float(np.mean((test.clean - fresh @ readout) ** 2))
    return {
        "test_error": test_error,
        "test_error_noisy": test_error + problem.noise,
        "train_error": float(path.train_error(ridge)[0]),
        "norm": float(readout @ readout) / samples,
        "degrees_of_freedom": float(path.degrees_of_freedom(ridge)[0]) / samples,
    }


def _classification(
    problem: Problem,
    settings: RandomFeatures,
    phi: np.ndarray,
    train: Labelled,
    fresh: np.ndarray,
    test: Labelled,
) -> dict[str, Any]:
    loss, ridge = settings.loss, settings.ridge
    labels, truth = (np.where(part.clean > 0, 1.0, -1.0) for part in (train, test))
    readout = classifier(loss, phi, labels, ridge)
    margins, fields = labels * (phi @ readout), fresh @ readout
    overlap = test.latent.T @ fields / len(fields)
    return {
        "test_error": float(np.mean(np.sign(fields) != truth)),
        "train_loss": mean_loss(loss, margins),
        "norm": float(readout @ readout) / len(phi),
        "overlap_q": float(np.var(fields)),
        "overlap_m": float(overlap[0]) if problem.target.rank == 1 else overlap,
        "overlap_v": susceptibility(loss, phi, margins, ridge, fresh),
        "intercept": float(np.mean(fields)),
    }


def _expressed(
    problem: Problem,
    settings: RandomFeatures,
    phi: np.ndarray,
    train: Labelled,
    fresh: np.ndarray,
    test: Labelled,
) -> dict[str, Any]:
    loss, binary = loss_of(settings.loss), has_binary_labels(problem)
    labels, truth = train.labels, test.clean
    if binary:
        labels, truth = (np.where(part.clean > 0, 1.0, -1.0) for part in (train, test))
    readout, outputs, settled = convex_fit(loss, phi, labels, settings.ridge)
    if not settled:
        raise GiantstepError(
            f"loss = {settings.loss!r}: the fit did not settle at ridge = {settings.ridge:g}; "
            "give a larger ridge"
        )
    fields = fresh @ readout
    overlap = test.latent.T @ fields / len(fields)
    wrong = np.sign(fields) != truth if binary and loss.of_margin else (truth - fields) ** 2
    return {
        "test_error": float(np.mean(wrong)),
        "train_loss": float(np.mean(loss.numpy(labels, outputs))),
        "norm": float(readout @ readout) / len(phi),
        "overlap_q": float(np.var(fields)),
        "overlap_m": float(overlap[0]) if problem.target.rank == 1 else overlap,
        "overlap_v": fit_susceptibility(loss, phi, labels, outputs, settings.ridge, fresh),
        "intercept": float(np.mean(fields)),
    }
