"""`figure`: a figure of the gallery from Python."""

from __future__ import annotations

from pathlib import Path

from giantstep.gallery.figures import figure_named
from giantstep.gallery.rendering import Rendering, render


def figure(name: str, *, full: bool = False, out: str | Path = "figures") -> Rendering:
    """Draw a figure of the gallery into the folder ``out``: PNG, PDF, and the CSV behind them.

    Where ``out`` ends in .png, .pdf or .svg, that one picture is written, and its CSV beside it.

    ``full`` takes the sizes of a paper, else those of a look. What is returned has the caption,
    the files, and for each claim of the caption whether the data show it.
    """
    return render(figure_named(name), "full" if full else "quick", Path(out))
