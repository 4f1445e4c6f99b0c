"""A first layer's features, and Gaussian ones that may stand in for them in a ridge fit."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation, activation
from giantstep.learners.giant_step.spectra import SteppedLayer, stepped_layer
from giantstep.learners.ridge.labelled_inputs import labelled_inputs
from giantstep.learners.ridge.readout import RidgePath
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.numerics.seeds import generator
from giantstep.problem import Problem
from giantstep.settings.giant_step import GiantStep

Kind = Literal["network", "gaussian", "conditional"]
#: Nodes for means over one Gaussian, and degrees of the series for the covariance of two neurons.
NODES, DEGREES = 24, 16


def equivalent_test_error(
    problem: Problem, settings: GiantStep, kind: Kind, seed: int = 0
) -> float:
    """Excess risk, on a test set, of the readout fitted to features of that kind after one step.

    Kinds with the same seed share the first layer and all inputs. Smooth activations only: the
    covariance of the Gaussian features is a series in the cosine of two rows.
    """
    sigma, layer = activation(settings.activation), stepped_layer(problem, settings, seed)
    rng = generator("equivalent features", problem.to_json(), settings.to_json(), seed)
    dim, scale = layer.weights.shape[1], math.sqrt(len(layer.weights))
    samples = settings.readout_samples.count(dim, "readout_samples")
    train = labelled_inputs(problem, samples, dim, rng)
    test = labelled_inputs(problem, settings.test_samples.count(dim, "test_samples"), dim, rng)
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
        return _conditional(sigma, layer, inputs, noise)
    return _gaussian(sigma, layer.weights, inputs, noise)


def _gaussian(
    sigma: Activation, weights: np.ndarray, inputs: np.ndarray, noise: np.ndarray
) -> np.ndarray:
    """mu_0 + mu_1 <w, x> + noise, with the mean and the covariance of the features themselves."""
    lengths = np.linalg.norm(weights, axis=1)
    rows = weights / lengths[:, None]
    nodes, masses = gauss_hermite(NODES)
    values = sigma.numpy(lengths[:, None] * nodes) * masses
    # mu_k / sqrt(k!) of each neuron, by the recursion of normalised Hermite polynomials.
    before, here = np.zeros_like(nodes), np.ones_like(nodes)
    coefficients = []
    for degree in range(DEGREES + 1):
        coefficients.append(values @ here)
        after = (nodes * here - math.sqrt(degree) * before) / math.sqrt(degree + 1)
        before, here = here, after
    cosines = np.clip(rows @ rows.T, -1.0, 1.0)
    covariance = sum(
        np.outer(coefficients[k], coefficients[k]) * cosines**k for k in range(2, DEGREES + 1)
    )
    power = (sigma.numpy(lengths[:, None] * nodes) ** 2) @ masses
    # What the series leaves out is each neuron's own.
    own = power - sum(c**2 for c in coefficients)
    root = np.linalg.cholesky(covariance + np.diag(np.maximum(own, 0.0) + 1e-10 * power))
    linear = (inputs @ rows.T) * coefficients[1]
    return coefficients[0] + linear + noise @ root.T


def _conditional(
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
