"""The risk for any activation as a function of the sizes of step and fit."""

from __future__ import annotations

import math
from typing import NamedTuple

from giantstep.activations.activation import Activation, activation
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation.anisotropy import (
    NONE,
    Ratios,
    finite_size_ratio,
    fit_of,
)
from giantstep.theory.one_step.any_activation.equations import SteppedNetwork
from giantstep.theory.one_step.any_activation.network import network_after_step
from giantstep.theory.one_step.any_activation.risk import any_activation_risk
from giantstep.theory.one_step.any_activation.start_law import start_of
from giantstep.theory.one_step.any_activation.unknowns import State
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.spiked_features.finite_size import Version

#: Second Hermite coefficients below this leave the rows isotropic across the learned direction.
NEGLIGIBLE = 1e-8


class Errors(NamedTuple):
    """Excess test error and train error; NaN where the equations were not solved.

    ``correction``: the factor of order 1/d that they include, None where one is wanted but not
    to be trusted.
    """

    test: float
    train: float
    converged: bool
    correction: Ratios | None


def needs_any_activation(sigma: Activation, settings: GiantStep) -> bool:
    r"""Whether the isotropic theory is not exact, or does not cover the start.

    .. math:: \mu_2 = E[\sigma(z)(z^2-1)] \ne 0

    Also for pairs of equal first rows, and for biases, whose laws mix activations.

    Assumes: one step from rows on the sphere or Gaussian.
    Status: heuristic.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> relu, tanh = (activation(name) for name in ("relu", "tanh"))
    >>> ones = GiantStep(readout="ones")
    >>> [needs_any_activation(sigma, ones) for sigma in (relu, tanh)]
    [True, False]
    >>> needs_any_activation(tanh, GiantStep(readout="symmetric-sign"))
    True
    """
    starts = settings.readout == "symmetric-sign" or settings.biases != "none"
    return starts or abs(float(sigma.hermite(2)[2])) > NEGLIGIBLE


class RiskOverSizes:
    """The risk of a problem and settings at any sizes; neighbouring points help each other."""

    def __init__(
        self,
        problem: Problem,
        settings: GiantStep,
        version: Version | None = None,
        *,
        coarse: bool = False,
    ) -> None:
        self.problem, self.sigma = problem, activation(settings.activation)
        # The isotropic theory checks the settings, and knows independent rows without biases.
        plain = settings.replace(biases="none")
        if settings.readout == "symmetric-sign":
            plain = plain.replace(readout="sign")
        step, self.sizes = one_step(problem, plain, version)
        self.step: OneStep = step
        self.start = start_of(settings, self.sigma, coarse=coarse)
        # Corrections of order 1/d are known for independent rows without biases.
        self.correctable = plain == settings
        self.corrected = self.correctable and step.resolved
        self._coarse = coarse
        self._network: tuple[tuple[float, float], SteppedNetwork] | None = None
        self._state: State | None = None

    def network(self, sizes: Sizes) -> SteppedNetwork:
        """The network after the step, kept for as long as the step stays the same."""
        key = float(sizes.step_size), float(sizes.samples_ratio)
        if self._network is None or self._network[0] != key:
            found = network_after_step(
                self.problem,
                self.sigma,
                self.start,
                step_size=key[0],
                samples=key[1],
                coarse=self._coarse,
            )
            self._network = key, found
        return self._network[1]

    def at(self, sizes: Sizes) -> Errors:
        """The risk at these sizes, with its corrections of order 1/d."""
        fit = fit_of(sizes, self.step.dim)
        found = any_activation_risk(self.network(sizes), fit, near=self._state)
        self._state = found.state or self._state
        if not found.converged:
            return Errors(math.nan, math.nan, False, NONE)
        correction: Ratios | None = NONE
        if self.corrected:
            correction = finite_size_ratio(self.problem, self.sigma, self.step, sizes)
        factor = correction or NONE
        test = (found.test - self.problem.noise) * factor.test
        return Errors(test, found.train * factor.train, True, correction)
