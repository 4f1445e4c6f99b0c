"""A number that knows how it was computed and how far off it may be."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Estimate:
    """A value, the size of its error (quadrature difference or standard error), its method."""

    value: float
    error: float
    method: str

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        return f"{self.value:.6g} ± {self.error:.1g} ({self.method})"
