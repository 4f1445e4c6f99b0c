"""A sweep: points that differ in one thing, its values, and where they stand on an axis."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from giantstep.errors import SettingsError
from giantstep.sizes import Size

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

Point = TypeVar("Point")
Other = TypeVar("Other")

#: From this ratio of last to first on, an axis is logarithmic.
LOG_RATIO = 50


@dataclass(frozen=True, eq=False, repr=False)
class Sweep(Generic[Point]):
    """Points along one axis: questions, or the answers to them.

    ``axis`` is the name of what varies, ``values`` holds it at each point: a number, or a text
    such as ``2d``.

    >>> doubled = Sweep("ridge", (0.1, 1.0), (1, 2)).map(lambda point: 2 * point)
    >>> doubled.points, doubled.label(1)
    ((2, 4), 'ridge = 1')
    """

    axis: str
    values: tuple[Any, ...]
    points: tuple[Point, ...]

    def __post_init__(self) -> None:
        if not self.points or len(self.points) != len(self.values):
            raise ValueError(f"{len(self.values)} values of {self.axis}, {len(self.points)} points")

    def __len__(self) -> int:
        return len(self.points)

    def __iter__(self) -> Iterator[Point]:
        return iter(self.points)

    def map(self, answer: Callable[[Point], Other]) -> Sweep[Other]:
        """The same sweep over what ``answer`` makes of each point."""
        return Sweep(self.axis, self.values, tuple(answer(point) for point in self.points))

    def stack(self, numbers: Callable[[Point], Any]) -> np.ndarray:
        """An array over the points; where shapes differ, shorter ones end in NaN.

        >>> Sweep("steps", (0, 1), ([1.0], [1.0, 2.0])).stack(lambda point: point).tolist()
        [[1.0, nan], [1.0, 2.0]]
        >>> Sweep("steps", (0, 1), (3.0, 4.0)).stack(lambda point: point).tolist()
        [3.0, 4.0]
        """
        arrays = [np.asarray(numbers(point), dtype=float) for point in self.points]
        shape = tuple(max(lengths) for lengths in zip(*(a.shape for a in arrays), strict=True))
        stacked = np.full((len(arrays), *shape), np.nan)
        for number, array in enumerate(arrays):
            place: tuple[Any, ...] = (number, *(slice(length) for length in array.shape))
            stacked[place] = array
        return stacked

    def label(self, number: int) -> str:
        """The value at a point in words, such as ``samples = 2d``."""
        return swept_words(self.axis, self.values[number])

    @cached_property
    def positions(self) -> Positions:
        """Where the values stand on an axis."""
        return Positions(self.axis, self.values)

    def to_json(self) -> dict[str, Any]:
        """The sweep of a result as its kind writes it: lists instead of numbers."""
        first: Any = self.points[0]
        return first.sweep_json(self)

    def to_frame(self) -> pandas.DataFrame:
        """A tidy table over the points of a sweep of results."""
        return self._as_result("to_frame")

    def to_xarray(self) -> xarray.Dataset:
        """Arrays whose first dimension is what was swept; needs xarray."""
        return self._as_result("to_xarray")

    def table(self, metric: Any = None, *, everything: bool = False) -> str:
        """The text that the command line prints of a sweep of results."""
        return self._as_result("table", metric, everything=everything)

    def plot(self, x: str | None = None, metric: Any = None, ax: Axes | None = None) -> Axes:
        """Draw a metric of a sweep of results along what was swept."""
        return self._as_result("plot", x, metric, ax)

    def _as_result(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What the points, which are results, can do; a sweep of results can do it too."""
        does = getattr(type(self.points[0]), "sweep_do", None)
        if does is None:
            raise AttributeError(f"this is a sweep of {type(self.points[0]).__name__}: no {name}")
        return does(name, self, *args, **kwargs)

    def __repr__(self) -> str:
        if hasattr(self.points[0], "sweep_do"):
            return self._as_result("__repr__")
        return f"Sweep({self.axis!r}, {len(self)} points: {self.label(0)} to {self.values[-1]})"

    def _repr_html_(self) -> str:
        if hasattr(self.points[0], "sweep_do"):
            return self._as_result("_repr_html_")
        return f"<code>{html.escape(repr(self))}</code>"


class Positions:
    """Where values stand on an axis: numbers, multiples or powers of d, or one by one.

    ``of`` maps a value to its number, ``label`` names the axis with its unit, ``ticks`` are texts
    to write at the numbers where these say nothing themselves.

    >>> where = Positions("samples", ("d", "2d", "4d"))
    >>> list(where.of.values()), where.label, where.is_logarithmic
    ([1.0, 2.0, 4.0], 'samples / d', False)
    """

    def __init__(self, axis: str, values: Sequence[Any]) -> None:
        unit, self.ticks = "", None
        sizes = _sizes(values)
        if sizes is not None and len({size.power for size in sizes}) == 1:
            numbers, power = [size.coefficient for size in sizes], sizes[0].power
            unit = "" if power == 0 else " / d" if power == 1 else f" / d^{power:g}"
        elif sizes is not None and len({size.coefficient for size in sizes}) == 1:
            numbers, unit = [size.power for size in sizes], ", power of d"
        else:
            numbers = [float(i) for i in range(len(values))]
            self.ticks = [str(value) for value in values]
        self.of = dict(zip(values, numbers, strict=True))
        self.label = axis.replace("_", " ") + unit

    @property
    def is_logarithmic(self) -> bool:
        """Whether the values span so much, or grow so evenly, that they are seen by decades."""
        numbers = np.array(list(self.of.values()))
        if self.ticks is not None or numbers.min() <= 0:
            return False
        return bool(numbers.max() / numbers.min() > LOG_RATIO or _is_geometric(numbers))


def _is_geometric(numbers: np.ndarray) -> bool:
    """Whether four numbers or more grow by one factor, as those of ``1:10:4log`` do."""
    if len(numbers) < 4:
        return False
    factors = numbers[1:] / numbers[:-1]
    return bool(np.ptp(factors) < 1e-6 * factors[0] and not np.isclose(factors[0], 1.0))


def swept_words(axis: str, value: Any) -> str:
    """One value of an axis in words.

    >>> swept_words("step_size", 0.5)
    'step size = 0.5'
    """
    shown = f"{value:.6g}" if isinstance(value, float) else value
    return f"{axis.replace('_', ' ')} = {shown}"


def _sizes(values: Sequence[Any]) -> list[Size] | None:
    if all(isinstance(value, int | float) for value in values):
        return [Size(float(value)) for value in values]
    try:
        return [Size.parse(value) for value in values]
    except SettingsError:
        return None
