"""`giantstep layer-risk`: the risk on actual first layers, beside its prediction."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import typer

from giantstep.asking.table import learner_named
from giantstep.cli.options import parameter, parameter_of, problem_parameters, with_parameters
from giantstep.cli.output import print_json, progress_bar, reported, use_compilation_cache
from giantstep.cli.usage import example

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
    command = _command() if asked else _unasked
    app.command(NAME, help=_WORDS, short_help=_WORDS, epilog=example(EXAMPLE))(command)


def _unasked() -> None:
    """Stands for the command where it is only listed."""


def _command() -> Callable[..., None]:
    settings_class: Any = learner_named("giant-step").load("settings")
    fields = [
        f for f in dataclasses.fields(settings_class) if f.metadata and f.name not in _IRRELEVANT
    ]

    @reported
    def command(**given: Any) -> None:
        chosen = {f.name: given[f.name] for f in fields if given[f.name] is not None}
        _answer(settings_class(**chosen), given)

    parameters = [
        *problem_parameters(),
        *[parameter_of(f) for f in fields],
        parameter("seeds", int, "number of first layers", 4),
        parameter("seed", int, "seed of the first", 0),
        parameter("json", bool, "print one JSON object", False),
    ]
    return with_parameters(command, parameters)


def _answer(settings: Any, given: dict[str, Any]) -> None:
    from giantstep.language.problem import Problem

    problem = Problem(given["target"], given["noise"], given["inputs"])
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
