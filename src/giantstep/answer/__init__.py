"""The answer to a question: one labelled array; its table, frame, drawing and words."""

from giantstep.answer.answer import Answer, Question
from giantstep.answer.axis import Axis
from giantstep.answer.places import Number
from giantstep.answer.plain import plain, unique
from giantstep.answer.records import STATUSES, Prediction, Run, Status, weakest

__all__ = [
    "STATUSES",
    "Answer",
    "Axis",
    "Number",
    "Prediction",
    "Question",
    "Run",
    "Status",
    "plain",
    "unique",
    "weakest",
]
