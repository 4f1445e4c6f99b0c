"""Sizes written in the dimension d: ``4d``, ``d^1.5``, ``0.5*d^2``, ``4096``; schedules of them."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from giantstep.errors import SettingsError, shown

_NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_SIZE = re.compile(
    rf"^(?P<coefficient>{_NUMBER})?\s*\*?\s*(?P<dim>d(?:\s*(?:\^|\*\*)\s*(?P<power>-?{_NUMBER}))?)?$"
)
_IN_SAMPLES = re.compile(rf"^(?:{_NUMBER})?\s*\*?\s*n\s*(?:\^|\*\*|$)")
#: Longest text of a size. It is measured before anything is matched: matching may take a time that
#: grows with a power of the length.
LONGEST = 100
#: Sizes beyond these are slips of the keyboard, and overflow in the products that follow.
LARGEST, HIGHEST_POWER = 1e30, 20
#: Most steps of a schedule.
MOST_STEPS = 1000


@dataclass(frozen=True)
class Size:
    """``coefficient * d**power``: a size that scales with the dimension, or a plain number."""

    coefficient: float
    power: float = 0.0

    @classmethod
    def parse(cls, given: Size | str | float, name: str = "size", high: float = LARGEST) -> Size:
        """Read a size; ``name`` is the argument that an error message blames, ``high`` its bound.

        >>> Size.parse("0.5d^2")
        Size(coefficient=0.5, power=2.0)
        """
        if isinstance(given, Size):
            return given
        remedy = "give a positive number, or an expression in d such as 4d, d^1.5 or 0.5*d^2"
        if isinstance(given, bool):
            raise SettingsError(f"{name} = {given!r} is not a size: {remedy}")
        if isinstance(given, int | float):
            # A whole number beyond the range of floats is as good as infinite.
            size = cls(float(given) if abs(given) < 1e300 else math.inf)
        else:
            text = str(given).strip()
            match = _SIZE.match(text) if 0 < len(text) <= LONGEST else None
            if match is None:
                raise SettingsError(f"{name} = {str(given)[:60]!r} is not a size: {remedy}")
            power = float(match["power"]) if match["power"] else float(bool(match["dim"]))
            size = cls(float(match["coefficient"] or 1.0), power)
        written = f"{name} = {shown(given)}"
        if not (math.isfinite(size.coefficient) and size.coefficient > 0):
            raise SettingsError(f"{written} is not positive and finite: {remedy}")
        if not 1 / LARGEST <= size.coefficient <= high:
            raise SettingsError(f"{written} is out of range: give {1 / LARGEST:g} to {high:g}")
        if abs(size.power) > HIGHEST_POWER:
            raise SettingsError(f"{written} has a power beyond {HIGHEST_POWER}: {remedy}")
        return size

    @classmethod
    def or_zero(cls, given: Size | str | float, name: str = "size") -> Size:
        """The same, where zero may be meant: no size, but a noise, a ridge or a cosine."""
        return Size(0.0) if str(given).strip() in ("0", "0.0") else cls.parse(given, name)

    def at(self, dim: float) -> float:
        """The value at dimension ``dim``."""
        try:
            return self.coefficient * float(dim) ** self.power
        except OverflowError:
            raise SettingsError(f"{self} is beyond all numbers at d = {dim:.3g}") from None

    def over(self, steps: int) -> tuple[Size, ...]:
        """The size at each step; a :class:`Schedule` has its own for each."""
        return (self,) * steps

    def count(self, dim: int, name: str = "size") -> int:
        """The value at ``dim`` rounded to a whole number of at least one."""
        value = self.at(dim)
        if not math.isfinite(value) or value > 1e18:
            raise SettingsError(f"{name} = {self} is {value:.3g} at d = {dim}: too large")
        if round(value) < 1:
            raise SettingsError(
                f"{name} = {self} is {value:.3g} at d = {dim}: it must be at least 1"
            )
        return round(value)

    def ratio(self, name: str = "size") -> float:
        """The coefficient of d, for theories in which the size is proportional to d."""
        if self.power != 1.0:
            raise SettingsError(
                f"{name} = {self} is not proportional to d, which this theory needs: "
                f"write it as a multiple of d, such as 2d"
            )
        return self.coefficient

    def __str__(self) -> str:
        number = f"{self.coefficient:.12g}"
        if self.power == 0:
            return number
        dim = "d" if self.power == 1 else f"d^{self.power:.12g}"
        return dim if self.coefficient == 1 else number + ("" if self.power == 1 else "*") + dim


@dataclass(frozen=True)
class Schedule(Size):
    """One size per step, written ``2/1/1``. As a size it is that of the last step."""

    each: tuple[Size, ...] = ()

    @classmethod
    def read(cls, given: object, name: str, high: float = LARGEST) -> Schedule | None:
        """A tuple, or a text with slashes; None where there is but one size.

        >>> print(Schedule.read("2d^0.25/1/1", "step_size"), Schedule.read("2d", "samples"))
        2*d^0.25/1/1 None
        """
        if isinstance(given, Schedule):
            return given
        if isinstance(given, str) and "/" in given:
            given = tuple(given[: MOST_STEPS * LONGEST].split("/"))
        if not isinstance(given, tuple) or len(given) == 1:
            return None
        if not 1 < len(given) <= MOST_STEPS:
            raise SettingsError(
                f"{name} has {len(given)} values: a schedule has one per step, 2 to {MOST_STEPS}"
            )
        each = tuple(Size.parse(one, name, high) for one in given)
        return cls(each[-1].coefficient, each[-1].power, each)

    def over(self, steps: int) -> tuple[Size, ...]:
        """The sizes of the first steps."""
        return self.each[:steps]

    def __str__(self) -> str:
        return "/".join(map(str, self.each))


@dataclass(frozen=True)
class StepInSamples(Size):
    """``coefficient * n**power``: a step size in the unit in which a giant step is n^(1/2)."""

    @classmethod
    def read(cls, given: object, name: str) -> StepInSamples | None:
        """What is written in n, or None where nothing is.

        >>> StepInSamples.read("2*n^0.3", "step_size"), StepInSamples.read("2d", "step_size")
        (StepInSamples(coefficient=2.0, power=0.3), None)
        """
        if not isinstance(given, str) or not _IN_SAMPLES.match(given.strip()[:LONGEST]):
            return None
        step = Size.parse(given.replace("n", "d"), name)
        if not 0 < step.power < 0.5:
            raise SettingsError(
                f"{name} = {shown(given)}: a step C*n^A lies between small and giant ones for "
                "0 < A < 1/2; write a small step as d^-0.5 and a giant one as a number"
            )
        return cls(step.coefficient, step.power)

    def in_dimension(self, samples: Size, width: Size) -> Size:
        """The same step in our unit, C n^A / sqrt(p), as an expression in d.

        >>> StepInSamples(2.0, 0.3).in_dimension(Size(1.0, 1.0), Size(4.0, 1.0))
        Size(coefficient=1.0, power=-0.2)
        """
        number = samples.coefficient**self.power / math.sqrt(width.coefficient)
        power = samples.power * self.power - width.power / 2
        # Twelve digits, as sizes are written, keep 0.3 - 0.5 from being -0.20000000000000001.
        return Size(self.coefficient * number, float(f"{power:.12g}"))

    def __str__(self) -> str:
        return super().__str__().replace("d", "n")
