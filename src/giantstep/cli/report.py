"""`giantstep report`: one self-contained page about one target."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giantstep.cli.options import target_argument
from giantstep.cli.output import (
    inputs_option_help,
    note,
    note_many_directions,
    print_json,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)
from giantstep.files import PAGES, check_file_place


@with_exit_codes
def report_command(
    target: Annotated[
        str, target_argument("An expression in h1, h2, ..., or a name from `targets`.")
    ],
    noise: Annotated[float, typer.Option(help="Variance of the label noise.")] = 0.0,
    inputs: Annotated[str, typer.Option(help=inputs_option_help())] = "gaussian",
    out: Annotated[Path, typer.Option(help="File of the page.")] = Path("report.html"),
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes and few seeds.")] = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of the first run.")] = 0,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Write one page about a target: what it is, how it is learned, in theory and in simulation.

    The page needs no network and no script; under each picture stands the command that makes it.
    """
    from giantstep.language.problem import Problem

    check_file_place(out, endings=PAGES)
    problem = Problem(target, noise, inputs)
    note_many_directions(problem.target)
    use_compilation_cache()
    from giantstep.reports.page import write_report
    from giantstep.reports.scale import FULL, QUICK

    with terminal_bar("report") as progress:
        report = write_report(
            problem, out, scale=QUICK if quick else FULL, seed=seed, progress=progress
        )
    if json:
        print_json(report.to_json())
        return
    for section in report.sections:
        mark = f"not shown: {section.skipped}" if section.skipped else f"{section.seconds:.1f} s"
        typer.echo(f"  {section.title} ({mark})")
    typer.echo(f"wrote {report.path}")
    note(f"{report.seconds:.1f} s")
