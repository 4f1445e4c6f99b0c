"""Theory between the points of a sweep, so that it can be drawn as a smooth line."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.problem import FIELDS, read_problem
from giantstep.results import Prediction, described
from giantstep.settings.sweeps import kinds_of
from giantstep.sizes import Size
from giantstep.sweep import Sweep
from giantstep.twins.questions import Question
from giantstep.twins.table import TWINS, Twin, twin
from giantstep.twins.verbs import predict

#: Points of a line, and how long they may take: a line of fewer points is better than a wait.
POINTS, PATIENCE_SECONDS = 64, 20.0
#: Settings whose values are not points on a line.
_NO_LINE = ("steps",)


def theory_line(
    sweep: Sweep[Any], points: int = POINTS, patience: float = PATIENCE_SECONDS
) -> Sweep[Prediction] | None:
    """Predictions at evenly spaced values from the first of a sweep to its last.

    ``sweep`` has predictions or comparisons as its points. The values lie evenly on the axis that
    the sweep is drawn on, by decades if that is logarithmic. None where its values are not
    numbers or sizes of one power of d, where it has as many points itself, or where no line can be
    had within ``patience`` seconds.
    """
    rows = [row for row in TWINS if row.name == sweep.points[0].learner]
    if not rows or len(sweep) >= points or _is_optimised(sweep):
        return None
    values = _values(sweep, points, rows[0])
    found: dict[Any, Prediction] = {}
    begin = time.monotonic()
    # From coarse to fine: whenever time is up, the points lie evenly and reach the end.
    for stride in (32, 16, 8, 4, 2, 1):
        for value in (*values[::stride], *values[-1:]):
            if value in found:
                continue
            if time.monotonic() - begin > patience:
                return _line(sweep, values, found)
            law = _law_or_none(sweep, value)
            if law is not None:
                found[value] = law
    return _line(sweep, values, found)


def _line(
    sweep: Sweep[Any], values: tuple[Any, ...], found: dict[Any, Prediction]
) -> Sweep[Prediction] | None:
    kept = [value for value in values if value in found]
    if len(kept) < 3 * len(sweep) and len(kept) < POINTS // 2:
        return None
    return Sweep(sweep.axis, tuple(kept), tuple(found[value] for value in kept))


def _values(sweep: Sweep[Any], points: int, row: Twin) -> tuple[Any, ...]:
    """The values of the line, as the sweep writes its own."""
    where, axis = sweep.positions, sweep.axis
    kinds = {**kinds_of(row.load("settings")), "noise": float}  # type: ignore[arg-type]
    no_line = axis in _NO_LINE or where.ticks is not None or len(sweep) < 2
    if no_line or kinds.get(axis) not in (Size, float, int) or "power of d" in where.label:
        return ()
    at = np.array([where.of[value] for value in sweep.values])
    low, high = at.min(), at.max()
    spaced = np.geomspace if where.is_logarithmic else np.linspace
    numbers = [float(f"{number:.10g}") for number in spaced(low, high, points)]
    if kinds[axis] is int:
        return tuple(dict.fromkeys(round(number) for number in numbers))
    power = _power(sweep.values[0])
    if kinds[axis] is Size and power:
        return tuple(str(Size(number, power)) for number in numbers)
    return tuple(numbers)


def _power(value: Any) -> float:
    return Size.parse(value).power if isinstance(value, str) else 0.0


def law_at(result: Any, axis: str, value: Any) -> Prediction:
    """The prediction of a result's own question with one thing changed."""
    row = twin(result.learner)
    settings_class: Any = row.load("settings")
    fields = {name: result.settings[name] for name in kinds_of(settings_class)}
    problem = {name: result.problem[name] for name in FIELDS if name in result.problem}
    (problem if axis in FIELDS else fields)[axis] = value
    given = read_problem(problem, has_target=row.has_target, has_tree=row.has_tree)
    return predict(Question(settings_class(**fields), given))


def _law_or_none(sweep: Sweep[Any], value: Any) -> Prediction | None:
    try:
        return law_at(sweep.points[0], sweep.axis, value)
    except GiantstepError:
        return None


def _is_optimised(sweep: Sweep[Any]) -> bool:
    """Whether settings other than the swept one change along the sweep."""
    settings = described(sweep)["settings"]
    return any(isinstance(v, list) and name != sweep.axis for name, v in settings.items())
