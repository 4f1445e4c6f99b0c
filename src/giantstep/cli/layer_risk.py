"""`giantstep layer-risk`: the risk on actual first layers, beside its prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from giantstep.asking.table import learner_named
from giantstep.cli.options import parameter, settings_command
from giantstep.cli.output import print_json, progress_bar, use_compilation_cache
from giantstep.cli.usage import example, not_asked_for

NAME = "layer-risk"
EXAMPLE = (
    "giantstep layer-risk --target 'relu(h1)' --samples 4d --step-size 1.5 --width 1d "
    "--ridge 0.05 --dim 150"
)
_WORDS = (
    "Risk of a readout fitted on top of actual first layers after giant steps, averaged over the "
    "fit's samples by theory: an independent check of `predict giant-step`."
)
#: Settings that the risk of one layer does not depend on.
_IRRELEVANT = ("method", "dtype", "test_samples", "recipe")


def register(app: typer.Typer, asked: bool = True) -> None:
    """Add the command; without its options unless ``asked``, since settings take time."""
    command: Callable[..., None] = not_asked_for
    if asked:
        more = [
            parameter("seeds", int, "number of first layers", 4),
            parameter("seed", int, "seed of the first", 0),
        ]
        settings_class = learner_named("giant-step").load("settings")
        command = settings_command(settings_class, _answer, more, without=_IRRELEVANT)
    app.command(NAME, help=_WORDS, short_help=_WORDS, epilog=example(EXAMPLE))(command)


def _answer(chosen: dict[str, Any], given: dict[str, Any]) -> None:
    from giantstep.language.problem import Problem
    from giantstep.settings.giant_step import GiantStep

    settings, problem = (
        GiantStep(**chosen),
        Problem(given["target"], given["noise"], given["inputs"]),
    )
    use_compilation_cache()
    from giantstep.asking.layer_risk import layer_risk

    with progress_bar(NAME) as progress:
        found = layer_risk(
            settings, problem, seeds=given["seeds"], seed=given["seed"], progress=progress
        )
    if given["json"]:
        print_json(found.to_json())
    else:
        typer.echo(found.table())
