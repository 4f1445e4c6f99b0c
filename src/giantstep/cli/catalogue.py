"""`giantstep targets`: the catalogue of named targets."""

from __future__ import annotations

from typing import Annotated

import typer

from giantstep.cli.output import print_json, with_exit_codes


@with_exit_codes
def list_targets_command(
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the named targets: each stands wherever an expression, or a tree, is taken."""
    from giantstep.language.targets.catalogue import catalogue, tree_catalogue

    entries = (*catalogue(), *tree_catalogue())
    if json:
        print_json({"targets": [entry._asdict() for entry in entries]})
        return
    width = max(len(entry.name) for entry in entries)
    for entry in entries:
        typer.echo(f"{entry.name:<{width}}  {entry.expression}\n{'':<{width}}  {entry.shows}")
