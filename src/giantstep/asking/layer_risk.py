"""The risk after giant steps on actual first layers: an independent check of its prediction."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.answer import plain
from giantstep.answer.table import Column, page_of_text, value, with_error
from giantstep.answer.words import question_facts, words_of
from giantstep.asking.verbs import check_seeds
from giantstep.bibliography import cite
from giantstep.errors import NoTheory, refuse
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, check_covered
from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target
from giantstep.learners.giant_step.spectra import stepped_layer
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.prediction import predict
from giantstep.theory.giant_step.semi_analytic import semi_analytic_risk

METRICS = ("test_error", "train_error")
REFERENCES = cite("2402.04980", "2410.18938")
NOTE = (
    "each layer is a real one, after simulated steps; the fit of its readout is averaged by theory"
)


@dataclass(frozen=True)
class LayerRisk:
    """Errors of the readout fit on each layer, and those predicted without any layer.

    ``layers`` has one entry per seed for each metric; ``predicted`` is empty, and ``refusal`` says
    why, where the settings have no prediction of their own.
    """

    problem: Problem
    settings: GiantStep
    seed: int
    layers: Mapping[str, Float[np.ndarray, " seeds"]]
    predicted: Mapping[str, float]
    refusal: str = ""

    def mean(self, metric: str) -> float:
        """The mean over layers."""
        return float(np.mean(self.layers[metric]))

    def sem(self, metric: str) -> float:
        """Its standard error; NaN for a single layer."""
        values = self.layers[metric]
        return float(np.std(values, ddof=1) / np.sqrt(len(values))) if len(values) > 1 else np.nan

    @property
    def _seeds(self) -> dict[str, int]:
        return {"seeds": len(self.layers[METRICS[0]]), "seed": self.seed}

    @property
    def _notes(self) -> list[str]:
        return [NOTE, *([f"no prediction: {self.refusal}"] if self.refusal else [])]

    def to_json(self) -> dict[str, Any]:
        """The object that ``layer-risk --json`` prints."""
        metrics = {
            name: {
                "mean": self.mean(name),
                "sem": self.sem(name),
                "values": self.layers[name],
                "predicted": self.predicted.get(name),
            }
            for name in self.layers
        }
        return plain(
            {
                "learner": "giant-step",
                "problem": self.problem.to_json(),
                "settings": {**self.settings.to_json(), **self._seeds},
                "metrics": metrics,
                "status": "heuristic",
                "references": REFERENCES,
                "notes": self._notes,
            }
        )

    def table(self) -> str:
        """The text that the command line prints."""
        facts = {**question_facts(self.settings, self.problem), **self._seeds}
        steps = self.settings.steps
        title = f"risk given the first layer, after {steps} step{'s' * (steps != 1)}"
        about = (title, ", ".join(words_of(facts)))
        columns = [
            Column("", "", [name.replace("_", " ") for name in self.layers]),
            Column("", "layers", [with_error(self.mean(n), self.sem(n)) for n in self.layers]),
        ]
        if self.predicted:
            predicted = [value(self.predicted[name]) for name in self.layers]
            columns.append(Column("", "predicted", predicted))
        below = [f"status: heuristic; papers: {'; '.join(REFERENCES)}"]
        return page_of_text(about, columns, below, self._notes)


def layer_risk(
    settings: GiantStep,
    problem: Problem | Target | str,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    seeds: int = 4,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> LayerRisk:
    """The risk of a readout fitted on top of first layers after real steps.

    One layer is simulated for each of ``seeds`` seeds, from ``seed`` on; the risk of its fit is
    then averaged over the fit's samples by a deterministic equivalent that sees the layer itself
    (:func:`giantstep.theory.giant_step.semi_analytic.semi_analytic_risk`). It takes any activation
    and any readout, and shares with ``predict`` neither the law of the rows nor its equations.
    Settings need a dimension, a ridge, no biases and a readout fitted to fresh samples.
    """
    given = Problem.of(problem, noise=noise, inputs=inputs)
    check_seeds(seeds, seed)
    settings = _covered(given, settings)
    dim = int(settings.dim or 0)
    samples = settings.readout_samples.count(dim, "readout_samples")
    sigma, axes = activation(settings.activation), np.eye(given.target.rank, dim)
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for index in range(seeds):
        layer = stepped_layer(given, settings, seed + index)
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
    predicted, refusal = _predicted(given, settings)
    layers = {name: np.array(values) for name, values in found.items()}
    return LayerRisk(given, settings, seed, layers, predicted, refusal)


def _predicted(problem: Problem, settings: GiantStep) -> tuple[dict[str, float], str]:
    """The prediction without any layer, or why there is none."""
    try:
        law = predict(problem, settings).metrics
    except NoTheory as refusal:
        return {}, str(refusal)
    return {name: float(np.ravel(law[name])[-1]) for name in METRICS}, ""


def _covered(problem: Problem, settings: GiantStep) -> GiantStep:
    """The settings with their readout samples; raises where no layer's risk is known."""
    check_covered(problem.inputs, (Gaussian,), "the risk given a layer is known", NoTheory)
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
    refuse(refusals)
    if settings.readout_samples is None:
        return settings.replace(readout_samples=settings.samples)
    return settings
