"""Train and test errors of a readout fitted by ridge regression to streamed features."""

from __future__ import annotations

import numpy as np

from giantstep.learners.giant_step.features import LabelledFeatures
from giantstep.learners.ridge.chosen_ridge import chosen_ridge
from giantstep.learners.ridge.readout import NormalEquations, RidgePath

#: Numbers of features a run may hold in memory, 64 MB; beyond, only their Gram matrix is kept.
HELD_NUMBERS = 1 << 23


def readout_errors(
    fitted: LabelledFeatures, tested: LabelledFeatures, samples: int, width: int, ridge: float | str
) -> dict[str, np.ndarray]:
    """``test_error``, ``train_error`` and ``gcv_error`` of each run, and where the features fit
    into memory ``loo_error``, the leave-one-out error; ``gcv`` chooses a ridge for each run."""
    held = samples < width or samples * width <= HELD_NUMBERS
    paths = _held_paths(fitted) if held else _streamed_paths(fitted, width)
    ridges = [chosen_ridge(path, ridge) for path in paths]
    fits = list(zip(paths, ridges, strict=True))
    errors = {
        "test_error": _test_errors(paths, tested, ridges),
        "train_error": np.array([path.train_error(chosen)[0] for path, chosen in fits]),
        "gcv_error": np.array([path.gcv(chosen)[0] for path, chosen in fits]),
    }
    if held:
        errors["loo_error"] = np.array([path.leave_one_out(chosen)[0] for path, chosen in fits])
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


def _test_errors(
    paths: list[RidgePath], chunks: LabelledFeatures, ridges: list[float]
) -> np.ndarray:
    total, samples = np.zeros(len(paths)), 0
    for features, labels in chunks:
        samples += labels.shape[1]
        for i, (path, ridge) in enumerate(zip(paths, ridges, strict=True)):
            total[i] += ((path.predict(features[i], ridge)[0] - labels[i]) ** 2).sum()
    return total / samples
