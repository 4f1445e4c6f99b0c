"""Which of the two simulations of giant steps to run, on how many seeds at a time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from giantstep.errors import SettingsError
from giantstep.learners.giant_step.direct import Direct
from giantstep.learners.giant_step.draws import Draws
from giantstep.learners.giant_step.features import LabelledFeatures
from giantstep.learners.giant_step.in_law import InLaw
from giantstep.learners.giant_step.memory import require
from giantstep.learners.giant_step.plan import Plan
from giantstep.learners.giant_step.readout_errors import HELD_NUMBERS
from giantstep.learners.giant_step.samples import most_rows

#: Numbers drawn for a step below which the call costs more than the work: there runs go together.
GROUP_NUMBERS = 1 << 21
LARGEST_GROUP = 16


class Runs(Protocol):
    """A group of runs of the same plan, one step at a time."""

    def projections(self) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates of the rows on the target's directions (runs, p, r), and their norms."""

    def step(self, number: int, progress: Callable[[float], None] | None = None) -> np.ndarray:
        """Take a gradient step; returns the moments of its noise."""

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
    if asked == "in-law" and plan.on_sphere:
        raise SettingsError(f"method = 'in-law': {obstacle}; use --method direct")
    if asked == "in-law":
        return "in-law", f"method: in-law, as asked; direct would be cheaper, because {obstacle}"
    return "direct", f"method: direct, chosen by auto because {obstacle}"


def _obstacle(plan: Plan) -> str | None:
    """Why the simulation in law cannot be used, or is not worth it."""
    if plan.on_sphere:
        return "inputs on a sphere are not Gaussian outside the directions that were seen"
    frame = _largest_frame(plan)
    if frame >= plan.dim:
        return f"it follows {frame} directions, no fewer than d = {plan.dim}"
    return None


def _largest_frame(plan: Plan) -> int:
    """Directions in law: the target's, p for the rows, and those that kept batches explore."""
    reused = plan.settings.batches == "reused"
    explored = plan.width * (plan.settings.steps if reused else 0)
    return plan.rank + plan.width + explored


def begin(method: str, plan: Plan, draws: Draws) -> Runs:
    """The runs before their first step."""
    return InLaw(plan, draws) if method == "in-law" else Direct(plan, draws)


def group_size(method: str, plan: Plan) -> int:
    """How many runs share a call; it depends on the sizes, never on how many runs there are."""
    columns = plan.dim if method == "direct" else min(_largest_frame(plan), plan.dim)
    samples = max(plan.samples, plan.fit_samples or 0, plan.test_samples if plan.fit_samples else 0)
    numbers = (samples + plan.width) * (columns + plan.width)
    return max(1, min(GROUP_NUMBERS // numbers, LARGEST_GROUP))


def check_memory(method: str, plan: Plan) -> None:
    """Refuse a plan that needs more memory than the machine has."""
    size = 8 if plan.settings.dtype == "float64" else 4
    width, samples, fit = plan.width, plan.samples, plan.fit_samples or 0
    held = fit * width if fit < width or fit * width <= HELD_NUMBERS else 0
    needed = 8 * (3 * held + 4 * width**2 * bool(fit))
    if method == "direct":
        rows = min(most_rows(plan.dim, width), max(samples, fit))
        needed += size * (4 * width * plan.dim + 4 * rows * (plan.dim + width))
        kept = size * samples * plan.dim if plan.settings.batches == "reused" else 0
        remedy = "lower --width or --dim, or use --method in-law"
    else:
        frame = min(_largest_frame(plan) + width * plan.keeps_batch, plan.dim)
        rows = min(most_rows(frame, width), max(samples, fit))
        needed += 8 * 6 * width * (frame + width) + size * 4 * rows * (frame + width)
        kept = 8 * samples * (3 * frame + 2 * width) if plan.keeps_batch else 0
        remedy = "lower --width"
    if kept > needed:
        require(
            needed + kept, f"keeping samples = {samples} at dim = {plan.dim}", "lower --samples"
        )
    require(needed + kept, f"width = {width} at dim = {plan.dim}", remedy)
