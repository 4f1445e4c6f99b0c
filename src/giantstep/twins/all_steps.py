"""A prediction of the last step alone, in the shape that the simulation has: one entry a step."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np

from giantstep.places import STEP
from giantstep.results import Prediction

#: The risk of the same fit without any step, which is the first entry of the risk.
BEFORE = "random_features_error"


def with_all_steps(law: Prediction, axes: Mapping[str, tuple[str, ...]]) -> Prediction:
    """The same numbers, each metric with every axis that it has in a simulation.

    A theory that speaks of the last step alone leaves the steps before it open: they are NaN. Only
    the test error before the first step is known, since that is the one of random features.
    """
    metrics, errors = dict(law.metrics), dict(law.errors)
    steps = int(law.settings.get("steps") or 0)
    for name, value in law.metrics.items():
        if axes.get(name, ())[:1] != (STEP,) or np.ndim(value) >= len(axes[name]):
            continue
        before = _before(law, name) if steps == 1 else np.nan
        metrics[name] = _stretched(value, steps, before)
        if name in errors:
            errors[name] = _stretched(np.broadcast_to(errors[name], np.shape(value)), steps, 0.0)
    return dataclasses.replace(law, metrics=metrics, errors=errors)


def _before(law: Prediction, name: str) -> float:
    """The value before the first step: of the test error, and of it with noise."""
    if BEFORE not in law.metrics or name not in ("test_error", "test_error_noisy"):
        return np.nan
    noise = float(np.asarray(law.metrics[name]) - np.asarray(law.metrics["test_error"]))
    return float(law.metrics[BEFORE]) + noise


def _stretched(value: Any, steps: int, before: float) -> np.ndarray:
    last = np.asarray(value, dtype=float)
    whole = np.full((steps + 1, *last.shape), np.nan)
    whole[0], whole[-1] = before, last
    return whole
