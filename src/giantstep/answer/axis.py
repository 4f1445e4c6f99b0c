"""What was swept: its values, and where they stand on an axis."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from giantstep.language.sizes import Size
from giantstep.language.targets import Target

#: From this ratio of last to first on, an axis is logarithmic.
LOG_RATIO = 50


def answer_coordinate(value: Any) -> Any:
    """A value of a setting as an axis shows it: a number where it is one, else a text.

    >>> answer_coordinate(Size(4096.0)), answer_coordinate(Size(4.0, 1.0)), answer_coordinate(0.1)
    (4096, '4d', 0.1)
    """
    if type(value) is Size and value.power == 0:
        whole = value.coefficient.is_integer() and value.coefficient < 2**53
        return int(value.coefficient) if whole else value.coefficient
    if value is None or isinstance(value, str | bool | int | float):
        return value
    return value.text if isinstance(value, Target) else str(value)


@dataclass(frozen=True)
class Axis:
    """The values of one setting: numbers, multiples or powers of d, or things one by one.

    ``values`` are as the settings hold them, sizes as :class:`Size`; ``labels`` are the numbers
    and texts that tables and coordinates show.

    >>> axis = Axis("samples", (Size(1.0, 1.0), Size(2.0, 1.0)))
    >>> axis.labels, axis.numbers, axis.title
    (('d', '2d'), (1.0, 2.0), 'samples / d')
    """

    name: str
    values: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def labels(self) -> tuple[Any, ...]:
        """The values as numbers and texts."""
        return tuple(answer_coordinate(value) for value in self.values)

    @property
    def numbers(self) -> tuple[float, ...]:
        """Where each value stands."""
        return self._scale[0]

    @property
    def title(self) -> str:
        """The name of the axis with its unit."""
        return self.name.replace("_", " ") + self._scale[1]

    @property
    def ticks(self) -> list[str] | None:
        """Texts to write at the numbers, where these say nothing themselves."""
        return None if self._scale[2] else [str(text) for text in self.labels]

    @property
    def power(self) -> float | None:
        """The power of d that the values are multiples of; None where they are no such numbers."""
        return self._scale[3]

    @cached_property
    def _scale(self) -> tuple[tuple[float, ...], str, bool, float | None]:
        """Numbers, unit, whether the numbers speak for themselves, and the power of d."""
        sizes = _answer_axis_sizes(self.values)
        if sizes and len({size.power for size in sizes}) == 1:
            power = sizes[0].power
            unit = "" if power == 0 else " / d" if power == 1 else f" / d^{power:g}"
            return tuple(size.coefficient for size in sizes), unit, True, power
        if sizes and len({size.coefficient for size in sizes}) == 1:
            return tuple(size.power for size in sizes), ", power of d", True, None
        return tuple(float(i) for i in range(len(self.values))), "", False, None

    @cached_property
    def of(self) -> dict[Any, float]:
        """Where each label stands."""
        return dict(zip(self.labels, self.numbers, strict=True))

    @property
    def is_logarithmic(self) -> bool:
        """Whether the values are best shown on a logarithmic axis: a wide range, or even ratios."""
        numbers = np.array(self.numbers)
        if self.ticks is not None or numbers.min() <= 0:
            return False
        return bool(numbers.max() / numbers.min() > LOG_RATIO or _is_geometric_axis(numbers))


def _answer_axis_sizes(values: Sequence[Any]) -> list[Size] | None:
    """The values as sizes; None where one is none. A step C*n^A is no size in d."""
    found = []
    for value in values:
        if type(value) is Size:
            found.append(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            found.append(Size(float(value)))
        else:
            return None
    return found


def _is_geometric_axis(numbers: np.ndarray) -> bool:
    """Whether four numbers or more grow by one factor, as those of ``1:10:4log`` do."""
    if len(numbers) < 4:
        return False
    factors = numbers[1:] / numbers[:-1]
    return bool(np.ptp(factors) < 1e-6 * factors[0] and not np.isclose(factors[0], 1.0))


def named_answer_coordinate(axis: str, value: Any) -> str:
    """One value of an axis in words.

    >>> named_answer_coordinate("step_size", 0.5)
    'step size = 0.5'
    """
    return f"{axis.replace('_', ' ')} = {axis_words(value)}"


def axis_words(value: Any) -> str:
    """A value of an axis as people write it.

    >>> axis_words("3.33333333333d"), axis_words(1 / 300), axis_words("2.25d")
    ('3.33d', '0.00333333', '2.25d')
    """
    if isinstance(value, float):
        return f"{value:.6g}"
    return re.sub(r"\d+\.\d{6,}", _rounded_axis_number, str(value))


def _rounded_axis_number(long: re.Match[str]) -> str:
    number = float(long[0])
    return f"{number:.2f}" if number >= 0.1 else f"{number:.3g}"
