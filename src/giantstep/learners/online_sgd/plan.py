"""Online SGD with every size resolved to a number and checked, and its random numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.learners.methods import simulation_method
from giantstep.numerics.cost import needed_dim
from giantstep.settings.online_sgd import OnlineSgd


@dataclass(frozen=True)
class SgdRule:
    """What one step computes; hashable, so that it can be a static argument of `jax.jit`.

    ``outside`` tells that samples have a part outside the frame, known by its length alone.
    """

    target: Target
    activation: Activation
    loss: str
    geometry: str
    looks_ahead: bool
    outside: bool
    until: bool


class Constants(NamedTuple):
    """Numbers in float64 that do not change the code: no new compilation for another step size.

    ``gain`` is what multiplies the mean move of a batch.
    """

    gain: Any
    lookahead: Any
    noise: Any
    until: Any
    dim: Any
    readout: Any


@dataclass(frozen=True)
class SgdPlan:
    """What to simulate, in numbers. ``columns`` is the size of the frame of the rows."""

    rule: SgdRule
    constants: Constants
    settings: OnlineSgd
    note: str
    dim: int
    rank: int
    width: int
    columns: int
    start: np.ndarray | None
    steps: tuple[int, ...]
    test_samples: int

    @property
    def drawn(self) -> int:
        """Standard normals of one sample: coordinates in the frame, inner and label noise."""
        return self.columns + self.rule.target.noises + 1

    @property
    def bartlett(self) -> int:
        """Size of the triangular factor of a batch outside the frame."""
        return min(self.settings.batch, self.width) if self.rule.outside else 0


def plan_online_sgd(problem: Problem, settings: OnlineSgd) -> SgdPlan:
    """Resolve the sizes at the settings' dimension; one clear line for what cannot be simulated."""
    rank = problem.target.rank
    dim = needed_dim(settings.dim, rank)
    checked_input_law(
        problem.inputs,
        (Gaussian,),
        "steps on fresh samples are simulated",
        SettingsError,
        "steps are drawn in law, from overlaps alone, which isotropy makes possible",
    )
    width = settings.width.count(dim, "width")
    start = settings.start_overlaps(rank, width, dim)
    method, note = _choose_sgd_simulation(settings, dim, rank, width)
    in_law = method == "in-law"
    steps = tuple(round(time * dim / settings.batch) for time in settings.time_list)
    if steps[-1] > 2**53:
        raise SettingsError(f"times = {settings.times}: {steps[-1]:.3g} steps at d = {dim}")
    rule = SgdRule(
        target=problem.target,
        activation=activation(settings.activation),
        loss=settings.loss,
        geometry=settings.geometry,
        looks_ahead=settings.lookahead != 0,
        outside=in_law,
        until=settings.until is not None,
    )
    constants = Constants(
        gain=np.float64(settings.step_size.at(dim) * settings.batch / dim),
        lookahead=np.float64(settings.lookahead),
        noise=np.float64(problem.noise),
        until=np.float64(settings.until or 0.0),
        dim=np.float64(dim),
        readout=np.array(settings.readouts(width)),
    )
    return SgdPlan(
        rule=rule,
        constants=constants,
        settings=settings,
        note=note,
        dim=dim,
        rank=rank,
        width=width,
        columns=rank + width if in_law else dim,
        start=None if start is None else np.array(start),
        steps=steps,
        # Quasi-random points come in powers of two.
        test_samples=1 << (settings.test_samples.count(dim, "test_samples") - 1).bit_length(),
    )


def _choose_sgd_simulation(settings: OnlineSgd, dim: int, rank: int, width: int) -> tuple[str, str]:
    """The method, ``direct`` or ``in-law``, and a sentence that says why."""
    obstacle = None
    if settings.lookahead and settings.batch > 1:
        obstacle = "the law of a look ahead is known for one sample at a time (--batch 1)"
    elif dim <= rank + 2 * width:
        obstacle = f"it follows {rank + 2 * width} directions, no fewer than d = {dim}"
    return simulation_method(settings.method, obstacle)


class SgdDraws:
    """Rows at the start, then samples and what lies outside their frame, step after step."""

    def __init__(self, plan: SgdPlan, seeds: list[int]) -> None:
        self._plan = plan
        self._start, self._normals, self._factors = (
            [np.random.default_rng([seed, role]) for seed in seeds] for role in range(3)
        )

    def rows(self) -> Float[np.ndarray, "runs p s"]:
        """First rows of unit norm: with the cosines that were asked for, else uniform."""
        return np.stack([self._rows(rng) for rng in self._start])

    def normals(self, count: int) -> Float[np.ndarray, "runs count batch n"]:
        """Standard normals of the next samples."""
        drawn = np.empty((len(self._normals), count, self._plan.settings.batch, self._plan.drawn))
        for rng, own in zip(self._normals, drawn, strict=True):
            rng.standard_normal(out=own)
        return drawn

    def factors(self, count: int) -> Float[np.ndarray, "runs count k k"]:
        """Bartlett factors of the next batches: what they show outside the frame."""
        size = self._plan.bartlett
        if size == 0:
            return np.zeros((len(self._factors), count, 0, 0))
        freedom = self._plan.dim - self._plan.columns
        return np.stack([_draw_bartlett_factor(rng, count, size, freedom) for rng in self._factors])

    def _rows(self, rng: np.random.Generator) -> Float[np.ndarray, "p s"]:
        plan = self._plan
        twins = plan.settings.readout == "symmetric-sign"
        distinct = plan.width // 2 if twins else plan.width
        known = rng.standard_normal((distinct, plan.rank))
        if plan.rule.outside:
            rest = np.zeros((distinct, plan.width))
            rest[:, :distinct] = _draw_bartlett_factor(rng, 1, distinct, plan.dim - plan.rank)[0]
        else:
            rest = rng.standard_normal((distinct, plan.dim - plan.rank))
        if plan.start is not None:
            known = plan.start[:distinct]
            room = np.sqrt(np.maximum(1 - np.sum(known**2, axis=1), 0.0))
            rest = rest * (room / np.linalg.norm(rest, axis=1))[:, None]
        rows = np.concatenate([known, rest], axis=1)
        rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
        return np.concatenate([rows, rows]) if twins else rows


def _draw_bartlett_factor(
    rng: np.random.Generator, count: int, size: int, freedom: int
) -> Float[np.ndarray, "count k k"]:
    """Lower triangular T: T T^T has the law of G G^T, G of that many rows and columns N(0, 1).

    One number after the other, so that a chunk's length does not matter.
    """
    if size == 1:
        return np.sqrt(rng.chisquare(freedom, (count, size, size)))
    factors = np.zeros((count, size, size))
    below = np.tril_indices(size, -1)
    freedoms = freedom - np.arange(size)
    for factor in factors:
        factor[np.diag_indices(size)] = np.sqrt(rng.chisquare(freedoms))
        factor[below] = rng.standard_normal(len(below[0]))
    return factors
