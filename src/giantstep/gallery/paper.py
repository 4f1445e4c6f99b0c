"""A picture's place on a page: panels at the width of a paper's columns, settings as its title."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from giantstep.gallery.labels import caption
from giantstep.gallery.style import new_figure
from giantstep.language.targets import Target, TreeTarget

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Width in inches of one and of two columns of a paper.
Size = Literal["single", "double"]
WIDTHS: dict[str, float] = {"single": 3.4, "double": 7.0}


def paper_panels(count: int, size: Size | None, with_caption: bool) -> tuple[Figure, list[Any]]:
    """So many panels on a picture of that size, with room for a title above them."""
    top = 0.4 if with_caption else 0.0
    if size == "single":
        figure, panels = new_figure(WIDTHS[size], 2.4 * count + 0.3 + top, nrows=count)
    elif size == "double":
        columns = min(count, 3)
        rows = -(-count // columns)
        figure, panels = new_figure(WIDTHS[size], 2.5 * rows + top, nrows=rows, ncols=columns)
    else:
        rows = 1 if count <= 3 else -(-count // 2)
        columns = -(-count // rows)
        figure, panels = new_figure(
            max(3.3 * columns + 0.6, 5.0),
            (2.8 if rows > 1 else 3.4) * rows + top,
            nrows=rows,
            ncols=columns,
        )
    flat = list(np.ravel(panels))
    for spare in flat[count:]:
        spare.remove()
    return figure, flat[:count]


def add_title(
    figure: Figure, learner: str, known: Mapping[str, Any], target: Target | TreeTarget | None
) -> None:
    """The learner and its settings above the picture, in lines of its width."""
    # Lines end between settings: neither a setting nor mathematics is torn apart.
    whole = ", ".join(
        part.replace(" ", "\0") for part in caption(learner, known, target).split(", ")
    )
    lines = textwrap.wrap(whole, int(15 * figure.get_figwidth()), break_long_words=False)
    figure.suptitle("\n".join(lines).replace("\0", " "), fontsize=8)
