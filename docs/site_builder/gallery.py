"""The gallery page: each figure with its caption, its claims, its data and its command."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from giantstep.gallery.figures import NAMES, figure_named
from site_builder.typesetting import typeset
from site_builder.words import code

#: Where the pictures are drawn before the site is built.
FOLDER = Path(__file__).parents[1] / "generated" / "figures"
#: What was drawn: caption and claims of each figure.
DRAWN = "drawn.json"
_HEAD = """# Gallery

Lines are theory, dots simulation. Every figure is a small study: its command draws it again, its
table holds the numbers, and each sentence of its caption that can be checked is checked against
them. `--full` takes the sizes of a paper.
"""


def _drawn() -> dict[str, Any]:
    path = FOLDER / DRAWN
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _picture(name: str, drawn: dict[str, Any]) -> str:
    claims = "\n".join(
        f"- {'holds' if holds else '**does not hold at this size**'}: {typeset(claim)}"
        for claim, holds in drawn["claims"].items()
    )
    figure = figure_named(name)
    # The first sentences are in the picture.
    rest = figure.parts_of_caption("quick")[1]
    more = f"<details><summary>More</summary>\n\n{typeset(rest)}\n\n</details>\n\n" if rest else ""
    return (
        f"![{figure.title}](figures/{name}.png)\n\n{more}"
        f"{claims}\n\n{{download}}`the numbers <figures/{name}.csv>`, "
        f"{{download}}`PDF <figures/{name}.pdf>`"
    )


def _section(name: str, drawn: dict[str, Any]) -> str:
    figure = figure_named(name)
    shown = _picture(name, drawn) if drawn else typeset(figure.caption_at("quick"))
    papers = f"Papers: {'; '.join(figure.references)}." if figure.references else ""
    command = code(f"giantstep figure {name}", "console")
    return "\n\n".join((f"## {name}", f"*{typeset(figure.title)}*", shown, command, papers))


def page() -> str:
    """The page; without pictures where they have not been drawn."""
    drawn = _drawn()
    return "\n\n".join((_HEAD, *(_section(name, drawn.get(name, {})) for name in NAMES))) + "\n"
