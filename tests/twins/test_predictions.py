"""Every way through the theory of a learner: its metrics, their errors, and their statuses.

A metric may claim no more, and need claim no less, than the docstrings of what it is made of.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path as File

import numpy as np
import pytest
from docstring_status import clauses, status_of
from prediction_paths import ALTERED, PATHS, Path, Source, Walked, walk

import giantstep.theory
from giantstep.results import STATUSES, Prediction, swept_statuses, weakest
from giantstep.settings.giant_step import GiantStep
from giantstep.twins.table import TWINS, Twin
from giantstep.twins.verbs import predict

THEORY = File(giantstep.theory.__path__[0])
#: Python runs these only the first time: afterwards their compiled form is called.
COMPILED = {
    "ridge.deterministic_equivalent.ridge_risk",
    "convex.convex_loss.convex_risk",
    "spiked_features.risk.spiked_risk",
    "ridge.spiked_kernel.spiked_kernel_risk",
}
#: Clauses whose path takes minutes: transitions of a noiseless committee of continuous units.
TOO_LONG = {
    Source("message_passing.committees.phases.predict_committee_phases", "labels that got noise")
}
#: Functions of `theory` that make a prediction, by the learner whose paths reach them.
MAKERS = {
    "giant-step": {
        "giant_step.prediction.predict",
        "giant_step.prediction._on_one_batch",
        "one_step.isotropic_prediction.predict_isotropic",
        "one_step.small_step_prediction.predict_small_step",
        "one_step.intermediate_prediction.predict_intermediate_step",
        "one_step.any_activation.prediction.predict_any_activation",
    },
    "spiked-random-features": {"spiked_features.prediction.predict"},
    "random-features": {
        "ridge.random_features.predict",
        "ridge.random_features._predict_convex",
        "ridge.random_features._predict_biased",
    },
    "kernel": {"ridge.kernel.predict"},
    "amp": {
        "message_passing.amp.predict",
        "message_passing.phases.predict_phases",
        "message_passing.committees.prediction.predict_committee",
        "message_passing.committees.phases.predict_committee_phases",
    },
    "spectral": {"message_passing.spectral.predict"},
    "gradient-flow": {"structured.gradient_flow._prediction"},
    "pca": {"structured.principal_component.predict"},
    "langevin": {"structured.langevin.predict"},
    "online-sgd": {"dynamics.prediction.predict"},
    "mean-field": {"dynamics.mean_field.predict"},
    "repetition": {"dynamics.repetition.predict"},
    "three-layer": {"depth.prediction.predict"},
    "power-law": {"ridge.power_law.predict", "ridge.power_law._rates"},
}

rows = pytest.mark.parametrize("row", TWINS, ids=lambda row: row.name)


def named(function: str) -> tuple[str, str]:
    """The file and the name of a function of `theory`."""
    module, _, name = function.rpartition(".")
    return str(THEORY.joinpath(*module.split(".")).with_suffix(".py")), name


def makers() -> Iterator[str]:
    """The functions that construct a `Prediction`."""
    for file in THEORY.rglob("*.py"):
        module = ".".join(file.relative_to(THEORY).with_suffix("").parts)
        for function in ast.parse(file.read_text()).body:
            if isinstance(function, ast.FunctionDef):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                if any(isinstance(f, ast.Name) and f.id == "Prediction" for f in calls):
                    yield f"{module}.{function.name}"


def test_every_maker_of_predictions_is_on_a_path() -> None:
    assert set(makers()) == set.union(*MAKERS.values())
    assert set(PATHS) == set(MAKERS) == {row.name for row in TWINS}


def sources_of(path: Path, law: Prediction) -> dict[str, tuple[Source, ...]]:
    named = {name: made for names, made in path.sources.items() for name in names.split()}
    others = named.pop("*", None)
    return dict.fromkeys(set(law.statuses) - set(named), others) | named if others else named


def check_numbers(row: Twin, path: Path, law: Prediction) -> None:
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
    for entry in law.entries():
        assert np.isfinite(entry.error), entry
        assert entry.error >= 0, entry
        # An optimum that is not there is no number, and a note says so.
        explained = any(entry.metric in note for note in law.notes)
        assert np.isfinite(entry.value) or explained, entry


def check_statuses(path: Path, walked: Walked) -> None:
    """Each metric has the weakest status among the functions it comes from, which were called."""
    sources = sources_of(path, walked.law)
    assert set(sources) == set(walked.law.statuses)
    altered = any(source.where == ALTERED for made in sources.values() for source in made)
    assert ("channel_noise" in walked.law.settings) == altered
    for name, made in sources.items():
        claimed = {source: status_of(source.load(), source.where) for source in made}
        assert walked.law.statuses[name] == weakest(claimed.values()), (name, claimed)
        for source in made:
            called = named(source.function) in walked.called
            assert called or source.function in COMPILED, f"{source} made no {name}"


@pytest.mark.slow
@rows
def test_predictions_claim_what_their_sources_claim(row: Twin) -> None:
    found: set[str] = set()
    reached: set[tuple[str, str]] = set()
    used: set[Source] = set()
    for path in PATHS[row.name]:
        walked = walk(row.name, path)
        check_numbers(row, path, walked.law)
        check_statuses(path, walked)
        found |= set(walked.law.metrics)
        reached |= walked.called
        used |= {source for made in path.sources.values() for source in made}
    assert found == {metric.name for metric in row.metrics if metric.predicted}
    for maker in MAKERS[row.name]:
        assert named(maker) in reached, f"no path leads to {maker}"
    # Each clause of a prediction's status is that of some metric on some path.
    used |= TOO_LONG
    own = {source.function for source in used} & MAKERS[row.name]
    for function in own:
        said = clauses(Source(function).load())
        shown = {w for s in used if s.function == function for _, w in said if s.where in w}
        assert shown == {clause for _, clause in said}, function


def test_a_sweep_claims_what_its_weakest_point_claims() -> None:
    laws = predict([GiantStep(steps=steps, width=4) for steps in (1, 2)], "h1")
    assert [law.statuses["subspaces"] for law in laws] == ["theorem", "conjecture"]
    assert swept_statuses(laws)["subspaces"] == "conjecture"
    assert Prediction.sweep_json(laws)["status"] == "conjecture"


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
