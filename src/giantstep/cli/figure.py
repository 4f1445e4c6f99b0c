"""`giantstep figure`: draw a figure of the gallery, with the data behind it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from giantstep.cli.output import note, print_json, progress_bar, reported, use_compilation_cache
from giantstep.cli.usage import example
from giantstep.errors import GiantstepError

if TYPE_CHECKING:
    from giantstep.figures.rendering import Rendering

UNSUPPORTED = 1


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("figure", epilog=example("giantstep figure one-step-risk --out pictures"))(figure)


@reported
def figure(
    name: Annotated[str | None, typer.Argument(help="A figure of the gallery.")] = None,
    full: Annotated[
        bool, typer.Option("--full/--quick", help="For a paper, or for a look.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder to write to.")] = Path("figures"),
    everything: Annotated[bool, typer.Option("--all", help="Draw the whole gallery.")] = False,
    listing: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Draw a figure: NAME.png, NAME.pdf and the data behind it, NAME.csv.

    What is computed is kept in figures.sqlite beside the pictures, so an interrupted figure goes
    on where it stopped. Each figure checks its caption against its data, and says what it finds.
    """
    from giantstep.figures.gallery import NAMES, figure_named

    if listing:
        _list(json)
        return
    if everything == (name is not None):
        raise GiantstepError("give the name of one figure, or --all; --list shows the names")
    use_compilation_cache()
    from giantstep.figures.rendering import render

    chosen = [figure_named(one) for one in (NAMES if name is None else (name,))]
    done = []
    for one in chosen:
        with progress_bar(one.name) as progress:
            done.append(render(one, "full" if full else "quick", out, progress))
        if not json:
            _tell(done[-1])
    if json:
        print_json({"figures": [rendering.to_json() for rendering in done]})
    if not all(all(rendering.claims.values()) for rendering in done):
        raise typer.Exit(UNSUPPORTED)


def _list(json: bool) -> None:
    from giantstep.figures.gallery import NAMES, figure_named

    figures = [figure_named(name) for name in NAMES]
    if json:
        print_json({"figures": [{"name": f.name, "title": f.title} for f in figures]})
        return
    width = max(map(len, NAMES))
    for one in figures:
        typer.echo(f"{one.name:<{width}}  {one.title}")


def _tell(rendering: Rendering) -> None:
    typer.echo(f"{rendering.name}: {rendering.caption}")
    typer.echo(f"  after {'; '.join(rendering.references)}")
    for claim, holds in rendering.claims.items():
        typer.echo(f"  {'shown' if holds else 'NOT SHOWN'}: {claim}")
    typer.echo(f"  wrote {', '.join(map(str, rendering.files))}")
    note(f"  {rendering.seconds:.1f} s")
