"""A layer after giant steps: spectra of its weights and features, and equivalent features."""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.language.sizes import Size
from giantstep.learners.giant_step.direct import DirectRun
from giantstep.learners.giant_step.draws import Draws, threads_of_random_draws
from giantstep.learners.giant_step.plan import plan_giant_steps
from giantstep.learners.giant_step.samples import start_neurons
from giantstep.learners.giant_step.simulation import simulation_seed
from giantstep.learners.spiked_random_features import draw_spiked_rows, spike_direction
from giantstep.numerics.cost import DRAW, EIGEN, Cost, needed_dim
from giantstep.numerics.float64 import float64
from giantstep.numerics.hermite import normalised_hermite
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.numerics.ridge.path import RidgePath
from giantstep.numerics.seeds import generator
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

#: Leading values whose vectors are looked at.
LEADING = 6


class SteppedLayer(NamedTuple):
    """A first layer after its steps, its readout, and the direction that the steps added."""

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


def simulate_stepped_layer(problem: Problem, settings: GiantStep, seed: int = 0) -> SteppedLayer:
    """Take the gradient steps with real vectors, in float64."""
    resolved = plan_giant_steps(problem, settings.replace(dtype="float64", ridge=None))
    with float64(), threads_of_random_draws() as threads:
        draws = Draws([simulation_seed(problem, resolved, seed)], threads)
        runs = DirectRun(resolved, draws)
        before = np.asarray(runs.weights[0])
        for step in range(1, settings.steps + 1):
            runs.step(step)
        after = np.asarray(runs.weights[0])
        readout = start_neurons(resolved, draws).readout[0]
    learned = readout @ (after - before)
    length = np.linalg.norm(learned)
    return SteppedLayer(after, readout, learned / length if length > 0 else learned)


def simulated_spectrum_cost(settings: GiantStep | SpikedRandomFeatures) -> Cost:
    """The rows and the samples, which are held whole, and a decomposition of either."""
    dim = needed_dim(settings.dim)
    width = settings.width.count(dim, "width")
    given = (getattr(settings, "samples", None), settings.readout_samples)
    counts = [each.count(dim, "samples") for each in given if isinstance(each, Size)]
    samples = max(counts, default=0)
    small, large = sorted((width, dim))
    held = 8.0 * (4 * width * dim + 2 * samples * (dim + width) + 3 * width**2)
    work = 2.0 * samples * dim * (width + DRAW) + EIGEN * (small**2 * large + width**3)
    sizes = f"width = {width}, samples = {samples} at dim = {dim}"
    return Cost(held, work, sizes, "lower --dim, --width or --samples, or give --seeds 0")


def simulate_weight_spectrum(
    problem: Problem, settings: GiantStep, seed: int = 0
) -> SimulatedSpectrum:
    """Singular values of the first layer after its steps, and where its leading vectors point."""
    layer = simulate_stepped_layer(problem, settings, seed)
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
    dim = needed_dim(settings.dim)
    rng = generator("feature spectrum", problem.to_json(), settings.to_json(), seed)
    if isinstance(settings, SpikedRandomFeatures):
        direction = spike_direction(problem, settings.alignment, dim)
        weights = draw_spiked_rows(settings, direction, rng)
        counts = np.diff(np.round(np.cumsum(settings.blocks()[2]) * len(weights)), prepend=0)
        groups = np.repeat(np.arange(len(counts)), counts.astype(int))
    else:
        if settings.readout_samples in (None, "same"):
            raise SettingsError("readout_samples is missing: features need fresh samples, give 2d")
        layer = simulate_stepped_layer(problem, settings, seed)
        weights, groups = layer.weights, np.unique(layer.readout, return_inverse=True)[1]
    samples = settings.readout_samples.count(dim, "readout_samples")
    drawn = problem.draw(samples, dim, rng)
    features = activation(settings.activation).numpy(drawn.inputs @ weights.T)
    values, vectors = np.linalg.eigh(features.T @ features / dim)
    values, leading = values[::-1], vectors[:, ::-1][:, :LEADING]
    members = np.equal.outer(np.unique(groups), groups).astype(float)
    cosines = (members / np.sqrt(members.sum(axis=1, keepdims=True))) @ leading
    return SimulatedSpectrum(np.maximum(values, 0.0), {"blocks": np.sum(cosines**2, axis=0)})


