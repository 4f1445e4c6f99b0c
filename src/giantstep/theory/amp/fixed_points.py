"""Where state evolution comes to rest: its flow, followed to a stable fixed point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.theory.amp.averages.overlaps import EDGE, Overlap, overlap_inside, overlap_room
from giantstep.theory.amp.averages.population import Population

#: Overlap of an uninformed start: small, so that the dynamics is linear, but not zero. An overlap
#: that rests where it is unstable gets a push of the same size.
START = 1e-6
#: Smallest eigenvalue of an overlap on its way; what ends there is zero.
_LOW = 1e-12
_STEPS = 300
#: Longest change of the overlap in one step.
_TRUST = 0.2
#: How close to its fixed point an overlap must be: the length of Newton's step, which is the
#: residual over 1 - rate, and not the residual, which is small on a plateau too.
_TOLERANCE = 1e-9
#: Step of the differences, as a share of the room up to perfect recovery.
_DIFFERENCE = 1e-4
#: A step that lowers the speed by more than this leads to a fixed point, not past one.
_SLOWED = 0.2


class Rest(NamedTuple):
    """Where the flow ended.

    ``rate`` is the largest eigenvalue of the map's derivative: distances to the fixed point shrink
    by this factor in each iteration. ``passage`` counts the iterations until the fixed point is the
    only thing left to approach, and ``distance`` is what was left then. ``correction`` turns a
    small change of the map into that of the fixed point.
    """

    overlap: Overlap
    converged: bool
    steps: int
    rate: float
    passage: float
    distance: float
    correction: Float[np.ndarray, "p p"]


def amp_overlap_image(
    population: Population, alpha: float, overlap: Float[np.ndarray, "*k r r"]
) -> Float[np.ndarray, "*k r r"]:
    """F(M) = M^ (I + M^)^-1 with M^ = alpha E[g_out g_out^T]."""
    gain = alpha * population.fisher(overlap)
    return np.linalg.solve(np.eye(gain.shape[-1]) + gain, gain)


class _OverlapFlow:
    """dM/dt = F(M) - M in the coordinates of matrices that share the target's symmetries."""

    def __init__(self, population: Population, alpha: float, basis: np.ndarray) -> None:
        self._population, self._alpha, self.basis = population, alpha, basis

    def images(self, stack: Float[np.ndarray, "k r r"]) -> Float[np.ndarray, "k p"]:
        image = amp_overlap_image(self._population, self._alpha, stack)
        return np.einsum("pij,kij->kp", self.basis, image)

    def coordinates(self, overlap: np.ndarray) -> Float[np.ndarray, " p"]:
        return np.einsum("pij,ij->p", self.basis, overlap)

    def matrix(self, coordinates: np.ndarray) -> Overlap:
        return np.einsum("p,pij->ij", coordinates, self.basis)

    def linearised(self, overlap: np.ndarray, free: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """F(M) - M, and the derivative of F along the free directions; along others F is flat.

        Differences along D + c P, P the projector on what is not recovered perfectly and c large
        enough for a positive matrix: M may be singular, and F is a power series in it, so that a
        step away from 0 needs not be small beside M, whose smallest eigenvalue may be rounding.
        """
        directions = np.einsum("pf,pij->fij", free, self.basis)
        traces = np.einsum("fii->f", directions)
        signs = np.where(traces < 0, -1.0, 1.0)
        directions, traces = signs[:, None, None] * directions, signs * traces
        lifts = np.maximum(-np.linalg.eigvalsh(directions)[:, 0], 0.0)
        # P is sum_f tr(D_f) D_f: the directions are orthonormal, and span it.
        raising = np.eye(len(lifts)) + np.outer(lifts, traces)
        raised = np.einsum("gf,fij->gij", raising, directions)
        shifts = _DIFFERENCE * overlap_room(overlap, raised)
        moved = overlap + shifts[:, None, None] * raised
        found = self.images(np.concatenate([overlap[None], moved]))
        along = np.linalg.solve(raising, (found[1:] - found[0]) / shifts[:, None])
        slopes = (signs[:, None] * along).T @ free.T
        return found[0] - self.coordinates(overlap), slopes

    def free(self, overlap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Directions that leave alone what is recovered perfectly, where F is flat; the others."""
        values, vectors = np.linalg.eigh(overlap)
        perfect = vectors[:, values > 1 - 2 * EDGE]
        constraints = np.einsum("pij,jk->pik", self.basis, perfect).reshape(len(self.basis), -1)
        left, sizes, _ = np.linalg.svd(constraints, full_matrices=True)
        held = int(np.sum(sizes > 1e-6))
        return left[:, held:], left[:, :held]


def settle_amp_overlap(
    population: Population,
    samples_ratio: float,
    overlap: Overlap,
    basis: Float[np.ndarray, "p r r"],
    *,
    upward: bool = True,
) -> Rest:
    r"""Follow the overlap from its start to the stable fixed point that message passing reaches.

    .. math:: \frac{dM}{dt} = F(M) - M, \qquad
              \Delta M = \big(1 + s - F'(M)\big)^{-1} (F(M) - M)

    Implicit steps: Newton's (s = 0) once all growth rates, the eigenvalues of F' - 1, are negative;
    while some are positive, s is twice the largest, so that a growing direction doubles and none is
    jumped over. A point is accepted if it is stable and Newton's step from it is short. One that
    rests but is unstable, such as an overlap of exchangeable units that has not specialised, is
    left along its growing direction, up or down.

    F increases in the order of matrices, so F' keeps positive matrices positive; by Perron and
    Frobenius its largest eigenvalue has a positive eigenmatrix, whose average over the symmetries
    of the target is another one. No direction that breaks a symmetry can grow faster: stability in
    the coordinates ``basis`` is stability.

    Symbols: alpha ``samples_ratio``, start ``overlap``.

    Assumes: ``basis`` spans the matrices with the target's symmetries, ``overlap`` is one of them.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.amp.averages.population import population_of
    >>> population = population_of(Problem.of("h1", noise=0.25))
    >>> found = settle_amp_overlap(population, 1.0, np.eye(1) / 2, np.eye(1)[None])
    >>> round(float(found.overlap[0, 0]), 6), found.converged
    (0.609612, True)
    """
    flow = _OverlapFlow(population, samples_ratio, basis)
    overlap, path = overlap_inside(overlap, _LOW), _FixedPointPath()
    rate, correction = np.nan, np.full((len(basis), len(basis)), np.nan)
    for count in range(1, _STEPS + 1):
        free, held = flow.free(overlap)
        residual, slopes = flow.linearised(overlap, free)
        if not (np.isfinite(residual).all() and np.isfinite(slopes).all()):
            break
        back = path.arrived(residual)
        if back is not None:
            overlap = overlap_inside(overlap - flow.matrix(back), _LOW)
            continue
        restricted = free.T @ slopes @ free
        rates, modes = np.linalg.eig(restricted)
        rate = float(rates.real.max(initial=0.0))
        slowing = 2 * (rate - 1) if rate > 1 else 0.0
        inverse = np.linalg.pinv((1 + slowing) * np.eye(len(restricted)) - restricted)
        correction = free @ inverse @ free.T + held @ held.T
        step = correction @ residual
        length = float(np.linalg.norm(step))
        step = step * min(1.0, _TRUST / max(length, 1e-300))
        moved = overlap_inside(overlap + flow.matrix(step), _LOW)
        change = float(np.abs(moved - overlap).max())
        if change < _TOLERANCE and rate < 1:
            tidy = np.where(np.abs(moved) <= 2 * _LOW, 0.0, moved)
            return Rest(tidy, True, count, rate, path.passage, path.distance, correction)
        if change < _TOLERANCE:
            growing = flow.matrix(free @ modes[:, rates.real.argmax()].real)
            growing *= np.sign(np.trace(growing)) * (1 if upward else -1)
            moved, step = overlap_inside(overlap + START * growing, _LOW), None
        path.left(residual, slopes, step)
        overlap = moved
    return Rest(overlap, False, _STEPS, rate, path.passage, path.distance, correction)


class _FixedPointPath:
    """How many iterations the way took, and whether a step jumped over a fixed point.

    Along a step the speed F(M) - M is followed by the parabola through its value and slope at the
    beginning and its value at the end: exact close to a fixed point that has just vanished, where
    nearly all of the time is spent.
    """

    def __init__(self) -> None:
        self.passage = self.distance = 0.0
        self._last: tuple[np.ndarray, float, float] | None = None

    def left(self, residual: np.ndarray, slopes: np.ndarray, step: np.ndarray | None) -> None:
        """Note the step that is being made."""
        length = 0.0 if step is None else float(np.linalg.norm(step))
        if step is None or length == 0:
            self._last = None
            return
        along = step / length
        slope = float(along @ (slopes @ along - along)) * length
        self._last = (step, float(residual @ along), slope)

    def arrived(self, residual: np.ndarray) -> np.ndarray | None:
        """Count the last step; the part of it to take back if it passed over a fixed point."""
        if self._last is None:
            return None
        step, speed, slope = self._last
        length = float(np.linalg.norm(step))
        end = float(residual @ step) / length
        if speed <= 0 or end <= _SLOWED * speed:
            self.distance += length
            return None
        bend = end - speed - slope
        lowest = speed - slope**2 / (4 * bend) if bend > 0 and 0 < -slope < 2 * bend else end
        if lowest <= 0:
            shorter = 0.25 * step
            self._last = (shorter, speed, slope / 4)
            return step - shorter
        share = np.linspace(0, 1, 201)
        speeds = np.maximum(speed + slope * share + bend * share**2, min(speed, end, lowest) / 2)
        self.passage += length * float(np.mean(1 / speeds))
        self.distance = 0.0
        return None
