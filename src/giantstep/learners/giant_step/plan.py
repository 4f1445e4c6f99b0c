"""The settings of a giant-step simulation with every size resolved to a number, and checked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from giantstep.errors import TargetError
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Inputs
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.draws import Role
from giantstep.learners.giant_step.network import Model
from giantstep.numerics.cost import needed_dim
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.neuron_readouts import readout_setting_by_neuron

#: Random points at which the target must be finite before anything is simulated.
PROBES = 4096


@dataclass(frozen=True)
class StepPlan:
    """What to simulate, in numbers. ``fit_samples`` is None where no readout is fitted.

    ``special`` counts the first axes that are unlike the others: the target's directions, and that
    of a spike beside them. ``samples`` of the batches, and ``step_sizes``, one per step.
    """

    model: Model
    settings: GiantStep
    dim: int
    rank: int
    special: int
    width: int
    samples: tuple[int, ...]
    step_sizes: tuple[float, ...]
    noise: float
    inputs: Inputs
    fit_samples: int | None
    test_samples: int

    @property
    def same_batch(self) -> bool:
        """Whether the readout is fitted on the batch of the last step."""
        return self.settings.readout_samples == "same"

    @property
    def symmetric(self) -> bool:
        """Whether every row is there twice, with opposite readouts."""
        return self.settings.readout == "symmetric-sign"

    @property
    def changes_labels(self) -> bool:
        """Whether batches lose their mean label, or their linear part too."""
        return self.settings.detrend or self.settings.centre

    @property
    def keeps_batch(self) -> bool:
        """Whether a batch of a step is looked at more than once."""
        reused = self.settings.batches == "reused"
        return reused or self.settings.detrend or (self.fit_samples is not None and self.same_batch)

    def batch_of(self, step: int) -> int:
        """The number of the batch that a step uses; before the first step, that of the first."""
        return 1 if self.settings.batches == "reused" else max(step, 1)

    def samples_of(self, batch: int) -> int:
        """Samples of a batch; the first is there even where no step is taken."""
        return self.samples[batch - 1]

    def fit_batch(self, step: int) -> tuple[Role, int, int]:
        """Role, number and size of the batch that the readout is fitted to after a step."""
        if self.same_batch:
            return Role.BATCH, self.batch_of(step), self.samples_of(self.batch_of(step))
        return Role.FIT, step, self.fit_samples or 0


def plan_giant_steps(problem: Problem, settings: GiantStep) -> StepPlan:
    """Resolve the sizes at the settings' dimension; one clear line for what cannot be simulated."""
    rank = problem.target.rank
    dim = needed_dim(settings.dim, rank)
    width = settings.width.count(dim, "width")
    readout_setting_by_neuron(settings.readout, width)  # says what is wrong with an odd width
    _check_simulated_target(problem)
    steps = max(settings.steps, 1)
    samples = tuple(size.count(dim, "samples") for size in settings.samples.over(steps))
    return StepPlan(
        model=Model(problem.target, activation(settings.activation), settings.loss),
        settings=settings,
        dim=dim,
        rank=rank,
        special=problem.inputs.special_directions(rank, dim),
        width=width,
        samples=samples,
        step_sizes=tuple(size.at(dim) for size in settings.step_size.over(steps)),
        noise=problem.noise,
        inputs=problem.inputs,
        fit_samples=_simulated_fit_samples(settings, dim, samples[-1]),
        test_samples=settings.test_samples.count(dim, "test_samples"),
    )


def _simulated_fit_samples(settings: GiantStep, dim: int, samples: int) -> int | None:
    if settings.ridge is None:
        return None
    if settings.readout_samples in (None, "same"):
        return samples
    return settings.readout_samples.count(dim, "readout_samples")


def _check_simulated_target(problem: Problem) -> None:
    target = problem.target
    rng = np.random.default_rng(0)
    latent = rng.standard_normal((PROBES, target.rank))
    values = target.numpy(latent, rng.standard_normal((PROBES, target.noises)))
    bad = np.flatnonzero(~np.isfinite(np.broadcast_to(values, PROBES)))
    if bad.size:
        point = ", ".join(f"h{k + 1}={x:.3g}" for k, x in enumerate(latent[bad[0]]))
        raise TargetError(
            f"target = {target.text!r} is not finite at {point}: "
            "use a target that is finite for every h"
        )
