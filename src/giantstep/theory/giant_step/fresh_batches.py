"""Giant steps with fresh batches: a recursion on overlaps and Gram matrices alone."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_subspace
from giantstep.numerics.estimate import (
    TINY,
    jackknife,
    jackknife_replicas,
    mean_and_error,
    mean_outer_of_replicas,
    root_and_error,
)
from giantstep.numerics.quadrature import antithetic_points
from giantstep.theory.giant_step.batch_population import (
    BatchPopulation,
    PopulationErrors,
    RidgeFit,
    population_errors,
)
from giantstep.theory.giant_step.fresh_fields import FreshFields
from giantstep.theory.giant_step.fresh_fluctuations import Fluctuation
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds

#: Independent sets of points, whose scatter is the error.
REPLICAS = 8
#: Fields to sample for each set, over all neurons; a wide network may need more, up to the most.
FIELDS, MOST_FIELDS = 1 << 18, 1 << 21
ENOUGH_POINTS, MOST_POINTS = 1 << 12, 1 << 14
#: Numbers in a replica's points up to which they are kept for the next question.
MOST_KEPT = 1 << 20
#: An overlap outside the subspaces that can be learned is zero, if it is within so many errors.
INSIGNIFICANT = 5.0


class OverlapPath(NamedTuple):
    """Overlaps before the first step and after each, with their sampling errors.

    ``cosines`` are root mean squares over neurons and runs. ``overlap_matrices`` hold the mean of
    c c^T, c the cosines of a neuron with all directions: a direction u has the rms cosine
    sqrt(u^T K u). ``kind_cosines``, signed, and ``kind_norms`` are the means of each kind.
    ``fitted``: train and test error of a fitted readout and the network's own error, with their
    sampling errors; zero without. ``rows``: how many each population has that stands for one batch.
    """

    cosines: Float[np.ndarray, "steps1 r"]
    errors: Float[np.ndarray, "steps1 r"]
    overlap_matrices: Float[np.ndarray, "steps1 r r"]
    kind_cosines: Float[np.ndarray, "steps1 kinds r"]
    kind_norms: Float[np.ndarray, "steps1 kinds"]
    fitted: Float[np.ndarray, "two steps1 three"]
    rows: int | None = None


def giant_step_overlaps(
    problem: Problem,
    activation: Activation,
    kinds: NeuronKinds,
    *,
    steps: int,
    step_size: float | Sequence[float],
    samples_ratio: float | Sequence[float],
    loss: str = "square",
    normalise: bool = False,
    dim: float = np.inf,
    subspaces: Sequence[Float[np.ndarray, "_ r"]] | None = None,
    fit: RidgeFit | None = None,
    seed: int = 0,
    fewer: int = 1,
) -> OverlapPath:
    r"""Overlaps of p neurons with the target's directions, before the first step and after each.

    The weights matter only through :math:`M = W W_*^T` and :math:`Q = W W^T`; with fresh batches
    of :math:`n = \alpha d` samples these concentrate, and one step is

    .. math::
        M' = M + E[D h_*^T],\qquad
        Q' = Q + E[D h^T] + E[h D^T] + E[Dx^T]E[xD^T] + \tfrac1\alpha E[DD^T],

    with :math:`D_j = \eta a_j (y - f)\sigma'(h_j + b_j)` and (h_*, h) centred Gaussian fields of
    covariance [[I, M^T], [M, Q]]. The last term is the noise of a finite batch: it is what a
    neuron moves outside the space spanned so far. At a finite ``dim`` M fluctuates around that,
    with a covariance C that starts from Q/d and follows

    .. math::
        C' = (I + J)\,C\,(I + J)^T + \tfrac1n E[D_j D_l h_{*k} h_{*m}],\qquad
        J_{jk,lm} = E[h_{*k} h_{*m}\,\partial D_j/\partial h_l],

    and the squares of the cosines are those of :math:`M M^T + C`.

    Symbols: eta ``step_size`` and alpha ``samples_ratio``, one or one per step; a and b in
    ``kinds``. The start has M = 0,
    so that a target of leap above 1 stays unlearned. ``subspaces`` are known to contain what is
    learned after each step: outside them a sampled M that is compatible with zero is zero.
    There are ``fewer`` times fewer sets than 8, of the cube of ``fewer`` times fewer points. With a
    ``fit`` the readout is fitted to infinitely many fresh samples, n/d of them per neuron and more.

    Assumes: isotropic Gaussian inputs, fresh batches, n proportional to d, fixed width, an
    activation whose derivative is continuous but for jumps and grows like a power. Given M and Q,
    sums over a batch are averages of independent terms, so that each step concentrates; C
    is to first order in the fluctuations, and at finite d the mean of M is itself shifted by
    O(1/d), which is not known. Expectations over scrambled Sobol points in pairs x, -x;
    ``errors`` is the standard error over 8 independent sets of them.
    Status: theorem in the limit, heuristic at a finite ``dim``.
    References: Dandi et al. 2023, arXiv:2305.18270 (staircase); Bolthausen conditioning.

    >>> from giantstep.language.activations.activation import activation
    >>> pair = NeuronKinds.one_of_each([1.0]).with_twins()
    >>> path = giant_step_overlaps(
    ...     Problem.of("h1"), activation("relu"), pair, steps=1, step_size=2.0, samples_ratio=4.0)
    >>> round(float(path.cosines[1, 0]), 3)
    0.632
    """
    basis = target_subspace(problem.target)
    sizes, ratios = (np.broadcast_to(each, steps).tolist() for each in (step_size, samples_ratio))
    schedule = list(zip(sizes, ratios, strict=True))
    fields = FreshFields(problem, activation, kinds, basis, 0.0, loss)
    sets = steps + (0 if fit is None else steps + 1)
    paths = []
    for replica in range(REPLICAS // fewer):
        points = _points_of_replica(fields, sets, (seed, replica), fewer**3)
        population = FreshPopulation(fields, points, schedule, dim)
        paths.append(replica_path(population, fields, steps, normalise, fit))
    return mean_overlap_path(paths, kinds.shares, basis, dim, subspaces)


class ReplicaPath(NamedTuple):
    """Cosines and lengths of each kind in the mean, and the covariance of a neuron's cosines."""

    means: Float[np.ndarray, "steps1 kinds used"]
    covariances: Float[np.ndarray, "steps1 used used"]
    lengths: Float[np.ndarray, "steps1 kinds"]
    fitted: Float[np.ndarray, "steps1 three"]


