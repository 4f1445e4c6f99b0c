"""The gallery: thumbnails by theme, and for each figure a page with its caption, data and code."""

from __future__ import annotations

import inspect
import json
from pathlib import Path
from typing import Any

from giantstep.gallery.figure import Figure
from giantstep.gallery.figures import NAMES, THEMES, figure_named
from giantstep.gallery.papers import arxiv_number
from site_builder.typesetting import typeset
from site_builder.words import code

#: Where the pictures are drawn before the site is built.
FOLDER = Path(__file__).parents[1] / "generated" / "figures"
#: What was drawn: caption and claims of each figure.
DRAWN = "drawn.json"
#: Sentences of a caption that are not folded away.
SHOWN = 2
_HEAD = """# Gallery

Lines are theory, dots simulation. Every figure is a small study: its command draws it again, its
table holds the numbers, and each sentence of its caption that can be checked is checked against
them. `--full` takes the sizes of a paper, `--size single` its columns.
"""


def _drawn() -> dict[str, Any]:
    path = FOLDER / DRAWN
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def page() -> str:
    """Thumbnails by theme; names alone where pictures have not been drawn."""
    drawn, parts = _drawn(), [_HEAD]
    for theme, names in THEMES.items():
        links = [_thumbnail(name, name in drawn) for name in names.split()]
        parts += [f"## {theme}", "\n".join([":::{container} thumbnails", *links, ":::"])]
    listed = "\n".join(f"gallery/{name}" for name in NAMES)
    return "\n\n".join([*parts, f"```{{toctree}}\n:hidden:\n\n{listed}\n```"]) + "\n"


def _thumbnail(name: str, drawn: bool) -> str:
    title = figure_named(name).title
    picture = f"![{title}](figures/{name}-small.png) " if drawn else ""
    return f"[{picture}{name}](gallery/{name}.md)"


def pages() -> dict[str, str]:
    """The page of each figure, by its place."""
    drawn = _drawn()
    return {f"gallery/{name}.md": _figure(name, drawn.get(name)) for name in NAMES}


def _figure(name: str, drawn: dict[str, Any] | None) -> str:
    figure = figure_named(name)
    sentences = figure.sentences("quick")
    first, rest = (typeset(" ".join(part)) for part in (sentences[:SHOWN], sentences[SHOWN:]))
    parts = [f"# {name}", f"*{typeset(figure.title)}*"]
    if drawn:
        parts += [_picture(figure, kind) for kind in ("wide", "narrow")]
    parts += [first, *_folded("More", rest)]
    if drawn:
        parts += [
            "\n".join(
                f"- {'holds' if holds else '**does not hold at this size**'}: {typeset(claim)}"
                for claim, holds in drawn["claims"].items()
            ),
            f"{{download}}`The numbers <../figures/{name}.csv>`, "
            f"{{download}}`PDF <../figures/{name}.pdf>`",
        ]
    parts += [code(f"giantstep figure {name}", "console")]
    source = inspect.getsource(inspect.getmodule(figure.rows))  # type: ignore[arg-type]
    parts += _folded("Its code", code(source, "python"))
    return "\n\n".join([*parts, f"Papers: {'; '.join(map(_linked, figure.references))}."]) + "\n"


def _picture(figure: Figure, kind: str) -> str:
    """A wide picture for a page, a narrow one for a phone; the style sheet shows one of them."""
    end = "-narrow" if kind == "narrow" else ""
    options = f":class: {kind}\n:alt: {figure.title}"
    return f"```{{image}} ../figures/{figure.name}{end}.png\n{options}\n```"


def _folded(summary: str, text: str) -> list[str]:
    """Text that is shown when its summary is opened."""
    return [f"<details><summary>{summary}</summary>", text, "</details>"] if text else []


def _linked(reference: str) -> str:
    """A reference with the address of its paper."""
    number = arxiv_number(reference)
    address = f"[arXiv:{number}](https://arxiv.org/abs/{number})"
    return reference.replace(f"arXiv:{number}", address) if number else reference
