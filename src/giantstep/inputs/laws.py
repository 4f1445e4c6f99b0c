"""The laws of x: isotropic Gaussian, sphere, Gaussian with one spiked direction, hypercube."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

from giantstep.errors import SettingsError
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
    """x ~ N(0, I_d + strength * mu mu^T), with <mu, u> = alignment, u the target's first direction.

    The target reads the normalised projection h1 = <x, u> / sqrt(kappa), where
    kappa = 1 + strength * alignment^2, so that h stays standard normal. What of mu is not along u
    is orthogonal to all directions of the target. Both numbers may be expressions in d, such as
    ``d^0.5`` and ``d^-0.25``.
    """

    name: ClassVar[str] = "spiked"

    strength: Size
    alignment: Size

    def __init__(self, strength: Size | str | float, alignment: Size | str | float = 1.0) -> None:
        object.__setattr__(self, "strength", _size_or_zero(strength, "the strength of the spike"))
        cosine = _size_or_zero(alignment, "the alignment of the spike")
        if cosine.power > 0 or (cosine.power == 0 and cosine.coefficient > 1):
            raise SettingsError(
                f"inputs: alignment = {cosine} is the cosine of the spike with h1: give a number "
                "from 0 to 1, or a falling power such as d^-0.25"
            )
        object.__setattr__(self, "alignment", cosine)

    @property
    def is_aligned(self) -> bool:
        """Whether the spike lies along h1."""
        return self.alignment == Size(1.0)

    def numbers(self, dim: float) -> tuple[float, float]:
        """Strength theta and cosine c at dimension ``dim``."""
        cosine = self.alignment.at(dim)
        if cosine > 1:
            raise SettingsError(
                f"inputs = {self}: the alignment is {cosine:.3g} at d = {dim:g}, and a cosine is "
                "at most 1: lower its coefficient"
            )
        return self.strength.at(dim), cosine

    def target_variance(self, dim: float) -> float:
        """kappa = 1 + theta c^2, the variance of <x, u>.

        >>> Spiked(8, 0.5).target_variance(100)
        3.0
        """
        theta, cosine = self.numbers(dim)
        return 1 + theta * cosine**2

    def to_json(self) -> dict[str, Any]:
        """The law as plain values; an alignment of one is what is meant without it."""
        numbers = {} if self.is_aligned else {"alignment": str(self.alignment)}
        return {"law": self.name, "strength": str(self.strength), **numbers}

    def __str__(self) -> str:
        if self.is_aligned:
            return f"{self.name}:{self.strength}"
        return f"{self.name}:strength={self.strength},alignment={self.alignment}"


@dataclass(frozen=True, init=False)
class Hypercube:
    """x = A z with z = +-1/sqrt(d), A^2 = diag(boost on the target's coordinates, 1 elsewhere).

    The target reads the signs h = sqrt(d) z of the first coordinates, and is a parity of them.
    ``boost`` may be an expression in d: in ``d^0.5`` the exponent is the alpha of the theory.
    """

    name: ClassVar[str] = "hypercube"

    boost: Size

    def __init__(self, boost: Size | str | float = 1.0) -> None:
        size = Size.parse(boost, "inputs: the boost of the target's coordinates")
        object.__setattr__(self, "boost", size)

    def scales(self, dim: int) -> tuple[float, float]:
        """How far a coordinate of x is from 0: one of the target's, and any other.

        >>> Hypercube("d^0.5").scales(16)
        (0.5, 0.25)
        """
        return math.sqrt(self.boost.at(dim) / dim), 1 / math.sqrt(dim)

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        return {"law": self.name, "boost": str(self.boost)}

    def __str__(self) -> str:
        return self.name if self.boost == Size(1.0) else f"{self.name}:boost={self.boost}"


Inputs = Gaussian | Sphere | Spiked | Hypercube


def _size_or_zero(given: Size | str | float, name: str) -> Size:
    if isinstance(given, str | int | float) and str(given).strip() in ("0", "0.0"):
        return Size(0.0)
    return Size.parse(given, f"inputs: {name}")
