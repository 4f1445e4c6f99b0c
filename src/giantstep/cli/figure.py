"""`giantstep figure`: draw a figure of the gallery, with the data behind it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from giantstep.cli import completion
from giantstep.cli.options import PICTURE_SIZE, PictureSize
from giantstep.cli.output import (
    note,
    print_json,
    say,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)
from giantstep.errors import GiantstepError
from giantstep.files import PICTURES, check_file_place

if TYPE_CHECKING:
    from giantstep.gallery.rendering import Rendering

UNSUPPORTED = 1
Caption = Annotated[
    bool | None,
    typer.Option(
        "--caption/--no-caption",
        help="Caption inside the picture, or in NAME.txt beside it (default: inside with --quick, "
        "beside with --full).",
    ),
]
Width = Annotated[PictureSize | None, PICTURE_SIZE]
Full = Annotated[bool, typer.Option("--full/--quick", help="For a paper, or for a look.")]
OUT = "Folder to write to, or one file that ends in .png, .pdf or .svg."


@with_exit_codes
def figure_command(
    name: Annotated[
        str | None,
        typer.Argument(help="A figure of the gallery.", autocompletion=completion.complete_figure),
    ] = None,
    full: Full = False,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("figures"),
    everything: Annotated[bool, typer.Option("--all", help="Draw the whole gallery.")] = False,
    paper: Annotated[
        str | None,
        typer.Option(
            help="Draw every figure after that paper: its arXiv number.",
            autocompletion=completion.complete_paper,
        ),
    ] = None,
    listing: Annotated[bool, typer.Option("--list", help="List the figures.")] = False,
    caption: Caption = None,
    size: Width = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Draw a figure: NAME.png, NAME.pdf and the data behind it, NAME.csv.

    With --out FILE.png, .pdf or .svg that one picture is written, and its data beside it. What
    --full computes is kept in figures.sqlite in the same folder, so an interrupted figure goes on
    where it stopped. Each figure checks its caption against its data, and says what it finds.
    """
    from giantstep.gallery.figures import NAMES
    from giantstep.gallery.papers import figures_of_paper

    if listing:
        _print_figure_list(figures_of_paper(paper) if paper else NAMES, json)
        return
    if [everything, name is not None, paper is not None].count(True) != 1:
        raise GiantstepError(
            "give the name of one figure, --paper ARXIV, or --all; --list shows the names"
        )
    names = NAMES if everything else (name,) if name else figures_of_paper(str(paper))
    _draw_and_print(names, full, out, caption, size, json)


@with_exit_codes
def reproduce_command(
    paper: Annotated[
        str,
        typer.Argument(
            metavar="ARXIV",
            help="The paper's arXiv number or address.",
            autocompletion=completion.complete_paper,
        ),
    ],
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="FIGURE",
            help="A figure of the gallery after it.",
            autocompletion=completion.complete_figure,
        ),
    ] = None,
    full: Full = False,
    out: Annotated[Path, typer.Option(help=OUT)] = Path("figures"),
    caption: Caption = None,
    size: Width = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Draw a result of a paper: its settings in our units, and what is not covered.

    Without FIGURE, lists what the gallery draws of that paper, and where the rest is.
    """
    from giantstep.gallery.papers import (
        BY_CONTENT,
        arxiv_number,
        drawn_elsewhere,
        figure_reproduction,
        figures_of_paper,
        reproduction_words,
    )

    if name is None:
        names, rest = figures_of_paper(paper), drawn_elsewhere(paper)
        if json:
            kept = {one: figure_reproduction(paper, one)._asdict() for one in names}
            print_json({"paper": arxiv_number(paper), "figures": kept, "elsewhere": rest})
            return
        say(*reproduction_words(paper, *names), *[f"elsewhere: {one}" for one in rest])
        say(f"({BY_CONTENT})")
        note(f"draw one with: giantstep reproduce {arxiv_number(paper)} {names[0]}")
        return
    known = figure_reproduction(paper, name)
    if not json:
        say(*reproduction_words(paper, name))
    about = {"paper": arxiv_number(paper), "units": known.units, "not_covered": known.missing}
    _draw_and_print((name,), full, out, caption, size, json, about)


def _draw_and_print(
    names: Sequence[str],
    full: bool,
    out: Path,
    caption: bool | None,
    size: PictureSize | None,
    json: bool,
    about: Mapping[str, object] | None = None,
) -> None:
    use_compilation_cache()
    from giantstep.gallery.figures import figure_named
    from giantstep.gallery.rendering import render_figure

    if re.fullmatch(r"\.[a-z]{3,4}", out.suffix.lower()) and not out.is_dir():
        check_file_place(out, endings=PICTURES)
    if len(names) > 1 and out.suffix.lower() in PICTURES:
        raise GiantstepError(
            f"out = {str(out)!r}: one file for {len(names)} figures; give a folder"
        )
    inside = not full if caption is None else caption
    how: dict[str, Any] = {"caption_inside": inside, "size": size}
    done = []
    for one in map(figure_named, names):
        with terminal_bar(one.name) as progress:
            done.append(render_figure(one, "full" if full else "quick", out, progress, **how))
        if not json:
            _print_rendering(done[-1])
    if json:
        print_json({**(about or {}), "figures": [rendering.to_json() for rendering in done]})
    if not all(all(rendering.claims.values()) for rendering in done):
        raise typer.Exit(UNSUPPORTED)


def _print_figure_list(names: Sequence[str], json: bool) -> None:
    from giantstep.gallery.figures import figure_named

    figures = [figure_named(name) for name in names]
    if json:
        print_json({"figures": [{"name": f.name, "title": f.title} for f in figures]})
        return
    width = max(map(len, names))
    for one in figures:
        typer.echo(f"{one.name:<{width}}  {one.title}")


def _print_rendering(rendering: Rendering) -> None:
    say(f"{rendering.name}: {rendering.caption}", f"  after {'; '.join(rendering.references)}")
    for claim, holds in rendering.claims.items():
        say(f"  {'shown' if holds else 'NOT SHOWN'}: {claim}")
    say(f"  wrote {', '.join(map(str, rendering.files))}")
    note(f"  {rendering.seconds:.1f} s")
