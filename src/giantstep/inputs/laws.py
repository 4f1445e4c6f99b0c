"""The laws of x: isotropic Gaussian, uniform on the sphere, Gaussian with one spiked direction."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from giantstep.sizes import Size


@dataclass(frozen=True)
class Gaussian:
    """x ~ N(0, I_d)."""

    name: ClassVar[str] = "gaussian"

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": self.name}

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Sphere:
    """x uniform on the sphere of radius sqrt(d)."""

    name: ClassVar[str] = "sphere"

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": self.name}

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, init=False)
class Spiked:
    """x ~ N(0, I_d + strength * mu mu^T), mu the target's first direction.

    The target reads the normalised projection, h1 = <mu, x> / sqrt(1 + strength), so that h
    stays standard normal. ``strength`` is a number, or an expression in d such as ``d^0.5``.
    """

    name: ClassVar[str] = "spiked"

    strength: Size

    def __init__(self, strength: Size | str | float) -> None:
        none = isinstance(strength, str | int | float) and str(strength).strip() in ("0", "0.0")
        size = Size(0.0) if none else Size.parse(strength, "inputs: the strength of the spike")
        object.__setattr__(self, "strength", size)

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": self.name, "strength": str(self.strength)}

    def __str__(self) -> str:
        return f"{self.name}:{self.strength}"


Inputs = Gaussian | Sphere | Spiked
