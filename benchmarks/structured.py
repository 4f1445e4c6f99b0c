"""Structured inputs: a flow, a map of hitting times, Algorithm 1 and Langevin beside products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.row import Row, seconds, under_limit
from giantstep.activations.activation import activation
from giantstep.learners.structured import gradient_flow, langevin
from giantstep.numerics.runge_kutta import integrate
from giantstep.problem import Problem
from giantstep.settings.gradient_flow import GradientFlow
from giantstep.settings.langevin import Langevin
from giantstep.targets import Target
from giantstep.theory.structured.gradient_flow import predict
from giantstep.theory.structured.population_flows import Spike, normalised_flow, overlap


def rows() -> Iterator[Row]:
    """Every bar of structured inputs."""
    link = "0.8*He2(h1)/sqrt(2) + 0.6*He3(h1)/sqrt(6)"
    problem = Problem(link, inputs="spiked:8,alignment=0.5")
    start = {"start_spike_overlap": 0.3, "start_target_overlap": 0.4, "times": 0.3}
    for geometry in ("spherical", "normalised", "preconditioned"):
        settings = GradientFlow(geometry=geometry, **start)
        predict(problem, settings)
        took = seconds(lambda settings=settings: predict(problem, settings))
        yield under_limit(f"{geometry} flow to t = 0.3", took, 0.05)
    yield under_limit("normalised hitting times, 50 x 50 spikes", seconds(_map, 1), 5.0)
    yield _algorithm_one()
    yield _langevin()


def _map() -> np.ndarray:
    """Times of omega = 0.5 over strength and alignment, d = 1000, -He4 and relu."""
    gamma1, gamma2 = (
        x.ravel() for x in np.meshgrid(np.linspace(0.01, 0.5, 50), np.linspace(0, 1, 50))
    )
    spike = Spike(1000**gamma2, 1000**-gamma1)
    m = np.full(2500, 1000**-0.5)
    b = spike.cosine * m + np.sqrt((1 - np.asarray(spike.cosine) ** 2) / 1000)
    rate = normalised_flow(activation("relu"), Target("-He4(h1)/sqrt(24)"), spike)
    state = np.array([m, b, np.ones(2500)])
    return integrate(rate, state, 1e6, event=lambda y: overlap(y, spike) - 0.5).time


def _algorithm_one() -> Row:
    """400 steps of 16 neurons on n = 16 d samples, d = 128, beside the two products of a step."""
    problem = Problem("He3(h1)/sqrt(6)", inputs="spiked:strength=d^0.5,alignment=d^-0.25")
    settings = GradientFlow(dim=128, samples="16d", activation="relu(z-1)")
    gradient_flow.simulate(problem, settings, seeds=1)
    ours = seconds(lambda: gradient_flow.simulate(problem, settings, seeds=1), 2)
    rng = np.random.default_rng(0)
    x, v = (rng.standard_normal(s).astype(np.float32) for s in ((2048, 128), (16, 128)))
    fields = x @ v.T

    def products() -> None:
        for _ in range(400):
            x @ v.T
            fields.T @ x

    return _beside(
        "Algorithm 1, d=128, n=2048, 16 neurons, 400 steps", ours, seconds(products, 2), 2.0
    )


def _langevin() -> Row:
    """200 steps of 500 particles on 800 samples, d = 200, beside the two products of a step."""
    problem = Problem("sign(h1*h2)", inputs="hypercube")
    settings = Langevin(dim=200, samples=800, steps=200, test_samples=10)
    langevin.simulate(problem, settings, seeds=1)
    ours = seconds(lambda: langevin.simulate(problem, settings, seeds=1), 2)
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal(s).astype(np.float32) for s in ((800, 201), (500, 201)))
    units = x @ w.T

    def products() -> None:
        for _ in range(200):
            x @ w.T
            units.T @ x

    return _beside("Langevin, d=200, n=800, N=500, 200 steps", ours, seconds(products, 2), 1.5)


def _beside(work: str, ours: float, peer: float, most: float) -> Row:
    ratio = ours / peer
    goal = f"<= {most:g}"
    return Row(work, f"{ours:.2f} s", f"products {peer:.2f} s", ratio, goal, ratio <= most)
