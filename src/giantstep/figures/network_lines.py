"""Several networks on one tree: their errors as lines of a table, and drawn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from giantstep.figures.figure import Workbench
from giantstep.figures.panels import lay_over
from giantstep.settings.three_layer import ThreeLayer
from giantstep.studies.study import Study

if TYPE_CHECKING:
    import pandas


def network_table(
    bench: Workbench,
    name: str,
    tree: str,
    settings: ThreeLayer,
    samples: Sequence[int],
    seeds: int,
    metrics: Sequence[str] = ("test_error_relative",),
) -> pandas.DataFrame:
    """Train on one tree with growing ``samples``: one line a network and a number of samples."""
    import pandas

    study = Study(
        name=name,
        learner="three-layer",
        problem={"target": tree},
        settings=settings,
        axes={"samples": list(samples)},
        seeds=seeds,
        verbs=["simulate"],
    )
    summary, parts = bench.summary(study).reset_index(drop=True), []
    for number, network in enumerate(settings.networks):
        columns: dict[str, Any] = {}
        for metric in metrics:
            for suffix in ("", ".sem"):
                columns[metric + suffix] = summary[f"{metric}[{number}]{suffix}"]
        parts.append(pandas.DataFrame(columns).assign(network=network, samples=list(samples)))
    return pandas.concat(parts, ignore_index=True).assign(tree=tree)


def draw_network(
    panel: Any, table: pandas.DataFrame, x: str, metric: str, colour: str, label: str
) -> None:
    """Dots with error bars, joined by a thin line: there is no theory to draw."""
    here = table.sort_values(x)
    panel.plot(here[x], here[metric], color=colour, linewidth=0.9)
    lay_over(panel, here, x, metric, colour, label)
