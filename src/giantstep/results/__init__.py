"""What a simulation (`Run`) and a theory (`Prediction`) return, under the same metric names."""

from giantstep.results.numbers import Number, numbers
from giantstep.results.plain import plain, unique
from giantstep.results.prediction import Predicted, Prediction
from giantstep.results.result import Result
from giantstep.results.run import Measured, Run
from giantstep.results.status import STATUSES, Status, weakest
from giantstep.results.sweeps import described, swept_statuses

__all__ = [
    "STATUSES",
    "Measured",
    "Number",
    "Predicted",
    "Prediction",
    "Result",
    "Run",
    "Status",
    "described",
    "numbers",
    "plain",
    "swept_statuses",
    "unique",
    "weakest",
]
