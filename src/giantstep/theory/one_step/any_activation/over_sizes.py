"""The risk for any activation as a function of the sizes of step and fit."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import fixed_width
from giantstep.theory.giant_step.risk.finite_size import NONE, Ratios, component_ratio
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.giant_step.risk.gradient_step import first_layers
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.prediction import features_without_steps
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.one_step.any_activation.finite_size_ratio import finite_size_ratio
from giantstep.theory.one_step.any_activation.start_law import start_of
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step


class Errors(NamedTuple):
    """Excess test error and train error; NaN where the equations were not solved.

    ``correction``: the factor of order 1/d that they include, None where one is wanted but not
    to be trusted. ``amplified``: the factor, included too, of amplified components of the rows;
    ``unknown``: the share of what that changes which is not known.
    """

    test: float
    train: float
    converged: bool
    correction: Ratios | None
    amplified: Ratios = NONE
    unknown: float = 0.0


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
        self._network: tuple[tuple[float, float], Readout] | None = None
        self._state: State | None = None

    @functools.cached_property
    def start(self) -> Neurons:
        """The network before the step, in blocks of neurons."""
        return start_of(self.settings, coarse=self._coarse)

    def network(self, sizes: Sizes) -> Readout:
        """The network after the step, kept for as long as the step stays the same."""
        key = float(sizes.step_size), float(sizes.samples_ratio)
        if self._network is None or self._network[0] != key:
            *_, layer = first_layers(
                self.problem,
                self.sigma,
                self.start,
                step_sizes=[key[0]],
                samples_ratios=[key[1]],
                loss=self.settings.loss,
                coarse=self._coarse,
            )
            found = Readout(self.problem, self.sigma, layer, coarse=self._coarse)
            self._network = key, found
        return self._network[1]

    def at(self, sizes: Sizes, *, corrected: bool = True) -> Errors:
        """The risk at these sizes, ``corrected`` by what is known at order 1/d."""
        samples, width = sizes.readout_samples_ratio, sizes.width_ratio
        fit = Fit.of(samples, width, sizes.ridge, self.step.dim)
        found = readout_risk(self.network(sizes), fit, near=self._state)
        self._state = found.state or self._state
        if not found.converged:
            return Errors(math.nan, math.nan, False, NONE)
        correction: Ratios | None = NONE
        if self.corrected and corrected:
            correction = finite_size_ratio(self.problem, self.sigma, self.step, sizes)
        factor, amplified, unknown = correction or NONE, NONE, 0.0
        if corrected and self.settings.dim is not None:
            amplified, unknown = component_ratio(self.network(sizes), self.sigma, fit)
        test = (found.test - self.problem.noise) * factor.test * amplified.test
        train = found.train * factor.train * amplified.train
        return Errors(test, train, True, correction, amplified, unknown)

    def without_step(self, sizes: Sizes) -> float:
        """Excess risk of the same fit before the step."""
        if self.settings.dim is not None and self.plain:
            given = self.settings.replace(ridge=sizes.ridge)
            return features_without_steps(self.problem, given, math.nan, math.nan)[0]
        # Two neurons with one row are one neuron: their readouts add, and the penalty is the same.
        width = sizes.width_ratio / (2 if self.paired else 1)
        fit = Fit.of(sizes.readout_samples_ratio, width, sizes.ridge)
        return readout_risk(self._still, fit).test - self.problem.noise

    @functools.cached_property
    def _still(self) -> Readout:
        """The network that does not move: one kind for each bias."""
        biases, places = np.unique(self.start.biases, return_inverse=True)
        law = biases, np.bincount(places, weights=self.start.fractions)
        (layer,) = first_layers(
            self.problem,
            self.sigma,
            Neurons.of([1.0], biases=law),
            step_sizes=(),
            samples_ratios=(),
        )
        return Readout(self.problem, self.sigma, layer)
