"""What a result is about in words: learner, target, settings with their units, notes, papers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from giantstep.results.plain import unique
from giantstep.results.status import STATUSES
from giantstep.results.sweeps import described
from giantstep.results.units import LETTERS, size_of, size_words
from giantstep.sweep import Sweep

#: What goes without saying: settings that are not shown while they have one of these values.
USUAL: dict[str, tuple[Any, ...]] = {
    "noise": (0.0,),
    "inputs": ("gaussian",),
    "biases": ("none",),
    "recipe": ("none",),
    "start": ("sphere", "random"),
    "batches": ("fresh",),
    "loss": ("square",),
    "method": ("auto",),
    "form": ("auto",),
    "dtype": ("auto", "float32"),
    "test_samples": ("10000", "8192", 4000),
    "start_size": (1e-3,),
    "start_overlap": (0.9,),
    "iterations": (400,),
    "tolerance": (1e-6,),
    "preprocessing": ("optimal",),
    "clip": (50.0,),
    "seed": (0,),
}
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[+-]?\d+)?(?![\w.]*\w)")


def about(result: Any) -> tuple[str, dict[str, Any], Mapping[str, Any]]:
    """Learner, what is fixed (problem and settings), and the settings of the first point."""
    if isinstance(result, Sweep):
        whole = described(result)
        fixed = {**whole["problem"], **whole["settings"]}
        fixed.pop(result.axis, None)
        return whole["learner"], fixed, result.points[0].settings
    return result.learner, {**result.problem, **result.settings}, result.settings


def fixed_words(fixed: Mapping[str, Any]) -> list[str]:
    """Settings in words, those that matter and have one value.

    >>> fixed_words({"target": "h1", "noise": 0.0, "dim": 200, "samples": "4d", "ridge": 0.1})
    ['target h1', 'd = 200', 'n = 800 = 4d', 'ridge 0.1']
    """
    words, dim = [], fixed.get("dim")
    for name, value in fixed.items():
        value = _law(value) if name == "inputs" else value
        if value is None or value is False or value in USUAL.get(name, ()):
            continue
        if isinstance(value, list | dict):
            continue
        if name in LETTERS or (size_of(value) is not None and isinstance(value, str)):
            words.append(size_words(name, value, dim))
        elif name == "seeds":
            words.append(f"{value} seeds" if value != 1 else "1 seed")
        elif value is True:
            words.append(name.replace("_", " "))
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else value
            words.append(f"{name.replace('_', ' ')} {shown}")
    return words


def status_words(statuses: Mapping[str, str]) -> str:
    """The status of each metric, those of one status together.

    >>> status_words({"overlap": "theorem", "test_error": "replica", "alignment": "theorem"})
    'theorem (overlap, alignment); replica (test_error)'
    >>> status_words({"overlap": "theorem"})
    'theorem'
    """
    groups = {
        status: [name for name, own in statuses.items() if own == status]
        for status in STATUSES
        if status in statuses.values()
    }
    if len(groups) == 1:
        return next(iter(groups))
    return "; ".join(f"{status} ({', '.join(names)})" for status, names in groups.items())


def merged_notes(notes: Iterable[str]) -> list[str]:
    """Each note once; those that differ in numbers alone as one, with the range of each number.

    >>> merged_notes(["the error 0.5 at d = 10", "a limit", "the error 0.25 at d = 10"])
    ['the error 0.25 to 0.5 at d = 10', 'a limit']
    """
    groups: dict[str, list[str]] = {}
    for note in unique(notes):
        groups.setdefault(_NUMBER.sub("#", note), []).append(note)
    return [_range(mask, own) for mask, own in groups.items()]


def _range(mask: str, notes: list[str]) -> str:
    if len(notes) == 1:
        return notes[0]
    columns = zip(*[_NUMBER.findall(note) for note in notes], strict=True)
    texts = []
    for column in columns:
        low, high = min(column, key=float), max(column, key=float)
        texts.append(low if float(low) == float(high) else f"{low} to {high}")
    parts = mask.split("#")
    return parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))


def _law(value: Any) -> Any:
    """The law of the inputs as people write it, from its plain values."""
    if not isinstance(value, Mapping):
        return value
    numbers = [str(number) for name, number in value.items() if name != "law"]
    return ":".join([str(value["law"]), ",".join(numbers)]) if numbers else value["law"]
