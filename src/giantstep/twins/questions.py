"""What a verb is asked: a learner's settings on a problem, or a sweep over one thing in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from giantstep.errors import GiantstepError, SettingsError
from giantstep.problem import GivenInputs, NoTarget, Problem, TreeProblem, read_problem
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
from giantstep.targets import Target, TreeTarget
from giantstep.targets.tree_text import refuse_tree
from giantstep.twins.table import Twin, twin

#: What is to be learned; nothing for a learner that takes its target from its settings.
GivenProblem = Problem | TreeProblem | NoTarget | Target | TreeTarget | str | None


@dataclass(frozen=True)
class Question:
    """A learner's settings on a problem."""

    settings: Settings
    problem: Problem | TreeProblem | NoTarget

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
        given = read_problem(fixed, has_target=row.has_target, has_tree=row.has_tree)
        return asked(points, given)
    if len(ranges) > 1 or isinstance(points, Sweep):
        names = [*ranges, *([points.axis] if isinstance(points, Sweep) else [])]
        raise SettingsError(f"{' and '.join(names)} are both ranges: sweep one setting at a time")
    axis = ranges[0]
    problems = [
        read_problem({**fixed, axis: value}, has_target=row.has_target, has_tree=row.has_tree)
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
) -> Problem | TreeProblem | NoTarget:
    """What a learner is to learn; one that takes its target from its settings has noise alone."""
    if row.has_target:
        if given is None or isinstance(given, NoTarget):
            such = "tree-he2" if row.has_tree else "h1 + He2(h2)"
            raise SettingsError(f"{row.name} needs a target: give one such as '{such}'")
        if row.has_tree:
            return TreeProblem.of(given, noise=noise, inputs=inputs)
        if isinstance(given, TreeProblem | TreeTarget):
            refuse_tree(given.text if isinstance(given, TreeTarget) else given.target.text)
        return Problem.of(given, noise=noise, inputs=inputs)
    if inputs is not None or not (given is None or isinstance(given, NoTarget)):
        raise SettingsError(
            f"{row.name} takes no target and no inputs, its settings say what is learned: "
            "give noise alone"
        )
    return given if isinstance(given, NoTarget) and noise is None else NoTarget(noise or 0.0)
