"""The rows of a study as an xarray dataset with named dimensions."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from giantstep.studies.cells import PREDICT
from giantstep.studies.outcomes import ARRAY, METRIC
from giantstep.studies.records import EVERY_ROLE, Row

if TYPE_CHECKING:
    import xarray

    from giantstep.studies.results import Results

Place = tuple[int, ...]


class Cell(NamedTuple):
    """An array at its place in the grid of one variable."""

    place: Place
    array: np.ndarray


def gathered(results: Results) -> xarray.Dataset:
    """Metrics and arrays of a study; see :meth:`Results.dataset`."""
    import xarray

    definition = results.definition()
    rows = list(results.rows(EVERY_ROLE))
    coordinates = _coordinates(rows, list(definition["axes"]))
    variables: dict[str, Any] = {}
    for role in (METRIC, ARRAY):
        measured, predicted = _cells(rows, role, coordinates)
        for name in dict.fromkeys([*measured, *predicted]):
            both = [*measured.get(name, []), *predicted.get(name, [])]
            shape = _common_shape([cell.array for cell in both])
            own = tuple(f"{name}_axis{k}" for k in range(len(shape)))
            for cells, suffix, dims in (
                (measured.get(name), "", tuple(coordinates)),
                (predicted.get(name), "_theory", tuple(coordinates)[:-1]),
            ):
                if cells:
                    grid = tuple(len(coordinates[dim]) for dim in dims)
                    variables[name + suffix] = ((*dims, *own), _filled(cells, grid, shape))
    attributes = {"study": definition["name"], "definition": json.dumps(definition)}
    return xarray.Dataset(variables, dict(coordinates), attributes)


def _coordinates(rows: Iterable[Row], axes: list[str]) -> dict[str, list[Any]]:
    """The values along each axis in the order of the study, and last the seeds."""
    values: dict[str, dict[Any, None]] = {name: {} for name in (*axes, "seed")}
    for row in rows:
        for name in axes:
            values[name][row.coordinates[name]] = None
        if row.seed is not None:
            values["seed"][row.seed] = None
    return {name: list(seen) for name, seen in values.items()}


def _cells(
    rows: Iterable[Row], role: str, coordinates: Mapping[str, list[Any]]
) -> tuple[dict[str, list[Cell]], dict[str, list[Cell]]]:
    """The cells of each simulated variable, and those of each predicted one."""
    index = {name: {v: i for i, v in enumerate(vs)} for name, vs in coordinates.items()}
    measured: dict[str, list[Cell]] = {}
    predicted: dict[str, list[Cell]] = {}
    for row in rows:
        place = tuple(index[name][value] for name, value in row.coordinates.items())
        if row.seed is not None:
            place += (index["seed"][row.seed],)
        for value in (value for value in row.values if value.role == role):
            variables = predicted if row.verb == PREDICT else measured
            variables.setdefault(value.name, []).append(Cell(place, value.array()))
    return measured, predicted


def _common_shape(arrays: list[np.ndarray]) -> tuple[int, ...]:
    """A shape into which every one of the arrays fits."""
    depth = max(array.ndim for array in arrays)
    shapes = [array.shape + (1,) * (depth - array.ndim) for array in arrays]
    return tuple(max(lengths) for lengths in zip(*shapes, strict=True))


def _filled(cells: list[Cell], grid: Place, shape: tuple[int, ...]) -> np.ndarray:
    """The cells in one array; where there is none, NaN (or an empty text)."""
    kind = np.result_type(*[cell.array for cell in cells])
    whole = len(cells) == np.prod(grid, dtype=int) and all(c.array.shape == shape for c in cells)
    if not whole and kind.kind in "iub":
        kind = np.dtype(float)
    array = np.full((*grid, *shape), "" if kind.kind == "U" else np.nan if not whole else 0, kind)
    for place, value in cells:
        corner = [slice(length) for length in value.shape]
        target: Any = (*place, *corner, *[0] * (len(shape) - value.ndim))
        array[target] = value
    return array
