"""What is to be learned, from which inputs, under how much label noise."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from giantstep.errors import SettingsError
from giantstep.inputs import Gaussian, Inputs
from giantstep.targets import Target


@dataclass(frozen=True)
class Problem:
    """Labels ``y = g(h) + sqrt(noise) * xi`` of inputs x, with h = W* x the target's directions.

    ``noise`` is a variance.
    """

    target: Target
    noise: float = 0.0
    inputs: Inputs = field(default_factory=Gaussian)

    def __post_init__(self) -> None:
        try:
            noise = float(self.noise)
        except (TypeError, ValueError):
            raise SettingsError(f"noise = {self.noise!r} is not a number") from None
        if not (math.isfinite(noise) and noise >= 0):
            raise SettingsError(
                f"noise = {self.noise!r} is a variance: give a number of at least 0"
            )
        object.__setattr__(self, "noise", noise)

    @classmethod
    def of(
        cls, given: Problem | Target | str, *, noise: float = 0.0, inputs: Inputs | None = None
    ) -> Problem:
        """A problem from an expression, the name of a catalogued target, or a Target."""
        if isinstance(given, Problem):
            return given
        target = given if isinstance(given, Target) else Target(given)
        return cls(target, noise, inputs or Gaussian())

    def to_json(self) -> dict[str, Any]:
        """The problem as plain values."""
        return {
            "target": self.target.text,
            "noise": self.noise,
            "inputs": self.inputs.to_json(),
        }
