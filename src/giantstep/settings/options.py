"""Fields of a settings class that also are command-line options: one declaration for both."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import itertools
import math
from collections.abc import Sequence
from typing import Any, ClassVar

from giantstep.errors import SettingsError, shown
from giantstep.language.sizes import Schedule, Size, StepInSamples

#: Numbers beyond these are slips of the keyboard, and overflow in the squares that follow.
LARGEST, MOST = 1e30, 1e18
#: A grid of more points is a slip of the keyboard.
MOST_POINTS = 2_000_000


def option(
    default: Any,
    help: str,
    *,
    kind: type = str,
    choices: Sequence[str] | None = None,
    words: Sequence[str] = (),
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    only: str | None = None,
    in_samples: bool = False,
    schedule: bool = False,
    moved: bool = False,
) -> Any:
    """A field with its help text and its range.

    ``kind`` is ``Size``, ``int``, ``float``, ``bool`` or ``str``. ``low`` is the smallest value
    allowed, ``above`` a bound that is itself excluded, ``high`` the largest value allowed,
    ``words`` what may stand for a size or a number, ``only`` the verb (``simulate`` or ``predict``)
    that alone heeds it, ``in_samples`` whether a size may be a step ``C*n^A``, ``schedule`` whether
    there may be one per step, as a tuple or as ``2/1/1``, ``moved`` whether an activation must have
    a slope that gradients follow. A default of None makes it optional.
    """
    if high is None:
        high = MOST if kind is int else LARGEST
    metadata = {
        "help": help,
        "kind": kind,
        "choices": choices,
        "words": words,
        "low": low,
        "above": above,
        "high": high,
        "only": only,
        "in_samples": in_samples,
        "schedule": schedule,
        "moved": moved,
    }
    return dataclasses.field(default=default, metadata=metadata)


size = functools.partial(option, kind=Size)
whole = functools.partial(option, kind=int)
number = functools.partial(option, kind=float)
switch = functools.partial(option, False, kind=bool)
#: What ``test_samples`` are in every learner that has them.
TEST_SAMPLES = "fresh samples that measure the test error"


def activation_option(default: str, *, moved: bool = False, only: str | None = None) -> Any:
    """An activation: a name, an expression in z, or a function."""
    help = "activation: relu, tanh, erf2, He3, 'relu(z-1)', ..."
    return option(default, help, moved=moved, only=only)


def _described_setting(name: str, field: dataclasses.Field[Any]) -> str:
    """A setting in the docstring of its class: default, help, choices."""
    rule = field.metadata
    choices = f" ({', '.join(rule['choices'])})" if rule["choices"] else ""
    return f"{name} : default {field.default!r}\n    {rule['help']}{choices}"


def flag(name: str) -> str:
    """The command-line spelling of a field name."""
    return "--" + name.replace("_", "-")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """Base of every learner's settings: checks each field against its declaration."""

    learner: ClassVar[str]

    def __init_subclass__(cls) -> None:
        fields = [(n, f) for n, f in vars(cls).items() if isinstance(f, dataclasses.Field)]
        listed = [_described_setting(name, field) for name, field in fields if field.metadata]
        head = f"{inspect.cleandoc(cls.__doc__ or '')}\n\nParameters\n----------"
        cls.__doc__ = "\n".join([head, *listed])
        # A dataclass would write its own.
        cls.__repr__ = Settings.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        given = [f"{name}={value!r}" for name, value in self.to_json().items()]
        return f"{type(self).__name__}({', '.join(given)})"

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if field.metadata:
                object.__setattr__(self, field.name, _read_field(field, getattr(self, field.name)))
        if self.ranges:
            # Rules that tie fields together are checked at every point.
            _ = self.points
        else:
            self.check()

    @property
    def ranges(self) -> list[str]:
        """The fields that hold several values: a verb answers such settings with a grid."""
        return [f.name for f in dataclasses.fields(self) if type(getattr(self, f.name)) is Values]

    def check_single_point(self, what: str) -> None:
        """Refuse several values of a field, for ``what`` is asked at one point."""
        for name in self.ranges:
            raise SettingsError(f"{name} has several values: {what} has one point, give one value")

    @functools.cached_property
    def points(self) -> tuple[Any, ...]:
        """The settings at each combination of values, the last field's changing fastest."""
        names = self.ranges
        count = math.prod(len(getattr(self, name)) for name in names)
        if count > MOST_POINTS:
            raise SettingsError(f"{' and '.join(names)}: {count} combinations, over {MOST_POINTS}")
        combined = itertools.product(*(getattr(self, name) for name in names))
        return tuple(self.replace(**dict(zip(names, values, strict=True))) for values in combined)

    def check(self) -> None:
        """Rules that tie several fields together; raise :class:`SettingsError`."""

    def to_json(self) -> dict[str, Any]:
        """The fields as plain values; sizes as text."""
        return {f.name: _plain_setting(getattr(self, f.name)) for f in dataclasses.fields(self)}

    def replace(self, **changes: Any) -> Any:
        """The same settings with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)


class Values(tuple[Any, ...]):
    """Several values of one field, each checked."""


def _plain_setting(value: Any) -> Any:
    if type(value) is Values:
        return [_plain_setting(each) for each in value]
    return str(value) if isinstance(value, Size) else value


def _read_field(field: dataclasses.Field[Any], value: Any) -> Any:
    """The value of a field, or the values of a range or a list, checked."""
    # The language of ranges is a file of its own, which knows this one.
    from giantstep.settings.sweeps import is_swept, setting_values

    kind = field.metadata["kind"]
    if field.metadata["schedule"] and type(value) is tuple:
        # A tuple is a schedule where there can be one, and a list several values.
        return _checked_setting(field, value)
    if type(value) is Values or (kind in (Size, float, int) and is_swept(value, kind)):
        given = value if type(value) is Values else setting_values(field.name, value, kind)
        return Values(_checked_setting(field, each) for each in given)
    return _checked_setting(field, value)


def _checked_setting(field: dataclasses.Field[Any], value: Any) -> Any:
    rule, name = field.metadata, field.name
    if value is None:
        if field.default is None:
            return None
        raise SettingsError(f"{name} is missing: give {flag(name)} ({rule['help']})")
    kind = rule["kind"]
    if kind is Size:
        if value in rule["words"]:
            return value
        step = StepInSamples.read(value, name) if rule["in_samples"] else None
        several = Schedule.read(value, name, rule["high"]) if rule["schedule"] else None
        one = value[0] if type(value) is tuple and len(value) == 1 else value
        return step or several or Size.parse(one, name, high=rule["high"])
    if kind is bool:
        if not isinstance(value, bool):
            raise SettingsError(f"{name} = {shown(value)} is neither true nor false")
        return value
    if kind in (int, float):
        if value in rule["words"]:
            return value
        return _number_setting(name, value, rule)
    if rule["moved"]:
        _check_activation_setting(name, value)
    if callable(value):
        from giantstep.language.activations.activation import recognised_activation

        return recognised_activation(value)
    if rule["choices"] is not None and value not in rule["choices"]:
        *first, last = rule["choices"]
        raise SettingsError(f"{name} = {shown(value)} is unknown: use {', '.join(first)} or {last}")
    return str(value)


def _check_activation_setting(name: str, value: Any) -> None:
    """Refuse an activation that jumps: gradients see its slope, which misses the jump."""
    from giantstep.language.activations.activation import activation

    given = activation(value)
    if not given.is_continuous:
        raise SettingsError(
            f"{name} = {shown(given.name)} jumps: a gradient step follows the slope, which is 0 "
            "across a jump; take a continuous one, such as tanh or relu, or fit the readout of "
            "random-features"
        )


def _number_setting(name: str, value: Any, rule: Any) -> int | float:
    given = f"{name} = {shown(value)}"
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        number = math.nan
    except OverflowError:
        number = math.inf
    if math.isnan(number):
        raise SettingsError(f"{given} is not a number")
    if rule["low"] is not None and number < rule["low"]:
        raise SettingsError(f"{given} is too small: it must be at least {rule['low']}")
    if rule["above"] is not None and number <= rule["above"]:
        raise SettingsError(f"{given} is too small: it must be above {rule['above']}")
    if abs(number) > rule["high"]:
        raise SettingsError(
            f"{given} is too large: give a finite number of at most {rule['high']:g}"
        )
    if rule["kind"] is int and not number.is_integer():
        raise SettingsError(f"{given} is not a whole number")
    return rule["kind"](number)
