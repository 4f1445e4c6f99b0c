"""A person's table made ready: which file, which column is the label, what became of the rest."""

from __future__ import annotations

import csv
import difflib
import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder

from giantstep.answer.plain import counted
from giantstep.errors import GiantstepError
from giantstep.files import file_written_beside

Task = Literal["regression", "classification"]
#: Fewest rows of a table, two for each of five folds, and of its largest class: folds are cut again
#: to tune the peers.
LEAST_ROWS, LEAST_IN_A_CLASS = 10, 6
#: Levels of a category that get a column of their own; rarer ones share one.
MOST_LEVELS = 20
#: A text column with more levels than this share of the rows names the rows; it is left out.
NAME_SHARE = 0.5
#: A whole-number label with at most this many values is taken for a class, if its values do not
#: count from 0.
MOST_CLASSES = 10
#: Texts are taken for numbers, or for dates, if at least this share of them can be read so.
READABLE = 0.8
#: Texts that say that there is nothing.
NOTHING = {"", "-", "?", ".", "na", "n/a", "nan", "nil", "none", "null", "missing", "unknown"}
NUMBER = re.compile(
    r"[$€£]?\s*([+-]?(?:\d[\d,' ]*)?\.?\d+(?:e[+-]?\d+)?)\s*([^\d\s]*|[^\W\d_]+[23])",
    re.IGNORECASE,
)
DATE = re.compile(
    r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\W+\d",
    re.IGNORECASE,
)
#: Dates that begin with the day: a point after it, or a first number above 12.
DAY_FIRST = re.compile(r"\d{1,2}\.\d{1,2}\.|(?:1[3-9]|2\d|3[01])[-/]\d{1,2}[-/]")
#: Names of columns that number rows, and the share of their numbers that must be different.
DIFFERENT = 0.95
IDENTIFIER = re.compile(r"(?:.*[_ ])?(?:id|index|rownames|row|no|nr)|unnamed: 0", re.IGNORECASE)
READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".arrow": "read_feather",
    ".feather": "read_feather",
}


@dataclass(frozen=True, eq=False)
class Prepared:
    """Inputs and labels of a table, the encoder of its columns, and what was done, in words."""

    inputs: pd.DataFrame
    labels: np.ndarray
    encoder: Pipeline
    task: Task
    notes: tuple[str, ...]


class ReadColumns(TransformerMixin, BaseEstimator):
    """The columns of a table as they were meant: numbers, dates as days, or categories.

    ``kinds`` is a dictionary from the name of a column to ``number``, ``date``, ``day-first`` (a
    date that begins with its day) or ``category``.
    """

    def __init__(self, kinds: dict[str, str]) -> None:
        self.kinds = kinds

    def fit(self, X: pd.DataFrame, y: object = None) -> ReadColumns:
        """Nothing is learned."""
        self.fitted_ = True
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """The same columns; what cannot be read is missing."""
        read: dict[str, Callable[[pd.Series], pd.Series]] = {
            "number": column_as_numbers,
            "date": _column_as_days,
            "day-first": partial(_column_as_days, day_first=True),
            "category": _column_as_categories,
        }
        return pd.DataFrame({name: read[kind](X[name]) for name, kind in self.kinds.items()})

    def get_feature_names_out(self, input_features: object = None) -> np.ndarray:
        """The names of the columns."""
        return np.array(list(self.kinds), dtype=object)


def column_as_numbers(column: pd.Series) -> pd.Series:
    """Numbers, also of texts such as ``27,108.24`` or ``12 kg``; anything else is missing.

    >>> column_as_numbers(pd.Series(["27,108.24", "12 kg", "unknown", "1e3"])).tolist()
    [27108.24, 12.0, nan, 1000.0]
    """
    if pd.api.types.is_numeric_dtype(column):
        values = column.astype(float)
    else:
        values = column.map(lambda text: _column_number(text)[0]).astype(float)
    return values.replace([np.inf, -np.inf], np.nan)


