"""`simulate`, `predict` and `compare`: one settings object drives all three.

Each takes the settings of a learner and a problem, and gives an :class:`Answer`. Any setting, the
noise, the inputs and the target may have several values: the answer then is a grid. With a store
the same call is a study: what the store has is read, the rest is computed and kept.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypedDict, Unpack

from giantstep.answer import Answer, Prediction, Question, Run
from giantstep.asking.one_point import (
    Progress,
    compare_question,
    predict_question,
    simulate_question,
)
from giantstep.asking.questions import GivenProblem, GivenSettings, Grid, asked_questions
from giantstep.errors import SettingsError, nearest_name_hint, whole_or_error
from giantstep.language.problem import GivenInputs
from giantstep.learners.seeds import run_part
from giantstep.settings.types import GivenNumber

SIMULATE, PREDICT = "simulate", "predict"
VERBS = (SIMULATE, PREDICT)
#: The arguments that people use most.
ARGUMENTS = ("noise", "inputs", "seeds", "seed", "optimise", "progress", "store", "engine")


class How(TypedDict, total=False):
    """How a question is asked: who is told of its progress, what keeps the answer, who computes."""

    progress: Progress | None
    store: str | Path | None
    engine: str | None
    name: str | None
    together: int
    workers: int | None
    threads: int
    scheduler: str | None
    retry: bool
    cell_seconds: float | None


def simulate(
    settings: GivenSettings | Grid,
    problem: GivenProblem = None,
    *,
    noise: GivenNumber | None = None,
    inputs: GivenInputs | Sequence[GivenInputs] | None = None,
    seeds: int = 8,
    seed: int = 0,
    **how: Unpack[How],
) -> Answer:
    """Run the learner at finite size, once for each seed.

    ``problem`` is a :class:`Problem`, a target, its expression, or a list of these; ``noise`` and
    ``inputs`` replace its own. Run ``i`` has the seed ``seed + i``, whose numbers do not depend on
    how many runs there are. ``progress`` is called with the share of the work that is done.
    Settings that cannot be simulated raise :class:`SettingsError`. ``store`` is a file that keeps
    every finished cell, and ``engine`` where to compute; see :func:`ask` for these and whatever
    else is in ``how``.
    """
    grid = asked_questions(settings, problem, noise=noise, inputs=inputs)
    return ask(grid, verbs=(SIMULATE,), seeds=seeds, seed=seed, **how)


def predict(
    settings: GivenSettings | Grid,
    problem: GivenProblem = None,
    *,
    noise: GivenNumber | None = None,
    inputs: GivenInputs | Sequence[GivenInputs] | None = None,
    optimise: str | Sequence[str] = (),
    **how: Unpack[How],
) -> Answer:
    """What theory says must happen, metric by metric with status and error.

    ``problem``, ``noise``, ``inputs``, ``progress``, ``store`` and ``engine`` are as in
    :func:`simulate`.
    ``optimise`` names settings to replace by those of least test error. Raises :class:`NoTheory`,
    saying what is covered, where there is no prediction.
    """
    grid = asked_questions(settings, problem, noise=noise, inputs=inputs)
    return ask(grid, verbs=(PREDICT,), optimise=names_to_optimise(optimise), **how)


def compare(
    settings: GivenSettings | Grid,
    problem: GivenProblem = None,
    *,
    noise: GivenNumber | None = None,
    inputs: GivenInputs | Sequence[GivenInputs] | None = None,
    seeds: int = 8,
    seed: int = 0,
    **how: Unpack[How],
) -> Answer:
    """Lay the simulation over the prediction, metric by metric.

    The arguments are those of :func:`simulate`. Raises :class:`NoTheory` where there is no
    prediction, before anything is simulated; with a store such points have no theory, and the
    answer's ``failures`` say why.
    """
    grid = asked_questions(settings, problem, noise=noise, inputs=inputs)
    return ask(grid, seeds=seeds, seed=seed, **how)


def ask(
    questions: Grid,
    *,
    verbs: Sequence[str] = VERBS,
    seeds: int = 8,
    seed: int = 0,
    optimise: Sequence[str] = (),
    progress: Progress | None = None,
    store: str | Path | None = None,
    engine: str | None = None,
    **how: Any,
) -> Answer:
    """The answer to a grid of questions: simulated, predicted or both.

    Without ``store`` and ``engine`` it is computed here, one point after the other, and whatever
    goes wrong is raised. ``store`` is a file in which every finished cell is kept, so that what
    was interrupted goes on, and ``engine`` says where to compute: ``local`` processes, ``dask``,
    or ``inline``, here. Then a cell that fails does not stop the others: the answer's ``failures``
    say why it is missing. ``how`` may have ``name``, ``together``, ``workers``, ``threads``,
    ``scheduler``, ``retry`` and ``cell_seconds``: see
    :func:`giantstep.asking.studies.run.run_study_grid`.
    """
    seeds, seed = checked_seeds(seeds, seed)
    for wrong in [argument for argument in how if argument not in How.__annotations__]:
        hint = nearest_name_hint(wrong, (*ARGUMENTS, *How.__annotations__))
        raise TypeError(f"unexpected argument {wrong!r}: {hint}use {', '.join(ARGUMENTS)}")
    if store is not None or engine is not None:
        from giantstep.asking.studies.run import run_study_grid

        if optimise:
            raise SettingsError("optimise goes without a store and an engine: leave these out")
        return run_study_grid(
            questions,
            verbs=verbs,
            seeds=seeds,
            seed=seed,
            progress=progress,
            store=store,
            engine=engine or "local",
            **how,
        )
    if how:
        raise TypeError(f"{', '.join(how)}: these go with a store or an engine")
    points = questions.questions
    laws: list[Prediction] = []
    runs: list[Run] = []
    if PREDICT in verbs:
        # Neighbours on a curve may be solved together, which changes the last digits: not where
        # the same grid is simulated too, and a study has it point by point.
        *_, last = ("", *questions.axes)
        curve = last == questions.learner.along and verbs == (PREDICT,) and not optimise
        along = questions.axes[last].values if last and curve else ()
        for number, point in enumerate(points):
            laws.append(predict_question(questions.learner, point, optimise, along))
            if progress is not None and verbs == (PREDICT,):
                progress((number + 1) / len(points))
    if SIMULATE in verbs:
        for number, point in enumerate(points):
            part = run_part(progress, number / len(points), 1 / len(points))
            runs.append(simulate_question(questions.learner, point, seeds, seed, part))
    if laws and runs:
        runs = [compare_question(run, law) for run, law in zip(runs, laws, strict=True)]
    if optimise:
        best = tuple(
            Question(
                point.settings.replace(**{name: law.settings[name] for name in optimise}),
                point.problem,
            )
            for point, law in zip(points, laws, strict=True)
        )
        questions = dataclasses.replace(questions, questions=best)
    numbers = tuple(range(seed, seed + seeds)) if runs else ()
    return questions.answer(runs=tuple(runs), predictions=tuple(laws), seeds=numbers)


def checked_seeds(seeds: int, seed: int) -> tuple[int, int]:
    """The number of seeds and the first one; raises where one is no whole number or too small."""
    return whole_or_error("seeds", seeds, 1), whole_or_error("seed", seed, 0)


def names_to_optimise(given: str | Sequence[str]) -> list[str]:
    """The settings to optimise, from names or a text such as ``step-size,ridge``.

    >>> names_to_optimise("step-size, ridge"), names_to_optimise("")
    (['step_size', 'ridge'], [])
    """
    names = given.split(",") if isinstance(given, str) else given
    return [name.strip().replace("-", "_") for name in names if name]
