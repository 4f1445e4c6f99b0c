"""A figure of the gallery, computed and written: pictures, and the CSV behind them."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from giantstep.errors import GiantstepError
from giantstep.files import PICTURES, write_text_file
from giantstep.gallery.figure import Figure, Scale, Workbench
from giantstep.gallery.figures import figure_named
from giantstep.gallery.style import Size, house_style, save_animation, save_figure

#: Cells of every figure in a folder are remembered here.
STORE = "figures.sqlite"
#: Letters of the caption in an inch of the picture's width.
_LETTERS = 18


class Rendering(NamedTuple):
    """What was written, and whether the data say what the caption says."""

    name: str
    caption: str
    references: tuple[str, ...]
    claims: Mapping[str, bool]
    files: tuple[Path, ...]
    seconds: float

    def to_json(self) -> dict[str, Any]:
        """The object that ``figure --json`` prints."""
        return {**self._asdict(), "files": [str(path) for path in self.files]}


def render_figure(
    figure: Figure,
    scale: Scale,
    out: Path,
    progress: Callable[[float], None] | None = None,
    *,
    caption_inside: bool = True,
    size: Size | None = None,
) -> Rendering:
    """Compute a figure, or take from the folder's store what it has, and write it.

    ``out`` is a folder, for NAME.png, NAME.pdf and NAME.csv, or one picture that ends in .png,
    .pdf or .svg, with its CSV beside it. The caption is set under the picture, its first sentences
    alone, or beside it in NAME.txt, as a paper would have it. ``size`` is one or two columns of a
    paper; in one column panels stand below one another.
    """
    begin = time.perf_counter()
    out = Path(out)
    alone = out.suffix.lower() in PICTURES
    folder = out.parent if alone else out
    stem = folder / (out.stem if alone else figure.name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GiantstepError(f"out = {str(out)!r}: {error.strerror}") from None
    engine = "local" if scale == "full" else "inline"
    table = figure.table(scale, Workbench(folder / STORE, engine, progress))
    pictures = [out] if alone else [stem.with_name(stem.name + end) for end in (".png", ".pdf")]
    files = [*pictures, stem.with_name(f"{stem.name}.csv")]
    caption = figure.caption_at(scale)
    with house_style(size):
        picture = figure.draw(table)
        if caption_inside:
            width = int(_LETTERS * picture.get_figwidth())
            first = figure.parts_of_caption(scale)[0]
            picture.supxlabel(textwrap.fill(first, width), fontsize=7, x=0.01, ha="left")
        for path in pictures:
            save_figure(picture, path)
            # What is in its place stays there: the same picture in every format, laid out once.
            picture.set_layout_engine("none")
        if figure.frames is not None and not alone:
            files.insert(0, stem.with_name(f"{stem.name}.gif"))
            save_animation(figure.frames(table), files[0])
    try:
        write_text_file(files[-1], table.to_csv(index=False))
        if not caption_inside:
            files.append(stem.with_name(f"{stem.name}.txt"))
            write_text_file(files[-1], caption + "\n")
    except OSError as error:
        raise GiantstepError(f"cannot write {str(files[-1])!r}: {error.strerror}") from None
    claims = {claim: bool(holds) for claim, holds in figure.claims(table).items()}
    seconds = time.perf_counter() - begin
    return Rendering(figure.name, caption, figure.references, claims, tuple(files), seconds)


def figure(
    name: str, *, full: bool = False, out: str | Path = "figures", size: Size | None = None
) -> Rendering:
    """Draw a figure of the gallery into the folder ``out``: PNG, PDF, and the CSV behind them.

    Where ``out`` ends in .png, .pdf or .svg, that one picture is written, and its CSV beside it.

    ``full`` takes the sizes of a paper, else those of a look; ``size`` is ``single`` or ``double``,
    one or two columns of a paper. What is returned has the caption, the files, and for each claim
    of the caption whether the data show it.
    """
    return render_figure(figure_named(name), "full" if full else "quick", Path(out), size=size)
