"""Train and test errors of a readout fitted by ridge regression to streamed features."""

from __future__ import annotations

import numpy as np

from giantstep.learners.giant_step.features import LabelledFeatures
from giantstep.learners.ridge.readout import NormalEquations, RidgePath

#: Numbers of features a run may hold in memory, 64 MB; beyond, only their Gram matrix is kept.
HELD_NUMBERS = 1 << 23


def readout_errors(
    fitted: LabelledFeatures, tested: LabelledFeatures, samples: int, width: int, ridge: float
) -> dict[str, np.ndarray]:
    """``test_error``, ``train_error`` and ``gcv_error`` of each run, and where the features fit
    into memory ``loo_error``, the leave-one-out error."""
    held = samples < width or samples * width <= HELD_NUMBERS
    paths = _held_paths(fitted) if held else _streamed_paths(fitted, width)
    errors = {
        "test_error": _test_errors(paths, tested, ridge),
        "train_error": np.array([path.train_error(ridge)[0] for path in paths]),
        "gcv_error": np.array([path.gcv(ridge)[0] for path in paths]),
    }
    if held:
        errors["loo_error"] = np.array([path.leave_one_out(ridge)[0] for path in paths])
    return errors


def _held_paths(chunks: LabelledFeatures) -> list[RidgePath]:
    features, labels = (np.concatenate(parts, axis=1) for parts in zip(*chunks, strict=True))
    return [RidgePath.fit(phi, y) for phi, y in zip(features, labels, strict=True)]


def _streamed_paths(chunks: LabelledFeatures, width: int) -> list[RidgePath]:
    sums: list[NormalEquations] = []
    for features, labels in chunks:
        sums = sums or [NormalEquations(width) for _ in labels]
        for run, phi, y in zip(sums, features, labels, strict=True):
            run.add(phi, y)
    return [RidgePath.solve(run) for run in sums]


def _test_errors(paths: list[RidgePath], chunks: LabelledFeatures, ridge: float) -> np.ndarray:
    total, samples = np.zeros(len(paths)), 0
    for features, labels in chunks:
        samples += labels.shape[1]
        for i, path in enumerate(paths):
            total[i] += ((path.predict(features[i], ridge)[0] - labels[i]) ** 2).sum()
    return total / samples
