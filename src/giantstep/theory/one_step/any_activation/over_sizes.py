"""The risk for any activation as a function of the sizes of step and fit."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from giantstep.activations.activation import activation
from giantstep.errors import NoTheory
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import fixed_width
from giantstep.targets.integration import block_of, integrable
from giantstep.theory.one_step.alignment import ISOTROPIC, NEGLIGIBLE, row_anisotropy
from giantstep.theory.one_step.any_activation.equations import Fit, SteppedNetwork
from giantstep.theory.one_step.any_activation.finite_size_ratio import (
    NONE,
    Ratios,
    finite_size_ratio,
    fit_of,
)
from giantstep.theory.one_step.any_activation.network import Start, network_after_step
from giantstep.theory.one_step.any_activation.risk import any_activation_risk
from giantstep.theory.one_step.any_activation.start_law import start_of
from giantstep.theory.one_step.any_activation.unknowns import State
from giantstep.theory.one_step.small_step_prediction import without_step
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.spiked_features.conditional_features import LIMIT


class Errors(NamedTuple):
    """Excess test error and train error; NaN where the equations were not solved.

    ``correction``: the factor of order 1/d that they include, None where one is wanted but not
    to be trusted.
    """

    test: float
    train: float
    converged: bool
    correction: Ratios | None


class RiskOverSizes:
    """The risk of a problem and settings at any sizes; neighbouring points help each other."""

    def __init__(
        self,
        problem: Problem,
        settings: GiantStep,
        *,
        coarse: bool = False,
    ) -> None:
        self.problem, self.settings = problem, settings
        self.sigma = activation(settings.activation)
        self.paired = settings.readout == "symmetric-sign"
        # The isotropic theory checks the settings, and knows independent rows without biases.
        plain = settings.replace(biases="none")
        if self.paired:
            # Pairs start silent.
            plain = plain.replace(readout="ones", loss="correlation")
        step, self.sizes = one_step(problem, plain)
        if settings.biases != "none" and fixed_width(settings):
            raise NoTheory(
                f"width = {settings.width} with biases = {settings.biases}: without a dimension "
                "the law of biases needs many neurons; give a multiple of d, such as 1d, or --dim"
            )
        self.step: OneStep = step
        #: Whether the rows start as the isotropic theory, and corrections of order 1/d, know them.
        self.plain = plain == settings
        self.corrected = step.resolved and self.plain
        self._coarse = coarse
        self._network: tuple[tuple[float, float], SteppedNetwork] | None = None
        self._state: State | None = None

    @functools.cached_property
    def start(self) -> Start:
        """The network before the step, in blocks of neurons."""
        return start_of(self.settings, self.sigma, coarse=self._coarse)

    def isotropic(self, sizes: Sizes) -> bool:
        """Whether the rows after the step are isotropic, or the theory of others does not apply."""
        if not self.plain or fixed_width(self.settings):
            return False
        if not integrable(block_of(self.problem.target)):
            return True
        steps = sizes.step_size * self.step.readout
        uneven = row_anisotropy(self.step.signal, sizes.samples_ratio, steps)
        return self.bends_no_rows and float(np.max(uneven)) <= ISOTROPIC

    @property
    def bends_no_rows(self) -> bool:
        """Whether mu_2 = 0: a step on many samples then leaves the rows isotropic."""
        return self.plain and abs(self.step.signal.mu_2) <= NEGLIGIBLE

    def network(self, sizes: Sizes) -> SteppedNetwork:
        """The network after the step, kept for as long as the step stays the same."""
        key = float(sizes.step_size), float(sizes.samples_ratio)
        if self._network is None or self._network[0] != key:
            found = network_after_step(
                self.problem,
                self.sigma,
                self.start,
                step_size=key[0],
                samples_ratio=key[1],
                coarse=self._coarse,
            )
            self._network = key, found
        return self._network[1]

    def at(self, sizes: Sizes, *, corrected: bool = True) -> Errors:
        """The risk at these sizes, ``corrected`` by what is known at order 1/d."""
        fit = fit_of(sizes, self.step.dim)
        found = any_activation_risk(self.network(sizes), fit, near=self._state)
        self._state = found.state or self._state
        if not found.converged:
            return Errors(math.nan, math.nan, False, NONE)
        correction: Ratios | None = NONE
        if self.corrected and corrected:
            correction = finite_size_ratio(self.problem, self.sigma, self.step, sizes)
        factor = correction or NONE
        test = (found.test - self.problem.noise) * factor.test
        return Errors(test, found.train * factor.train, True, correction)

    def without_step(self, sizes: Sizes) -> float:
        """Excess risk of the same fit before the step, in the limit."""
        if self.plain and not fixed_width(self.settings):
            return without_step(self.problem, self.sigma, sizes)["random_features_error"]
        # Two neurons with one row are one neuron: their readouts add, and the penalty is the same.
        width = sizes.width_ratio / (2 if self.paired else 1)
        fit = Fit(sizes.readout_samples_ratio, width, sizes.ridge * width, LIMIT)
        return any_activation_risk(self._still, fit).test - self.problem.noise

    @functools.cached_property
    def _still(self) -> SteppedNetwork:
        """The network that does not move: one block for each bias."""
        biases, places = np.unique(self.start.biases, return_inverse=True)
        law = biases, np.bincount(places, weights=self.start.fractions)
        start = Start.of([1.0], biases=law)
        return network_after_step(self.problem, self.sigma, start, step_size=0.0, samples_ratio=1.0)