Kind = Literal["network", "gaussian", "conditional"]
#: Nodes for means over one Gaussian, and degrees of the series for the covariance of two neurons.
NODES, DEGREES = 24, 16


def simulate_equivalent_error(
    problem: Problem, settings: GiantStep, kind: Kind, seed: int = 0
) -> float:
    """Excess risk, on a test set, of the readout fitted to features of that kind after one step.

    Kinds with the same seed share the first layer and all inputs. Smooth activations only: the
    covariance of the Gaussian features is a series in the cosine of two rows.
    """
    sigma, layer = activation(settings.activation), simulate_stepped_layer(problem, settings, seed)
    rng = generator("equivalent features", problem.to_json(), settings.to_json(), seed)
    dim, scale = layer.weights.shape[1], math.sqrt(len(layer.weights))
    samples = settings.readout_samples.count(dim, "readout_samples")
    train = problem.draw(samples, dim, rng)
    test = problem.draw(settings.test_samples.count(dim, "test_samples"), dim, rng)
    phi, fresh = (_features(kind, sigma, layer, part.inputs, rng) / scale for part in (train, test))
    readout = RidgePath.fit(phi, train.labels).coefficients(settings.ridge)[0]
    return float(np.mean((test.clean - fresh @ readout) ** 2))


def _features(
    kind: Kind,
    sigma: Activation,
    layer: SteppedLayer,
    inputs: Float[np.ndarray, "n d"],
    rng: np.random.Generator,
) -> Float[np.ndarray, "n p"]:
    if kind == "network":
        return sigma.numpy(inputs @ layer.weights.T)
    noise = rng.standard_normal((len(inputs), len(layer.weights)))
    if kind == "conditional":
        return _simulated_conditional_features(sigma, layer, inputs, noise)
    return _simulated_gaussian_features(sigma, layer.weights, inputs, noise)


def _simulated_gaussian_features(
    sigma: Activation, weights: np.ndarray, inputs: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """mu_0 + mu_1 <w, x> + noise, with the mean and the covariance of the features themselves."""
    lengths = np.linalg.norm(weights, axis=1)
    rows = weights / lengths[:, None]
    nodes, masses = gauss_hermite(NODES)
    values = sigma.numpy(lengths[:, None] * nodes) * masses
    # mu_k / sqrt(k!) of each neuron.
    coefficients = normalised_hermite(nodes, DEGREES) @ values.T
    cosines = np.clip(rows @ rows.T, -1.0, 1.0)
    covariance = sum(
        np.outer(coefficients[k], coefficients[k]) * cosines**k for k in range(2, DEGREES + 1)
    )
    power = (sigma.numpy(lengths[:, None] * nodes) ** 2) @ masses
    # What the series leaves out is each neuron's own.
    own = power - np.sum(coefficients**2, axis=0)
    root = np.linalg.cholesky(covariance + np.diag(np.maximum(own, 0.0) + 1e-10 * power))
    linear = (inputs @ rows.T) * coefficients[1]
    return coefficients[0] + linear + noise @ root.T


def _simulated_conditional_features(
    sigma: Activation, layer: SteppedLayer, inputs: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """mu_0(kappa) + mu_1(kappa) <w, x> across the learned direction + mu_*(kappa) noise."""
    kappa, spikes = inputs @ layer.learned, layer.weights @ layer.learned
    bulk = layer.weights - np.outer(spikes, layer.learned)
    lengths = np.linalg.norm(bulk, axis=1)
    shift = np.outer(kappa, spikes)
    mean, slope, power = (np.zeros_like(shift) for _ in range(3))
    for node, mass in zip(*gauss_hermite(NODES), strict=True):
        value = sigma.numpy(shift + lengths * node)
        mean += mass * value
        slope += mass * node * value
        power += mass * value**2
    rest = np.sqrt(np.maximum(power - mean**2 - slope**2, 0.0))
    return mean + slope * (inputs @ (bulk / lengths[:, None]).T) + rest * noise
