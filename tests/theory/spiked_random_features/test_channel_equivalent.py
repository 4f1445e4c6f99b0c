"""Ridge regression by channels: textbook cases."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.theory.spiked_random_features.channel_equivalent import (
    ChannelLayout,
    Equivalent,
    RiskRatios,
    channel_risk,
)

ONE = np.ones((1, 1))


def gaussian_noise_model(signal: float, noise: float) -> Equivalent:
    """p independent features, d of which carry the labels: one block, one grid point."""
    return Equivalent(
        np.ones(1), ONE, np.ones(1), noise * ONE, signal * ONE, np.array([signal**2 + 0.5])
    )


def test_many_neurons_are_linear_regression() -> None:
    """p -> infinity and no noise in the features: ridge regression in d isotropic dimensions."""
    samples, penalty = 2.0, 0.3
    width = 1e8
    model = gaussian_noise_model(1.0, 0.0)
    ratios = RiskRatios(samples, width * np.ones(1), penalty * width)
    risk = channel_risk(model, ratios, ChannelLayout(1, (0,), (0,)))
    # Hastie et al. 2019: kappa solves n = d/(1+kappa) + lambda/kappa in units of d.
    half = penalty + 1 - samples
    kappa = (half + np.sqrt(half**2 + 4 * penalty * samples)) / (2 * samples)
    shrink = kappa / (1 + kappa)
    spread = 1 / (samples * (1 + kappa) ** 2)
    expected = (shrink**2 + 0.5) / (1 - spread)
    assert risk.test == pytest.approx(expected, rel=1e-6)


def test_reference_of_the_linear_channel() -> None:
    risk = channel_risk(
        gaussian_noise_model(1.0, 0.5),
        RiskRatios(2.0, np.ones(1), 0.1),
        ChannelLayout(1, (0,), (0,)),
    )
    assert 0 < risk.train < risk.test
    assert risk.converged


def test_split_channels_are_one_channel() -> None:
    """Two channels with the same modes and shares that add up to the whole."""
    rng = np.random.default_rng(0)
    points = 7
    weights = np.full(points, 1 / points)
    u, e = rng.uniform(0.5, 1.5, (2, points)), rng.uniform(0.1, 0.4, (2, points))
    labels = rng.standard_normal((1, points))
    power = labels[0] ** 2 + 1.0
    ratios = RiskRatios(1.7, np.array([0.4, 0.8]), 0.05)
    whole = Equivalent(weights, u, np.ones(2), e, labels, power)
    parts = Equivalent(weights, np.vstack([u, u]), np.array([0.3, 0.3, 0.7, 0.7]), e, labels, power)
    one = channel_risk(whole, ratios, ChannelLayout(2, (0,), (0,)))
    two = channel_risk(parts, ratios, ChannelLayout(2, (0, 1), (0,)))
    assert (two.test, two.train) == pytest.approx((one.test, one.train), rel=1e-9)
