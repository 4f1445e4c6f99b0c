"""The answer to a question: one labelled array; its table, frame, drawing and words."""

from giantstep.answer.answer import Answer as Answer
from giantstep.answer.answer import Question as Question
from giantstep.answer.axis import Axis as Axis
from giantstep.answer.places import Datum as Datum
from giantstep.answer.plain import json_value as json_value
from giantstep.answer.plain import unique as unique
from giantstep.answer.records import STATUSES as STATUSES
from giantstep.answer.records import Prediction as Prediction
from giantstep.answer.records import Run as Run
from giantstep.answer.records import Status as Status
from giantstep.answer.records import weakest_status as weakest_status
