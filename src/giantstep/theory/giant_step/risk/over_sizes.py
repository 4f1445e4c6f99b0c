"""The risk after any number of giant steps as a function of the sizes of steps and fit."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.random_features import RandomFeatures
from giantstep.settings.ratios import step_settings_over_dim, step_size_settings
from giantstep.theory.giant_step.risk.bounds import functional_bounds, network_error
from giantstep.theory.giant_step.risk.finite_size import (
    NONE,
    Ratios,
    component_ratio,
    isotropic_ratio,
    one_step_ratio,
)
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.giant_step.risk.gradient_step import limit_layers
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.sizes import RiskSizes, check_risk_covered, dimension
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.giant_step.start_law import limit_start_law
from giantstep.theory.one_step.stepped_network import one_step


class RiskErrors(NamedTuple):
    """Excess test error and train error; NaN where the equations were not solved.

    ``correction``: the factor of order 1/d that they include, None where one is wanted but not
    to be trusted. ``amplified``: the factor, included too, of amplified components of the rows;
    ``unknown``: the share of what that changes which is not known.
    """

    test: float
    train: float
    converged: bool = True
    correction: Ratios | None = NONE
    amplified: Ratios = NONE
    unknown: float = 0.0

    @property
    def plain(self) -> Ratios:
        """The two errors without these factors."""
        factor = self.correction or NONE
        return Ratios(
            self.test / (factor.test * self.amplified.test),
            self.train / (factor.train * self.amplified.train),
        )


class RiskOverSizes:
    """The risk of a problem and settings at any sizes."""

    def __init__(
        self,
        problem: Problem,
        settings: GiantStep,
        *,
        coarse: bool = False,
        along: Sequence[float] = (),
    ) -> None:
        check_risk_covered(problem, settings)
        #: Further ridges that will be asked for, which are solved together with the first.
        self.along = np.array(along)
        self.problem, self.settings, self._coarse = problem, settings, coarse
        self._of_any_ridge = settings.replace(ridge=1.0)
        self.sigma = activation(settings.activation)
        #: The network before its steps, in kinds of neurons.
        self.start = limit_start_law(settings, coarse=coarse)
        self.sizes, self.dim = RiskSizes.of(settings), dimension(settings)
        #: Whether the rows start as the isotropic theory, and corrections of order 1/d, know them.
        self.spike = problem.inputs.spike
        self.plain = not self.start.paired and settings.biases == "none" and not self.spike
        self.corrected = self.plain and settings.dim is not None
        # After one step more is known at order 1/d, but not once rows are back on the sphere.
        known = self.corrected and settings.steps > 0 and not settings.normalise
        self._step = one_step(problem, settings)[0] if known else None

    @property
    def version(self) -> str:
        """How corrections of order 1/d are found."""
        return self._step.version if self._step and self.settings.steps == 1 else "fitting-cost"

    def steps(self, sizes: RiskSizes) -> Steps:
        """The first layers at these sizes, and readouts fitted to them."""
        given = sizes.step_sizes, sizes.samples_ratios
        return _kept(self.problem, self._of_any_ridge, given, self._coarse)

    def at(
        self,
        sizes: RiskSizes,
        after: int | None = None,
        *,
        corrected: bool = True,
        dim: float | None = None,
    ) -> RiskErrors:
        """The risk at these sizes, ``corrected`` by what is known at order 1/d.

        ``after`` a number of the steps, by default all of them; ``dim``: with spikes as strong as
        at another dimension.
        """
        after = len(sizes.step_sizes) if after is None else after
        if after == 0:
            return self._without_steps(sizes, corrected)
        readout = self.steps(sizes).readout(after)
        fit = Fit.of(sizes.readout_samples_ratio, sizes.width_ratio, sizes.ridge, dim or self.dim)
        along = tuple((self.along * sizes.width_ratio).tolist())
        found = readout_risk(readout, fit, along)
        if not found.converged:
            return RiskErrors(math.nan, math.nan, False)
        correction: Ratios | None = NONE
        if corrected and self.corrected:
            correction = (
                one_step_ratio(self.problem, self.sigma, self._step, sizes)
                if after == 1 and self._step
                else isotropic_ratio(readout, fit)
            )
        factor, amplified, unknown = correction or NONE, NONE, 0.0
        if corrected and self.settings.dim is not None and not self.spike:
            amplified, unknown = component_ratio(readout, self.sigma, fit, along)
        test = (found.test - self.problem.noise) * factor.test * amplified.test
        train = found.train * factor.train * amplified.train
        return RiskErrors(test, train, True, correction, amplified, unknown)

    def _without_steps(self, sizes: RiskSizes, corrected: bool) -> RiskErrors:
        """The risk of the same fit before the first step: that of random features."""
        width = sizes.width_ratio / (2 if self.start.paired else 1)
        known = self.settings.biases == "none" and not self.spike
        if corrected and self.settings.dim is not None and known:
            given = self.settings.replace(ridge=sizes.ridge)
            return RiskErrors(*features_without_steps(self.problem, given))
        fit = Fit.of(sizes.readout_samples_ratio, width, sizes.ridge)
        along = tuple((self.along * width).tolist())
        found = readout_risk(self.steps(sizes).still, fit, along)
        return RiskErrors(found.test - self.problem.noise, found.train, found.converged)


class Steps:
    """The first layers before the first step and after each, and readouts fitted to them."""

    def __init__(
        self, problem: Problem, settings: GiantStep, given: tuple[Any, Any], coarse: bool
    ) -> None:
        self.problem, self.sigma = problem, activation(settings.activation)
        self.start = limit_start_law(settings, coarse=coarse)
        self.layers = list(
            limit_layers(
                problem,
                self.sigma,
                self.start,
                step_sizes=given[0],
                samples_ratios=given[1],
                loss=settings.loss,
                coarse=coarse,
            )
        )
        self.readout = functools.cache(
            lambda after: Readout(problem, self.sigma, self.layers[after], coarse=coarse)
        )

    @functools.cached_property
    def network(self) -> dict[str, Any]:
        """What the network does after each step without a fit, and what no fit undercuts."""
        readouts = [self.readout(after) for after in range(len(self.layers))]
        own = np.array([network_error(readout) for readout in readouts])
        return {"network_error": own, **functional_bounds(readouts[-1])}

    @functools.cached_property
    def still(self) -> Readout:
        """The network that does not move: one kind for each bias."""
        biases, places = np.unique(self.start.biases, return_inverse=True)
        law = biases, np.bincount(places, weights=self.start.fractions)
        neurons = Neurons.of([1.0], biases=law, gaussian=self.start.gaussian)
        (layer,) = limit_layers(self.problem, self.sigma, neurons, step_sizes=(), samples_ratios=())
        return Readout(self.problem, self.sigma, layer)


_kept = functools.lru_cache(maxsize=4)(Steps)


def steps_of(problem: Problem, settings: GiantStep, *, coarse: bool = False) -> Steps:
    """Steps of the settings' sizes. The last are kept: no ridge changes them."""
    given = tuple(step_size_settings(settings)), tuple(step_settings_over_dim(settings))
    return _kept(problem, settings.replace(ridge=1.0), given, coarse)


def features_without_steps(problem: Problem, settings: GiantStep) -> tuple[float, float]:
    """Test and train error before the first step at finite d, without biases."""
    from giantstep.theory.random_features import predict

    width = settings.width
    if settings.readout == "symmetric-sign":
        # Two neurons with one row are one neuron: their readouts add, and the penalty is the same.
        width = dataclasses.replace(width, coefficient=width.coefficient / 2)
    features = RandomFeatures(
        dim=settings.dim,
        samples=settings.readout_samples or settings.samples,
        width=width,
        activation=settings.activation,
        ridge=settings.ridge,
    )
    found = predict(problem, features).metrics
    return float(found["test_error"]), float(found["train_error"])
