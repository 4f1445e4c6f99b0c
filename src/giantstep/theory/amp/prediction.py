"""What message passing must reach: the prediction for the learner `amp`."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from giantstep.answer import Prediction, Status, weakest_status
from giantstep.channels.channel import channel_of_problem
from giantstep.channels.committees.core import Covered
from giantstep.language.problem import Problem
from giantstep.language.targets.symmetry import target_invariant_basis
from giantstep.measures.matching import measured_overlap_metrics
from giantstep.settings.amp import Amp
from giantstep.settings.ratios import setting_over_dim
from giantstep.theory.amp.averages.overlaps import Overlap, overlap_gap, overlap_inside
from giantstep.theory.amp.averages.population import Population, check_exchangeable
from giantstep.theory.amp.committees.errors import (
    as_committee,
    committee_free_entropy,
    committee_information,
    committee_test_error,
)
from giantstep.theory.amp.committees.fixed_point import CommitteeOverlap, committee_overlap
from giantstep.theory.amp.committees.specialisation import specialisation
from giantstep.theory.amp.fixed_points import Rest, amp_overlap_image
from giantstep.theory.amp.free_entropy import free_entropy_at, mutual_information
from giantstep.theory.amp.iterations import expected_iterations, state_evolution_remarks
from giantstep.theory.amp.phases import predict_phases
from giantstep.theory.amp.state_evolution import (
    REFERENCES,
    FixedOverlap,
    fixed_point_curve,
    settled_overlap,
    state_evolution,
)

#: Relative error of the averages that the reader of a prediction must know.
_WORTH_A_NOTE = 1e-3
#: How far places of fixed points move, in 1/sqrt(d).
_WIDTHS = 2.0
#: Overlaps as near to the whole as this are whole: the fixed point is resolved no further.
_RECOVERED = 1e-6
#: Metrics that runs have too.
_SORTED = "overlap_squared_singular_values"
_SEEN = ("overlap_squared", _SORTED, "test_error")


#: Metrics; the same by another rule, and moved as finite size may; iterations; notes.
_Reached = tuple[dict[str, Any], list[dict[str, Any]], float, list[str]]


def predict(problem: Problem, settings: Amp) -> Prediction:
    """The overlap and the test error that message passing reaches; or, on request, the transitions.

    Metrics: ``overlap_squared`` (the entries of M, one for each direction; for several also their
    ``overlap_squared_singular_values``), ``test_error`` of the posterior mean, ``free_entropy`` and
    ``mutual_information`` per dimension, ``expected_iterations`` until rest, ``converged``. Errors
    are what a coarser rule of integration changes, and for a committee another rule of averages;
    with a dimension they also have what a fixed point moves by at that size. Raises NoTheory where
    state evolution does not converge.

    Assumes: as :func:`~giantstep.theory.amp.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the informed branch, and for the free entropy
    of several directions; heuristic for the iterations, and for labels that got noise which the
    problem does not have.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> law = predict(Problem.of("h1", noise=0.25), Amp(samples="1d"))
    >>> round(float(law.metrics["overlap_squared"]), 6)
    0.609612
    """
    check_exchangeable(problem, "message passing is predicted")
    covered = as_committee(problem)
    if settings.phases:
        return predict_phases(problem, settings, covered)
    channel = covered or channel_of_problem(problem)
    metrics, others, iterations, notes = (
        _committee(settings, covered) if covered is not None else _predict_few(problem, settings)
    )
    errors = {
        name: sum(overlap_gap(metrics[name], other[name]) for other in others if name in other)
        for name in {name: None for other in others for name in other}
    }
    metrics |= {"expected_iterations": iterations, "converged": 1.0}
    branch: Status = "replica" if settings.start == "informed" else "theorem"
    several: Status = "replica" if problem.target.rank > 1 else "theorem"
    own: dict[str, Status] = {
        "free_entropy": several,
        "mutual_information": several,
        "expected_iterations": "heuristic",
    }
    known: Status = "heuristic" if channel.altered else "theorem"
    statuses = {name: weakest_status([branch, known, own.get(name, "theorem")]) for name in metrics}
    notes = [*channel.notes, *notes]
    more = {"recorded": channel.settings, "errors": errors}
    return Prediction.of(settings, metrics, statuses, REFERENCES, notes, **more)


def _predict_few(problem: Problem, settings: Amp) -> _Reached:
    """The fixed point of state evolution for at most three directions."""
    start = {"zero": "zero", "informed": "informed"}.get(settings.start, "uninformed")
    found = settled_overlap(state_evolution(problem, setting_over_dim(settings, "samples"), start))
    population = found.population

    def metrics(overlap: np.ndarray, by: Population = population) -> dict[str, Any]:
        at = dataclasses.replace(found, overlap=overlap, population=by)
        return {
            **measured_overlap_metrics(overlap),
            "test_error": at.test_error,
            "free_entropy": free_entropy_at(by, found.samples_ratio, overlap),
            "mutual_information": mutual_information(by, found.samples_ratio, overlap),
        }

    iterations = expected_iterations(found, settings)
    others, notes = [], state_evolution_remarks(found, settings, iterations)
    if population.coarse is not None:
        others.append(metrics(_corrected_fixed_point(found, population.coarse), population.coarse))
        error = population.quadrature_error(overlap_inside(found.overlap))
        if error > _WORTH_A_NOTE:
            notes.append(f"averages over labels by quadrature, with an error of {error:.1g}")
    if settings.dim is not None:
        others.append(_predicted_run_metrics(metrics(_moved(found, settings.dim))))
        values = measured_overlap_metrics(found.overlap).get(_SORTED, np.zeros(1))
        if len(values) > 1 and np.ptp(values) < 1e-3 < np.max(values):
            # Equal values of a run are apart, to first order: sorted, none of them is the mean.
            parted = measured_overlap_metrics(_moved(found, settings.dim, apart=True))
            others.append({_SORTED: parted[_SORTED]})
    if np.max(np.abs(found.overlap - np.eye(len(found.overlap)))) < _RECOVERED:
        others.append({"test_error": 0.0})
    return metrics(found.overlap), others, iterations, notes


def _committee(settings: Amp, covered: Covered) -> _Reached:
    """The fixed point of a committee of any number of units."""
    start = "informed" if settings.start == "informed" else "uninformed"
    found = committee_overlap(covered.committee, setting_over_dim(settings, "samples"), start)

    def metrics(at: CommitteeOverlap) -> dict[str, Any]:
        return {
            **measured_overlap_metrics(at.matrix),
            "test_error": committee_test_error(at, covered.noise),
            "free_entropy": committee_free_entropy(at),
            "mutual_information": committee_information(at),
        }

    leaves = specialisation(covered.committee).samples_ratio
    where = f"from n = {leaves:.5g} d on" if math.isfinite(leaves) else "at no n = O(d)"
    notes = [f"the units are alike: from a random start they specialise {where}"]
    if found.is_specialised:
        notes = [f"the units have specialised, as they do from a random start {where}"]
    others = []
    if found.other is not None:
        others.append(metrics(found.other))
        relative = abs(found.q_minus - found.other.q_minus) / found.q_minus
        if relative > 2 * _WORTH_A_NOTE:
            notes.append(f"averages over fields by sampling, with an error of {relative:.1g}")
    if settings.dim is not None:
        moved = found.moved(_moves(settings.dim, 1 - found.rate), 1 / settings.dim)
        others.append(_predicted_run_metrics(metrics(moved)))
    return metrics(found), others, found.iterations(settings), notes


def _predicted_run_metrics(metrics: dict[str, Any]) -> dict[str, Any]:
    """The metrics that runs have too."""
    return {name: value for name, value in metrics.items() if name in _SEEN}


def _moves(dim: int, distance: float) -> float:
    """By how much finite size moves a fixed point in log(n/d), this far from a transition.

    Places of fixed points move by a few 1/sqrt(d) from sample to sample. Close to a transition the
    mean over samples moves as much as each of them; at a distance only in second order.
    """
    width = _WIDTHS / np.sqrt(dim)
    return float(width / (1 + distance / width))


def _moved(found: FixedOverlap, dim: int, *, apart: bool = False) -> Overlap:
    """An overlap as far from the fixed point as runs of this dimension are on average.

    ``apart``: as far as each of them is, which their mean is only at a transition.
    """
    overlap, alpha = overlap_inside(found.overlap), found.samples_ratio
    eye = np.eye(len(overlap))
    if found.rest is not None:
        # Of M = F(M), dM/dlog(alpha) = (1 - F')^-1 M (I - M).
        gain = _response(found, found.rest, overlap @ (eye - overlap))
        moves = _moves(dim, 0.0 if apart else 1 - found.rest.rate)
        return overlap_inside(overlap + moves * gain + eye / dim)
    if found.start == "zero" and found.population.is_blind:
        return found.overlap
    curve, width = fixed_point_curve(found.population), _WIDTHS / np.sqrt(dim)
    reach = curve.last if found.start == "informed" else curve.first
    here = float(found.overlap[0, 0])
    changes = [reach(alpha * ratio) - here for ratio in (1 + width, max(1 - width, 1e-3))]
    critical = curve.samples_ratios[[0, *curve.peaks]]
    share = 1 if apart else _moves(dim, float(np.abs(alpha / critical - 1).min())) / width
    change = share * max(changes, key=abs)
    return overlap_inside((here + change + np.copysign(1 / dim, change)) * eye)


def _corrected_fixed_point(found: FixedOverlap, coarse: Population) -> Overlap:
    """The fixed point of a slightly different map F_c: M + (1 - F')^-1 (F_c(M) - F(M))."""
    overlap, alpha = overlap_inside(found.overlap), found.samples_ratio
    if not found.overlap.any():
        return found.overlap
    here = amp_overlap_image(found.population, alpha, overlap)
    change = amp_overlap_image(coarse, alpha, overlap) - here
    if found.rest is None:
        eye = np.eye(len(overlap))
        shift = 1e-4 * overlap[0, 0] * (1 - overlap[0, 0])
        below = amp_overlap_image(found.population, alpha, overlap - shift * eye)
        slope = min((here - below)[0, 0] / shift, 0.999)
        return overlap_inside(overlap + change[0, 0] / (1 - slope) * eye)
    return overlap_inside(overlap + _response(found, found.rest, change))


def _response(found: FixedOverlap, rest: Rest, change: np.ndarray) -> Overlap:
    """(1 - F')^-1 of a change of F, in the coordinates of the target's symmetries."""
    basis = target_invariant_basis(found.population.channel.structure.target)
    moved = rest.correction @ np.einsum("pij,ij->p", basis, change)
    return np.einsum("p,pij->ij", moved, basis)
