"""`giantstep explain`: what can be learned of a target, by what, from how many samples."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giantstep.cli.output import note, print_json, reported, say_reading
from giantstep.cli.usage import example
from giantstep.inputs.reading import SYNTAX


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command(
        "explain",
        epilog=example("giantstep explain 'h1 + He3(h1)*h2' --floors"),
        # A target may begin with a minus sign.
        context_settings={"ignore_unknown_options": True},
    )(explain_command)


@reported
def explain_command(
    target: Annotated[
        str,
        typer.Argument(
            help="An expression in h1, h2, ..., or a name from `targets`.", callback=say_reading
        ),
    ],
    noise: Annotated[float, typer.Option(help="Variance of the label noise.")] = 0.0,
    inputs: Annotated[str, typer.Option(help=f"Law of the inputs: {SYNTAX}.")] = "gaussian",
    floors: Annotated[
        bool, typer.Option("--floors", help="Add the error floors of the second layer.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the staircases to this PNG, PDF or SVG file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of laws that are sampled.")] = 0,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Add methods, errors and what readouts fit.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a network can learn of a target: first, next, never; and from how many samples."""
    from giantstep.problem import Problem
    from giantstep.twins.explanation import explain

    problem = Problem(target, noise, inputs)
    if picture is not None:
        from giantstep.report.page import check_place

        check_place(picture, "picture")
    explanation = explain(problem, floors=floors, seed=seed)
    if json:
        print_json(explanation.to_json())
    else:
        typer.echo(explanation.report(verbose))
    if picture is not None:
        from giantstep.figures.staircase import draw_staircase

        draw_staircase(explanation, picture)
        note(f"wrote {picture}")
