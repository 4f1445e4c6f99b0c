"""`giantstep layer-risk`: the risk on actual first layers, beside its prediction."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import typer

from giantstep.asking.table import learner_to_ask
from giantstep.cli.options import command_option, settings_command
from giantstep.cli.output import print_json, terminal_bar, use_compilation_cache

NAME = "layer-risk"
EXAMPLE = "--target 'relu(h1)' --samples 4d --step-size 1.5 --width 1d --ridge 0.05 --dim 150"
#: Settings that the risk of one layer does not depend on.
_IRRELEVANT = ("method", "dtype", "test_samples", "recipe")


def layer_risk_command() -> Callable[..., None]:
    """The command, whose options are those of giant steps."""
    more = [
        command_option("seeds", int, "number of first layers", 4),
        command_option("seed", int, "seed of the first", 0),
    ]
    settings_class = learner_to_ask("giant-step").load("settings")
    made = settings_command(settings_class, _print_layer_risk, more, without=_IRRELEVANT)
    made.__doc__ = layer_risk_command_help.__doc__
    return made


def layer_risk_command_help() -> None:
    """Find the risk of a readout that is fitted on top of actual first layers after giant steps.

    It is averaged over the fit's samples by theory: an independent check of `predict giant-step`.
    """


def _print_layer_risk(chosen: dict[str, Any], given: dict[str, Any]) -> None:
    from giantstep.language.problem import Problem
    from giantstep.settings.giant_step import GiantStep

    settings = GiantStep(**chosen)
    problem = Problem(given["target"], given["noise"], given["inputs"])
    use_compilation_cache()
    from giantstep.asking.layer_risk import layer_risk

    with terminal_bar(NAME) as progress:
        found = layer_risk(
            settings, problem, seeds=given["seeds"], seed=given["seed"], progress=progress
        )
    if given["json"]:
        print_json(found.to_json())
    else:
        typer.echo(found.table())
