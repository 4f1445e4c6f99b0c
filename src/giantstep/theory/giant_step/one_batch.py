"""Predictions for steps that use one batch again: which settings, and with which status."""

from __future__ import annotations

import functools

import numpy as np

from giantstep.answer import Status
from giantstep.errors import raise_refusal
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.batch_population import PopulationErrors
from giantstep.theory.giant_step.few_neurons import few_neurons_ridge, readout_fit_samples
from giantstep.theory.giant_step.neuron_kinds import (
    VALUES_FOR_LAWS,
    NeuronKinds,
    overlaps_by_neuron,
)
from giantstep.theory.giant_step.overlaps import Overlaps
from giantstep.theory.giant_step.reused_population import reused_batch_path


def is_on_one_batch(settings: GiantStep) -> bool:
    """Whether a step, or the fit of the readout, looks at samples that were used before.

    A width that grows with d is another limit, to which the risk after one step belongs.
    """
    if settings.batches == "reused" and settings.steps > 1:
        return True
    fits_batch = settings.ridge is not None and settings.readout_samples == "same"
    return fits_batch and settings.steps <= 1 and settings.width.power == 0


@functools.lru_cache(maxsize=4)
def one_batch_overlaps(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    """The limit of large d by a population of rows, and the readout's errors with a ridge."""
    refusals = {
        f"{settings.scheduled}: steps on one batch are predicted with one step size; give one, or "
        "fresh batches": bool(settings.scheduled),
        f"step_size = {settings.step_size}: steps on one batch are predicted at fixed step size; "
        "give a plain number": settings.step_size.power != 0,
        f"width = {settings.width}: after steps on one batch the fit of neurons that grow in "
        "number with d is not predicted; giantstep layer-risk averages it on actual layers (or "
        "give a number of neurons, or drop --ridge)": (
            settings.ridge is not None and settings.width.power > 0
        ),
    }
    raise_refusal(refusals)
    kinds = NeuronKinds.of(settings)
    followed = kinds if settings.ridge is not None else _fewest(settings, kinds)
    path = reused_batch_path(
        problem,
        sigma,
        followed,
        steps=settings.steps,
        step_size=settings.step_size.at(1),
        samples_ratio=settings.samples.ratio("samples"),
        loss=settings.loss,
        normalise=settings.normalise,
        fit=few_neurons_ridge(settings, kinds.width),
    )
    cosines = path.cosines.copy()
    reached, off = (PopulationErrors(*each.T) for each in path.fitted)
    if settings.dim is not None:
        cosines[0] = settings.dim**-0.5
    # In the limit n/p is infinite: the fit's cost, of relative order p/n, is left out.
    cost = kinds.width / readout_fit_samples(settings).at(settings.dim) if settings.dim else 0.0
    wrong = off._replace(
        test=off.test + cost * reached.test, train=off.train + cost * reached.train
    )
    found = reached.metrics(problem.noise)
    if settings.ridge is None:
        found = {"network_error": reached.own} if followed.width == kinds.width else {}
    metrics = {"overlap": cosines, **found}
    errors = {"overlap": path.errors, **{name: wrong.metrics()[name] for name in found}}
    arrays = overlaps_by_neuron(settings, kinds, path.kind_cosines, path.kind_norms)
    notes = [
        "one batch: the limit of large d at fixed n/d and width, by populations of "
        f"{path.rows} rows; corrections at a finite dimension are not known"
    ]
    if settings.width.power > 0:
        notes.append(f"width = {settings.width}: the limit is that of a fixed width")
    random_laws = settings.biases != "none" or settings.readout_is_random
    if random_laws:
        notes.append(VALUES_FOR_LAWS)
    if settings.ridge and settings.dim is None:
        notes.append("ridge: in the limit its share of each sample vanishes; --dim keeps it")
    beyond = settings.dim or settings.width.power > 0 or random_laws or sigma.kinks
    status: Status = "heuristic" if beyond else "theorem"
    return Overlaps(metrics, errors, status, notes, arrays, in_spaces=settings.steps <= 1)


def _fewest(settings: GiantStep, kinds: NeuronKinds) -> NeuronKinds:
    """Neurons that do not see one another: any number of copies tells the same."""
    if settings.loss == "square":
        return kinds
    return kinds._replace(copies=kinds.copies // np.gcd.reduce(kinds.copies))
