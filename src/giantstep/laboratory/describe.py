"""Learners as the page shows them: their controls, from the declarations of their settings."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

from giantstep.answer import STATUSES
from giantstep.answer.places import STEP, TIME
from giantstep.asking.table import LEARNERS, Learner
from giantstep.errors import SettingsError
from giantstep.language.inputs import SYNTAX
from giantstep.language.sizes import Size
from giantstep.language.targets import catalogue, tree_catalogue

#: A slider goes from a value divided by this to the value times this.
SLIDER_FACTOR = 16.0
#: A range that is proposed for the axis goes this far from the value, on so many points.
RANGE_FACTOR, RANGE_POINTS = 5.0, 9
#: Whole numbers up to this have a slider that counts one by one.
_FEW = 12
#: Where a slider of a number that may be zero begins and ends.
_SMALLEST, _LARGEST = 1e-4, 10.0
#: Where the slider of a share or a cosine ends.
_SHARES = (1.0, 0.99)
#: A dimension at which dots come at once and sit on the line.
DIM = "200"
#: Learners whose runs hold the cosines of every neuron after each step.
WITH_NEURONS = ("giant-step", "online-sgd")


@functools.cache
def lab_controls() -> dict[str, Any]:
    """Everything that the page has to know before anything is asked."""
    return {
        "learners": [_lab_learner(row) for row in LEARNERS],
        "targets": [
            {"name": entry.name, "expression": entry.expression, "shows": entry.shows}
            for entry in (*catalogue(), *tree_catalogue())
        ],
        "inputs": SYNTAX,
        "statuses": list(STATUSES),
    }


def lab_example_question(row: Learner) -> Any:
    """The example of a learner as a question."""
    from giantstep.asking.questions import read_questions

    return read_questions(row, *row.options(row.example))


def _lab_learner(row: Learner) -> dict[str, Any]:
    settings, problem = row.options(row.example)
    settings_class: Any = row.load("settings")

    def takes(name: str, value: float) -> bool:
        """Whether the example may have that value: the class knows rules that no field has."""
        try:
            settings_class(**{**settings, name: value})
        except SettingsError:
            return False
        return True

    fields = [f for f in dataclasses.fields(settings_class) if f.metadata]
    controls = [_control(field, settings.get(field.name), takes) for field in fields]
    along = [axis for axis in (TIME, STEP) if any(axis in m.axes for m in row.metrics)]
    return {
        "name": row.name,
        "summary": row.summary,
        "theory": row.theory,
        "references": list(row.references),
        "has_target": row.has_target,
        "problem": problem,
        "neurons": row.name in WITH_NEURONS,
        "controls": controls,
        "axes": [*along, *[c["name"] for c in controls if c["range"]]],
        "axis": _lab_first_axis(along, settings, controls),
        "metrics": [
            {"name": m.name, "axes": list(m.axes), "simulated": m.simulated} for m in row.metrics
        ],
    }


def _lab_first_axis(along: list[str], settings: dict[str, Any], controls: list[Any]) -> str:
    """What the x axis shows first: time, steps if there are several, samples, or what can be."""
    if TIME in along or (STEP in along and int(settings.get("steps", 1)) > 1):
        return along[0]
    ranged = [control["name"] for control in controls if control["range"]]
    return "samples" if "samples" in ranged else ranged[0]


def _control(
    field: dataclasses.Field[Any], example: Any, takes: Callable[[str, float], bool]
) -> dict[str, Any]:
    """A control: its value, and a slider or a menu where the declaration allows one."""
    rule = field.metadata
    default = field.default
    value: Any = default if example is None else example
    if field.name == "dim" and value is None:
        value = DIM
    slider = _slider(rule, value)
    if slider and rule["kind"] is not Size and not takes(field.name, slider.high):
        end = next((end for end in _SHARES if takes(field.name, end)), float(value))
        slider = slider._replace(high=end)
    return {
        "name": field.name,
        "label": field.name.replace("_", " "),
        "help": rule["help"],
        "kind": rule["kind"].__name__,
        "choices": list(rule["choices"] or ()),
        "words": list(rule["words"]),
        "only": rule["only"],
        "default": None if default is None else default if rule["kind"] is bool else str(default),
        "value": None if value is None else value if rule["kind"] is bool else str(value),
        "slider": slider and slider._asdict(),
        "range": _lab_axis_range(slider, value, rule["kind"]) if slider else None,
        "first": example is not None or field.name in ("dim", "samples", "ridge", "step_size"),
    }


class Slider(NamedTuple):
    """Where a slider begins and ends, whether it moves by decades, and by whole numbers."""

    low: float
    high: float
    log: bool = False
    whole: bool = False


def _slider(rule: Any, value: Any) -> Slider | None:
    """The slider of a number; None for what is no number."""
    if rule["kind"] not in (Size, int, float) or value in rule["words"]:
        return None
    if rule["kind"] is Size:
        try:
            number = Size.parse(value).coefficient
        except SettingsError:
            return None
        return Slider(number / SLIDER_FACTOR, number * SLIDER_FACTOR, log=True)
    low = rule["above"] if rule["low"] is None else rule["low"]
    if value is None:
        return None
    number = float(value)
    whole = rule["kind"] is int or (number > _FEW and number.is_integer())
    if low is not None and rule["high"] <= 1:
        return Slider(low, rule["high"], whole=whole)
    if whole and number <= _FEW:
        high = min(max(_FEW, 4 * number), rule["high"])
        return Slider(low or 0, high, whole=True)
    if whole:
        least = max(low or 1, number / SLIDER_FACTOR)
        return Slider(least, number * SLIDER_FACTOR, log=True, whole=True)
    if low is None:
        reach = 4 * abs(number) or 1.0
        return Slider(-reach, reach)
    if low > 0:
        return Slider(low, low + 4 * (number - low))
    smallest = number / SLIDER_FACTOR**2 if number else _SMALLEST
    return Slider(smallest, max(number * SLIDER_FACTOR, _LARGEST * smallest), log=True)


def _lab_axis_range(slider: Slider, value: Any, kind: type) -> str:
    """The values that the x axis shows when it is this setting."""
    low, high = slider.low, slider.high
    if not slider.log:
        if slider.whole:
            return f"{low:g}:{high:g}:{int(high - low) + 1}"
        inside = (high - low) / 50
        if low >= 0:
            return f"{low + inside:.4g}:{high - inside:.4g}:{RANGE_POINTS}"
        # The language of ranges has no negative ends.
        gap = (high - low - 2 * inside) / (RANGE_POINTS - 1)
        return ",".join(f"{low + inside + i * gap:.4g}" for i in range(RANGE_POINTS))
    size = Size.parse(value) if kind is Size else Size(float(value))
    ends = max(size.coefficient / RANGE_FACTOR, low), min(size.coefficient * RANGE_FACTOR, high)
    if slider.whole:
        values = (ends[0] * (ends[1] / ends[0]) ** (i / 5) for i in range(6))
        return ",".join(str(round(each)) for each in values)
    texts = [str(Size(float(f"{end:.3g}"), size.power)) for end in ends]
    return f"{texts[0]}:{texts[1]}:{RANGE_POINTS}log"
