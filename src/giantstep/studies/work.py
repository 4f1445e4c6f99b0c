"""Computing one block, in whatever process an engine chose."""

from __future__ import annotations

import time
import traceback
from typing import Any

import numpy as np

from giantstep.errors import GiantstepError, NoTheory
from giantstep.problem import read_problem
from giantstep.results import Prediction, Run, plain
from giantstep.studies.cells import PREDICT, Block
from giantstep.studies.code_version import code_version
from giantstep.studies.outcomes import ARRAY, DONE, FAILED, METRIC, NO_THEORY, Outcome, Value
from giantstep.studies.versions import library_versions
from giantstep.twins.questions import Question
from giantstep.twins.verbs import prediction_of, run_of


def compute(block: Block) -> Outcome:
    """The outcome of a block; never raises, whatever the learner does."""
    try:
        return _compute(block)
    except NoTheory as answer:
        status, error = NO_THEORY, str(answer)
    except GiantstepError as wrong:
        status, error = FAILED, f"{type(wrong).__name__}: {wrong}"
    except (Exception, SystemExit):
        status, error = FAILED, traceback.format_exc()
    return Outcome(block.keys, status, error, about={"versions": library_versions()})


def _compute(block: Block) -> Outcome:
    _check_code(block)
    problem = read_problem(
        block.problem, has_target=block.twin.has_target, has_tree=block.twin.has_tree
    )
    question = Question(block.twin.load("settings")(**block.settings), problem)
    block.twin.load(block.verb)
    begin = time.perf_counter()
    if block.verb == PREDICT:
        result: Run | Prediction = prediction_of(block.twin, question)
    else:
        result = run_of(block.twin, question, len(block.seeds), block.seeds[0])
    seconds = (time.perf_counter() - begin) / len(block.keys)
    values = tuple(_values(result, block, i) for i in range(len(block.keys)))
    return Outcome(block.keys, DONE, None, seconds, values, _about(result))


def _check_code(block: Block) -> None:
    if code_version(block.twin, block.verb) != block.code:
        raise GiantstepError(
            f"the code of {block.twin.name} on this worker is not the one the study was planned "
            f"with: install the same giantstep on every machine, then run with --retry"
        )


def _values(result: Run | Prediction, block: Block, index: int) -> tuple[Value, ...]:
    """The values of one cell: a prediction's as they are, of a run the entry of one seed."""
    if not result.metrics:
        raise ValueError(f"{block.twin.name} gave no metric: a cell without numbers says nothing")
    if isinstance(result, Prediction):
        return tuple(Value.of(name, METRIC, value) for name, value in result.metrics.items())
    named = [(METRIC, *item) for item in result.metrics.items()]
    named += [(ARRAY, *item) for item in result.arrays.items()]
    for role, name, value in named:
        if np.shape(value)[:1] != (len(block.seeds),):
            raise ValueError(
                f"{role} {name} has shape {np.shape(value)}: "
                f"its first axis must be the {len(block.seeds)} seeds"
            )
    return tuple(Value.of(name, role, value[index]) for role, name, value in named)


def _about(result: Run | Prediction) -> dict[str, Any]:
    about: dict[str, Any] = {"notes": list(result.notes), "versions": library_versions()}
    if isinstance(result, Prediction):
        about |= {"theory": result.status, "references": list(result.references)}
        about |= {"statuses": dict(result.statuses), "errors": plain(result.errors)}
    return about
