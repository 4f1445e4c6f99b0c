"""An answer as one labelled array for xarray, or as a tidy table for pandas."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giantstep.answer.places import COUNTED, DIRECTION, STEP, Datum, Located
from giantstep.answer.plain import json_value, unique
from giantstep.answer.words import sizes_in_numbers
from giantstep.answer.written import answer_description

if TYPE_CHECKING:
    import pandas
    import xarray

    from giantstep.answer.answer import Answer

SEED = "seed"


class Piece(NamedTuple):
    """The part of a variable that one point has: its place in the grid, and its own array."""

    at: tuple[int, ...]
    part: Located


def answer_dataset(answer: Answer) -> xarray.Dataset:
    """The variables and coordinates that :class:`Answer` describes."""
    import xarray

    variables: dict[str, tuple[tuple[str, ...], list[Piece]]] = {}
    swept, seeded = tuple(answer.axes), (*answer.axes, SEED)
    for number, index in enumerate(np.ndindex(answer.shape)):
        for name, grid, piece in _answer_pieces(answer, number, index):
            variables.setdefault(name, (seeded if grid else swept, []))[1].append(piece)
    coordinates: dict[str, list[Any]] = {n: list(axis.labels) for n, axis in answer.axes.items()}
    if answer.runs:
        coordinates[SEED] = list(answer.seeds)
    for _, pieces in variables.values():
        for piece in pieces:
            for axis, own in zip(piece.part.axes, piece.part.coordinates, strict=True):
                known = coordinates.setdefault(axis, [])
                known += [value for value in own if value not in known]
    found = {name: _answer_array(*content, coordinates) for name, content in variables.items()}
    named = {axis for axes in answer.metric_axes.values() for axis in axes}
    unnamed = [name for name in coordinates if name not in {*named, *answer.axes, SEED}]
    for name, axis in _answer_sizes(answer).items():
        coordinates[name] = axis
    found |= _answer_failures(answer)
    about = answer_description(answer)
    attributes = {"learner": answer.learner, "kind": answer.kind}
    attributes |= {part: json.dumps(json_value(about[part])) for part in ("problem", "settings")}
    return xarray.Dataset(found, coordinates, attributes).drop_vars(unnamed)


def _answer_pieces(
    answer: Answer, number: int, index: tuple[int, ...]
) -> Iterator[tuple[str, bool, Piece]]:
    """The variables of one point: name, whether it has seeds, and its part."""
    run = answer.runs[number] if answer.runs else None
    if run is not None:
        for named, is_metric in ((run.metrics, True), (run.arrays, False)):
            for name, values in named.items():
                for seed, value in zip(run.seeds, values, strict=True):
                    at = (*index, answer.seeds.index(seed))
                    yield name, True, Piece(at, _labelled(answer, number, name, value, is_metric))
    law = answer.predictions[number] if answer.predictions else None
    if law is None:
        return
    for name, value in law.metrics.items():
        errors = np.broadcast_to(np.asarray(law.errors.get(name, 0.0), float), np.shape(value))
        yield f"{name}_theory", False, Piece(index, _labelled(answer, number, name, value, True))
        yield f"{name}_error", False, Piece(index, _labelled(answer, number, name, errors, True))
        status = Located(np.asarray(law.statuses[name]), (), ())
        yield f"{name}_status", False, Piece(index, status)
    for name, value in law.arrays.items():
        yield f"{name}_theory", False, Piece(index, _labelled(answer, number, name, value, False))


def _labelled(answer: Answer, number: int, name: str, value: Any, is_metric: bool) -> Located:
    """The array with its axes; those without a name are called after the variable."""
    if is_metric:
        found = answer.located(number, name, value)
    else:
        array = np.asarray(value)
        found = Located(array, ("entry",) * array.ndim, tuple(tuple(range(n)) for n in array.shape))
    axes = [f"{name}_axis{k}" if a == "entry" else a for k, a in enumerate(found.axes)]
    return found._replace(axes=tuple(axes))


def _answer_array(
    grid: tuple[str, ...], pieces: list[Piece], coordinates: dict[str, list[Any]]
) -> tuple[tuple[str, ...], np.ndarray]:
    """All parts in one array; where there is none, NaN (or an empty text)."""
    own = tuple(unique(axis for piece in pieces for axis in piece.part.axes))
    dims = (*grid, *own)
    shape = tuple(len(coordinates[dim]) for dim in dims)
    kind = np.result_type(*[piece.part.array for piece in pieces])
    whole = sum(piece.part.array.size for piece in pieces) == np.prod(shape, dtype=int)
    if not whole and kind.kind in "iub":
        kind = np.dtype(float)
    empty: Any = "" if kind.kind == "U" else 0 if whole else np.nan
    array = np.full(shape, empty, kind)
    rows = {a: {value: i for i, value in enumerate(coordinates[a])} for a in own}
    for index, part in pieces:
        spread = zip(part.axes, part.coordinates, strict=True)
        where = {axis: [rows[axis][value] for value in own_values] for axis, own_values in spread}
        # An axis that this part lacks has one value there: the first.
        value = part.array.reshape([len(where.get(axis, [0])) for axis in own])
        at = np.ix_(*([i] for i in index), *(where.get(axis, [0]) for axis in own))
        array[at] = value.reshape([1] * len(index) + list(value.shape))
    return dims, array


def _answer_sizes(answer: Answer) -> dict[str, Any]:
    """Sizes in numbers, along those axes on which they depend."""
    found: dict[str, np.ndarray] = {}
    for index, question in zip(np.ndindex(answer.shape), answer.questions, strict=True):
        for name, number in sizes_in_numbers(question.settings).items():
            found.setdefault(name, np.full(answer.shape, np.nan))[index] = number
    result: dict[str, Any] = {}
    for name, array in found.items():
        dims: list[str] = []
        for k, axis in reversed(list(enumerate(answer.axes))):
            first = array.take([0], axis=k)
            if np.array_equal(np.broadcast_to(first, array.shape), array, equal_nan=True):
                array = array.take(0, axis=k)
            else:
                dims.insert(0, axis)
        result[name] = (tuple(dims), array)
    return result


def _answer_failures(answer: Answer) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    """Texts where something failed or is missing; nothing if all is there."""
    found: dict[str, tuple[tuple[str, ...], np.ndarray]] = {}
    for (number, seed), why in answer.failures.items():
        index: tuple[Any, ...] = np.unravel_index(number, answer.shape) if answer.axes else ()
        dims, shape = tuple(answer.axes), answer.shape
        name = "failure_theory"
        if seed is not None:
            name, dims = "failure", (*dims, SEED)
            index, shape = (*index, answer.seeds.index(seed)), (*shape, len(answer.seeds))
        found.setdefault(name, (dims, np.full(shape, "", object)))[1][index] = why
    return found


#: The columns that hold the values of a number.
MEASURED, PREDICTED = ("mean", "sem"), ("theory", "error")


def answer_frame(answer: Answer, *, seeds: bool = False) -> pandas.DataFrame:
    """One line per number: what was swept, sizes, metric, step, direction, then the values.

    A size is given as written (``samples``, if swept) and as numbers, ``n`` and ``n/d``;
    ``direction`` 1 is h1.
    """
    import pandas

    columns: list[str] = []
    if answer.runs:
        columns += [SEED, "value"] if seeds else MEASURED
    if answer.predictions:
        columns += [*PREDICTED, *([] if seeds or not answer.runs else ["deviation"]), "status"]
    points = dict(zip(answer.places(), enumerate(answer.questions), strict=True))
    width, lines = len(answer.axes), []
    for entry in answer.numbers():
        number, question = points[entry.place[:width]]
        first = {**dict(entry.place[:width]), **sizes_in_numbers(question.settings)}
        first |= {"metric": entry.metric, **_answer_place(entry.place[width:])}
        for values in _answer_seeds(answer, number, entry) if seeds and answer.runs else ({},):
            line = {name: getattr(entry, name) for name in columns if name not in (SEED, "value")}
            lines.append({**first, **values, **line})
    for (number, seed), why in answer.failures.items():
        place = list(points)[number]
        lines.append({**dict(place), SEED: seed, "failure": why})
    if answer.failures:
        columns += ["failure"] if SEED in columns else [SEED, "failure"]
    table = pandas.DataFrame(lines, columns=None if lines else [*answer.axes, "metric", *columns])
    places = [name for name in table if name not in (*answer.axes, *columns)]
    whole = [name for name in (*places, SEED) if name in (STEP, DIRECTION, SEED, *COUNTED)]
    table = table[[*answer.axes, *places, *(name for name in columns if name in table)]]
    return table.astype({name: "Int64" for name in whole if name in table})


def _answer_seeds(answer: Answer, number: int, entry: Datum) -> Iterator[dict[str, Any]]:
    """The value of each seed behind a number."""
    run = answer.runs[number]
    if run is None or entry.metric not in run.metrics:
        yield {SEED: None, "value": np.nan}
        return
    own = entry.place[len(answer.axes) :]
    for seed, value in zip(run.seeds, run.metrics[entry.metric], strict=True):
        values = dict(answer.located(number, entry.metric, value).entries())
        yield {SEED: seed, "value": float(values.get(own, np.nan))}


def _answer_place(place: tuple[tuple[str, Any], ...]) -> dict[str, Any]:
    return {a: int(str(at).removeprefix("h")) if a == DIRECTION else at for a, at in place}
