"""`giantstep explain`: what can be learned of a target, by what, from how many samples."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giantstep.cli.options import target_argument
from giantstep.cli.output import (
    inputs_option_help,
    note,
    note_many_directions,
    print_json,
    say,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)
from giantstep.files import PICTURES, check_file_place

if TYPE_CHECKING:
    from giantstep.explanation.explain import Explanation
    from giantstep.explanation.tree import TreeExplanation

#: Columns between which lines are broken at the width of the terminal.
NARROWEST, WIDTH = 40, 96


@with_exit_codes
def explain_command(
    target: Annotated[
        str, target_argument("An expression in h1, h2, ..., a tree(...), or a name from `targets`.")
    ],
    noise: Annotated[float, typer.Option(help="Variance of the label noise.")] = 0.0,
    inputs: Annotated[str, typer.Option(help=inputs_option_help())] = "gaussian",
    floors: Annotated[
        bool, typer.Option("--floors", help="Add the error floors of the second layer.")
    ] = False,
    picture: Annotated[
        Path | None, typer.Option(help="Draw the staircases to this PNG, PDF or SVG file.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of laws that are sampled.")] = 0,
    dim: Annotated[
        int | None, typer.Option(help="Dimension at which the sizes of a tree are counted.")
    ] = None,
    verbose: Annotated[
        bool,
        typer.Option("--verbose", help="Add methods, errors, fits, repetition and bounds."),
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Say what a network can learn of a target: first, next, never; and from how many samples."""
    from giantstep.errors import SettingsError
    from giantstep.explanation.explain import explain
    from giantstep.language.problem import Problem
    from giantstep.language.targets import TreeTarget, any_target

    read = any_target(target)
    if isinstance(read, TreeTarget) and picture is not None:
        raise SettingsError("picture: a tree has no staircase to draw, leave --picture out")
    if picture is not None:
        check_file_place(picture, "picture", PICTURES)
    if isinstance(read, TreeTarget):
        with terminal_bar("explain"):
            tree = explain(read, noise=noise, inputs=inputs, dim=dim)
        _say(tree, json, verbose)
        return
    problem = Problem(read, noise, inputs)
    note_many_directions(problem.target)
    use_compilation_cache()
    with terminal_bar("explain"):
        explanation = explain(problem, floors=floors, seed=seed, dim=dim)
        _ = json or explanation.first_steps
    _say(explanation, json, verbose)
    if picture is not None:
        from giantstep.gallery.staircase import draw_staircase

        draw_staircase(explanation, picture)
        note(f"wrote {picture}")


def _say(explanation: Explanation | TreeExplanation, json: bool, verbose: bool) -> None:
    if json:
        print_json(explanation.to_json())
    else:
        from giantstep.explanation.explain import Explanation

        if isinstance(explanation, Explanation):
            columns = shutil.get_terminal_size((WIDTH, 24)).columns
            typer.echo(explanation.report(verbose, max(min(columns, WIDTH), NARROWEST)))
            if not verbose:
                say("", "--verbose adds methods, errors, learning by repetition, and bounds.")
        else:
            typer.echo(explanation.report(verbose))
