"""The risk on all inputs of a readout fitted to a given first layer."""

from __future__ import annotations

import numpy as np

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.learners.giant_step.population_risk import trained_network_risk
from giantstep.numerics.ridge.path import RidgePath


def fitted_risk(
    problem: Problem, sigma: str, layer: np.ndarray, inputs: np.ndarray, ridge: float
) -> tuple[float, float]:
    """Population risk and train error of the readout fitted to noiseless labels."""
    rank, scale = problem.target.rank, np.sqrt(len(layer))
    features = activation(sigma).numpy(inputs @ layer.T) / scale
    path = RidgePath.fit(features, problem.target.numpy(inputs[:, :rank]))
    axes = np.eye(rank, inputs.shape[1])
    readout = path.coefficients(ridge)[0] / scale
    risk = trained_network_risk(problem, activation(sigma), layer, axes, readout)
    return risk, float(path.train_error(ridge)[0])
