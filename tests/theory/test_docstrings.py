"""Public functions of `theory` are documented by kind: formulas, predictions, plumbing."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import giantstep.theory
from giantstep.asking.table import LEARNERS

REQUIRED = ("Assumes:", "Status:", "References:", ">>>")
STATUSES = ("theorem", "replica", "heuristic", "conjecture")
#: Nodes, sums, cases and remarks, not formulas: a plain line each will do.
PLUMBING = (
    "giantstep.theory.amp.averages.",
    "giantstep.theory.convex.labels.",
    "giantstep.theory.convex.fits.",
    "giantstep.theory.ridge.degree_energies.",
    "giantstep.theory.ridge.spectral_case.",
    "giantstep.theory.ridge.spiked_kernel_cases.",
)


def public_functions() -> Iterator[tuple[str, object]]:
    for module_info in pkgutil.walk_packages(giantstep.theory.__path__, "giantstep.theory."):
        if f"{module_info.name}.".startswith(PLUMBING):
            continue
        module = importlib.import_module(module_info.name)
        for name, value in vars(module).items():
            own = getattr(value, "__module__", None) == module.__name__
            if own and callable(value) and not name.startswith("_") and not inspect.isclass(value):
                yield f"{module.__name__}.{name}", value


def gives_a_prediction(function: Any) -> bool:
    returned = inspect.signature(function).return_annotation
    return getattr(returned, "__name__", returned) == "Prediction"


FUNCTIONS = dict(public_functions())
PREDICTIONS = [name for name, function in FUNCTIONS.items() if gives_a_prediction(function)]


@pytest.mark.parametrize("name", FUNCTIONS)
def test_docstring_is_complete(name: str) -> None:
    """A displayed equation makes a formula; what is neither that nor a prediction is plumbing."""
    text = inspect.getdoc(FUNCTIONS[name]) or ""
    if ".. math::" in text or name.rpartition(".")[2].startswith("predict"):
        missing = [section for section in REQUIRED if section not in text]
        assert not missing, f"{name} lacks {', '.join(missing)}"
    assert text.split("\n")[0].endswith((".", ":")), f"{name} lacks a plain first line"
    if "Status:" in text:
        status = text.split("Status:")[1].split()[0].strip(".,;:")
        assert status in STATUSES, f"{name} has the status {status!r}"


@pytest.mark.parametrize("name", PREDICTIONS)
def test_a_prediction_lists_its_metrics(name: str) -> None:
    assert "Metrics: " in (inspect.getdoc(FUNCTIONS[name]) or "")


def test_every_learner_has_such_a_prediction() -> None:
    loaded = {f"giantstep.{row.predict.replace(':', '.')}" for row in LEARNERS}
    assert loaded <= set(PREDICTIONS)
