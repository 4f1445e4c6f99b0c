"""Files that are whole or not there: written beside their place and renamed into it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from giantstep.errors import GiantstepError

#: Endings of the formats that pictures are written in, and of web pages.
PICTURES, PAGES = (".png", ".pdf", ".svg"), (".html", ".htm")


def check_file_place(path: Path, option: str = "out", endings: Sequence[str] = ()) -> None:
    """Before any work: can the file be written there? Folders that are missing will be made."""
    given = f"{option} = {str(path)!r}"
    if path.is_dir():
        raise GiantstepError(f"{given} is a folder: give the name of a file in it")
    if endings and path.suffix.lower() not in endings:
        raise GiantstepError(f"{given}: end the name in {', '.join(endings[:-1])} or {endings[-1]}")
    there = next(place for place in (path, *path.absolute().parents) if place.exists())
    if there != path and not there.is_dir():
        raise GiantstepError(f"{given}: {str(there)!r} is no folder")
    if not os.access(there, os.W_OK):
        raise GiantstepError(f"{given} cannot be written: permission denied")


@contextmanager
def file_written_beside(path: Path) -> Iterator[Path]:
    """A temporary path with the same ending, whose file takes the place of ``path`` at the end.

    Whatever goes wrong before leaves ``path`` as it was.
    """
    # A link is followed, and a device is written to: nothing can take its place.
    path = path.resolve() if path.is_symlink() else path
    if path.exists() and not path.is_file():
        yield path
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=path.suffix, dir=path.parent)
    beside = Path(name)
    try:
        os.close(handle)
        yield beside
        with beside.open("rb") as written:
            os.fsync(written.fileno())
        mask = os.umask(0)
        os.umask(mask)
        beside.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o666 & ~mask)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_text_file(path: Path, text: str) -> None:
    """Write a text whole or not at all."""
    with file_written_beside(path) as beside:
        beside.write_text(text, encoding="utf-8")
