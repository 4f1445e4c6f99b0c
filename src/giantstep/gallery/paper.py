"""A picture's place on a page: panels at the width of a paper's columns, settings as its title."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from giantstep.gallery.labels import picture_caption
from giantstep.gallery.style import new_figure
from giantstep.language.targets import Target, TreeTarget

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def paper_panels(count: int, with_caption: bool) -> tuple[Figure, list[Any]]:
    """So many panels, with room for a title above them."""
    rows = 1 if count <= 3 else -(-count // 2)
    columns = -(-count // rows)
    figure, panels = new_figure(
        max(3.3 * columns + 0.6, 5.0),
        (2.8 if rows > 1 else 3.4) * rows + 0.4 * with_caption,
        nrows=rows,
        ncols=columns,
        squeeze=False,
    )
    for spare in panels.flat[count:]:
        spare.remove()
    return figure, list(panels.flat[:count])


def new_panel_axes() -> Axes:
    """One panel in a pyplot figure, which notebooks show."""
    from matplotlib import pyplot

    return pyplot.subplots(figsize=(4.6, 3.3))[1]


def add_picture_title(
    figure: Figure, learner: str, known: Mapping[str, Any], target: Target | TreeTarget | None
) -> None:
    """The learner and its settings above the picture, in lines of its width."""
    # Lines end between settings: neither a setting nor mathematics is torn apart.
    whole = ", ".join(
        part.replace(" ", "\0") for part in picture_caption(learner, known, target).split(", ")
    )
    width = int(15 * figure.get_figwidth())
    lines = textwrap.wrap(whole, width, break_long_words=False, break_on_hyphens=False)
    figure.suptitle("\n".join(lines).replace("\0", " "), fontsize=8)
