"""Theory between the points of a curve, so that it can be drawn as a smooth line."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from giantstep.answer import Answer, Axis, Prediction, Question
from giantstep.asking.one_point import predict_question
from giantstep.asking.table import LEARNERS, Learner
from giantstep.errors import GiantstepError
from giantstep.language.sizes import Size

#: Points of a line, and how long they may take: a line of fewer points is better than a wait.
POINTS, PATIENCE_SECONDS = 64, 20.0
#: Settings whose values are not points on a line.
_NO_LINE = ("steps",)


def ask_theory_between(answer: Answer, x: str, patience: float = PATIENCE_SECONDS) -> Answer | None:
    """Predictions at evenly spaced values along ``x``, for each combination of the other axes.

    The values lie evenly on the axis that the answer is drawn on, by decades if that is
    logarithmic. None where they are not numbers or sizes of one power of d, where there are as
    many already, or where other settings change along the axis. After ``patience`` seconds the
    line is what is there, the answer's own points at least.
    """
    rows = [row for row in LEARNERS if row.name == answer.learner]
    axis = answer.axes[x]
    values = _asked_line_values(axis)
    if not rows or not values or len(axis) >= POINTS or _are_questions_optimised(answer):
        return None
    # Points by their value along x, then by the combination of the other axes.
    numbers = np.arange(len(answer)).reshape(answer.shape)
    numbers = np.moveaxis(numbers, list(answer.axes).index(x), 0).reshape(len(axis), -1)
    starts = [answer.questions[number] for number in numbers[0]]
    found: dict[Any, list[Prediction | None]] = {
        value: [answer.predictions[number] for number in own]
        for value, own in zip(axis.values, numbers, strict=True)
    }
    begin = time.monotonic()
    # From coarse to fine: whenever time is up, the points lie evenly and reach the end.
    for stride in (32, 16, 8, 4, 2, 1):
        for value in (*values[::stride], *values[-1:]):
            if value in found:
                continue
            if time.monotonic() - begin > patience:
                return _asked_theory_line(answer, x, found, starts)
            laws = [_predict_question_or_none(rows[0], start.replace(x, value)) for start in starts]
            if any(law is not None for law in laws):
                found[value] = laws
    return _asked_theory_line(answer, x, found, starts)


def _asked_theory_line(
    answer: Answer,
    x: str,
    found: dict[Any, list[Prediction | None]],
    starts: list[Question],
) -> Answer:
    where = dict(zip(found, Axis(x, tuple(found)).numbers, strict=True))
    kept = sorted(found, key=lambda value: where[value])
    axes = {x: Axis(x, tuple(kept)), **{n: a for n, a in answer.axes.items() if n != x}}
    questions = tuple(start.replace(x, value) for value in kept for start in starts)
    laws = tuple(law for value in kept for law in found[value])
    return Answer(answer.learner, axes, questions, answer.metric_axes, predictions=laws)


def _asked_line_values(axis: Axis) -> tuple[Any, ...]:
    """The values of the line, as the settings hold their own."""
    if axis.name in _NO_LINE or axis.power is None or len(axis) < 2:
        return ()
    low, high = min(axis.numbers), max(axis.numbers)
    spaced = np.geomspace if axis.is_logarithmic else np.linspace
    numbers = [float(f"{number:.10g}") for number in spaced(low, high, POINTS)]
    if isinstance(axis.values[0], Size):
        return tuple(Size(number, axis.power) for number in numbers)
    if isinstance(axis.values[0], int):
        return tuple(dict.fromkeys(round(number) for number in numbers))
    return tuple(numbers)


def _predict_question_or_none(row: Learner, question: Question) -> Prediction | None:
    try:
        return predict_question(row, question)
    except GiantstepError:
        return None


def _are_questions_optimised(answer: Answer) -> bool:
    """Whether settings other than the swept ones change along the grid."""
    first = answer.questions[0].settings.to_json()
    return any(
        value != first[name]
        for question in answer.questions
        for name, value in question.settings.to_json().items()
        if name not in answer.axes
    )
