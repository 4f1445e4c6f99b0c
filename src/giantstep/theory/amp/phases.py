"""The transitions of message passing in the number of samples, found automatically."""

from __future__ import annotations

import numpy as np

from giantstep.answer import Prediction, Status, weakest_status
from giantstep.channels.channel import channel_of_problem
from giantstep.channels.committees.core import Covered
from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.targets.symmetry import target_invariant_basis
from giantstep.numerics.estimate import Estimate
from giantstep.settings.amp import Amp
from giantstep.theory.amp.averages.population import population_of
from giantstep.theory.amp.committees.phases import (
    LOCATED,
    committee_phase_remarks,
    committee_transitions,
)
from giantstep.theory.amp.state_evolution import REFERENCES, fixed_point_curve
from giantstep.theory.amp.transitions import (
    ACCURACY,
    HIDDEN_ACCURACY,
    Transition,
    branch_transitions,
    curve_transitions,
)
from giantstep.theory.learnability.thresholds import weak_recovery_threshold

#: Samples per dimension up to which transitions are looked for where the overlap is a matrix.
LARGEST_RATIO = 8.0


def phases(problem: Problem, largest_ratio: float = LARGEST_RATIO) -> tuple[Transition, ...]:
    r"""The transitions in alpha = n/d, in increasing order, with what happens at each.

    Where the overlap is one number times I, by
    :func:`~giantstep.theory.amp.transitions.curve_transitions`; otherwise both
    branches are followed in alpha and their changes are bisected.

    Symbols: scan up to ``largest_ratio`` where the overlap is a matrix.

    Assumes: as :func:`giantstep.theory.amp.state_evolution.state_evolution`.
    Status: theorem for message passing; replica for the information-theoretic transition.
    References: Troiani et al. 2024, arXiv:2405.15480; Barbier et al. 2017, arXiv:1708.03395; Aubin
    et al. 2018, arXiv:1806.05451.

    >>> for transition in phases(Problem.of("abs(h1)")):
    ...     print(transition.kind, round(transition.samples_ratio, 3))
    weak recovery 0.5
    information 1.0
    perfect recovery 1.128
    """
    departure = _departure_threshold(problem).value
    if len(target_invariant_basis(problem.target)) == 1:
        curve = fixed_point_curve(population_of(problem))
        found = curve_transitions(curve, departure)
    else:
        found = branch_transitions(problem, departure, largest_ratio)
    return tuple(sorted(found, key=lambda transition: transition.samples_ratio))


def predict_phases(problem: Problem, settings: Amp, covered: Covered | None = None) -> Prediction:
    """The transitions as a prediction: ``transitions`` in n/d, and what happens at each as notes.

    Metrics: ``transitions``, and the ``overlap_squared_before`` and ``overlap_squared_after`` each,
    one row for each transition and one column for each direction. Errors: of integration and
    bisection; of a committee, a threshold of specialisation is one integral and has none, others
    are located on a sampled curve.

    Symbols: the problem as a committee, where that is the better description, ``covered``.

    Assumes: as :func:`phases`; for a committee as
    :func:`~giantstep.theory.amp.committees.fixed_point.committee_overlap`.
    Status: theorem for message passing; replica for the information-theoretic transition, and for
    the spinodal of a committee; heuristic for labels that got noise which the problem does not
    have.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> found = predict_phases(Problem.of("h1^2"), Amp(phases=True))
    >>> found.metrics["transitions"].round(4).tolist()
    [0.5, 1.0, 1.1285]
    """
    channel = covered or channel_of_problem(problem)
    if covered is None:
        found = list(phases(problem))
        errors, more = _errors(problem, found), []
    else:
        found = committee_transitions(covered.committee)
        errors = np.array([LOCATED.get(t.kind, 0.0) * t.samples_ratio for t in found])
        more = committee_phase_remarks(covered.committee, found)
    metrics = {
        "transitions": np.array([transition.samples_ratio for transition in found]),
        "overlap_squared_before": np.array([transition.before for transition in found]),
        "overlap_squared_after": np.array([transition.after for transition in found]),
    }
    notes = [*channel.notes, *(str(transition) for transition in found), *more]
    if np.isinf(metrics["transitions"]).any():
        notes.append("transitions: infinite where no n of order d is enough")
    informed: Status = "replica" if any(t.kind in LOCATED for t in found) else "theorem"
    status = weakest_status([informed, "heuristic" if channel.altered else "theorem"])
    known = {"recorded": channel.settings, "errors": {"transitions": np.nan_to_num(errors)}}
    return Prediction.of(settings, metrics, status, REFERENCES, notes, **known)


def _errors(problem: Problem, found: list[Transition]) -> np.ndarray:
    """How far off each transition may be: by the rule of integration, and by bisection.

    The relative error of the averages is that of alpha(m). Where the overlap leaves zero, the
    threshold knows its own error, and how far noise that the channel got has moved it.
    """
    ratios = np.array([transition.samples_ratio for transition in found])
    finite = np.where(np.isfinite(ratios), ratios, 0.0)
    departure, population = _departure_threshold(problem), population_of(problem)
    hidden = np.array([transition.kind == "information" for transition in found])
    relative = np.where(hidden, HIDDEN_ACCURACY, ACCURACY)
    if len(target_invariant_basis(problem.target)) == 1:
        relative = np.zeros(len(found))
    middle = np.array([(t.before + t.after).mean() / 2 for t in found])
    eye = np.eye(problem.target.rank)
    relative += [population.quadrature_error(m * eye) for m in np.clip(middle, 1e-3, 0.999)]
    leaving = departure.error
    if channel_of_problem(problem).altered and np.isfinite(departure.value):
        leaving += abs(departure.value - _threshold(problem).value)
    return np.where(ratios == departure.value, leaving, finite * relative)


def linear_threshold(problem: Problem) -> float:
    r"""The alpha at which the uninformed fixed point M = 0 loses stability.

    .. math:: 1/\alpha_c = \lambda_{\max}\big(M \mapsto E_y[G M G]\big), \quad G = E[hh^\top|y] - I

    0 if some E[h|y] is not zero, infinite if all G vanish: the number of
    :func:`giantstep.theory.learnability.thresholds.weak_recovery_threshold`.

    Assumes: isotropic Gaussian inputs, n = alpha d with d to infinity.
    Status: theorem for message passing.
    References: Troiani et al. 2024, arXiv:2405.15480; Mondelli, Montanari 2017, arXiv:1708.05932.

    >>> round(linear_threshold(Problem.of("sign(h1*h2)")), 6)
    2.467401
    """
    return _threshold(problem).value


def _departure_threshold(problem: Problem) -> Estimate:
    """Where M = 0 loses stability under the noise of the channel, which may have got some."""
    return _threshold(Problem(problem.target, channel_of_problem(problem).added))


def _threshold(problem: Problem) -> Estimate:
    try:
        return weak_recovery_threshold(problem.target, problem.noise)
    except NoTheory:
        return Estimate(float("inf"), 0.0, "no n of order d is enough")
