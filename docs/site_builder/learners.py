"""The learners: what each one is, its settings, its metrics, and what theory says of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from giantstep.asking.metrics import Metric
from giantstep.asking.table import LEARNERS, Learner
from giantstep.settings.options import flag
from site_builder.words import code, table

_HEAD = """# Learners

A learner is one settings class, which drives `simulate`, `predict` and `compare` alike. Settings
are keyword arguments in Python and options on the command line. Arrays of metrics have the axes
named here, in that order; a run has one more in front, the seed.
"""


def _settings(row: Learner) -> Iterator[tuple[object, ...]]:
    # The interface of a dataclass, which a function that makes settings does not promise.
    settings: Any = row.load("settings")
    for field in dataclasses.fields(settings):
        if field.metadata:
            choices = field.metadata["choices"]
            text = field.metadata["help"] + (f"; one of {', '.join(choices)}" if choices else "")
            yield f"`{field.name}`", f"`{flag(field.name)}`", f"`{field.default}`", text


def _given_by(metric: Metric) -> str:
    if metric.simulated and metric.predicted:
        return "simulation and theory"
    return "simulation" if metric.simulated else "theory" if metric.predicted else "comparison"


def _metrics(row: Learner) -> Iterator[tuple[object, ...]]:
    for metric in row.metrics:
        yield (
            f"`{metric.name}`",
            ", ".join(metric.axes) or "a number",
            _given_by(metric),
            metric.when,
        )


def _section(row: Learner) -> str:
    settings: Any = row.load("settings")
    command = f"giantstep compare {row.name} {row.example}"
    return "\n\n".join(
        (
            f"## {row.name}",
            f"In Python `gs.{settings.__name__}`: {row.summary}.",
            f"**Theory:** {row.theory}.",
            code(command, "console"),
            table(("setting", "option", "default", "meaning"), _settings(row)),
            table(("metric", "axes", "given by", "when"), _metrics(row)),
            f"**Papers:** {'; '.join(row.references)}. `giantstep cite {row.name}` prints them "
            "as BibTeX.",
        )
    )


def page() -> str:
    """The page."""
    return "\n\n".join((_HEAD, *map(_section, LEARNERS))) + "\n"
