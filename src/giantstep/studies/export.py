"""A study's cells as a file for other programs."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

from giantstep.errors import GiantstepError
from giantstep.studies.results import Results


def write(results: Results, form: str, path: Path) -> Path:
    """Write a csv, parquet or json file. Numbers are exact in all three."""
    if form == "parquet" and importlib.util.find_spec("pyarrow") is None:
        raise GiantstepError(
            "parquet needs pyarrow: install it with pip install 'giantstep[studies]'"
        )
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if form == "json":
            path.write_text(json.dumps(results.to_json()), encoding="utf-8")
        elif form == "parquet":
            results.to_frame().to_parquet(path, index=False)
        else:
            results.to_frame().to_csv(path, index=False)
    except OSError as error:
        raise GiantstepError(f"cannot write {str(path)!r}: {error.strerror}") from None
    return path
