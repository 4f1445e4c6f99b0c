"""An answer as the JSON object that ``--json`` prints."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from giantstep.answer.plain import json_value, unique

if TYPE_CHECKING:
    from giantstep.answer.answer import Answer


def answer_json(answer: Answer) -> dict[str, Any]:
    """Numbers of a point; of a curve lists over its points, of a grid lists of lists."""
    found = answer_description(answer)
    simulated = {
        "metrics": {
            name: {
                "mean": _nested(answer, answer.runs, _part(name, lambda run, n: run.mean(n))),
                "sem": _nested(answer, answer.runs, _part(name, lambda run, n: run.sem(n))),
                "values": _nested(answer, answer.runs, _part(name, lambda run, n: run.metrics[n])),
            }
            for name in unique(n for run in answer.runs if run for n in run.metrics)
        }
    }
    if not answer.predictions:
        return json_value({**found, **simulated, **_answer_failed(answer), "notes": answer.notes})
    laws = answer.predictions
    metrics, errors = (
        {
            name: _nested(answer, laws, _answer_record_entry(part, name))
            for name in unique(n for law in laws if law for n in getattr(law, part))
        }
        for part in ("metrics", "errors")
    )
    if any(law is not None and law.subspaces for law in laws):
        spaces = {"subspaces": _nested(answer, laws, lambda law: list(law.subspaces))}
    else:
        spaces = {}
    if answer.runs:
        found["comparison"] = [
            {
                "metric": line.metric,
                "place": line.at,
                "mean": line.mean,
                "sem": line.sem,
                "prediction": line.theory,
                "error": line.error,
                "deviation": line.deviation,
            }
            for line in answer.compared()
        ]
        found |= {"simulation": simulated["metrics"], "prediction": metrics}
    else:
        found["metrics"] = metrics
    return json_value(
        {
            **found,
            "statuses": answer.statuses,
            "errors": errors,
            **spaces,
            **_answer_failed(answer),
            "status": answer.status,
            "references": answer.references,
            "notes": answer.notes,
        }
    )


def answer_description(answer: Answer) -> dict[str, Any]:
    """Learner, problem and settings; what varies holds the list of its values."""
    found: dict[str, Any] = {"learner": answer.learner}
    swept = {name: list(axis.labels) for name, axis in answer.axes.items()}
    if len(swept) == 1:
        name, values = next(iter(swept.items()))
        found["sweep"] = {"axis": name, "values": values}
    elif swept:
        found["sweep"] = {"axes": swept}
    records = answer.runs or answer.predictions
    problems = [question.problem.to_json() for question in answer.questions]
    settings = []
    for question, record in zip(answer.questions, records, strict=True):
        # A learner may record more than the settings it got.
        own = {} if record is None else record.settings
        settings.append({**own, **question.settings.to_json()})
    found["problem"], found["settings"] = _merged(answer, problems), _merged(answer, settings)
    if answer.runs:
        found["settings"] |= {"seeds": len(answer.seeds), "seed": min(answer.seeds)}
    return found


def _merged(answer: Answer, every: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Each name with its one value, the values along its axis, or its value at every point."""
    found: dict[str, Any] = {}
    for name in unique(name for each in every for name in each):
        values = [each.get(name) for each in every]
        if all(value == values[0] for value in values):
            found[name] = values[0]
        elif name in answer.axes:
            place = list(answer.axes).index(name)
            stride = math.prod(answer.shape[place + 1 :])
            found[name] = values[: stride * answer.shape[place] : stride]
        else:
            found[name] = _nest(answer.shape, values)
    return found


def _part(name: str, take: Callable[[Any, str], Any]) -> Callable[[Any], Any]:
    return lambda run: take(run, name) if name in run.metrics else None


def _answer_record_entry(part: str, name: str) -> Callable[[Any], Any]:
    """What a record holds under a name, in its metrics or its errors."""
    return lambda record: getattr(record, part).get(name)


def _nested(answer: Answer, records: Sequence[Any], take: Callable[[Any], Any]) -> Any:
    """What ``take`` makes of each record, in lists as deep as there are axes."""
    return _nest(answer.shape, [None if record is None else take(record) for record in records])


def _nest(shape: tuple[int, ...], values: list[Any]) -> Any:
    if not shape:
        return values[0]
    step = len(values) // shape[0]
    return [_nest(shape[1:], values[i * step : (i + 1) * step]) for i in range(shape[0])]


def _answer_failed(answer: Answer) -> dict[str, Any]:
    """Which cells failed or are missing, and why."""
    if not answer.failures:
        return {}
    places = list(answer.places())
    return {
        "failures": [
            {"place": dict(places[number]), "seed": seed, "failure": why}
            for (number, seed), why in answer.failures.items()
        ]
    }
