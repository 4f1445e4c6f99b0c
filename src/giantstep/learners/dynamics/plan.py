"""The settings of online SGD with every size resolved to a number, and checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giantstep.activations.activation import Activation, activation
from giantstep.errors import SettingsError
from giantstep.inputs import Gaussian, check_covered
from giantstep.problem import Problem
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.targets import Target


@dataclass(frozen=True)
class Rule:
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


@dataclass(frozen=True)
class Plan:
    """What to simulate, in numbers. ``columns`` is the size of the frame of the rows."""

    rule: Rule
    settings: OnlineSgd
    note: str
    dim: int
    rank: int
    width: int
    batch: int
    columns: int
    step_size: float
    noise: float
    readout: np.ndarray
    start: np.ndarray | None
    steps: tuple[int, ...]
    test_samples: int

    @property
    def gain(self) -> float:
        """What multiplies the mean move of a batch."""
        return self.step_size * self.batch / self.dim

    @property
    def drawn(self) -> int:
        """Standard normals of one sample: coordinates in the frame, inner and label noise."""
        return self.columns + self.rule.target.noises + 1

    @property
    def bartlett(self) -> int:
        """Size of the triangular factor of a batch outside the frame."""
        return min(self.batch, self.width) if self.rule.outside else 0


def plan(problem: Problem, settings: OnlineSgd) -> Plan:
    """Resolve the sizes at the settings' dimension; one clear line for what cannot be simulated."""
    dim = settings.dim
    if dim is None:
        raise SettingsError("dim is missing: a simulation needs the dimension d, give --dim")
    check_covered(
        problem.inputs,
        (Gaussian,),
        "steps on fresh samples are simulated",
        SettingsError,
        "steps are drawn in law, from overlaps alone, which isotropy makes possible",
    )
    rank = problem.target.rank
    if rank > dim:
        raise SettingsError(f"dim = {dim} is below the target's {rank} directions: raise --dim")
    width = settings.width.count(dim, "width")
    start = settings.start_overlaps(rank, width, dim)
    in_law, note = _method(settings, dim, rank, width)
    steps = tuple(round(time * dim / settings.batch) for time in settings.time_list)
    if steps[-1] > 2**53:
        raise SettingsError(f"times = {settings.times}: {steps[-1]:.3g} steps at d = {dim}")
    rule = Rule(
        *(problem.target, activation(settings.activation), settings.loss, settings.geometry),
        *(settings.lookahead != 0, in_law, settings.until is not None),
    )
    return Plan(
        rule=rule,
        settings=settings,
        note=note,
        dim=dim,
        rank=rank,
        width=width,
        batch=settings.batch,
        columns=rank + width if in_law else dim,
        step_size=settings.step_size.at(dim),
        noise=problem.noise,
        readout=np.array(settings.readouts(width)),
        start=None if start is None else np.array(start),
        steps=steps,
        # Quasi-random points come in powers of two.
        test_samples=1 << (settings.test_samples.count(dim, "test_samples") - 1).bit_length(),
    )


def _method(settings: OnlineSgd, dim: int, rank: int, width: int) -> tuple[bool, str]:
    """Whether to run in law, and a sentence that says why."""
    obstacle = None
    if settings.lookahead and settings.batch > 1:
        obstacle = "the law of a look ahead is known for one sample at a time (--batch 1)"
    elif dim <= rank + 2 * width:
        obstacle = f"it follows {rank + 2 * width} directions, no fewer than d = {dim}"
    if settings.method == "in-law" and obstacle:
        raise SettingsError(f"method = 'in-law': {obstacle}; use --method direct")
    if settings.method == "direct":
        return False, "method: direct, real vectors in d dimensions, as asked"
    if obstacle:
        return False, f"method: direct, chosen by auto because {obstacle}"
    how = "as asked" if settings.method == "in-law" else "chosen by auto"
    return True, f"method: in-law, exact at a cost that ignores d, {how}"
