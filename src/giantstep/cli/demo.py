"""`giantstep demo`: the report of three targets of growing difficulty, with their staircases."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giantstep.cli.output import reported

#: Learned in one step; one stair after another; never from n of order d by plain gradients.
SHOWCASE = ("sin(h1)", "h1 + He3(h1)*h2", "He4(h1) + sign(h1*h2*h3)")


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("demo", epilog="Example: giantstep demo --out out")(demo)


@reported
def demo(
    out: Annotated[Path, typer.Option(help="Folder of the pictures.")] = Path("out"),
) -> None:
    """Explain three targets of growing difficulty and draw their staircases."""
    from giantstep.figures.staircase import draw_staircase
    from giantstep.theory.explanation import explain

    written = []
    for number, text in enumerate(SHOWCASE, 1):
        explanation = explain(text)
        typer.echo(explanation.report() + "\n")
        path = out / f"staircase-{number}.png"
        draw_staircase(explanation, path)
        written.append(path)
    typer.echo("wrote " + ", ".join(map(str, written)))
