"""Every way through the theory of a learner: its metrics, their errors, and their statuses.

A metric may claim no more, and need claim no less, than the docstrings of what it is made of.
"""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from pathlib import Path as File

import numpy as np
import pytest
from docstring_status import clauses, status_of
from prediction_paths import ALTERED, PATHS, Path, Source, Walked, walk

import giantstep.theory
from giantstep.answer import STATUSES, Answer, weakest_status
from giantstep.asking.table import LEARNERS, Learner
from giantstep.asking.verbs import predict
from giantstep.settings.giant_step import GiantStep

THEORY = File(giantstep.theory.__path__[0])
#: Python runs these only the first time: afterwards their compiled form is called.
COMPILED = {
    "convex.convex_loss.convex_risk",
    "spiked_random_features.risk.spiked_risk",
    "ridge.spiked_kernel.spiked_kernel_risk",
}
#: Functions of `theory` that make a prediction, where they are not only that of the table.
MAKERS = {
    "giant-step": {
        "giant_step.prediction.predict",
        "giant_step.risk.prediction.predict_risk",
        "one_step.intermediate_prediction.predict_intermediate_step",
        "one_step.small_step_prediction.predict_small_step",
    },
    "random-features": {
        "random_features._predict_biased",
        "random_features.predict",
    },
    "amp": {
        "amp.phases.predict_phases",
        "amp.prediction.predict",
    },
    "power-law": {
        "power_law._rates",
        "power_law.predict",
    },
}

rows = pytest.mark.parametrize("row", LEARNERS, ids=lambda row: row.name)


def named(function: str) -> tuple[str, str]:
    """The file and the name of a function of `theory`, or of ``module:function``."""
    if ":" in function:
        module, _, name = function.partition(":")
        return str(importlib.import_module(module).__file__), name
    module, _, name = function.rpartition(".")
    return str(THEORY.joinpath(*module.split(".")).with_suffix(".py")), name


def own_maker(row: Learner) -> str:
    """What the table names, as paths write it."""
    if row.package == "giantstep":
        return row.predict.removeprefix("theory.").replace(":", ".")
    return f"{row.package}.{row.predict}"


def makers_of(row: Learner) -> set[str]:
    """The functions that make a prediction of that learner."""
    return MAKERS.get(row.name, {own_maker(row)})


def paths_of(row: Learner) -> list[Path]:
    """The ways through its theory; without any, its smallest settings, and all from one status."""
    if row.name in PATHS:
        return PATHS[row.name]
    found = [row.options(text) for text in row.smallest]
    sources = {"*": (Source(own_maker(row)),)}
    return [
        Path(given, sources, problem.pop("target", None), (), problem) for given, problem in found
    ]


def makers() -> Iterator[str]:
    """The functions that construct a `Prediction`."""
    for file in THEORY.rglob("*.py"):
        module = ".".join(file.relative_to(THEORY).with_suffix("").parts)
        for function in ast.parse(file.read_text()).body:
            if isinstance(function, ast.FunctionDef):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                if any(ast.unparse(call) in ("Prediction", "Prediction.of") for call in calls):
                    yield f"{module}.{function.name}"


def test_every_maker_of_predictions_is_on_a_path() -> None:
    assert set(makers()) == set.union(*(makers_of(row) for row in LEARNERS))


def sources_of(path: Path, law: Answer) -> dict[str, tuple[Source, ...]]:
    named = {name: made for names, made in path.sources.items() for name in names.split()}
    others = named.pop("*", None)
    return dict.fromkeys(set(law.statuses) - set(named), others) | named if others else named


def check_numbers(row: Learner, path: Path, law: Answer) -> None:
    """Shapes as the table says, finite errors, references, and no number without a word."""
    for name, truth in path.known.items():
        (value,), (error,) = law.metrics[name], law.errors[name]
        assert abs(value - truth) <= error <= 0.02 * truth
    # What is learned is no metric, but it has a status too.
    assert set(law.statuses) - {"subspaces"} == set(law.metrics)
    assert set(law.statuses.values()) <= set(STATUSES)
    assert ("subspaces" in law.statuses) == bool(law.subspaces)
    assert law.references
    for name, value in law.metrics.items():
        assert np.ndim(value) <= len(row.axes[name]), name
        assert np.shape(law.errors.get(name, 0.0)) in ((), np.shape(value)), name
    for entry in law.numbers():
        assert np.isfinite(entry.error), entry
        assert entry.error >= 0, entry
        # An optimum that is not there is no number, and a note says so.
        explained = any(entry.metric in note for note in law.notes)
        assert np.isfinite(entry.theory) or explained, entry


def check_statuses(path: Path, walked: Walked) -> None:
    """Each metric has the weakest status among the functions it comes from, which were called."""
    sources = sources_of(path, walked.law)
    assert set(sources) == set(walked.law.statuses)
    altered = any(source.where == ALTERED for made in sources.values() for source in made)
    assert ("channel_noise" in walked.law.to_json()["settings"]) == altered
    for name, made in sources.items():
        claimed = {source: status_of(source.load(), source.where) for source in made}
        assert walked.law.statuses[name] == weakest_status(claimed.values()), (name, claimed)
        for source in made:
            called = named(source.function) in walked.called
            assert called or source.function in COMPILED, f"{source} made no {name}"


@pytest.mark.slow
@rows
def test_predictions_claim_what_their_sources_claim(row: Learner) -> None:
    found: set[str] = set()
    reached: set[tuple[str, str]] = set()
    used: set[Source] = set()
    for path in paths_of(row):
        walked = walk(row, path)
        check_numbers(row, path, walked.law)
        check_statuses(path, walked)
        found |= set(walked.law.metrics)
        reached |= walked.called
        used |= {source for made in path.sources.values() for source in made}
    assert found == {metric.name for metric in row.metrics if metric.predicted}
    for maker in makers_of(row):
        assert named(maker) in reached, f"no path leads to {maker}"
    # Each clause of a prediction's status is that of some metric on some path.
    own = {source.function for source in used} & makers_of(row)
    for function in own:
        said = clauses(Source(function).load())
        shown = {w for s in used if s.function == function for _, w in said if s.where in w}
        assert shown == {clause for _, clause in said}, function


def test_a_sweep_claims_what_its_weakest_point_claims() -> None:
    laws = predict([GiantStep(steps=steps, width=4) for steps in (1, 2)], "h1")
    assert [law.statuses["subspaces"] for law in laws] == ["theorem", "conjecture"]
    assert laws.statuses["subspaces"] == "conjecture"
    assert laws.to_json()["status"] == "conjecture"


def test_a_status_is_read_clause_by_clause() -> None:
    def formula() -> None:
        """A formula.

        Status: theorem for blocks (replica for optimality), heuristic where labels are sampled, as
        they are here; conjecture beyond.
        References: none.
        """

    assert [status for status, _ in clauses(formula)] == [
        "theorem",
        "replica",
        "heuristic",
        "conjecture",
    ]
    assert status_of(formula, "as they are here") == "heuristic"
    with pytest.raises(AssertionError, match="4 clauses"):
        status_of(formula)
