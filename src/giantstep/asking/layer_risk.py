"""The risk after giant steps on actual first layers: an independent check of its prediction."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from giantstep.answer import Answer, Prediction, Question, Run
from giantstep.asking.stated_errors import with_stated_errors
from giantstep.asking.verbs import checked_seeds
from giantstep.errors import NoTheory, raise_refusal
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target
from giantstep.learners.giant_step.spectra import simulate_stepped_layer
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict
from giantstep.theory.giant_step.semi_analytic import semi_analytic_risk

METRICS = ("test_error", "train_error")
NOTE = (
    "each layer is a real one, after simulated steps; the fit of its readout is averaged by theory"
)


def layer_risk(
    settings: GiantStep,
    problem: Problem | Target | str,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 4,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Answer:
    """The risk of a readout fitted on top of first layers after real steps.

    One layer is simulated for each of ``seeds`` seeds, from ``seed`` on; the risk of its fit is
    then averaged over the fit's samples by a deterministic equivalent that sees the layer itself
    (:func:`giantstep.theory.giant_step.semi_analytic.semi_analytic_risk`). It takes any activation
    and any readout, and shares with ``predict`` neither the law of the rows nor its equations. The
    answer lays these risks over the prediction, where the settings have one.
    Settings need a dimension, a ridge, no biases and a readout fitted to fresh samples.
    """
    given = Problem.of(problem, noise=noise, inputs=inputs)
    seeds, seed = checked_seeds(seeds, seed)
    settings.check_single_point("the risk of a first layer")
    settings = _covered_question(given, settings)
    dim = int(settings.dim or 0)
    samples = settings.readout_samples.count(dim, "readout_samples")
    sigma, axes = activation(settings.activation), np.eye(given.target.rank, dim)
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for index in range(seeds):
        layer = simulate_stepped_layer(given, settings, seed + index)
        # One step adds one direction to all rows, later ones differ by readout.
        learned = layer.learned[None]
        if settings.steps > 1 and settings.readout != "normal":
            values = np.unique(layer.readout)
            kinds = [layer.weights[layer.readout == value].mean(axis=0) for value in values]
            learned = np.stack(kinds)
        risk = semi_analytic_risk(
            given, sigma, layer.weights, learned, axes, samples=samples, ridge=settings.ridge
        )
        found["test_error"].append(risk.test if risk.converged else np.nan)
        found["train_error"].append(risk.train if risk.converged else np.nan)
        if progress is not None:
            progress((index + 1) / seeds)
    law, notes = _predicted(given, settings)
    run = Run(
        settings.learner,
        settings.to_json(),
        {name: np.array(values) for name, values in found.items()},
        notes=notes,
        seeds=tuple(range(seed, seed + seeds)),
    )
    return Answer(
        f"{settings.learner} given its first layer",
        axes={},
        questions=(Question(settings, given),),
        metric_axes={},
        runs=(run,),
        predictions=(law,) if law else (),
        seeds=run.seeds,
    )


def _predicted(problem: Problem, settings: GiantStep) -> tuple[Prediction | None, list[str]]:
    """The prediction without any layer, and notes that say why there is none."""
    try:
        law = predict(problem, settings)
    except NoTheory as refusal:
        return None, [NOTE, f"no prediction: {refusal}"]
    last, errors = (
        {name: float(np.ravel(table.get(name, 0.0))[-1]) for name in METRICS}
        for table in (law.metrics, law.errors)
    )
    statuses = {name: law.statuses[name] for name in METRICS}
    found = Prediction.of(settings, last, statuses, law.references, errors=errors)
    return with_stated_errors(found, settings, METRICS), [NOTE]


def _covered_question(problem: Problem, settings: GiantStep) -> GiantStep:
    """The settings with their readout samples; raises where no layer's risk is known."""
    checked_input_law(problem.inputs, (Gaussian,), "the risk given a layer is known", NoTheory)
    refusals = {
        "dim is missing: a first layer needs --dim, the dimension of the inputs": (
            settings.dim is None
        ),
        "ridge is missing: the risk is that of a fitted readout; give one, such as 0.1": (
            not isinstance(settings.ridge, float) or settings.ridge <= 0
        ),
        "readout = normal: the risk given a layer is known after one step, or with few readout "
        "values": settings.steps > 1 and settings.readout == "normal",
        "readout_samples = same: the risk given a layer needs fresh samples, such as 2d": (
            settings.readout_samples == "same"
        ),
        f"biases = {settings.biases}: not covered, use biases = none": settings.biases != "none",
        "normalise, forget: not covered, leave the rows as the step makes them": (
            settings.normalise or settings.forget
        ),
    }
    raise_refusal(refusals)
    if settings.readout_samples is None:
        return settings.replace(readout_samples=settings.samples)
    return settings