def _column_number(text: object) -> tuple[float, str]:
    """A text as a number and its unit; NaN where it is none."""
    if isinstance(text, int | float | np.number):
        return float(text), ""
    found = NUMBER.fullmatch(str(text).strip())
    if found is None:
        return np.nan, ""
    return float(re.sub(r"[,' ]", "", found[1])), found[2]


def _column_as_days(column: pd.Series, day_first: bool = False) -> pd.Series:
    """Dates as days since 1970.

    >>> _column_as_days(pd.Series(["02.01.1970", "31.01.1970"]), day_first=True).tolist()
    [1.0, 30.0]
    """
    with warnings.catch_warnings():
        # A year may stand first all the same.
        warnings.simplefilter("ignore", UserWarning)
        dates = pd.to_datetime(
            column, errors="coerce", utc=True, format="mixed", dayfirst=day_first
        )
    return (dates - pd.Timestamp(0, tz="UTC")) / pd.Timedelta(days=1)


def _column_as_categories(column: pd.Series) -> pd.Series:
    """Texts, and the word ``missing`` where there is nothing.

    >>> _column_as_categories(pd.Series(["a", None, 3])).tolist()
    ['a', 'missing', '3']
    """
    return column.astype(object).where(column.notna(), "missing").astype(str)


def read_table_to_fit(path: Path) -> pd.DataFrame:
    """A table from CSV, Parquet or Arrow, also compressed CSV (``.csv.gz``).

    Commas, semicolons, tabs and bars are told apart by the first line, decimal commas by counting.
    ``attrs["notes"]`` says what was found.
    """
    path = Path(path)
    suffixes = [suffix for suffix in path.suffixes if suffix not in (".gz", ".bz2", ".xz", ".zip")]
    kind = suffixes[-1].lower() if suffixes else ""
    if kind not in READERS:
        known = ", ".join(READERS)
        raise GiantstepError(f"file = {path.name!r}: its name must end in one of {known}")
    if not path.is_file():
        raise GiantstepError(f"file = {str(path)!r} does not exist")
    notes: list[str] = []
    try:
        if READERS[kind] == "read_csv":
            frame = _read_table_text(path, notes)
        else:
            frame = getattr(pd, READERS[kind])(path)
    except (ValueError, OSError, ImportError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise GiantstepError(f"file = {path.name!r} cannot be read: {reason}") from None
    if not len(frame):
        raise GiantstepError(f"file = {path.name!r} has no rows")
    frame.columns = [plain_column_name(name) for name in frame.columns]
    frame.attrs["notes"] = tuple(notes)
    return frame


def _read_table_text(path: Path, notes: list[str]) -> pd.DataFrame:
    def lines(encoding: str) -> pd.DataFrame:
        options.update(encoding=encoding, encoding_errors="strict")
        if encoding == "cp1252":
            options["encoding_errors"] = "replace"
        return pd.read_csv(path, sep="\x01", quoting=csv.QUOTE_NONE, **options)

    options: dict[str, Any] = {}
    try:
        # The last bytes may be the first ones that are not UTF-8.
        head = lines("utf-8-sig")
    except UnicodeDecodeError:
        head, name = lines("cp1252"), "Windows-1252"
        # The two bytes that every file in UTF-16 begins with.
        if str(head.columns[0])[:2] in ("ÿþ", "þÿ"):
            head, name = lines("utf-16"), "UTF-16"
        notes.append(f"the file is not in UTF-8: read as {name}")
    separator = max(",;\t|", key=str(head.columns[0]).count)
    decimal = "."
    if separator != ",":
        notes.append(f"columns are separated by {separator!r}")
        points, commas = (
            int(head.iloc[:, 0].astype(str).str.count(rf"\d{sign}\d").sum())
            for sign in (r"\.", ",")
        )
        decimal = "," if commas > points else "."
    return pd.read_csv(path, sep=separator, decimal=decimal, **options)


def plain_column_name(name: object) -> str:
    r"""A name or value with signs that could steer a terminal written out.

    >>> plain_column_name("\x1b[2Jprice")
    '\\x1b[2Jprice'
    """
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in str(name))


