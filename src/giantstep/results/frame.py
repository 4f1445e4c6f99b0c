"""A result as a table for pandas, or as arrays with names for xarray."""

from __future__ import annotations

import importlib.util
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.places import COUNTED, DIRECTION, STEP
from giantstep.results.numbers import Number, numbers
from giantstep.results.units import sizes_in_numbers
from giantstep.sweep import Sweep

if TYPE_CHECKING:
    import pandas
    import xarray

#: The columns that hold the values of a number, for each kind of result.
VALUES = {
    "Run": ("mean", "sem"),
    "Prediction": ("theory", "error", "status"),
    "Comparison": ("mean", "sem", "theory", "error", "deviation", "status"),
}


def frame(result: Any) -> pandas.DataFrame:
    """One line a number: what was swept, sizes, metric, step, direction, then the values.

    A size is given as written (``samples``, if swept) and as numbers, ``n`` and ``n/d``;
    ``direction`` 1 is h1.
    """
    import pandas

    points = result.points if isinstance(result, Sweep) else (result,)
    swept = {result.axis: result.values} if isinstance(result, Sweep) else {}
    lines = []
    for index, point in enumerate(points):
        sizes = sizes_in_numbers(point.settings)
        first = {axis: values[index] for axis, values in swept.items()}
        columns = VALUES[type(point).__name__]
        for number in numbers(point):
            lines.append(
                {
                    **first,
                    **sizes,
                    "metric": number.metric,
                    **_place(number),
                    **{name: getattr(number, name) for name in columns},
                }
            )
    table = pandas.DataFrame(lines)
    values = [name for name in VALUES[type(points[0]).__name__] if name in table]
    places = [name for name in table if name not in (*swept, *values)]
    whole = [name for name in places if name in (STEP, DIRECTION, *COUNTED)]
    return table[[*swept, *places, *values]].astype(dict.fromkeys(whole, "Int64"))


def dataset(result: Any) -> xarray.Dataset:
    """Arrays over what was swept and the axes of each metric; theory is named ``..._theory``."""
    if importlib.util.find_spec("xarray") is None:
        raise GiantstepError(
            "to_xarray needs xarray: install it with pip install 'giantstep[studies]'"
        )
    import xarray

    swept = [result.axis] if isinstance(result, Sweep) else []
    found: dict[tuple[str, str], dict[tuple[tuple[str, Any], ...], float]] = {}
    for number in numbers(result):
        for part, suffix in (("mean", ""), ("sem", "_sem"), ("theory", "_theory")):
            value = getattr(number, part)
            if not np.isnan(value):
                found.setdefault((number.metric, suffix), {})[number.place] = value
    arrays = {}
    for (metric, suffix), values in found.items():
        dims = list(dict.fromkeys([*swept, *(axis for place in values for axis, _ in place)]))
        coordinates = {
            axis: list(dict.fromkeys(at for place in values for a, at in place if a == axis))
            for axis in dims
        }
        array = np.full([len(at) for at in coordinates.values()], np.nan)
        for place, value in values.items():
            at = dict(place)
            if set(at) == set(dims):
                array[tuple(coordinates[axis].index(at[axis]) for axis in dims)] = value
        arrays[metric + suffix] = xarray.DataArray(array, coordinates, dims)
    return xarray.Dataset(arrays)


def _place(number: Number) -> dict[str, Any]:
    return {
        axis: int(str(at).removeprefix("h")) if axis == DIRECTION else at
        for axis, at in number.place
    }
