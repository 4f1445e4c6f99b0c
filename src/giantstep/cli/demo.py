"""`giantstep demo`: three targets of growing difficulty explained, and a report on one of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from giantstep.cli.output import terminal_bar, use_compilation_cache, with_exit_codes
from giantstep.files import check_file_place

#: Learned in one step; one stair after another; never from n of order d by plain gradients.
SHOWCASE = ("sin(h1)", "h1 + He3(h1)*h2", "He4(h1) + sign(h1*h2*h3)")
#: Two stairs, both visible in a simulation that takes a few seconds.
REPORTED = "h1 + h1*h2"


@with_exit_codes
def demo_command(
    out: Annotated[Path, typer.Option(help="Folder of the page and the pictures.")] = Path("out"),
) -> None:
    """Explain three targets of growing difficulty, draw their staircases, and report on one."""
    check_file_place(out / "report.html")
    use_compilation_cache()
    from giantstep.explanation.explain import explain
    from giantstep.gallery.staircase import draw_staircase
    from giantstep.language.problem import Problem
    from giantstep.reports.page import write_report

    written = []
    for number, text in enumerate(SHOWCASE, 1):
        path = out / f"staircase-{number}.png"
        with terminal_bar(f"explain {text}"):
            explanation = explain(text)
            said = explanation.report()
            draw_staircase(explanation, path)
        typer.echo(said + "\n")
        written.append(path)
    page = out / "report.html"
    with terminal_bar(f"report on {REPORTED}") as progress:
        write_report(Problem.of(REPORTED), page, progress=progress)
    typer.echo("wrote " + ", ".join(map(str, [*written, page])))
    typer.echo(f"Open {page} in a browser: how {REPORTED} is learned, in theory and in simulation.")
