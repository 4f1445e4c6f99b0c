"""The laws of x: isotropic Gaussian, uniform on the sphere, Gaussian with one spiked direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from giantstep.errors import SettingsError


@dataclass(frozen=True)
class Gaussian:
    """x ~ N(0, I_d)."""

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": "gaussian"}


@dataclass(frozen=True)
class Sphere:
    """x uniform on the sphere of radius sqrt(d)."""

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": "sphere"}


@dataclass(frozen=True)
class Spiked:
    """x ~ N(0, I_d + strength * mu mu^T), mu the target's first direction.

    The target reads the normalised projection, h1 = <mu, x> / sqrt(1 + strength), so that h
    stays standard normal. ``strength`` is a number, or an expression in d such as ``d^0.5``.
    """

    strength: str | float

    def __post_init__(self) -> None:
        if isinstance(self.strength, int | float) and not 0 <= self.strength < float("inf"):
            raise SettingsError(f"spike strength = {self.strength!r} must be at least 0 and finite")

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": "spiked", "strength": str(self.strength)}


Inputs = Gaussian | Sphere | Spiked
