"""What message passing must reach: the prediction for the learner `amp`."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.inputs import Gaussian, Sphere, check_covered
from giantstep.measures.matching import overlap_metrics
from giantstep.problem import Problem
from giantstep.results import Prediction, Status, weakest
from giantstep.settings.amp import Amp
from giantstep.settings.ratios import ratio_to_dim
from giantstep.targets.symmetry import invariant_basis
from giantstep.theory.message_passing.averages.errors import gap
from giantstep.theory.message_passing.averages.overlaps import inside
from giantstep.theory.message_passing.averages.population import Population
from giantstep.theory.message_passing.committees.prediction import (
    as_committee,
    predict_committee,
)
from giantstep.theory.message_passing.free_entropy import free_entropy_at, mutual_information
from giantstep.theory.message_passing.iterations import expected_iterations, remarks
from giantstep.theory.message_passing.state_evolution import (
    REFERENCES,
    FixedOverlap,
    settled,
    state_evolution,
)

#: Relative error of the averages that the reader of a prediction must know.
_WORTH_A_NOTE = 1e-3


def predict(problem: Problem, settings: Amp) -> Prediction:
    """The overlap and the test error that message passing reaches; or, on request, the transitions.

    Metrics: ``overlap_squared`` (the entries of M, one for each direction; for several also their
    ``overlap_squared_singular_values``), ``test_error`` of the posterior mean, ``free_entropy`` and
    ``mutual_information`` per dimension, ``expected_iterations`` until rest, ``converged``. Errors
    are what a coarser rule of integration changes. Raises NoTheory where state evolution does not
    converge.

    Assumes: as :func:`~giantstep.theory.message_passing.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the informed branch, and for the free entropy
    of several directions; heuristic for the iterations, and for labels that got noise which the
    problem does not have.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> law = predict(Problem.of("h1", noise=0.25), Amp(samples="1d"))
    >>> round(float(law.metrics["overlap_squared"]), 6)
    0.609612
    """
    check_covered(
        problem.inputs,
        (Gaussian, Sphere),
        "message passing is predicted",
        NoTheory,
        "state evolution assumes input entries that are alike and independent",
    )
    covered = as_committee(problem)
    if covered is not None and settings.phases:
        from giantstep.theory.message_passing.committees.phases import predict_committee_phases

        return predict_committee_phases(settings, covered)
    if covered is not None:
        return predict_committee(problem, settings, covered)
    if settings.phases:
        from giantstep.theory.message_passing.phases import predict_phases

        return predict_phases(problem, settings)
    start = {"zero": "zero", "informed": "informed"}.get(settings.start, "uninformed")
    found = settled(state_evolution(problem, ratio_to_dim(settings, "samples"), start))
    channel = found.population.channel
    metrics = _metrics(problem, found, found.population, found.overlap)
    errors: dict[str, Any] = {}
    notes = list(channel.notes)
    coarse = found.population.coarse
    if coarse is not None:
        nearby = _corrected(found, coarse)
        others = _metrics(problem, found, coarse, nearby)
        errors = {name: gap(value, others[name]) for name, value in metrics.items()}
        error = found.population.quadrature_error(inside(found.overlap))
        if error > _WORTH_A_NOTE:
            notes.append(f"averages over labels by quadrature, with an error of {error:.1g}")
    metrics["expected_iterations"] = expected_iterations(found, settings)
    metrics["converged"] = 1.0
    notes += remarks(found, settings, metrics["expected_iterations"])
    return Prediction(
        settings.learner,
        settings.to_json() | channel.settings,
        metrics,
        _statuses(found, metrics),
        REFERENCES,
        tuple(notes),
        errors,
    )


def _statuses(found: FixedOverlap, names: Any) -> dict[str, Status]:
    branch: Status = "replica" if found.start == "informed" else "theorem"
    several: Status = "replica" if len(found.overlap) > 1 else "theorem"
    own: dict[str, Status] = {
        "free_entropy": several,
        "mutual_information": several,
        "expected_iterations": "heuristic",
    }
    channel: Status = "heuristic" if found.population.channel.altered else "theorem"
    return {name: weakest([branch, channel, own.get(name, "theorem")]) for name in names}


def _metrics(
    problem: Problem,
    found: FixedOverlap,
    population: Population,
    overlap: Float[np.ndarray, "r r"],
) -> dict[str, Any]:
    """What is integrated over labels, by the rule of the given population."""
    at = FixedOverlap(overlap, found.samples_ratio, found.start, True, population)
    given = (problem, found.samples_ratio, overlap, population)
    return {
        **overlap_metrics(overlap),
        "test_error": at.test_error,
        "free_entropy": free_entropy_at(*given),
        "mutual_information": mutual_information(*given),
    }


def _corrected(found: FixedOverlap, coarse: Population) -> Float[np.ndarray, "r r"]:
    """The fixed point of a slightly different map F_c: M + (1 - F')^-1 (F_c(M) - F(M))."""
    overlap, alpha = inside(found.overlap), found.samples_ratio
    eye = np.eye(len(overlap))
    if not found.overlap.any():
        return found.overlap

    def image(population: Population, at: np.ndarray) -> np.ndarray:
        gain = alpha * population.fisher(at)
        return np.linalg.solve(eye + gain, gain)

    change = image(coarse, overlap) - image(found.population, overlap)
    if found.rest is None:
        shift = 1e-4 * overlap[0, 0] * (1 - overlap[0, 0])
        below = image(found.population, overlap - shift * eye)[0, 0]
        slope = min((image(found.population, overlap)[0, 0] - below) / shift, 0.999)
        return inside(overlap + change[0, 0] / (1 - slope) * eye)
    basis = invariant_basis(found.population.channel.structure.target)
    moved = found.rest.correction @ np.einsum("pij,ij->p", basis, change)
    return inside(overlap + np.einsum("p,pij->ij", moved, basis))
