"""Steps n^A with 0 < A < 1/2: limiting gains against features whose spikes are very strong.

Spikes of a real network of this size are still weak (their strength grows as n^(2A - 1/2)), so what
is simulated is the limit's own features: F_0 plus the powers of the learned projection, the square
with the constant that the gradient's noise adds to it. All else
is real: the batch that gives the direction, its cosine, the neurons, the fits. The test error is
that over all inputs: moments of a centred relu, of powers and of the target are known.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.estimate import student_quantile
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.prediction import predict_risk as predict
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.one_step.intermediate_step import limiting_gains

RELU = "relu(z) - 1/sqrt(2*pi)"
#: mu_1 and mu_2 of it.
SLOPE, CURVATURE = 0.5, 1 / math.sqrt(2 * math.pi)
RATIOS = {"samples_ratio": 4.0, "width_ratio": 1.0, "ridge": 0.4}
#: Dimensions and draws; and by how much spikes exceed the features.
SIZES, STRENGTH = {40: 1200, 160: 650}, 10.0
#: By target: the coefficient of He2 beside h1, noise, exponent, degrees of the spikes.
SETTINGS = {
    "h1": (0.0, 1.0, 0.2, (1,)),
    "h1 + He2(h1)/sqrt(2)": (1 / math.sqrt(2), 0.0, 0.3, (1, 2)),
}


def arccosine(cosines: np.ndarray) -> np.ndarray:
    """E of the product of two centred relus of Gaussians of unit variance."""
    c = np.clip(cosines, -1.0, 1.0)
    return (np.sqrt(1 - c**2) + c * (math.pi - np.arccos(c)) - 1) / (2 * math.pi)


def simulated(
    square: float, noise: float, degrees: tuple[int, ...], spread: float, dim: int, seed: int
) -> tuple[np.ndarray, float]:
    """Falls of test error and train objective by spikes of these degrees, and the cosine."""
    rng, ridge = np.random.default_rng([dim, seed, len(degrees)]), RATIOS["ridge"]
    samples, width = int(RATIOS["samples_ratio"] * dim), int(RATIOS["width_ratio"] * dim)

    def draw() -> tuple[np.ndarray, np.ndarray]:
        inputs = rng.standard_normal((samples, dim))
        h = inputs[:, 0]
        clean = h + square * (h**2 - 1)
        return inputs, clean + noise**0.5 * rng.standard_normal(samples)

    inputs, labels = draw()
    learned = inputs.T @ labels
    learned /= np.linalg.norm(learned)
    rows = rng.standard_normal((width, dim))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    readout, along = rng.standard_normal(width), rows @ learned
    train, labels = draw()
    powers = np.stack([readout**k for k in degrees])
    moments = {1: SLOPE * along, 2: CURVATURE * along**2}
    spikes = {1: learned[0], 2: 2 * square * learned[0] ** 2}
    plain = SLOPE * rows[:, 0] + CURVATURE * square * rows[:, 0] ** 2

    def errors(strength: float) -> np.ndarray:
        kappa = train @ learned
        phi = np.maximum(train @ rows.T, 0) - CURVATURE
        gram, source = arccosine(rows @ rows.T), plain.copy()
        for k, power in zip(degrees, strength * powers, strict=True):
            phi += np.outer(kappa**k + (spread if k == 2 else 0.0), power)
            cross = np.outer(moments[k], power)
            gram = gram + cross + cross.T
            source += spikes[k] * power
            for other, factor in zip(degrees, strength * powers, strict=True):
                if (k + other) % 2 == 0:
                    gram = gram + (2 + (1 + spread) ** 2 if k == 2 else 1.0) * np.outer(
                        power, factor
                    )
        phi /= math.sqrt(width)
        fit = np.linalg.solve(phi.T @ phi + ridge * np.eye(width), phi.T @ labels)
        objective = labels @ (labels - phi @ fit) / samples
        fit /= math.sqrt(width)
        return np.array([1 + 2 * square**2 - 2 * fit @ source + fit @ gram @ fit, objective])

    return errors(0.0) - errors(STRENGTH), float(learned[0])


@pytest.mark.slow
@pytest.mark.parametrize("target", list(SETTINGS))
def test_limiting_gains(target: str) -> None:
    square, noise, exponent, degrees = SETTINGS[target]
    problem, sigma = Problem.of(target, noise=noise), activation(RELU)
    settings = GiantStep(
        activation=RELU, readout="normal", step_size=f"2*n^{exponent}", samples="4d", width="1d",
        ridge=RATIOS["ridge"],
    )  # fmt: skip
    law = predict(problem, settings).metrics
    limit = np.array([law["gain_test"], law["gain_train"]])
    assert law["spikes"] == len(degrees)

    # The gradient of a batch of 4d has a noise of variance Var(sigma') E[y^2]/4 beside a spike of
    # mu_1^2 (1 + E[y^2]/4), Var(sigma') = 1/4 for relu.
    power = 1 + 2 * square**2 + noise
    spread = (0.25 * power / 4) / (SLOPE**2 * (1 + power / 4))
    # Gains are A cos^2 + B cos^4: at each draw's own cosine they take no fluctuation from it.
    cosines = np.array([0.5, 1.0])
    fit = Fit.of(RATIOS["samples_ratio"], RATIOS["width_ratio"], RATIOS["ridge"])
    known = [
        limiting_gains(problem, sigma, fit, alignment=c, degrees=degrees, spread=spread)
        for c in cosines
    ]
    powers = np.linalg.solve(np.stack([cosines**2, cosines**4], axis=1), np.array(known))
    cosine = law["alignment"]
    np.testing.assert_allclose(np.array([cosine**2, cosine**4]) @ powers, limit, rtol=1e-9)

    means, errors = [], []
    for dim, draws in SIZES.items():
        runs = [simulated(square, noise, degrees, spread, dim, seed) for seed in range(draws)]
        theory = np.array([[c**2, c**4] for _, c in runs]) @ powers
        differences = (np.array([gains for gains, _ in runs]) - theory) / limit
        means.append(differences.mean(axis=0))
        errors.append(differences.std(axis=0, ddof=1) / np.sqrt(draws))
    # What two sizes leave of a difference that decays as 1/d.
    rest = (4 * means[1] - means[0]) / 3
    allowed = student_quantile(min(SIZES.values())) * np.hypot(4 / 3 * errors[1], errors[0] / 3)
    assert np.all(allowed < 0.05), allowed
    assert np.all(np.abs(rest) < allowed), (rest, allowed)
