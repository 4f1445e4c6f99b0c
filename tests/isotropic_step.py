"""The risk after one step whose rows are taken as isotropic, which corrections of order 1/d use."""

from __future__ import annotations

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.start_law import CELLS
from giantstep.theory.one_step.stepped_network import one_step
from giantstep.theory.spiked_random_features.finite_size import Version


def isotropic_risk(
    problem: Problem, settings: GiantStep, version: Version | None = None, cells: int = CELLS
) -> float:
    """Excess test error."""
    step, sizes = one_step(problem, settings, version, cells)
    risk = step.risk(activation(settings.activation), problem, sizes)
    assert risk.converged
    return float(risk.test) - problem.noise
