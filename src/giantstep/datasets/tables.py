"""Tables that installed packages ship; nothing is downloaded, nothing is bundled."""

from __future__ import annotations

import importlib
import importlib.util
from typing import TYPE_CHECKING

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


def table_names() -> list[str]:
    """The tables that can be loaded here, given what is installed."""
    return [*_SKLEARN, *(_ISLP if _installed("ISLP") else ())]


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
        if not _installed("ISLP"):
            raise SettingsError(f"table = {name!r} is in the package ISLP: pip install ISLP")
        frame = importlib.import_module("ISLP").load_data(name).dropna()
        return frame.drop(columns=_ISLP[name]), frame[_ISLP[name]]
    raise SettingsError(f"table = {name!r} is unknown: use one of {', '.join(table_names())}")


def _installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None
