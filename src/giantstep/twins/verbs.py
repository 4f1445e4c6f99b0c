"""`simulate`, `predict` and `compare`: one settings object drives all three."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from giantstep.errors import GiantstepError, SettingsError
from giantstep.problem import GivenInputs, NoTarget, Problem
from giantstep.results import Prediction, Run, weakest
from giantstep.settings.options import Settings
from giantstep.targets import Target
from giantstep.twins.comparison import Comparison
from giantstep.twins.table import Twin, twin

Progress = Callable[[float], None]
Points = Settings | Sequence[Settings]
#: What is to be learned; nothing for a learner that takes its target from its settings.
GivenProblem = Problem | NoTarget | Target | str | None


def simulate(
    settings: Points,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run:
    """Run the learner at finite size, once for each seed.

    A list of settings that differ in one field is a sweep: every metric then has one axis more,
    after the seeds.
    """
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise SettingsError(f"seeds = {seeds!r}: give a whole number of at least 1")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise SettingsError(f"seed = {seed!r}: give a whole number from 0 to 2**63 - 1")
    points = _points(settings)
    row = twin(points[0].learner)
    given = problem_for(row, problem, noise=noise, inputs=inputs)
    run_one = row.load("simulate")
    runs = []
    for i, point in enumerate(points):
        inner = _part(progress, i, len(points))
        run = run_one(given, point, seeds=seeds, seed=seed, progress=inner)
        described = {**point.to_json(), "seeds": seeds, "seed": seed}
        runs.append(dataclasses.replace(run, problem=given.to_json(), settings=described))
    if isinstance(settings, Settings):
        return runs[0]
    return Run(
        learner=row.name,
        problem=given.to_json(),
        settings=_merged([run.settings for run in runs]),
        metrics={
            name: np.stack([run.metrics[name] for run in runs], axis=1)
            for name in runs[0].metrics
            if len({run.metrics[name].shape for run in runs}) == 1
        },
        notes=_unique([note for run in runs for note in run.notes]),
        seconds=float(np.sum([run.seconds for run in runs])),
    )


def predict(
    settings: Points,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    optimise: Sequence[str] = (),
) -> Prediction:
    """What theory says must happen, with its status; raises NoTheory where there is none.

    A list of settings that differ in one field is a sweep: every metric becomes a list.
    ``optimise`` names settings to replace by those of least test error.
    """
    points = _points(settings)
    row = twin(points[0].learner)
    given = problem_for(row, problem, noise=noise, inputs=inputs)
    predict_one = row.load("predict")
    unknown = [name for name in optimise if name not in row.optimisable]
    if unknown:
        known = ", ".join(row.optimisable) or "nothing"
        raise SettingsError(f"optimise = {unknown[0]!r}: {row.name} can optimise {known}")
    extra = {"optimise": tuple(optimise)} if optimise else {}
    predictions = [
        dataclasses.replace(
            predict_one(given, point, **extra), problem=given.to_json(), settings=point.to_json()
        )
        for point in points
    ]
    if isinstance(settings, Settings):
        return predictions[0]
    first = predictions[0]
    return Prediction(
        learner=row.name,
        problem=given.to_json(),
        settings=_merged([prediction.settings for prediction in predictions]),
        metrics={
            name: np.asarray([prediction.metrics[name] for prediction in predictions])
            for name in first.metrics
        },
        statuses={
            name: weakest(prediction.statuses[name] for prediction in predictions)
            for name in first.metrics
        },
        references=_unique([paper for each in predictions for paper in each.references]),
        notes=_unique([note for prediction in predictions for note in prediction.notes]),
        errors={
            name: np.asarray([prediction.errors[name] for prediction in predictions])
            for name in first.errors
            if all(name in prediction.errors for prediction in predictions)
        },
    )


def compare(
    settings: Points,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison:
    """Lay the simulation over the prediction, metric by metric."""
    given = problem_for(twin(_points(settings)[0].learner), problem, noise=noise, inputs=inputs)
    prediction = predict(settings, given)
    run = simulate(settings, given, seeds=seeds, seed=seed, progress=progress)
    return Comparison(run, prediction)


def _points(settings: Points) -> list[Settings]:
    points = [settings] if isinstance(settings, Settings) else list(settings)
    if not points or not all(isinstance(point, Settings) for point in points):
        raise GiantstepError(f"settings = {settings!r}: give a settings object such as GiantStep()")
    return points


def problem_for(
    row: Twin,
    given: GivenProblem,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
) -> Problem | NoTarget:
    """What a learner is to learn; one that takes its target from its settings has noise alone."""
    if row.has_target:
        if given is None or isinstance(given, NoTarget):
            raise SettingsError(f"{row.name} needs a target: give one such as 'h1 + He2(h2)'")
        return Problem.of(given, noise=noise, inputs=inputs)
    if inputs is not None or not (given is None or isinstance(given, NoTarget)):
        raise SettingsError(
            f"{row.name} takes no target and no inputs, its settings say what is learned: "
            "give noise alone"
        )
    return given if given is not None and noise is None else NoTarget(noise or 0.0)


def _merged(points: Sequence[Any]) -> dict[str, Any]:
    """The settings of a sweep: a field that varies holds the list of its values."""
    values = {name: [point[name] for point in points] for name in points[0]}
    return {name: v[0] if all(x == v[0] for x in v) else v for name, v in values.items()}


def _unique(notes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(notes))


def _part(progress: Progress | None, index: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress((index + fraction) / total)
