"""State evolution: the overlap that Bayes-optimal message passing reaches as d goes to infinity."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.channels import channel_for
from giantstep.errors import NoTheory, SettingsError
from giantstep.inputs import Gaussian, Sphere, check_covered
from giantstep.problem import Problem
from giantstep.targets.hermite import moments
from giantstep.targets.symmetry import invariant_basis
from giantstep.theory.message_passing.averages.overlaps import inside
from giantstep.theory.message_passing.averages.population import Population, population_of
from giantstep.theory.message_passing.curve import curve_of
from giantstep.theory.message_passing.fixed_points import START, Rest, settle

REFERENCES = (
    "Troiani et al. 2024, arXiv:2405.15480",
    "Aubin et al. 2018, arXiv:1806.05451",
    "Barbier et al. 2017, arXiv:1708.03395",
)
#: An informed start knows all but this.
_UNKNOWN = 1e-3


@dataclass(frozen=True, eq=False)
class FixedOverlap:
    """A fixed point M of state evolution; ``converged`` is False if it was not reached.

    ``rest`` tells how it was reached, where the overlap is a matrix; with one number the curve of
    all fixed points gives it directly.
    """

    overlap: Float[np.ndarray, "r r"]
    samples_ratio: float
    start: str
    converged: bool
    population: Population
    rest: Rest | None = None

    @property
    def test_error(self) -> float:
        """E(g - E[y | omega])^2: the error of the posterior mean, label noise not counted."""
        target = self.population.channel.structure.target
        explained = float(self.population.explained(inside(self.overlap)))
        return max(moments(target).second_moment - explained, 0.0)


def state_evolution(
    problem: Problem,
    samples_ratio: float,
    start: str = "uninformed",
    near: FixedOverlap | None = None,
) -> FixedOverlap:
    r"""The overlap M = W_hat^T W* / d at the fixed point of message passing with n = alpha d.

    .. math::
        \hat M = \alpha\, E[g_{out} g_{out}^\top], \qquad M \leftarrow \hat M (I + \hat M)^{-1},

    with omega ~ N(0, M), h = omega + N(0, I - M) and y ~ P(. | h) in the average.

    Symbols: alpha ``samples_ratio``; the branch is that from ``start``: "uninformed" (M close to
    0), "informed" (M close to I) or "zero" (M = 0 exactly, which even targets never leave).
    ``near`` is a fixed point of the same branch at a smaller alpha (informed: a larger one) to
    begin from.

    Assumes: isotropic Gaussian inputs, d to infinity with n/d and r <= 3 fixed, the target and the
    noise known to the algorithm.
    Status: theorem for message passing; replica for the informed branch.
    References: Aubin et al. 2018, arXiv:1806.05451; Barbier et al. 2017, arXiv:1708.03395; Troiani
    et al. 2024, arXiv:2405.15480.

    >>> found = state_evolution(Problem.of("sign(h1)"), 2.0)
    >>> round(float(found.overlap[0, 0]), 6), found.converged
    (0.728298, True)
    """
    alpha = _checked(samples_ratio)
    check_covered(problem.inputs, (Gaussian, Sphere), "message passing is predicted", NoTheory)
    population = population_of(channel_for(problem))
    if start not in ("uninformed", "informed", "zero"):
        raise SettingsError(f"start = {start!r} is unknown: use uninformed, informed or zero")
    rank = population.channel.rank
    if start == "zero" and population.is_blind:
        return FixedOverlap(np.zeros((rank, rank)), alpha, start, True, population)
    basis = invariant_basis(problem.target)
    if len(basis) == 1:
        curve = curve_of(population)
        overlap = curve.last(alpha) if start == "informed" else curve.first(alpha)
        return FixedOverlap(overlap * np.eye(rank), alpha, start, True, population)
    if near is not None and near.converged:
        first = inside(near.overlap, START)
    else:
        first = (1 - _UNKNOWN if start == "informed" else START) * np.eye(rank)
    rest = settle(population, alpha, first, basis, upward=start != "informed")
    return FixedOverlap(rest.overlap, alpha, start, rest.converged, population, rest)


def overlap_curve(
    problem: Problem, samples_ratios: Float[np.ndarray, " k"], start: str = "uninformed"
) -> Float[np.ndarray, "k r r"]:
    r"""The fixed points M of state evolution at many samples per dimension.

    .. math:: M(\alpha) = \hat M (I + \hat M)^{-1}, \quad \hat M = \alpha\, E[g_{out} g_{out}^\top]

    Each point starts from its neighbour's: from below in increasing alpha on the uninformed
    branch, from above in decreasing alpha on the informed one, which keeps the branch because
    state evolution is monotone in alpha and in M. Raises NoTheory where one does not converge.

    Symbols: alpha ``samples_ratios``, branch ``start``.

    Assumes: as :func:`state_evolution`.
    Status: theorem for message passing; replica for the informed branch.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> curve = overlap_curve(Problem.of("sign(h1*h2)"), np.array([2.0, 3.0, 4.0]))
    >>> curve[:, 0, 0].round(4).tolist()
    [0.0, 0.2427, 0.6438]
    """
    ratios = np.array([_checked(ratio) for ratio in samples_ratios])
    rank = problem.target.rank
    found = np.empty((len(ratios), rank, rank))
    last: FixedOverlap | None = None
    for i in np.argsort(-ratios if start == "informed" else ratios):
        last = settled(state_evolution(problem, float(ratios[i]), start, last))
        found[i] = last.overlap
    return found


def settled(found: FixedOverlap) -> FixedOverlap:
    """The fixed point as it was given; raises NoTheory if it was not reached.

    Assumes: as :func:`state_evolution`.
    Status: theorem for message passing; replica for the informed branch.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> settled(state_evolution(Problem.of("h1", noise=0.25), 1.0)).converged
    True
    """
    if not found.converged:
        steps = "" if found.rest is None else f" in {found.rest.steps} steps"
        raise NoTheory(
            f"samples = {found.samples_ratio:g}d: state evolution found no stable fixed point"
            f"{steps}; further from a transition, or with other label noise, it will"
        )
    return found


def _checked(samples_ratio: float) -> float:
    ratio = float(samples_ratio)
    if not (np.isfinite(ratio) and ratio > 0):
        raise SettingsError(f"samples_ratio = {ratio!r} (n/d) must be positive and finite")
    return ratio
