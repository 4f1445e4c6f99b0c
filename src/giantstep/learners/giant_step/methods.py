"""Which of the two simulations of giant steps to run, on how many seeds at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from giantstep.errors import SettingsError
from giantstep.inputs import Gaussian, Spiked
from giantstep.learners.giant_step.direct import Direct
from giantstep.learners.giant_step.draws import Draws
from giantstep.learners.giant_step.features import LabelledFeatures
from giantstep.learners.giant_step.in_law import InLaw
from giantstep.learners.giant_step.plan import Plan

#: Numbers drawn for a step below which the call costs more than the work: there runs go together.
GROUP_NUMBERS = 1 << 21
LARGEST_GROUP = 16


class Runs(Protocol):
    """A group of runs of the same plan, one step at a time."""

    def projections(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the rows on the target's directions (runs, p, r), and their norms."""

    def step(self, number: int, progress: Callable[[float], None] | None = None) -> np.ndarray:
        """Take a gradient step; returns the moments of its noise."""

    def dropped(self) -> np.ndarray:
        """How many neurons of each run had no gradient and are gone."""

    def readout_chunks(self, number: int) -> tuple[LabelledFeatures, LabelledFeatures]:
        """Samples to fit the readout to after a step, and fresh noiseless ones to test it on."""


def choose(plan: Plan) -> tuple[str, str]:
    """The method, ``direct`` or ``in-law``, and a sentence that says why."""
    asked, obstacle = plan.settings.method, _obstacle(plan)
    if asked == "direct":
        return "direct", "method: direct, real vectors in d dimensions, as asked"
    if obstacle is None:
        how = "as asked" if asked == "in-law" else "chosen by auto"
        return "in-law", f"method: in-law, exact at a cost that ignores d, {how}"
    if asked == "in-law" and (not _is_gaussian(plan) or _own_ways(plan)):
        raise SettingsError(f"method = 'in-law': {obstacle}; use --method direct")
    if asked == "in-law":
        return "in-law", f"method: in-law, as asked; direct would be cheaper, because {obstacle}"
    return "direct", f"method: direct, chosen by auto because {obstacle}"


def _obstacle(plan: Plan) -> str | None:
    """Why the simulation in law cannot be used, or is not worth it."""
    if not _is_gaussian(plan):
        return f"inputs = {plan.inputs} are not Gaussian outside the directions that were seen"
    if _own_ways(plan):
        return f"{_own_ways(plan)} are simulated with real vectors"
    frame = largest_frame(plan)
    if frame >= plan.dim:
        return f"it follows {frame} directions, no fewer than d = {plan.dim}"
    return None


def _is_gaussian(plan: Plan) -> bool:
    return isinstance(plan.inputs, Gaussian | Spiked)


def _own_ways(plan: Plan) -> str:
    """Settings that are there for real vectors alone."""
    names = ("centre", "forget", "redraw_biases")
    return " and ".join(name for name in names if getattr(plan.settings, name))


def largest_frame(plan: Plan) -> int:
    """Directions in law: the special ones, p for the rows, and those that kept batches explore."""
    reused = plan.settings.batches == "reused"
    explored = plan.width * (plan.settings.steps if reused else 0)
    return plan.special + plan.width + explored


def begin(method: str, plan: Plan, draws: Draws) -> Runs:
    """The runs before their first step."""
    return InLaw(plan, draws) if method == "in-law" else Direct(plan, draws)


def group_size(method: str, plan: Plan) -> int:
    """How many runs share a call; it depends on the sizes, never on how many runs there are."""
    columns = plan.dim if method == "direct" else min(largest_frame(plan), plan.dim)
    samples = max(plan.samples, plan.fit_samples or 0, plan.test_samples if plan.fit_samples else 0)
    numbers = (samples + plan.width) * (columns + plan.width)
    return max(1, min(GROUP_NUMBERS // numbers, LARGEST_GROUP))
