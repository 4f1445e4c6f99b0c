"""A readout fitted by ridge regression to streamed features: its train and test errors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from giantstep.learners.giant_step.network import (
    DrawnNeurons,
    Model,
    Trend,
    detrended_batch_labels,
    over_runs,
)
from giantstep.learners.giant_step.samples import DrawnSample
from giantstep.numerics.ridge.path import (
    NormalEquations,
    RidgePath,
    relative_rounding,
    ridge_or_gcv,
)

#: Chunks of features (runs, n, p) and labels (runs, n).
LabelledFeatures = Iterator[tuple[np.ndarray, np.ndarray]]


def feature_chunks(
    model: Model,
    samples: Iterable[DrawnSample],
    weights: Any,
    neurons: DrawnNeurons,
    trend: Trend | None,
    noise: float,
) -> LabelledFeatures:
    """Features and labels, less their trend, of each chunk of samples."""
    for sample in samples:
        scalar = np.asarray(noise, sample.inputs.dtype)
        features, labels = _features(model, weights, neurons, trend, sample, scalar)
        rows = slice(sample.filled)
        yield np.asarray(features)[:, rows], np.asarray(labels, dtype=np.float64)[:, rows]


def _simulated_features(
    model: Model,
    weights: Float[Array, "p d"],
    neurons: DrawnNeurons,
    trend: Trend | None,
    sample: DrawnSample,
    noise: Float[Array, ""],
) -> tuple[Array, Array]:
    labels = model.labels(sample.latent, sample.random, noise)
    phi = model.features(sample.inputs @ weights.T, neurons)
    return phi, detrended_batch_labels(labels, sample.inputs, trend)


_features = over_runs(_simulated_features)


#: Numbers of features a run may hold in memory, 64 MB; beyond, only their Gram matrix is kept.
HELD_NUMBERS = 1 << 23


def simulated_readout_errors(
    fitted: LabelledFeatures, tested: LabelledFeatures, samples: int, width: int, ridge: float | str
) -> dict[str, np.ndarray]:
    """``test_error``, ``train_error`` and ``gcv_error`` of each run, and where the features fit
    into memory ``loo_error``, the leave-one-out error; ``gcv`` chooses a ridge for each run."""
    held = samples < width or samples * width <= HELD_NUMBERS
    paths = _held_training_paths(fitted) if held else _streamed_paths(fitted)
    ridges = [ridge_or_gcv(path, ridge) for path in paths]
    fits = list(zip(paths, ridges, strict=True))
    errors = {
        "test_error": _simulated_test_errors(paths, tested, ridges),
        "train_error": np.array([path.train_error(chosen)[0] for path, chosen in fits]),
        "gcv_error": np.array([path.gcv(chosen)[0] for path, chosen in fits]),
    }
    if held:
        errors["loo_error"] = np.array([path.leave_one_out(chosen)[0] for path, chosen in fits])
    return errors


def _held_training_paths(chunks: LabelledFeatures) -> list[RidgePath]:
    features, labels = (np.concatenate(parts, axis=1) for parts in zip(*chunks, strict=True))
    return [RidgePath.fit(phi, y) for phi, y in zip(features, labels, strict=True)]


def _streamed_paths(chunks: LabelledFeatures) -> list[RidgePath]:
    sums: list[NormalEquations] = []
    precision = 0.0
    for features, labels in chunks:
        precision = max(precision, relative_rounding(features))
        phi, y = (np.asarray(part, dtype=np.float64) for part in (features, labels))
        here = [NormalEquations.of(*run) for run in zip(phi, y, strict=True)]
        pairs = zip(sums, here, strict=True)
        sums = [run.and_also(new) for run, new in pairs] if sums else here
    return [RidgePath.solve(run, precision=precision) for run in sums]


def _simulated_test_errors(
    paths: list[RidgePath], chunks: LabelledFeatures, ridges: list[float]
) -> np.ndarray:
    total, samples = np.zeros(len(paths)), 0
    for features, labels in chunks:
        samples += labels.shape[1]
        for i, (path, ridge) in enumerate(zip(paths, ridges, strict=True)):
            total[i] += ((path.predict(features[i], ridge)[0] - labels[i]) ** 2).sum()
    return total / samples
