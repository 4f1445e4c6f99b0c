"""Simulated spectra after one giant step: of the first layer, and of its features."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import activation
from giantstep.errors import SettingsError
from giantstep.learners.giant_step import start
from giantstep.learners.giant_step.direct import Direct
from giantstep.learners.giant_step.draws import Draws, drawing_threads
from giantstep.learners.giant_step.plan import plan
from giantstep.learners.giant_step.simulation import run_seed
from giantstep.learners.ridge.labelled_inputs import labelled_inputs
from giantstep.learners.ridge.spiked_random_features import spike_direction, spiked_rows
from giantstep.numerics.float64 import float64
from giantstep.numerics.seeds import generator
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

#: Leading values whose vectors are looked at.
LEADING = 6


class SteppedLayer(NamedTuple):
    """A first layer after one step, its readout, and the direction that the step added."""

    weights: Float[np.ndarray, "p d"]
    readout: Float[np.ndarray, "p"]
    learned: Float[np.ndarray, "d"]


class SimulatedSpectrum(NamedTuple):
    """Values in falling order, and squared cosines of the leading vectors with directions.

    ``values``: singular values of W, or eigenvalues of Phi^T Phi / d. ``overlaps``: for weights
    ``left`` (with the readout), ``right`` (with the learned direction), ``target`` (with the
    target's directions); for features ``blocks`` (with the indicators of equal readouts).
    """

    values: Float[np.ndarray, "values"]
    overlaps: dict[str, Float[np.ndarray, "leading"]]

    def cumulative(self, x: Float[np.ndarray, "points"]) -> Float[np.ndarray, "points"]:
        """Fraction of the values up to each x: a spectrum without bins."""
        return np.searchsorted(np.sort(self.values), x, side="right") / len(self.values)

    def stieltjes(self, z: np.ndarray) -> np.ndarray:
        """Mean of 1/(value - z), for complex z: a spectrum without bins."""
        return np.mean(1 / (self.values[None, :] - np.asarray(z)[:, None]), axis=1)


def stepped_layer(problem: Problem, settings: GiantStep, seed: int = 0) -> SteppedLayer:
    """Take one gradient step with real vectors, in float64."""
    if settings.steps != 1:
        raise SettingsError(f"steps = {settings.steps}: spectra are simulated after one step")
    resolved = plan(problem, settings.replace(dtype="float64", ridge=None))
    with float64(), drawing_threads() as threads:
        draws = Draws([run_seed(problem, resolved, seed)], threads)
        runs = Direct(resolved, draws)
        before = np.asarray(runs.weights[0])
        runs.step(1)
        after = np.asarray(runs.weights[0])
        readout = start.neurons(resolved, draws).readout[0]
    learned = readout @ (after - before)
    length = np.linalg.norm(learned)
    return SteppedLayer(after, readout, learned / length if length > 0 else learned)


def simulate_weight_spectrum(
    problem: Problem, settings: GiantStep, seed: int = 0
) -> SimulatedSpectrum:
    """Singular values of the first layer after one step, and where its leading vectors point."""
    layer = stepped_layer(problem, settings, seed)
    left, values, right = np.linalg.svd(layer.weights, full_matrices=False)
    unit = layer.readout / np.linalg.norm(layer.readout)
    leading = right[:LEADING]
    return SimulatedSpectrum(
        values,
        {
            "left": (unit @ left[:, :LEADING]) ** 2,
            "right": (leading @ layer.learned) ** 2,
            "target": np.sum(leading[:, : problem.target.rank] ** 2, axis=1),
        },
    )


def simulate_feature_spectrum(
    problem: Problem, settings: GiantStep | SpikedRandomFeatures, seed: int = 0
) -> SimulatedSpectrum:
    """Eigenvalues of Phi^T Phi / d, Phi = sigma(X W^T) on fresh samples, p of them."""
    if settings.dim is None:
        raise SettingsError("dim is missing: a simulation needs the dimension d, give --dim")
    rng = generator("feature spectrum", problem.to_json(), settings.to_json(), seed)
    if isinstance(settings, SpikedRandomFeatures):
        direction = spike_direction(problem, settings.alignment, settings.dim)
        weights = spiked_rows(settings, direction, rng)
        counts = np.diff(np.round(np.cumsum(settings.blocks()[2]) * len(weights)), prepend=0)
        groups = np.repeat(np.arange(len(counts)), counts.astype(int))
    else:
        if settings.readout_samples in (None, "same"):
            raise SettingsError("readout_samples is missing: features need fresh samples, give 2d")
        layer = stepped_layer(problem, settings, seed)
        weights, groups = layer.weights, np.unique(layer.readout, return_inverse=True)[1]
    samples = settings.readout_samples.count(settings.dim, "readout_samples")
    drawn = labelled_inputs(problem, samples, settings.dim, rng)
    features = activation(settings.activation).numpy(drawn.inputs @ weights.T)
    values, vectors = np.linalg.eigh(features.T @ features / settings.dim)
    values, leading = values[::-1], vectors[:, ::-1][:, :LEADING]
    members = np.equal.outer(np.unique(groups), groups).astype(float)
    cosines = (members / np.sqrt(members.sum(axis=1, keepdims=True))) @ leading
    return SimulatedSpectrum(np.maximum(values, 0.0), {"blocks": np.sum(cosines**2, axis=0)})
