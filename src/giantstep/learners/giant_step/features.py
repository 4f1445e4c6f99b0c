"""What the readout is fitted to and tested on: features and labels, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from giantstep.learners.giant_step.network import Model, Neurons, Randomness, Trend, detrended
from giantstep.learners.giant_step.runs import over_runs
from giantstep.learners.giant_step.samples import Sample

#: Chunks of features (runs, n, p) and labels (runs, n).
LabelledFeatures = Iterator[tuple[np.ndarray, np.ndarray]]


def feature_chunks(
    model: Model,
    samples: Iterable[Sample],
    weights: Any,
    neurons: Neurons,
    trend: Trend | None,
    noise: float,
) -> LabelledFeatures:
    """Features and labels, less their trend, of each chunk of samples."""
    for sample in samples:
        features, labels = _features(
            *(model, weights, neurons, trend, sample.inputs, sample.latent, sample.random),
            np.asarray(noise, sample.inputs.dtype),
        )
        rows = slice(sample.filled)
        yield np.asarray(features)[:, rows], np.asarray(labels, dtype=np.float64)[:, rows]


def _features_kernel(
    model: Model,
    weights: Float[Array, "p d"],
    neurons: Neurons,
    trend: Trend | None,
    inputs: Float[Array, "n d"],
    latent: Float[Array, "n r"],
    random: Randomness,
    noise: Float[Array, ""],
) -> tuple[Array, Array]:
    labels = detrended(model.labels(latent, random, noise), inputs, trend)
    return model.features(inputs @ weights.T, neurons), labels


_features = over_runs(_features_kernel, shared=(6,))
