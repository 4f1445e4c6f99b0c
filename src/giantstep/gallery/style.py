"""The house style: readable at column width, colour-blind safe, theory lines, simulation dots."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from giantstep.errors import GiantstepError
from giantstep.files import PICTURES, check_place, written_beside

if TYPE_CHECKING:
    from matplotlib.figure import Figure

#: Okabe and Ito's palette without its yellow, which is too pale for lines.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
GREY = "#777777"

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
def house_style() -> Iterator[None]:
    """Draw in the house style without touching the user's matplotlib settings."""
    import matplotlib as mpl
    from cycler import cycler

    with mpl.rc_context({**_STYLE, "axes.prop_cycle": cycler(color=COLOURS)}):
        yield


def new_figure(width: float = 5.0, height: float = 3.4, **subplots: Any) -> tuple[Figure, Any]:
    """A figure that needs no display, and its axes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height))
    FigureCanvasAgg(figure)
    return figure, figure.subplots(**subplots)


def save_frames(frames: Iterator[Figure], path: Path) -> None:
    """Write an animation, a GIF, of a picture that is painted anew for each frame."""
    from matplotlib.animation import PillowWriter

    writer = PillowWriter(fps=FRAMES_PER_SECOND)
    with written_beside(path) as beside:
        for number, figure in enumerate(frames):
            if number == 0:
                writer.setup(figure, beside, dpi=MOVING_DPI)
            writer.grab_frame()
        writer.finish()


def save(figure: Figure, path: Path) -> Path:
    """Write the figure; the ending of the name says which format."""
    path = Path(path)
    check_place(path, "picture", PICTURES)
    try:
        with written_beside(path) as beside:
            figure.savefig(beside)
    except OSError as error:
        raise GiantstepError(f"cannot write the picture {str(path)!r}: {error.strerror}") from None
    return path