def save_fitted_table(frame: pd.DataFrame, path: Path) -> None:
    """A table as CSV in which no name and no text is a formula to a spreadsheet."""
    safe = frame.rename(columns=_column_without_formula)
    for position in range(safe.shape[1]):
        values = safe.iloc[:, position]
        if not pd.api.types.is_numeric_dtype(values):
            safe.isetitem(position, values.map(_column_without_formula))
    with file_written_beside(path) as beside:
        safe.to_csv(beside, index=False)


def _column_without_formula(value: Any) -> Any:
    """Text that begins as a formula does, behind an apostrophe."""
    begins = isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r")
    return f"'{value}" if begins else value


def prepare_table_to_fit(frame: pd.DataFrame, label: str, task: Task | None = None) -> Prepared:
    """Split off the label, and plan how every other column becomes numbers.

    Rows without a label are left out. Numbers keep their column, also where they are written as
    text, and missing ones are left to the estimator; dates become days; categories become one
    column for each of their levels, or one where there are two; columns that are constant, or that
    name or number the rows, are left out.
    """
    label = plain_column_name(label)
    if label not in frame.columns:
        folded = {str(name).casefold(): str(name) for name in frame.columns}
        near = difflib.get_close_matches(label.casefold(), folded, n=1, cutoff=0.5)
        names = ", ".join(map(str, frame.columns[:12])) + ", ..." * (len(frame.columns) > 12)
        remedy = f"did you mean {folded[near[0]]!r}?" if near else f"use one of {names}"
        raise GiantstepError(f"label = {label!r} is not a column: {remedy}")
    notes = list(frame.attrs.get("notes", ()))
    given = frame[label]
    if not pd.api.types.is_numeric_dtype(given) and task != "classification":
        kind, said = _column_kind(given, label)
        if kind == "number":
            frame = frame.assign(**{label: column_as_numbers(given)})
            notes.append(f"label {label!r}: {said}")
    missing = int(frame[label].isna().sum())
    if missing:
        frame = frame[frame[label].notna()]
        notes.append(f"left out {counted(missing, 'row')} without a label")
    labels, inputs = frame[label], frame.drop(columns=label)
    if len(frame) < LEAST_ROWS:
        raise GiantstepError(
            f"label = {label!r}: {len(frame)} rows with a label are too few to be scored by "
            f"folds: at least {LEAST_ROWS} are needed"
        )
    chosen = task or _guessed_fit_task(labels, notes)
    if labels.nunique() == 1:
        kind = "class" if chosen == "classification" else "value"
        raise GiantstepError(f"label = {label!r} has one {kind} only: there is nothing to predict")
    most = int(labels.value_counts().max())
    if chosen == "classification" and most < LEAST_IN_A_CLASS:
        raise GiantstepError(
            f"label = {label!r}: no class has more than {most} rows: give at least "
            f"{LEAST_IN_A_CLASS} of one class, or use --task regression for numbers"
        )
    copies = frame.duplicated()
    if copies.any():
        notes.append(
            f"copies of other rows: {copies.sum()}; where one is left out, scores are too good"
        )
    kinds: dict[str, str] = {}
    for name in inputs.columns:
        kind, said = _column_kind(inputs.loc[~copies, name], str(name))
        if kind:
            kinds[name] = kind
        if said:
            notes.append(f"{'' if kind else 'left out '}column {name!r}: {said}")
    if not kinds:
        raise GiantstepError(f"no column is left to learn from: {'; '.join(notes)}")
    categories = [name for name, kind in kinds.items() if kind == "category"]
    numbers = [name for name in kinds if name not in categories]
    if categories:
        notes.append(
            f"turned {counted(len(categories), 'column')} of categories into one column for each "
            f"of at most {MOST_LEVELS} levels, or one for two"
        )
    levels = OneHotEncoder(
        max_categories=MOST_LEVELS,
        handle_unknown="infrequent_if_exist",
        drop="if_binary",
        sparse_output=False,
    )
    encoder = make_pipeline(
        ReadColumns(kinds),
        ColumnTransformer(
            [
                ("numbers", "passthrough", numbers),
                ("categories", levels, categories),
            ],
            verbose_feature_names_out=False,
        ).set_output(transform="pandas"),
    )
    values = _label_column_values(labels, label, chosen)
    return Prepared(inputs[list(kinds)], values, encoder, chosen, tuple(notes))


