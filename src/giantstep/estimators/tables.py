"""A person's table made ready: which file, which column is the label, what became of the rest."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from giantstep.errors import GiantstepError

Task = Literal["regression", "classification"]
#: Fewest rows of a table, two for each of five folds, and of its largest class: folds are cut again
#: to tune the peers.
LEAST_ROWS, LEAST_IN_A_CLASS = 10, 6
#: Levels of a category that get a column of their own; rarer ones share one.
MOST_LEVELS = 20
#: A text column with more levels than this share of the rows names the rows; it is left out.
NAME_SHARE = 0.5
#: A whole-number label with at most this many values is taken for a class.
MOST_CLASSES = 10
READERS = {
    ".csv": "read_csv",
    ".tsv": "read_table",
    ".parquet": "read_parquet",
    ".arrow": "read_feather",
    ".feather": "read_feather",
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs and labels of a table, the encoder of its columns, and what was done, in words."""

    inputs: pd.DataFrame
    labels: np.ndarray
    encoder: ColumnTransformer
    task: Task
    notes: tuple[str, ...]


def read_table(path: Path) -> pd.DataFrame:
    """A table from CSV, Parquet or Arrow, also compressed CSV (``.csv.gz``)."""
    path = Path(path)
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2", ".xz", ".zip")]
    kind = suffixes[-1].lower() if suffixes else ""
    if kind not in READERS:
        known = ", ".join(READERS)
        raise GiantstepError(f"file = {path.name!r}: its name must end in one of {known}")
    if not path.is_file():
        raise GiantstepError(f"file = {str(path)!r} does not exist")
    try:
        frame: pd.DataFrame = getattr(pd, READERS[kind])(path)
    except (ValueError, OSError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GiantstepError(f"file = {path.name!r} cannot be read: {reason}") from None
    if not len(frame):
        raise GiantstepError(f"file = {path.name!r} has no rows")
    return frame


def prepare(frame: pd.DataFrame, label: str, task: Task | None = None) -> Prepared:
    """Split off the label, and plan how every other column becomes numbers.

    Rows without a label are left out. Numbers keep their column, with missing ones filled by the
    median and marked in a column of their own; categories become one column for each of their
    levels; columns that are constant, or that name the rows, are left out.
    """
    if label not in frame.columns:
        names = ", ".join(map(str, frame.columns[:12]))
        more = ", ..." if len(frame.columns) > 12 else ""
        raise GiantstepError(f"label = {label!r} is not a column: use one of {names}{more}")
    notes = []
    missing = int(frame[label].isna().sum())
    if missing:
        frame = frame[frame[label].notna()]
        notes.append(f"left out {missing} rows without a label")
    labels, inputs = frame[label], frame.drop(columns=label)
    if len(frame) < LEAST_ROWS:
        raise GiantstepError(
            f"label = {label!r}: {len(frame)} rows with a label are too few to be scored by "
            f"folds: at least {LEAST_ROWS} are needed"
        )
    chosen = task or _guess(labels)
    if labels.nunique() == 1:
        kind = "class" if chosen == "classification" else "value"
        raise GiantstepError(f"label = {label!r} has one {kind} only: there is nothing to predict")
    most = int(labels.value_counts().max())
    if chosen == "classification" and most < LEAST_IN_A_CLASS:
        raise GiantstepError(
            f"label = {label!r}: no class has more than {most} rows: give at least "
            f"{LEAST_IN_A_CLASS} of one class, or use --task regression for numbers"
        )
    numbers, categories, dropped = _sorted_columns(inputs)
    notes += [f"left out column {name!r}: {reason}" for name, reason in dropped.items()]
    if not numbers and not categories:
        raise GiantstepError("no column is left to learn from: all are constant or name the rows")
    if categories:
        notes.append(
            f"turned {len(categories)} columns of categories into one column for each of at most "
            f"{MOST_LEVELS} levels"
        )
    inputs = inputs[numbers + categories].copy()
    inputs[numbers] = inputs[numbers].astype(float).replace([np.inf, -np.inf], np.nan)
    holes = int(inputs[numbers].isna().to_numpy().sum())
    if holes:
        notes.append(
            f"filled {holes} missing or infinite numbers by their column's median, and marked them"
        )
    encoder = ColumnTransformer(
        [
            ("numbers", SimpleImputer(strategy="median", add_indicator=True), numbers),
            (
                "categories",
                make_pipeline(
                    SimpleImputer(strategy="constant", fill_value="missing"),
                    OneHotEncoder(
                        max_categories=MOST_LEVELS,
                        handle_unknown="infrequent_if_exist",
                        sparse_output=False,
                    ),
                ),
                categories,
            ),
        ],
        verbose_feature_names_out=False,
    )
    return Prepared(inputs, _values(labels, label, chosen), encoder, chosen, tuple(notes))


def _guess(labels: pd.Series) -> Task:
    """Text, booleans and few whole numbers are classes; anything else is a number."""
    if not pd.api.types.is_numeric_dtype(labels) or pd.api.types.is_bool_dtype(labels):
        return "classification"
    values = labels.unique().astype(float)
    whole = bool(np.isfinite(values).all() and np.all(np.equal(np.mod(values, 1), 0)))
    return "classification" if whole and len(values) <= MOST_CLASSES else "regression"


def _values(labels: pd.Series, name: str, task: Task) -> np.ndarray:
    if task == "classification":
        return labels.astype(str).to_numpy(dtype=object)
    try:
        values = labels.to_numpy(dtype=float)
    except (TypeError, ValueError):
        raise GiantstepError(
            f"label = {name!r} holds text: use --task classification, or name a column of numbers"
        ) from None
    if not np.isfinite(values).all():
        raise GiantstepError(f"label = {name!r} holds infinite numbers")
    return values


def _sorted_columns(inputs: pd.DataFrame) -> tuple[list[Any], list[Any], dict[Any, str]]:
    """Columns of numbers, columns of categories, and those left out with the reason."""
    numbers, categories, dropped = [], [], {}
    for name in inputs.columns:
        column = inputs[name]
        levels = column.nunique(dropna=True)
        if levels <= 1 and not column.isna().any():
            dropped[name] = "constant"
        elif levels == 0:
            dropped[name] = "empty"
        elif pd.api.types.is_bool_dtype(column) or pd.api.types.is_numeric_dtype(column):
            numbers.append(name)
        elif pd.api.types.is_datetime64_any_dtype(column):
            dropped[name] = "dates are not used: turn them into numbers first"
        elif levels > max(MOST_LEVELS, NAME_SHARE * len(column)):
            dropped[name] = f"{levels} different texts, which look like names of the rows"
        else:
            categories.append(name)
    return numbers, categories, dropped
