"""What an answer is about in words: learner, target, settings with their units, notes, papers."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from giantstep.answer.axis import answer_coordinate
from giantstep.answer.plain import counted, unique
from giantstep.answer.records import STATUSES
from giantstep.language.sizes import Size
from giantstep.numerics.estimate import student_quantile

if TYPE_CHECKING:
    from giantstep.answer.answer import Answer

#: The letter that mathematics gives to a size, for tables and frames.
LETTERS = {"samples": "n", "width": "p", "readout_samples": "readout n", "dim": "d"}
#: What goes without saying: settings that are shown only where they differ from their default.
QUIET = (
    "biases", "recipe", "start", "batches", "loss", "method", "form", "dtype", "test_samples",
    "start_size", "start_overlap", "iterations", "tolerance", "preprocessing", "clip", "seed",
)  # fmt: skip
#: So many seeds or more, and two standard errors are about an interval of 95 %.
ENOUGH_SEEDS = 6
_NUMBER = re.compile(r"(?<![\w.])-?\d+\.?\d*(?:e[+-]?\d+)?(?![\w.]*\w)")


def answer_facts(answer: Answer) -> dict[str, Any]:
    """The problem and the settings that are the same at every point, as the settings hold them."""
    records = answer.runs or answer.predictions
    points = [
        question_facts(question.settings, question.problem, record.settings if record else {})
        for question, record in zip(answer.questions, records, strict=True)
    ]
    same = {
        name: value
        for name, value in points[0].items()
        if name not in answer.axes and all(point.get(name) == value for point in points)
    }
    if answer.runs:
        same |= {"seeds": len(answer.seeds), **({"seed": s} if (s := min(answer.seeds)) else {})}
    return same


def question_facts(settings: Any, problem: Any, recorded: Mapping[str, Any] = {}) -> dict[str, Any]:
    """What is worth saying of a problem, of what a learner recorded, and of its settings."""
    found: dict[str, Any] = {}
    for name in ("target", "noise", "inputs"):
        value = answer_coordinate(getattr(problem, name, None))
        if value not in (None, 0.0, "gaussian"):
            found[name] = value
    usual = type(settings)()
    found |= {name: value for name, value in recorded.items() if not hasattr(settings, name)}
    for each in dataclasses.fields(settings):
        value = getattr(settings, each.name)
        if each.name not in QUIET or answer_coordinate(value) != answer_coordinate(
            getattr(usual, each.name)
        ):
            found[each.name] = value
    return found


def answer_in_words(known: Mapping[str, Any]) -> list[str]:
    """Facts in words.

    >>> answer_in_words({"target": "h1", "dim": 200, "samples": Size(4.0, 1.0), "ridge": 0.1})
    ['target h1', 'd = 200', 'n = 800 = 4d', 'ridge 0.1']
    """
    words, dim = [], known.get("dim")
    for name, value in known.items():
        if value is None or value is False or isinstance(value, list | dict):
            continue
        if name in LETTERS or type(value) is Size:
            words.append(_size_words(name, value, dim))
        elif name == "seeds":
            words.append(counted(value, "seed"))
        elif value is True:
            words.append(name.replace("_", " "))
        else:
            shown = f"{value:.6g}" if isinstance(value, float) else value
            words.append(f"{name.replace('_', ' ')} {shown}")
    return words


def sizes_in_numbers(settings: Any) -> dict[str, float]:
    """Each size as a number and as a multiple of d, as far as the settings say.

    >>> from giantstep.settings.kernel import Kernel
    >>> sizes_in_numbers(Kernel(dim=200, samples="4d"))
    {'d': 200.0, 'n': 800.0, 'n/d': 4.0}
    >>> sizes_in_numbers(Kernel(samples="4d"))
    {'n/d': 4.0}
    """
    dim = getattr(settings, "dim", None)
    found: dict[str, float] = {} if dim is None else {"d": float(dim)}
    for name, letter in LETTERS.items():
        size = getattr(settings, name, None)
        if name == "dim" or type(size) is not Size:
            continue
        if dim is not None:
            found[letter] = float(round(size.at(dim)))
            found[f"{letter}/d"] = found[letter] / float(dim)
        elif size.power == 0:
            found[letter] = size.coefficient
        elif size.power == 1:
            found[f"{letter}/d"] = size.coefficient
    return found


def _size_words(name: str, given: Any, dim: Any) -> str:
    """A size with its unit.

    >>> _size_words("samples", Size(4.0, 1.0), 200), _size_words("width", Size(20.0), 200)
    ('n = 800 = 4d', 'p = 20')
    >>> _size_words("samples", Size(4.0, 1.0), None), _size_words("step_size", Size(1.0, 0.5), 100)
    ('n = 4d', 'step size = 10 = d^0.5')
    """
    letter = LETTERS.get(name, name.replace("_", " "))
    if type(given) is Size and given.power == 0:
        return f"{letter} = {given.coefficient:.6g}"
    if type(given) is not Size or dim is None:
        return f"{letter} = {given}"
    value = given.at(dim)
    return f"{letter} = {round(value) if name in LETTERS else f'{value:.4g}'} = {given}"


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


def answer_notes(answer: Answer) -> list[str]:
    """The notes of an answer, and how wide its errors really are where it has few seeds."""
    notes, seeds = merged_notes(answer.notes), len(answer.seeds)
    if answer.runs and 1 < seeds < ENOUGH_SEEDS:
        quantile = student_quantile(seeds, 0.05)
        notes.append(f"few seeds: a 95 % interval is ± {quantile:.1f} standard errors, not ± 2")
    return notes


def merged_notes(notes: Iterable[str]) -> list[str]:
    """Each note once; those that differ in numbers alone as one, with the range of each number.

    >>> merged_notes(["the error 0.5 at d = 10", "a limit", "the error 0.25 at d = 10"])
    ['the error 0.25 to 0.5 at d = 10', 'a limit']
    """
    groups: dict[str, list[str]] = {}
    for note in unique(notes):
        groups.setdefault(_NUMBER.sub("#", note), []).append(note)
    return [_answer_note_range(mask, own) for mask, own in groups.items()]


def _answer_note_range(mask: str, notes: list[str]) -> str:
    if len(notes) == 1:
        return notes[0]
    columns = zip(*[_NUMBER.findall(note) for note in notes], strict=True)
    texts = []
    for column in columns:
        low, high = min(column, key=float), max(column, key=float)
        texts.append(low if float(low) == float(high) else f"{low} to {high}")
    parts = mask.split("#")
    return parts[0] + "".join(text + part for text, part in zip(texts, parts[1:], strict=True))
