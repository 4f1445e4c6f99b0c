"""Computing one block, in whatever process an engine chose."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.answer import Prediction, Question, Run, json_value
from giantstep.asking.one_point import predict_question, simulate_question
from giantstep.asking.studies.cells import Block
from giantstep.asking.studies.code_version import code_version
from giantstep.asking.studies.outcomes import ARRAY, ERROR, METRIC, SUBSPACE, packed_cell
from giantstep.asking.studies.versions import library_versions
from giantstep.asking.verbs import PREDICT
from giantstep.asking.workers.backlog import DONE, FAILED, NO_THEORY, Outcome
from giantstep.errors import GiantstepError, NoTheory, error_in_one_line
from giantstep.language.problem import read_problem


def compute_cells(block: Block, tell: Callable[[float], None] | None = None) -> Outcome:
    """The outcome of a block, with the values of each cell; never raises, whatever happens."""
    try:
        return _compute(block)
    except NoTheory as answer:
        status, error = NO_THEORY, str(answer)
    except GiantstepError as wrong:
        status, error = FAILED, error_in_one_line(wrong)
    except (Exception, SystemExit):
        status, error = FAILED, traceback.format_exc()
    return Outcome(status, error=error, about={"versions": library_versions()})


def _compute(block: Block) -> Outcome:
    _check_code(block)
    problem = read_problem(
        block.problem, has_target=block.learner.has_target, has_tree=block.learner.has_tree
    )
    question = Question(block.learner.load("settings")(**block.settings), problem)
    block.learner.load(block.verb)
    begin = time.perf_counter()
    if block.verb == PREDICT:
        result: Run | Prediction = predict_question(block.learner, question)
    else:
        result = simulate_question(block.learner, question, len(block.seeds), block.seeds[0])
    seconds = (time.perf_counter() - begin) / len(block.keys)
    values = tuple(_computed_cell_values(result, block, i) for i in range(len(block.keys)))
    return Outcome(DONE, values, seconds=seconds, about=_about_computed_cell(result))


def _check_code(block: Block) -> None:
    if code_version(block.learner, block.verb) != block.code:
        raise GiantstepError(
            f"the code of {block.learner.name} on this worker is not the one the study was planned "
            f"with: install the same giantstep on every machine, then run with --retry"
        )


def _computed_cell_values(result: Run | Prediction, block: Block, index: int) -> bytes:
    """The values of one cell: a prediction's as they are, of a run the entry of one seed."""
    if not result.metrics:
        raise ValueError(
            f"{block.learner.name} gave no metric: a cell without numbers says nothing"
        )
    named = {(METRIC, name): value for name, value in result.metrics.items()}
    named |= {(ARRAY, name): value for name, value in result.arrays.items()}
    if isinstance(result, Prediction):
        named |= {(ERROR, name): value for name, value in result.errors.items()}
        named |= {(SUBSPACE, str(step)): rows for step, rows in enumerate(result.subspaces)}
        return packed_cell(named)
    for (role, name), value in named.items():
        if np.shape(value)[:1] != (len(block.seeds),):
            raise ValueError(
                f"{role} {name} has shape {np.shape(value)}: "
                f"its first axis must be the {len(block.seeds)} seeds"
            )
    return packed_cell({place: value[index] for place, value in named.items()})


def _about_computed_cell(result: Run | Prediction) -> dict[str, Any]:
    about: dict[str, Any] = {"notes": list(result.notes), "versions": library_versions()}
    about["settings"] = json_value(result.settings)
    if isinstance(result, Prediction):
        about["references"] = list(result.references)
        about["statuses"] = dict(result.statuses)
    return about
