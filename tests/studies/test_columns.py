"""Which columns of a study belong to a metric, and pictures of one, two and three axes."""

from __future__ import annotations

import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pandas
import pytest

from giantstep.cli.study_tables import means
from giantstep.errors import GiantstepError
from giantstep.figures.study import draw_study
from giantstep.studies.columns import metric_columns
from giantstep.studies.results import settings_at


def results(**axes: list[Any]) -> Any:
    """A study of giant steps whose every overlap is 0.5, after each of two steps."""
    definition = {"learner": "giant-step", "axes": axes, "settings": {"dim": 100, "steps": 2}}
    lines = []
    for values in itertools.product(*axes.values()):
        line: dict[str, Any] = dict(zip(axes, values, strict=True))
        for step, direction in itertools.product(range(3), range(2)):
            name = f"overlap[{step}, {direction}]"
            line |= {name: 0.5, f"{name}.sem": 0.01, f"{name}.theory": 0.5}
        lines.append({**line, "test_error[2]": 0.25})
    table = pandas.DataFrame(lines)
    return SimpleNamespace(name="a", summary=lambda: table, definition=lambda: definition)


ONE = results(samples=["d", "2d", "4d"])


def test_a_metric_is_its_last_step_and_an_entry_is_one_column() -> None:
    table, definition = ONE.summary(), ONE.definition()
    for metric in (None, "overlap"):
        found = metric_columns(definition, table, metric)
        assert [column.name for column in found] == ["overlap[2, 0]", "overlap[2, 1]"]
        assert found[1].place == (("step", 2), ("direction", "h2"))
    (entry,) = metric_columns(definition, table, "overlap[1,0]")
    assert entry.name == "overlap[1, 0]"
    with pytest.raises(GiantstepError, match="use overlap, test_error"):
        metric_columns(definition, table, "overlp")
    with pytest.raises(GiantstepError, match="no such entry"):
        metric_columns(definition, table, "overlap[7,0]")


def test_means_show_the_last_step() -> None:
    text = means(ONE)
    lines = text.splitlines()
    assert lines[0] == "after step 2"
    assert lines[1].split() == ["samples", "overlap", "h1", "theory", "overlap", "h2", "theory"]
    assert lines[-1] == "also kept, with --metric: test_error"
    assert "0.500 ± 0.010" in text
    assert "test_error" not in means(ONE, "overlap")


@pytest.mark.parametrize(
    "axes",
    [
        {"samples": ["d", "2d", "4d"]},
        {"samples": ["d", "2d", "4d"], "ridge": [0.1, 1.0]},
        {"samples": ["d", "2d", "4d"], "step_size": [1, 2], "ridge": [0.1, 1.0]},
        {"samples": [f"{k}d" for k in range(1, 12)], "ridge": [10.0**k for k in range(-5, 5)]},
    ],
    ids=["curve", "curves", "panels", "heat map"],
)
def test_pictures_of_several_axes(axes: dict[str, list[Any]], tmp_path: Path) -> None:
    path = draw_study(results(**axes), tmp_path / "study.png", metric="overlap[2,0]")
    assert path.stat().st_size > 5000


def test_sizes_are_numbers_with_the_defaults_of_the_learner() -> None:
    settings = settings_at(ONE.definition(), {"samples": "2d"})
    assert (settings["samples"], settings["dim"], settings["step_size"]) == ("2d", 100, "1")
