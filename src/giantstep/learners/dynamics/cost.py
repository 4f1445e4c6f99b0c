"""What online SGD costs: chunks of samples, whatever their number, and time for each step."""

from __future__ import annotations

from giantstep.learners.cost import DRAW, EXPONENTIAL, Cost
from giantstep.learners.dynamics.plan import plan
from giantstep.learners.dynamics.simulation import CHUNK_NUMBERS
from giantstep.problem import Problem
from giantstep.settings.online_sgd import OnlineSgd

#: Multiplications of a matrix product that take as long as one turn of the compiled loop.
TURN = 8_000


def cost(problem: Problem, settings: OnlineSgd) -> Cost:
    """The rows, a few chunks, and for each step its samples, its products and its overhead."""
    resolved = plan(problem, settings)
    width, batch, columns = resolved.width, resolved.batch, resolved.columns
    step = TURN + batch * (columns * (2.0 * width + DRAW) + width * EXPONENTIAL)
    if width > 1 and resolved.rule.outside:
        step += 10.0 * TURN + 8.0 * width**3
    held = 8.0 * (4 * max(CHUNK_NUMBERS, batch * resolved.drawn) + 6 * width * (columns + width))
    sizes = f"width = {width}, batch = {batch} at dim = {resolved.dim}"
    remedy = "lower --width, --batch or --dim"
    return Cost(held, resolved.steps[-1] * step, sizes, remedy)
