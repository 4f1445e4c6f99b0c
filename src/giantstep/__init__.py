"""giantstep: how a neural network learns the few directions that matter.

The verbs are :func:`explain`, :func:`simulate`, :func:`predict` and :func:`compare`; the nouns
:class:`Target`, :class:`Problem` and one settings class a learner. Names are imported when they
are first used, so that ``import giantstep`` costs nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from giantstep.problem import Problem
    from giantstep.results import Prediction, Run
    from giantstep.settings.giant_step import GiantStep
    from giantstep.studies.study import Study
    from giantstep.targets import Target
    from giantstep.twins.explanation import explain
    from giantstep.twins.verbs import compare, predict, simulate

__version__ = "0.1.0"

_HOME = {
    "GiantStep": "settings.giant_step",
    "Prediction": "results",
    "Problem": "problem",
    "Run": "results",
    "Study": "studies.study",
    "Target": "targets",
    "compare": "twins.verbs",
    "explain": "twins.explanation",
    "predict": "twins.verbs",
    "simulate": "twins.verbs",
}

__all__ = [
    "GiantStep",
    "Prediction",
    "Problem",
    "Run",
    "Study",
    "Target",
    "compare",
    "explain",
    "predict",
    "simulate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'giantstep' has no attribute {name!r}")
    return getattr(importlib.import_module(f"giantstep.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
