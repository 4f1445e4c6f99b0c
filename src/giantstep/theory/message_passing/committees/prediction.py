"""What message passing must reach on a committee of any number of units."""

from __future__ import annotations

import math
from typing import Any

from giantstep.channels.committees.core import Covered, covered_committee, votes_on_lattice
from giantstep.channels.structure import structure_of
from giantstep.measures.matching import overlap_metrics
from giantstep.problem import Problem
from giantstep.results import Prediction, Status, weakest
from giantstep.settings.amp import Amp
from giantstep.settings.ratios import ratio_to_dim
from giantstep.theory.message_passing.averages.errors import gap
from giantstep.theory.message_passing.committees.errors import (
    committee_free_entropy,
    committee_information,
    committee_test_error,
)
from giantstep.theory.message_passing.committees.fixed_point import (
    CommitteeOverlap,
    committee_overlap,
)
from giantstep.theory.message_passing.committees.specialisation import specialisation

REFERENCES = ("Aubin et al. 2018, arXiv:1806.05451", "Troiani et al. 2024, arXiv:2405.15480")
#: Fields that quadrature covers; beyond them a committee has no other theory.
_FEW = 3
#: Dimension for which iterations are counted where none is given.
_DIM = 1000
#: Relative difference of two rules that a reader must know of.
_WORTH_A_NOTE = 2e-3


def as_committee(problem: Problem) -> Covered | None:
    """The problem as a committee, where that is the best description; None where another is.

    Labels of few fields have closed forms if they are constant between jumps, or move with one
    field only; noiseless sums of few continuous links stay with quadrature.
    """
    structure = structure_of(problem.target)
    if structure.fields > _FEW:
        return covered_committee(problem.target, problem.noise)
    noisy = problem.noise > 0 or problem.target.noises > 0
    summed = structure.continuous > 1 and noisy and problem.target.discrete_values is None
    if not (summed or votes_on_lattice(problem.target)):
        return None
    return covered_committee(problem.target, problem.noise)


def predict_committee(problem: Problem, settings: Amp, covered: Covered) -> Prediction:
    """The overlap and the test error that message passing reaches on a committee.

    Metrics: those of :func:`giantstep.theory.message_passing.amp.predict`. Errors are what another
    rule of averages changes; while units are alike one integral is enough, and has none.

    Assumes: as
    :func:`~giantstep.theory.message_passing.committees.fixed_point.committee_overlap`.
    Status: theorem for message passing; replica for the informed branch and for the free entropy;
    heuristic for the iterations, and for labels that got noise which the problem does not have.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> problem = Problem.of("(tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4))/2", noise=0.1)
    >>> law = predict_committee(problem, Amp(samples="4d"), as_committee(problem))
    >>> law.metrics["overlap_squared_singular_values"][1:].round(6).tolist()
    [0.0, 0.0, 0.0]
    """
    start = "informed" if settings.start == "informed" else "uninformed"
    found = committee_overlap(covered.committee, ratio_to_dim(settings, "samples"), start)
    metrics = _metrics(found, covered.noise)
    errors: dict[str, Any] = {}
    notes = [*covered.notes, _told(found)]
    if found.other is not None:
        others = _metrics(found.other, covered.noise)
        errors = {name: gap(value, others[name]) for name, value in metrics.items()}
        relative = abs(found.q_minus - found.other.q_minus) / found.q_minus
        if relative > _WORTH_A_NOTE:
            notes.append(f"averages over fields by sampling, with an error of {relative:.1g}")
    metrics["expected_iterations"] = _iterations(found, settings)
    metrics["converged"] = 1.0
    own: dict[str, Status] = {
        "free_entropy": "replica",
        "mutual_information": "replica",
        "expected_iterations": "heuristic",
    }
    branch: Status = "replica" if start == "informed" else "theorem"
    channel: Status = "heuristic" if covered.altered else "theorem"
    statuses = {name: weakest([branch, channel, own.get(name, "theorem")]) for name in metrics}
    recorded = {"channel_noise": covered.noise} if covered.altered else {}
    given = settings.to_json() | recorded
    return Prediction(settings.learner, given, metrics, statuses, REFERENCES, tuple(notes), errors)


def _metrics(found: CommitteeOverlap, noise: float) -> dict[str, Any]:
    return {
        **overlap_metrics(found.matrix),
        "test_error": committee_test_error(found, noise),
        "free_entropy": committee_free_entropy(found),
        "mutual_information": committee_information(found),
    }


def _told(found: CommitteeOverlap) -> str:
    """Whether units have specialised, and from where on they do."""
    leaves = specialisation(found.committee).samples_ratio
    where = f"from n = {leaves:.5g} d on" if math.isfinite(leaves) else "at no n = O(d)"
    if found.is_specialised:
        return f"the units have specialised, as they do from a random start {where}"
    return f"the units are alike: from a random start they specialise {where}"


def _iterations(found: CommitteeOverlap, settings: Amp) -> float:
    """A heuristic count: q- grows out of 1/d, then the fixed point is approached, twice."""
    damping = settings.damping_for(found.committee.rank)
    slower = damping + (1 - damping) * min(max(found.rate, 0.05), 1 - 1e-6)
    approach = -2 * math.log(settings.tolerance) / -math.log(slower)
    if not found.is_specialised or settings.start == "informed":
        return float(approach)
    leaves = specialisation(found.committee).samples_ratio
    growth = (1 - damping) * (found.samples_ratio / leaves - 1)
    passage = math.log((settings.dim or _DIM) * found.q_minus) / math.log1p(max(growth, 1e-3))
    return float(approach + max(passage, 0.0))
