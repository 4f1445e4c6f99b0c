"""A figure of the gallery, computed and written: PNG, PDF, and the CSV behind them."""

from __future__ import annotations

import textwrap
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from giantstep.errors import GiantstepError
from giantstep.figures.figure import Figure, Scale, Workbench
from giantstep.figures.style import house_style, save

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


def render(
    figure: Figure,
    scale: Scale,
    folder: Path,
    progress: Callable[[float], None] | None = None,
    *,
    caption_inside: bool = True,
) -> Rendering:
    """Compute a figure, or take from the folder's store what it has, and write it.

    The caption is set under the picture, or beside it in NAME.txt, as a paper would have it.
    """
    begin = time.perf_counter()
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise GiantstepError(f"out = {str(folder)!r}: {error.strerror}") from None
    engine = "local" if scale == "full" else "inline"
    table = figure.rows(figure.sizes[scale], Workbench(folder / STORE, engine, progress))
    files = [folder / f"{figure.name}.{ending}" for ending in ("png", "pdf", "csv")]
    caption = figure.caption_at(scale)
    with house_style():
        picture = figure.draw(table)
        if caption_inside:
            width = int(_LETTERS * picture.get_figwidth())
            picture.supxlabel(textwrap.fill(caption, width), fontsize=7, x=0.01, ha="left")
        save(picture, files[0])
        # What is in its place stays there: the same picture in both formats, laid out once.
        picture.set_layout_engine("none")
        save(picture, files[1])
    try:
        table.to_csv(files[2], index=False)
        if not caption_inside:
            files.append(folder / f"{figure.name}.txt")
            files[-1].write_text(caption + "\n", encoding="utf-8")
    except OSError as error:
        raise GiantstepError(f"cannot write {str(files[2])!r}: {error.strerror}") from None
    claims = {claim: bool(holds) for claim, holds in figure.claims(table).items()}
    seconds = time.perf_counter() - begin
    return Rendering(figure.name, caption, figure.references, claims, tuple(files), seconds)
