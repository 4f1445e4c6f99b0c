"""`simulate`, `predict` and `compare`: one settings object drives all three.

Each takes the settings of a learner and a problem, and answers with a result. Given a
:class:`Sweep`, or a list of settings that differ in one field, it answers with a :class:`Sweep` of
results: each point keeps its own settings, shapes, status and references.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, overload

import numpy as np

from giantstep.errors import NoTheory, SettingsError
from giantstep.problem import GivenInputs
from giantstep.results import Prediction, Run
from giantstep.sweep import Sweep
from giantstep.twins.all_steps import with_all_steps
from giantstep.twins.comparison import Comparison
from giantstep.twins.questions import GivenProblem, One, Question, Several, asked
from giantstep.twins.table import Twin

Progress = Callable[[float], None]


@overload
def simulate(
    settings: One,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run: ...
@overload
def simulate(
    settings: Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sweep[Run]: ...
def simulate(
    settings: One | Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Run | Sweep[Run]:
    """Run the learner at finite size, once for each seed.

    ``problem`` is a :class:`Problem`, a target or its expression; ``noise`` and ``inputs`` replace
    its own. Run ``i`` has the seed ``seed + i``, whose numbers do not depend on how many runs there
    are. ``progress`` is called with the share of the work that is done. Settings that cannot be
    simulated raise :class:`SettingsError`.
    """
    if isinstance(seeds, bool) or not isinstance(seeds, int) or seeds < 1:
        raise SettingsError(f"seeds = {seeds!r}: give a whole number of at least 1")
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < 2**63:
        raise SettingsError(f"seed = {seed!r}: give a whole number from 0 to 2**63 - 1")
    given = asked(settings, problem, noise=noise, inputs=inputs)
    if isinstance(given, Question):
        return run_of(given.row, given, seeds, seed, progress)
    runs = [
        run_of(question.row, question, seeds, seed, _part(progress, number, len(given)))
        for number, question in enumerate(given)
    ]
    return Sweep(given.axis, given.values, tuple(runs))


@overload
def predict(
    settings: One,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    optimise: Sequence[str] = (),
) -> Prediction: ...
@overload
def predict(
    settings: Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    optimise: Sequence[str] = (),
) -> Sweep[Prediction]: ...
def predict(
    settings: One | Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    optimise: Sequence[str] = (),
) -> Prediction | Sweep[Prediction]:
    """What theory says must happen, metric by metric with status and error.

    ``problem``, ``noise`` and ``inputs`` are as in :func:`simulate`. ``optimise`` names settings to
    replace by those of least test error. Raises :class:`NoTheory`, saying what is covered, where
    there is no prediction.
    """
    given = asked(settings, problem, noise=noise, inputs=inputs)
    if isinstance(given, Question):
        return prediction_of(given.row, given, optimise)
    return given.map(lambda question: prediction_of(question.row, question, optimise))


@overload
def compare(
    settings: One,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison: ...
@overload
def compare(
    settings: Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Sweep[Comparison]: ...
def compare(
    settings: One | Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 8,
    seed: int = 0,
    progress: Progress | None = None,
) -> Comparison | Sweep[Comparison]:
    """Lay the simulation over the prediction, metric by metric.

    The arguments are those of :func:`simulate`. Raises :class:`NoTheory` where there is no
    prediction, before anything is simulated.
    """
    given = asked(settings, problem, noise=noise, inputs=inputs)
    if isinstance(given, Question):
        law = predict(given)
        return Comparison.of(simulate(given, seeds=seeds, seed=seed, progress=progress), law)
    laws = predict(given)
    runs = simulate(given, seeds=seeds, seed=seed, progress=progress)
    pairs = [Comparison.of(run, law) for run, law in zip(runs, laws, strict=True)]
    return Sweep(given.axis, given.values, tuple(pairs))


def run_of(
    row: Twin, question: Question, seeds: int, seed: int, progress: Progress | None = None
) -> Run:
    """The simulation of one question by the learner of that row, labelled."""
    settings, problem = question.settings, question.problem
    if row.cost:
        cost = row.load("cost")(problem, settings)
        cost.check_memory()
        cost.check_time(seeds)
    run = row.load("simulate")(problem, settings, seeds=seeds, seed=seed, progress=progress)
    described = {**run.settings, **settings.to_json(), "seeds": seeds, "seed": seed}
    return dataclasses.replace(run, problem=problem.to_json(), settings=described, axes=row.axes)


def prediction_of(row: Twin, question: Question, optimise: Sequence[str] = ()) -> Prediction:
    """The prediction of one question for the learner of that row, labelled."""
    settings, problem = question.settings, question.problem
    unknown = [name for name in optimise if name not in row.optimisable]
    if unknown:
        known = ", ".join(row.optimisable) or "nothing"
        raise SettingsError(f"optimise = {unknown[0]!r}: {row.name} can optimise {known}")
    how: dict[str, Any] = {"optimise": tuple(optimise)} if optimise else {}
    try:
        law: Prediction = row.load("predict")(problem, settings, **how)
    except (ArithmeticError, MemoryError) as failure:
        kind = "memory" if isinstance(failure, MemoryError) else "range of numbers"
        raise NoTheory(
            f"{row.name}: the equations leave the {kind} of this machine at these settings: "
            "take sizes that are less extreme"
        ) from failure
    notes = (*law.notes, *_about_what_is_not_finite(law))
    law = with_all_steps(law, row.axes)
    return dataclasses.replace(
        law,
        problem=problem.to_json(),
        # An optimum has settings of its own; a theory may record more than the settings it got.
        settings=law.settings if optimise else {**law.settings, **settings.to_json()},
        axes=row.axes,
        notes=notes,
    )


def _about_what_is_not_finite(law: Prediction) -> list[str]:
    """A note that names the metrics that are no numbers; an error where no metric is one.

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


def expected_seconds(asked_for: Question | Sweep[Question], seeds: int) -> float:
    """How long the simulation is expected to take on this machine; 0 where nothing is known.

    Raises where it does not fit into memory: then it will not run at all.
    """
    questions = [asked_for] if isinstance(asked_for, Question) else list(asked_for)
    costs = [
        question.row.load("cost")(question.problem, question.settings)
        for question in questions
        if question.row.cost
    ]
    for cost in costs:
        cost.check_memory()
        cost.check_time(seeds)
    return sum(cost.seconds(seeds) for cost in costs)


def _part(progress: Progress | None, index: int, total: int) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction: progress((index + fraction) / total)
