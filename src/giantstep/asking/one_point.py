"""One point: a learner's simulation of it, its theory, and one laid over the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from giantstep import measures
from giantstep.answer import Prediction, Question, Run
from giantstep.answer.places import STEP
from giantstep.asking.stated_errors import with_stated_errors
from giantstep.asking.table import Learner
from giantstep.errors import NoTheory, SettingsError

Progress = Callable[[float], None]
#: The risk of the same fit without any step, which is the first entry of the risk.
BEFORE = "random_features_error"


def simulate_question(
    row: Learner, question: Question, seeds: int, seed: int, progress: Progress | None = None
) -> Run:
    """The simulation of one question by the learner of that row."""
    settings, problem = question.settings, question.problem
    if cost := row.cost_of("simulate", question):
        cost.check(seeds)
    run: Run = row.load("simulate")(problem, settings, seeds=seeds, seed=seed, progress=progress)
    return dataclasses.replace(run, seeds=tuple(range(seed, seed + seeds)))


def question_seconds(row: Learner, questions: Sequence[Question], seeds: int) -> float:
    """How long the simulation is expected to take on this machine; 0 where nothing is known.

    Raises where it does not fit into memory: then it will not run at all.
    """
    costs = [row.cost_of("simulate", question) for question in questions]
    for cost in costs:
        if cost:
            cost.check(seeds)
    return sum(cost.seconds(seeds) for cost in costs if cost)


def predict_question(
    row: Learner, question: Question, optimise: Sequence[str] = (), along: Sequence[Any] = ()
) -> Prediction:
    """The prediction of one question for the learner of that row.

    ``optimise`` names settings to replace by those of least test error; the prediction's own
    settings have them. ``along``: all values of ``row.along`` on the curve of this point.
    """
    unknown = [name for name in optimise if name not in row.optimisable]
    if unknown:
        known = ", ".join(row.optimisable) or "nothing"
        raise SettingsError(f"optimise = {unknown[0]!r}: {row.name} can optimise {known}")
    how: dict[str, Any] = {"optimise": tuple(optimise)} if optimise else {}
    how |= {"along": tuple(along)} if along else {}
    if cost := row.cost_of("predict", question):
        cost.check()
    try:
        law: Prediction = row.load("predict")(question.problem, question.settings, **how)
    except (ArithmeticError, MemoryError) as failure:
        kind = "memory" if isinstance(failure, MemoryError) else "range of numbers"
        raise NoTheory(
            f"{row.name}: the equations leave the {kind} of this machine at these settings: "
            "take sizes that are less extreme"
        ) from failure
    notes = (*law.notes, *_note_on_infinite_answers(law))
    law = _asked_at_all_steps(dataclasses.replace(law, notes=notes), row.axes)
    simulated = [metric.name for metric in row.metrics if metric.simulated]
    return with_stated_errors(law, question.settings, simulated)


def compare_question(run: Run, law: Prediction) -> Run:
    """The run with ``angle``, which takes both: theory says which subspaces U_t are learned.

    It is the angle from the top directions after t steps to U_t, which falls to 0 as d grows, and
    pi/2 where fewer directions stand out of the noise than U_t has: a space is not learned by its
    larger part.
    """
    if not law.subspaces:
        return run
    matrices, neurons = run.arrays["overlap_matrix"], run.arrays["cosines"].shape[-2]
    ranks = measures.measured_rank(matrices, run.metrics["baseline"], neurons)
    angles = [
        np.where(
            ranks[:, step] < len(subspace),
            np.pi / 2,
            measures.angle(matrices[:, step], subspace),
        )
        for step, subspace in enumerate(law.subspaces)
    ]
    return dataclasses.replace(run, metrics={**run.metrics, "angle": np.stack(angles, axis=1)})


def _note_on_infinite_answers(law: Prediction) -> list[str]:
    """A note that names the metrics that are not finite; an error where none is.

    A theory explains by itself, in a note that names the metric, what it means to be infinite.
    """
    broken = [name for name, value in law.metrics.items() if not np.isfinite(value).all()]
    if len(broken) == len(law.metrics):
        reasons = "; ".join(law.notes) or "the equations overflow or do not converge"
        raise NoTheory(
            f"{' and '.join(broken[:2])}: no finite number at these settings ({reasons})"
        )
    silent = [name for name in broken if not any(note.startswith(name) for note in law.notes)]
    return [f"no finite number here: {', '.join(silent)}"] if silent else []


def _asked_at_all_steps(law: Prediction, axes: Mapping[str, tuple[str, ...]]) -> Prediction:
    """The same numbers, each metric with every axis that it has in a simulation.

    A theory that speaks of the last step alone leaves the steps before it open: they are NaN. Only
    the test error before the first step is known, since that is the one of random features.
    """
    metrics, errors = dict(law.metrics), dict(law.errors)
    steps = int(law.settings.get("steps") or 0)
    for name, value in law.metrics.items():
        if axes.get(name, ())[:1] != (STEP,) or np.ndim(value) >= len(axes[name]):
            continue
        before = _asked_before_steps(law, name) if steps == 1 else np.nan
        metrics[name] = _stretched(value, steps, before)
        if name in errors:
            errors[name] = _stretched(np.broadcast_to(errors[name], np.shape(value)), steps, 0.0)
    return dataclasses.replace(law, metrics=metrics, errors=errors, arrays=dict(law.arrays))


def _asked_before_steps(law: Prediction, name: str) -> float:
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
