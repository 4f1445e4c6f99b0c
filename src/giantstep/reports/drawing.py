"""Pictures inside the page: SVG that takes its ink from the text around it."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from giantstep.gallery.style import house_style, new_figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Drawn in this colour, a line follows the reader's light or dark page.
INK = "#12345f"
#: Inches; text of nine points then is readable on a phone.
WIDTH, HEIGHT = 4.8, 3.1
#: Width of one of two pictures side by side.
HALF = 3.7

_PAGE_STYLE: dict[Any, Any] = {
    **dict.fromkeys(
        ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK
    ),
    "savefig.transparent": True,
    "svg.fonttype": "path",
    "axes.axisbelow": True,
}


@contextmanager
def report_style() -> Iterator[None]:
    """The house style with the page's ink, for figures that are made elsewhere."""
    import matplotlib as mpl

    with mpl.rc_context(_PAGE_STYLE), house_style():
        yield


@contextmanager
def report_canvas(
    width: float = WIDTH, height: float = HEIGHT, **subplots: Any
) -> Iterator[tuple[Figure, Any]]:
    """A figure and its panel, in the house style with the page's ink."""
    with report_style():
        yield new_figure(width, height, **subplots)


def report_svg(figure: Figure, key: str, alt: str) -> str:
    """The figure as an SVG element; ``key`` keeps its names apart from those of other pictures."""
    import matplotlib as mpl

    buffer = io.StringIO()
    # Without a salt the names in the file would differ from run to run.
    with mpl.rc_context({**_PAGE_STYLE, "svg.hashsalt": key}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    text = buffer.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\b(id="|url\(#|href="#)', rf"\g<1>{key}-", text)
    text = text.replace(INK, "currentColor").replace("#000000", "currentColor")
    opening = re.search(r'viewBox="([^"]*)"', text)
    assert opening is not None, "matplotlib writes a viewBox"
    body = text[text.index(">") + 1 :]
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" '
        f'viewBox="{opening[1]}" role="img" aria-label="{escape(alt)}">'
        f"<title>{escape(alt)}</title>{body}"
    )
