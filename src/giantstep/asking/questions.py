"""What a verb is asked: a learner's settings on a problem, or a grid over either of them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any

from giantstep.answer import Answer, Axis, Question
from giantstep.asking.table import Learner, learner_to_ask
from giantstep.errors import GiantstepError, SettingsError
from giantstep.language.problem import (
    FIELDS,
    GivenInputs,
    NoTarget,
    Problem,
    TreeProblem,
    read_problem,
)
from giantstep.language.targets import Target, TreeTarget
from giantstep.language.targets.reading import refuse_tree_target
from giantstep.settings.options import MOST_POINTS, Settings
from giantstep.settings.sweeps import PROBLEM_KINDS, is_swept, setting_values, settings_with_values
from giantstep.settings.types import GivenNumber

#: What is to be learned; nothing for a learner that takes its target from its settings.
OneProblem = Problem | TreeProblem | NoTarget | Target | TreeTarget | str | None
GivenProblem = OneProblem | Sequence[Problem | TreeProblem | Target | TreeTarget | str]
#: Settings, any fields of which may hold several values; or points that differ in one field.
GivenSettings = Settings | Sequence[Settings]


@dataclass(frozen=True)
class Grid:
    """Questions to one learner over every combination of the values of their axes.

    ``axes`` are in the order of the settings' fields, then of the problem's; ``questions`` has the
    last axis changing fastest.
    """

    learner: Learner
    axes: Mapping[str, Axis]
    questions: tuple[Question, ...]

    @classmethod
    def of(
        cls, learner: Learner, settings: Settings, problem: Any, swept: Mapping[str, Sequence[Any]]
    ) -> Grid:
        """Settings, whose fields may hold several values, on a problem with some fields swept."""
        axes = {name: Axis(name, tuple(getattr(settings, name))) for name in settings.ranges}
        for name in [name for name in FIELDS if name in swept]:
            # Each value is read once, whatever the number of combinations.
            read = [getattr(replace(problem, **{name: value}), name) for value in swept[name]]
            axes[name] = Axis(name, tuple(read))
        for axis in axes.values():
            if len(set(axis.labels)) < len(axis):
                raise SettingsError(f"{axis.name} has the same value twice: give each value once")
        count = math.prod(len(axis) for axis in axes.values())
        if count > MOST_POINTS:
            raise SettingsError(f"{' and '.join(axes)}: {count} points, over {MOST_POINTS}")
        points = settings.points if settings.ranges else (settings,)
        names = [name for name in axes if name in FIELDS]
        problems = [
            replace(problem, **dict(zip(names, values, strict=True))) if names else problem
            for values in itertools.product(*(axes[name].values for name in names))
        ]
        return cls(learner, axes, tuple(Question(s, p) for s in points for p in problems))

    def answer(self, **found: Any) -> Answer:
        """An answer to these questions."""
        row = self.learner
        return Answer(
            row.name, self.axes, self.questions, row.axes, metric_whens=row.whens, **found
        )


def asked_questions(
    given: GivenSettings | Grid,
    problem: GivenProblem = None,
    *,
    noise: GivenNumber | None = None,
    inputs: GivenInputs | Sequence[GivenInputs] | None = None,
) -> Grid:
    """The questions that the arguments of a verb mean."""
    if isinstance(given, Grid):
        return given
    if not isinstance(given, Settings):
        points = list(given) if isinstance(given, Sequence) else []
        if not points or not all(isinstance(point, Settings) for point in points):
            raise GiantstepError(
                f"settings = {given!r}: give a settings object such as GiantStep()"
            )
        given = settings_with_values(points)
    row, swept = learner_to_ask(given.learner), {}
    first: dict[str, Any] = {"target": problem, "noise": noise, "inputs": inputs}
    for name, value in first.items():
        if is_swept(value, PROBLEM_KINDS[name]):
            swept[name] = setting_values(name, value, PROBLEM_KINDS[name])
            first[name] = swept[name][0]
    one = problem_of_question(row, first["target"], noise=first["noise"], inputs=first["inputs"])
    return Grid.of(row, given, one, swept)


def read_questions(row: Learner, settings: Mapping[str, Any], problem: Mapping[str, Any]) -> Grid:
    """The questions that are written in the options of a command; any of them may be a range."""
    settings_class: Any = row.load("settings")
    return read_question_grid(row, settings_class(**settings), problem)


def read_question_grid(
    row: Learner,
    settings: Settings,
    problem: Mapping[str, Any],
    axes: Mapping[str, Sequence[Any]] = MappingProxyType({}),
) -> Grid:
    """Settings on a problem in plain values; what is a range there, or an axis, is swept."""
    swept = {
        name: setting_values(name, value, PROBLEM_KINDS[name])
        for name, value in problem.items()
        if name in PROBLEM_KINDS and is_swept(value, PROBLEM_KINDS[name])
    } | dict(axes)
    first = {**problem, **{name: values[0] for name, values in swept.items()}}
    one = read_problem(first, has_target=row.has_target, has_tree=row.has_tree)
    return Grid.of(row, settings, one, swept)


def problem_of_question(
    row: Learner,
    given: OneProblem,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
) -> Problem | TreeProblem | NoTarget:
    """What a learner is to learn; one that takes its target from its settings has noise alone."""
    if row.has_target:
        if given is None or isinstance(given, NoTarget):
            such = "tree-he2" if row.has_tree else "h1 + He2(h2)"
            raise SettingsError(
                f"{row.name} needs a target: give one such as '{such}' after the settings"
            )
        if row.has_tree:
            return TreeProblem.of(given, noise=noise, inputs=inputs)
        if isinstance(given, TreeProblem | TreeTarget):
            refuse_tree_target(given.text if isinstance(given, TreeTarget) else given.target.text)
        return Problem.of(given, noise=noise, inputs=inputs)
    if inputs is not None or not (given is None or isinstance(given, NoTarget)):
        raise SettingsError(
            f"{row.name} takes no target and no inputs, its settings say what is learned: "
            "give noise alone"
        )
    return given if isinstance(given, NoTarget) and noise is None else NoTarget(noise or 0.0)
