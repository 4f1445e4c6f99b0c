"""The house style: readable at column width, colour-blind safe, theory lines, simulation dots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from giantstep.errors import GiantstepError
from giantstep.files import PICTURES, check_file_place, file_written_beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's palette without its yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GREY = "#777777"
#: For what comes in order, such as steps: from before the first to after the third.
SHADES = ("#c9c9c9", "#8fb8de", "#3f7fbf", "#0b3d73")

#: Width in inches of one and of two columns of a paper.
Size = Literal["single", "double"]
WIDTHS: dict[Size, float] = {"single": 3.4, "double": 7.0}
#: Height of one of several panels in a single column.
PANEL_HEIGHT = 2.5
_size: ContextVar[Size | None] = ContextVar("size", default=None)

#: An animation is small enough for a page, and slow enough to be followed.
FRAMES_PER_SECOND, MOVING_DPI = 10, 110

_STYLE: dict[Any, Any] = {
    "figure.dpi": 150,
    "savefig.dpi": 200,
    "font.size": 9,
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "legend.fontsize": 8,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.alpha": 0.25,
    "grid.linewidth": 0.6,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "figure.constrained_layout.use": True,
    "pdf.fonttype": 42,
}


@contextmanager
def house_style(size: Size | None = None) -> Iterator[None]:
    """Draw in the house style without touching the user's matplotlib settings.

    ``size`` is one or two columns of a paper; without it a picture is as wide as its panels need.
    """
    import matplotlib as mpl
    from cycler import cycler

    before = _size.set(size)
    try:
        with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
            yield
    finally:
        _size.reset(before)


def new_figure(
    width: float = 5.0, height: float = 3.4, *, nrows: int = 1, ncols: int = 1, **subplots: Any
) -> tuple[Figure, Any]:
    """A figure that needs no display, and its axes; in a single column one below the other."""
    import numpy as np
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    size, count = _size.get(), nrows * ncols
    if size is not None:
        width, height = WIDTHS[size], max(height * WIDTHS[size] / width, 1.2 * PANEL_HEIGHT)
    shape, stacked = (nrows, ncols), size == "single" and count > 1
    if stacked:
        height, shape = PANEL_HEIGHT * count, (count, 1)
        subplots.pop("width_ratios", None)
    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    squeeze = subplots.pop("squeeze", True)
    panels = np.reshape(figure.subplots(*shape, squeeze=False, **subplots), (nrows, ncols))
    if stacked:
        # What stood side by side and shared its label of the axis now has one of its own.
        for panel in panels.flat:
            panel.tick_params(labelbottom=True, labelleft=True)
    if not squeeze:
        return figure, panels
    return figure, panels.item() if count == 1 else panels.squeeze()


def is_figure_stacked(figure: Figure) -> bool:
    """Whether its panels stand below one another, in a single column."""
    return figure.get_figwidth() == WIDTHS["single"]


def legend_above(figure: Figure, ncols: int = 4) -> None:
    """One legend of all panels above them, in as many columns as the picture is wide for."""
    entries: dict[str, Any] = {}
    for panel in figure.axes:
        for handle, label in zip(*panel.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    # An entry takes about half an inch, and a fifteenth for each letter; mathematics takes less.
    widest = 0.5 + max(len(label.replace("$", "")) for label in entries) / 15
    fitting = min(ncols, max(int(figure.get_figwidth() / widest), 1))
    figure.legend(entries.values(), entries, loc="outside upper center", ncols=fitting)


def move_legends_off_curves(panels: Sequence[Any]) -> None:
    """A legend for which there is no free place inside its panel stands beside it."""
    legends = [(panel, legend) for panel in panels if (legend := panel.get_legend())]
    if legends:
        # Where a legend finds its place is known once everything has one.
        panels[0].figure.draw_without_rendering()
    for panel, legend in legends:
        box = legend.get_window_extent()
        curves = [line.get_path().transformed(line.get_transform()) for line in panel.lines]
        bars = [
            path.transformed(bars.get_transform())
            for bars in panel.collections
            for path in bars.get_paths()
        ]
        if any(path.intersects_bbox(box, filled=False) for path in (*curves, *bars)):
            panel.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))


def save_animation(frames: Iterator[Figure], path: Path) -> None:
    """Write an animation, a GIF, of a picture that is painted anew for each frame."""
    from matplotlib.animation import PillowWriter

    writer = PillowWriter(fps=FRAMES_PER_SECOND)
    with file_written_beside(path) as beside:
        for number, figure in enumerate(frames):
            if number == 0:
                writer.setup(figure, beside, dpi=MOVING_DPI)
            writer.grab_frame()
        writer.finish()


def save_figure(figure: Figure, path: Path) -> Path:
    """Write the figure; the ending of the name says which format."""
    path = Path(path)
    check_file_place(path, "picture", PICTURES)
    try:
        with file_written_beside(path) as beside:
            figure.savefig(beside)
    except OSError as error:
        raise GiantstepError(f"cannot write the picture {str(path)!r}: {error.strerror}") from None
    return path
