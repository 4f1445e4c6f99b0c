"""What giant steps cost: memory that does not grow with the samples unless a batch is kept."""

from __future__ import annotations

from giantstep.learners.cost import DRAW, EXPONENTIAL, Cost, ridge_fit
from giantstep.learners.giant_step.methods import choose, largest_frame
from giantstep.learners.giant_step.plan import Plan, plan
from giantstep.learners.giant_step.readout_errors import HELD_NUMBERS
from giantstep.learners.giant_step.samples import most_rows
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep


def cost(problem: Problem, settings: GiantStep) -> Cost:
    """Chunks of samples, the neurons, a batch where it is kept, and the readout's fit."""
    resolved = plan(problem, settings)
    method, _ = choose(resolved)
    columns = resolved.dim
    if method == "in-law":
        columns = min(largest_frame(resolved) + resolved.width * resolved.keeps_batch, columns)
    fixed, kept, remedy = _bytes(method, resolved, columns)
    sizes = f"width = {resolved.width} at dim = {resolved.dim}"
    if kept > fixed:
        sizes, remedy = (
            f"keeping samples = {resolved.samples} at dim = {resolved.dim}",
            "lower --samples",
        )
    return Cost(fixed + kept, _operations(resolved, columns), sizes, remedy)


def _bytes(method: str, resolved: Plan, columns: int) -> tuple[float, float, str]:
    """What is held whatever the samples are, what is held of a kept batch, and a remedy."""
    size = 8 if resolved.settings.dtype == "float64" else 4
    width, samples, fit = resolved.width, resolved.samples, resolved.fit_samples or 0
    held = fit * width if fit < width or fit * width <= HELD_NUMBERS else 0
    rows = min(most_rows(columns, width), max(samples, fit))
    fixed = 8 * (3.0 * held + 4 * width**2 * bool(fit)) + size * 4 * rows * (columns + width)
    if method == "direct":
        reused = resolved.settings.batches == "reused"
        kept = float(size * samples * columns) if reused else 0.0
        remedy = "lower --width or --dim, or use --method in-law"
        return fixed + size * 4.0 * width * columns, kept, remedy
    kept = 8.0 * samples * (3 * columns + 2 * width) if resolved.keeps_batch else 0.0
    return fixed + 8 * 6.0 * width * (columns + width), kept, "lower --width"


def _operations(resolved: Plan, columns: int) -> float:
    """Two products with each batch, one with the samples of each fit, and their drawing."""
    settings, width = resolved.settings, resolved.width
    steps, fit = settings.steps, resolved.fit_samples or 0
    drawn = 1 if settings.batches == "reused" else steps
    batches = resolved.samples * (
        steps * width * (2.0 * columns + EXPONENTIAL) + drawn * columns * DRAW
    )
    if not fit:
        return batches
    seen = fit + resolved.test_samples
    readout = seen * (columns * (width + DRAW) + width * EXPONENTIAL) + ridge_fit(fit, width)
    return batches + (steps + 1) * readout
