"""State evolution: the overlap that Bayes-optimal message passing reaches as d goes to infinity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.channels import channel_for
from giantstep.channels.symmetry import invariant_basis
from giantstep.errors import NoTheory, SettingsError
from giantstep.inputs import Gaussian, Sphere, check_covered
from giantstep.measures.matching import overlap_metrics
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.amp import Amp
from giantstep.settings.ratios import ratio_to_dim
from giantstep.targets.hermite import moments
from giantstep.theory.message_passing.averages.population import Population, population_of
from giantstep.theory.message_passing.curve import EDGE, curve_of

REFERENCES = (
    "Troiani et al. 2024, arXiv:2405.15480",
    "Aubin et al. 2018, arXiv:1806.05451",
    "Barbier et al. 2017, arXiv:1708.03395",
)
#: Overlap of an uninformed start: small, so that the dynamics is linear, but not zero.
_START = 1e-6
_STEPS = 300
#: Longest change of the overlap in one step, so that no fixed point is jumped over.
_TRUST = 0.2
_TOLERANCE = 1e-9
#: Relative error of the averages that the reader of a prediction must know.
_WORTH_A_NOTE = 1e-3


@dataclass(frozen=True, eq=False)
class FixedOverlap:
    """A fixed point M of state evolution; ``converged`` is False if it was not reached."""

    overlap: Float[np.ndarray, "r r"]
    alpha: float
    start: str
    converged: bool
    iterations: int
    population: Population

    @property
    def test_error(self) -> float:
        """E(g - E[y | omega])^2: the error of the posterior mean, label noise not counted."""
        target = self.population.channel.structure.target
        explained = float(self.population.explained(_inside(self.overlap, 0.0)))
        return max(moments(target).second_moment - explained, 0.0)


def state_evolution(
    problem: Problem, alpha: float, start: str = "uninformed", near: FixedOverlap | None = None
) -> FixedOverlap:
    r"""The overlap M = W_hat^T W* / d at the fixed point of message passing with n = alpha d.

    .. math::
        \hat M = \alpha\, E[g_{out} g_{out}^\top], \qquad M \leftarrow \hat M (I + \hat M)^{-1},

    with omega ~ N(0, M), h = omega + N(0, I - M) and y ~ P(. | h) in the average.

    Symbols: alpha ``alpha``; the branch is that from ``start``: "uninformed" (M close to 0),
    "informed" (M close to I) or "zero" (M = 0 exactly, which even targets never leave). ``near`` is
    a fixed point of the same branch at a smaller alpha (informed: a larger one) to begin from.

    Assumes: isotropic Gaussian inputs, d to infinity with n/d and r <= 3 fixed, the target and the
    noise known to the algorithm.
    Status: theorem for message passing; replica for the informed branch.
    References: Aubin et al. 2018, arXiv:1806.05451; Barbier et al. 2017, arXiv:1708.03395; Troiani
    et al. 2024, arXiv:2405.15480.

    >>> found = state_evolution(Problem.of("sign(h1)"), 2.0)
    >>> round(float(found.overlap[0, 0]), 6), found.converged
    (0.728298, True)
    """
    alpha = _checked_alpha(alpha)
    check_covered(problem.inputs, (Gaussian, Sphere), "message passing is predicted", NoTheory)
    population = population_of(channel_for(problem))
    if start not in ("uninformed", "informed", "zero"):
        raise SettingsError(f"start = {start!r} is unknown: use uninformed, informed or zero")
    rank = population.channel.rank
    if start == "zero" and _is_blind(population):
        return FixedOverlap(np.zeros((rank, rank)), alpha, start, True, 0, population)
    basis = invariant_basis(problem.target)
    if len(basis) == 1:
        curve = curve_of(population.channel)
        overlap = curve.last(alpha) if start == "informed" else curve.first(alpha)
        return FixedOverlap(overlap * np.eye(rank), alpha, start, True, 0, population)
    if near is not None and near.converged:
        first = _inside(near.overlap, _START)
    else:
        first = (1 - 1e-3 if start == "informed" else _START) * np.eye(rank)
    return _settled(population, alpha, start, first, basis)


def overlap_curve(
    problem: Problem, alphas: Float[np.ndarray, " k"], start: str = "uninformed"
) -> Float[np.ndarray, "k r r"]:
    r"""The fixed points M of state evolution at many samples per dimension.

    .. math:: M(\alpha) = \hat M (I + \hat M)^{-1}, \quad \hat M = \alpha\, E[g_{out} g_{out}^\top]

    Each point starts from its neighbour's: from below in increasing alpha on the uninformed
    branch, from above in decreasing alpha on the informed one, which keeps the branch because
    state evolution is monotone in alpha and in M.

    Symbols: alpha ``alphas``, branch ``start``. NaN where the iteration did not converge.

    Assumes: as :func:`state_evolution`.
    Status: theorem for message passing; replica for the informed branch.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> curve = overlap_curve(Problem.of("sign(h1*h2)"), np.array([2.0, 3.0, 4.0]))
    >>> curve[:, 0, 0].round(4).tolist()
    [0.0, 0.2427, 0.6438]
    """
    alphas = np.array([_checked_alpha(alpha) for alpha in alphas])
    rank = problem.target.rank
    found = np.full((len(alphas), rank, rank), np.nan)
    last: FixedOverlap | None = None
    for i in np.argsort(-alphas if start == "informed" else alphas):
        last = state_evolution(problem, float(alphas[i]), start, last)
        if last.converged:
            found[i] = last.overlap
    return found


def predict(problem: Problem, settings: Amp) -> Prediction:
    """The overlap and the test error that message passing reaches; or, on request, the transitions.

    Assumes: as :func:`state_evolution`.
    Status: theorem for message passing; replica for the informed branch and the free entropy.
    References: Troiani et al. 2024, arXiv:2405.15480; Aubin et al. 2018, arXiv:1806.05451.

    >>> law = predict(Problem.of("h1", noise=0.25), Amp(samples="1d"))
    >>> round(float(law.metrics["overlap_squared"]), 6)
    0.609612
    """
    from giantstep.theory.message_passing.free_entropy import free_entropy_at, mutual_information

    check_covered(problem.inputs, (Gaussian, Sphere), "message passing is predicted", NoTheory)
    if settings.phases:
        from giantstep.theory.message_passing.phases import predict_phases

        return predict_phases(problem, settings)
    start = {"zero": "zero", "informed": "informed"}.get(settings.start, "uninformed")
    found = state_evolution(problem, ratio_to_dim(settings, "samples"), start)
    notes = list(found.population.channel.notes)
    error = found.population.quadrature_error(_inside(found.overlap, 0.0))
    if error > _WORTH_A_NOTE:
        notes.append(f"averages over labels by quadrature, with a relative error of {error:.1g}")
    metrics: dict[str, Any] = overlap_metrics(found.overlap)
    metrics["test_error"] = found.test_error
    metrics["free_entropy"] = free_entropy_at(problem, found.alpha, found.overlap)
    metrics["mutual_information"] = mutual_information(problem, found.alpha, found.overlap)
    metrics["converged"] = float(found.converged)
    if not found.converged:
        metrics = {
            name: np.full_like(value, np.nan, dtype=float) for name, value in metrics.items()
        }
        metrics["converged"] = 0.0
        notes.append(f"state evolution did not converge in {found.iterations} iterations")
    status: Status = "replica" if start == "informed" else "theorem"
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, status),
        REFERENCES,
        tuple(notes),
    )


def _checked_alpha(alpha: float) -> float:
    alpha = float(alpha)
    if not (np.isfinite(alpha) and alpha > 0):
        raise SettingsError(f"alpha = {alpha!r} (samples / dim) must be positive and finite")
    return alpha


def _is_blind(population: Population) -> bool:
    """Whether E[h | y] = 0 for every label, so that an estimate of zero stays zero."""
    law = population.label_law
    return float(law.weights @ (law.means**2).sum(axis=1)) < 1e-9


def _inside(overlap: np.ndarray, low: float) -> np.ndarray:
    """The overlap with its eigenvalues brought into [low, 1 - EDGE]."""
    values, vectors = np.linalg.eigh((overlap + overlap.T) / 2)
    return (vectors * np.clip(values, low, 1 - EDGE)) @ vectors.T


def _room(overlap: np.ndarray, basis: np.ndarray) -> Float[np.ndarray, " p"]:
    """How far M + t B_k stays between 0 and I, for every B_k: a direction of its own scale each."""
    values, vectors = np.linalg.eigh(overlap)
    turned = vectors.T @ basis @ vectors
    tightest = 0.0
    for room in (values, 1 - values):
        scale = 1 / np.sqrt(room)
        relative = np.linalg.eigvalsh(scale[:, None] * turned * scale)
        tightest = np.maximum(tightest, np.abs(relative).max(axis=1))
    return 1 / np.asarray(tightest)


def _settled(
    population: Population, alpha: float, start: str, overlap: np.ndarray, basis: np.ndarray
) -> FixedOverlap:
    """Follow dM/dt = F(M) - M to its rest, by implicit steps that lengthen as M settles.

    With J = F'(M) in the invariant coordinates, the step is (1 + s - J)^-1 (F(M) - M): Newton's
    for s = 0, once all growth rates J - 1 are negative; while some are positive, s is twice the
    largest, so that a growing direction doubles and none is jumped over.
    """
    rank = len(overlap)

    def images(stack: np.ndarray) -> Float[np.ndarray, "k p"]:
        gain = alpha * population.fisher(stack)
        image = np.linalg.solve(np.eye(rank) + gain, gain)
        return np.einsum("pij,kij->kp", basis, image)

    low = 1e-12
    overlap = _inside(overlap, low)
    for iteration in range(1, _STEPS + 1):
        shifts = 1e-4 * _room(overlap, basis)
        found = images(np.concatenate([overlap[None], overlap + shifts[:, None, None] * basis]))
        slopes = (found[1:] - found[0]).T / shifts
        residual = found[0] - np.einsum("pij,ij->p", basis, overlap)
        growth = np.linalg.eigvals(slopes).real.max() - 1
        slowing = 2 * growth if growth > 0 else 0.0
        step = np.linalg.solve((1 + slowing) * np.eye(len(basis)) - slopes, residual)
        step *= min(1.0, _TRUST / max(float(np.linalg.norm(step)), 1e-300))
        moved = _inside(overlap + np.einsum("p,pij->ij", step, basis), low)
        change = np.abs(moved - overlap).max()
        overlap = moved
        if change < _TOLERANCE and (growth < 0 or change < low):
            tidy = np.where(np.abs(overlap) <= 2 * low, 0.0, overlap)
            return FixedOverlap(tidy, alpha, start, True, iteration, population)
    return FixedOverlap(overlap, alpha, start, False, _STEPS, population)
