"""What a verb is asked: a learner's settings on a problem, or a sweep over one thing in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from giantstep.errors import GiantstepError, SettingsError
from giantstep.problem import GivenInputs, NoTarget, Problem, read_problem
from giantstep.settings.options import Settings
from giantstep.settings.sweeps import (
    PROBLEM_KINDS,
    axis_values,
    coordinate,
    is_sweep,
    spread_out,
    sweep_of,
    swept,
)
from giantstep.sweep import Sweep
from giantstep.targets import Target
from giantstep.twins.table import Twin, twin

#: What is to be learned; nothing for a learner that takes its target from its settings.
GivenProblem = Problem | NoTarget | Target | str | None


@dataclass(frozen=True)
class Question:
    """A learner's settings on a problem."""

    settings: Settings
    problem: Problem | NoTarget

    @property
    def row(self) -> Twin:
        """The learner's row in the table."""
        return twin(self.settings.learner)


#: One question, or several that differ in one thing.
One = Settings | Question
Several = Sweep[Settings] | Sweep[Question] | Sequence[Settings]


def asked(
    given: One | Several,
    problem: GivenProblem = None,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
) -> Question | Sweep[Question]:
    """The question, or the sweep of questions, that the arguments of a verb mean."""
    if isinstance(given, Question):
        return given

    def question(point: Any) -> Question:
        if isinstance(point, Question):
            return point
        row = twin(point.learner)
        return Question(point, problem_for(row, problem, noise=noise, inputs=inputs))

    if isinstance(given, Settings):
        points_of = spread_out(given)
        return points_of.map(question) if isinstance(points_of, Sweep) else question(points_of)
    if isinstance(given, Sweep):
        return given.map(question)
    points = list(given) if isinstance(given, Sequence) else []
    if not points or not all(isinstance(point, Settings) for point in points):
        raise GiantstepError(f"settings = {given!r}: give a settings object such as GiantStep()")
    return sweep_of(points).map(question)


def read_question(
    row: Twin, settings: Mapping[str, Any], problem: Mapping[str, Any]
) -> Question | Sweep[Question]:
    """The question that is written in the options of a command; one of them may be a range."""
    ranges = [name for name in problem if is_sweep(problem[name], PROBLEM_KINDS[name])]
    settings_class: Any = row.load("settings")
    fixed = {name: value for name, value in problem.items() if name not in ranges}
    points = swept(settings_class, settings)
    if not ranges:
        given = read_problem(fixed, has_target=row.has_target)
        return asked(points, given)
    if len(ranges) > 1 or isinstance(points, Sweep):
        names = [*ranges, *([points.axis] if isinstance(points, Sweep) else [])]
        raise SettingsError(f"{' and '.join(names)} are both ranges: sweep one setting at a time")
    axis = ranges[0]
    problems = [
        read_problem({**fixed, axis: value}, has_target=row.has_target)
        for value in axis_values(axis, problem[axis], PROBLEM_KINDS[axis])
    ]
    values = tuple(coordinate(each.to_json()[axis]) for each in problems)
    return Sweep(axis, values, tuple(Question(points, each) for each in problems))


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