def _guessed_fit_task(labels: pd.Series, notes: list[str]) -> Task:
    """Text, booleans and few whole numbers are classes; counts and anything else are numbers."""
    if not pd.api.types.is_numeric_dtype(labels) or pd.api.types.is_bool_dtype(labels):
        return "classification"
    values = np.sort(labels.unique().astype(float))
    whole = bool(np.isfinite(values).all() and np.all(np.equal(np.mod(values, 1), 0)))
    if not whole or len(values) > MOST_CLASSES:
        return "regression"
    # 0, 1, 2, ... count something, if there are more than three of them.
    counts = len(values) > 3 and values[0] == 0
    task: Task = "regression" if counts else "classification"
    taken = "counts, and fitted as numbers" if counts else "classes"
    notes.append(f"the label has {len(values)} whole values: taken for {taken}; --task decides")
    return task


def _label_column_values(labels: pd.Series, name: str, task: Task) -> np.ndarray:
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


def _column_kind(column: pd.Series, name: str) -> tuple[str, str]:
    """Number, date or category, or nothing; and what there is to say."""
    levels = column.nunique(dropna=True)
    if levels == 0:
        return "", "empty"
    if levels == 1 and not column.isna().any():
        return "", "constant"
    if pd.api.types.is_bool_dtype(column):
        return "number", ""
    if pd.api.types.is_numeric_dtype(column):
        return ("", "it numbers the rows") if _column_numbers_rows(column, name) else ("number", "")
    if pd.api.types.is_datetime64_any_dtype(column):
        return "date", "dates became days"
    known = column.dropna().astype(str).str.strip()
    there = known[~known.str.lower().isin(NOTHING)]
    if not len(there):
        return "", "empty"
    read = [_column_number(text) for text in there]
    units = {unit for value, unit in read if unit}
    numbers = sum(np.isfinite(value) for value, _ in read)
    if numbers >= READABLE * len(there) and len(units) <= 1:
        lost = len(known) - numbers
        rest = f"; {counted(lost, 'text')} left missing" if lost else ""
        return "number", f"texts were read as numbers{rest}"
    if (
        there.str.contains(DATE).mean() >= READABLE
        and _column_as_days(there).notna().mean() >= READABLE
    ):
        first = there.str.match(DAY_FIRST).any()
        return ("day-first" if first else "date"), "dates became days"
    if levels > max(MOST_LEVELS, NAME_SHARE * len(column)):
        return "", f"{levels} different texts, which look like names of the rows"
    return "category", ""


def _column_numbers_rows(column: pd.Series, name: str) -> bool:
    """Whether whole numbers count the rows, or are nearly all different and named an identifier."""
    values = column.to_numpy(dtype=float)
    if not np.isfinite(values).all() or np.any(np.mod(values, 1) != 0):
        return False
    steps = np.diff(values)
    counting = values[0] in (0, 1) and np.mean(steps == 1) > DIFFERENT
    different = len(np.unique(values)) > DIFFERENT * len(values)
    return bool(different and (counting or IDENTIFIER.fullmatch(name)))
