"""Readouts on the first layer after giant steps, for tests of the risk."""

from __future__ import annotations

from collections.abc import Sequence

from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.gradient_step import limit_layers
from giantstep.theory.giant_step.risk.readout import Readout

ONE = Neurons.of([1.0])
PAIRS = Neurons.of([1.0, -1.0], paired=True)


def stepped_layer(
    sigma: str,
    target: str,
    steps: Sequence[tuple[float, float]],
    neurons: Neurons = ONE,
    noise: float = 0.0,
    *,
    loss: str = "correlation",
    kicks: bool = False,
) -> FirstLayer:
    """After ``steps``, each a step size and n_0/d."""
    *_, layer = limit_layers(
        Problem.of(target, noise=noise),
        activation(sigma),
        neurons,
        step_sizes=[size for size, _ in steps],
        samples_ratios=[ratio for _, ratio in steps],
        loss=loss,
        kicks=kicks,
    )
    return layer


def readout_on(sigma: str, target: str, layer: FirstLayer, noise: float = 0.0) -> Readout:
    """What the fit of the readout sees of a layer."""
    return Readout(Problem.of(target, noise=noise), activation(sigma), layer)