@functools.lru_cache(maxsize=REPLICAS)
def _points(
    count: int, axes: int, drawn: tuple[int, int], sets: int
) -> Sequence[Float[np.ndarray, "axes n"]]:
    """Points that no setting of the learner changes."""
    rng = np.random.default_rng(drawn)
    found = [antithetic_points(count, axes, rng).T for _ in range(sets)]
    for points in found:
        points.setflags(write=False)
    return found


def _points_of_replica(
    fields: FreshFields, sets: int, drawn: tuple[int, int], fewer: int
) -> Sequence[Float[np.ndarray, "axes n"]]:
    """Sets of points for a network of that width."""
    width = fields.kinds.width
    enough = min(ENOUGH_POINTS, MOST_FIELDS // width)
    count = (1 << int(math.log2(np.clip(FIELDS // width, enough, MOST_POINTS)))) // fewer
    kept = sets * count * fields.axes <= MOST_KEPT
    return (_points if kept else _points.__wrapped__)(count, fields.axes, drawn, sets)


class FreshPopulation:
    """Neurons that see a fresh batch, another set of points, at every step of a schedule."""

    def __init__(
        self,
        fields: FreshFields,
        points: Sequence[Float[np.ndarray, "axes n"]],
        schedule: Sequence[tuple[float, float]],
        dim: float,
    ) -> None:
        self.layer, self._fluctuation, self._dim = fields.start(), Fluctuation(fields, dim), dim
        self._fields, self._points, self._schedule = fields, iter(points), iter(schedule)

    def step(self) -> None:
        """One step of all neurons on a fresh batch."""
        self._fields.step_size, samples_ratio = next(self._schedule)
        sample = self._fields.sample(self.layer, next(self._points))
        if np.isfinite(self._dim):
            self._fluctuation.step(self.layer, sample, samples_ratio * self._dim)
        self.layer = self._fields.after_step(self.layer, sample, samples_ratio)

    def scale(self, lengths: Float[np.ndarray, " kinds"]) -> None:
        """Divide every neuron by the length of its kind."""
        self.layer = self._fields.scaled(self.layer, lengths)
        self._fluctuation.scale(lengths)

    def covariances(self) -> Float[np.ndarray, "kinds r r"]:
        """How the overlaps of one neuron of each kind fluctuate."""
        return self._fluctuation.of_kinds()

    def errors(self, fit: RidgeFit | None) -> PopulationErrors:
        """Of a readout that is fitted; nothing without a fit."""
        if fit is None:
            return PopulationErrors(0.0, 0.0, 0.0)
        fresh = self._fields.sample(self.layer, next(self._points))
        return population_errors(self._fields, fresh, fit)


def replica_path(
    population: FreshPopulation | BatchPopulation,
    fields: FreshFields,
    steps: int,
    normalise: bool,
    fit: RidgeFit | None,
) -> ReplicaPath:
    """What a population learns, step by step, and its errors."""
    means, covariances, norms, fitted = [], [], [], []
    for step in range(steps + 1):
        if step > 0:
            population.step()
        lengths = np.sqrt(fields.squared_norms(population.layer))
        means.append(population.layer.overlaps / lengths[:, None])
        shares = fields.kinds.shares / lengths**2
        covariances.append(np.einsum("i,ikm->km", shares, population.covariances()))
        norms.append(np.ones_like(lengths) if normalise else lengths)
        if normalise:
            population.scale(lengths)
        fitted.append(population.errors(fit))
    return ReplicaPath(*map(np.array, (means, covariances, norms, fitted)))


def mean_overlap_path(
    paths: Sequence[ReplicaPath],
    shares: Float[np.ndarray, " kinds"],
    basis: Float[np.ndarray, "used r"],
    dim: float = np.inf,
    subspaces: Sequence[Float[np.ndarray, "_ r"]] | None = None,
) -> OverlapPath:
    """The mean over replicas, and its error by leaving one of them out at a time."""
    means = np.stack([path.means for path in paths])
    covariances = np.stack([path.covariances for path in paths])
    some = jackknife_replicas(len(paths))
    learned = np.stack([mean_outer_of_replicas(means[kept], shares) for kept in some])
    learned = basis.T @ learned @ basis
    if subspaces is not None:
        # The part inside the subspaces, at the steps where the rest is compatible with zero.
        within = np.array([rows.T @ rows for rows in subspaces])
        inside = within @ learned @ within
        rest = np.diagonal(learned - inside, axis1=-2, axis2=-1)
        nothing = np.all(np.abs(rest[0]) <= INSIGNIFICANT * jackknife(rest) + TINY, axis=-1)
        learned = np.where(nothing[:, None, None], inside, learned)
    around = basis.T @ np.stack([covariances[kept].mean(axis=0) for kept in some]) @ basis
    found = learned + around
    if np.isfinite(dim) and len(basis) < basis.shape[1]:
        # What lies outside the target's directions points anywhere else with equal chances.
        outside = (1 - np.trace(found, axis1=-2, axis2=-1)) / (dim - len(basis))
        found = found + outside[..., None, None] * (np.eye(basis.shape[1]) - basis.T @ basis)
    squares = np.diagonal(found, axis1=-2, axis2=-1)
    cosines, errors = root_and_error(squares[0], jackknife(squares))
    norms = np.mean([path.lengths for path in paths], axis=0)
    fitted = np.stack(mean_and_error(np.stack([path.fitted for path in paths])))
    return OverlapPath(cosines, errors, found[0], means.mean(axis=0) @ basis, norms, fitted)
