"""The settings on which the exact risk was established, with its published-grade numbers."""

from __future__ import annotations

from typing import NamedTuple

from giantstep.language.problem import Problem
from giantstep.settings.spiked_random_features import SpikedRandomFeatures

G12 = "h1 + He2(h1)/sqrt(2)"


class Row(NamedTuple):
    """A setting, and the risk: test and train in the limit, test with spikes of finite strength.

    ``penalty`` is lambda of (1/n)|y - Phi theta|^2 + lambda |theta|^2: ridge = lambda n / p.
    """

    activation: str
    target: str
    samples: float
    width: float
    penalty: float
    spike: str
    bulk: str
    alignment: float
    noise: float
    test: float
    train: float
    test_at_400: float

    def problem(self) -> Problem:
        return Problem.of(self.target, noise=self.noise)

    def settings(self, dim: int | None = None) -> SpikedRandomFeatures:
        return SpikedRandomFeatures(
            activation=self.activation,
            spike=self.spike,
            bulk=self.bulk,
            alignment=self.alignment,
            readout_samples=f"{self.samples}d",
            width=f"{self.width}d",
            ridge=self.penalty * self.samples / self.width,
            dim=dim,
        )


ROWS = {
    "C1": Row("tanh", "sin(h1)", 2, 1, 0.05, "0.9", "1", 1, 0, 0.03302, 0.02155, 0.03386),
    "C2": Row("tanh", "sin(h1)", 2, 1, 0.05, "0.9", "1", 0.7, 0, 0.15299, 0.06643, 0.15339),
    "C3": Row("tanh", "sin(h1)", 1, 1.5, 0.01, "2", "1.2", 0.6, 0, 0.39148, 0.02158, 0.39160),
    "C4": Row("tanh", "relu(h1)", 1.5, 1, 0.2, "1.5", "1", 0.8, 0, 0.34505, 0.24167, 0.34521),
    "C5": Row("erf2", G12, 3, 0.5, 0.02, "1.5", "1", 0.8, 0.1, 1.38351, 1.24197, 1.38480),
    "C6": Row("relu", "sin(h1)", 2, 1, 0.05, "1", "1", 0.9, 0, 0.33734, 0.18706, 0.33740),
    "C7": Row(
        *("tanh", "sin(h1)", 2, 1.5, 0.025, "-1:0.3,0.5:0.3,2:0.4", "1.1", 0.7, 0),
        *(0.14840, 0.03505, 0.14944),
    ),
    "C8": Row(
        *("relu", G12, 2.5, 1, 0.04, "-1.5:0.5,1.5:0.5", "1", 0.85, 0.25),
        *(1.35558, 0.70715, 1.35677),
    ),
}
