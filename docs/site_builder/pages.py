"""Pages that are written from the package's own tables, before Sphinx reads the others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from site_builder import commands, formulas, gallery, interface, learners, talks, targets

#: File in docs/generated, and what writes it.
PAGES: dict[str, Callable[[], str]] = {
    "gallery.md": gallery.page,
    "learners.md": learners.page,
    "talks.md": talks.page,
    "targets.md": targets.page,
}


def write(folder: Path) -> None:
    """Write every page; one that has not changed keeps its date, so that it is not read again."""
    texts = {name: make() for name, make in PAGES.items()} | formulas.pages() | gallery.pages()
    texts |= interface.pages() | commands.pages()
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    # A page that an earlier build wrote, of what is there no longer.
    known = {folder / name for name in texts}
    for place in {path.parent for path in known}:
        for path in set(place.glob("*.md")) - known:
            path.unlink()


def setup(app: Any) -> dict[str, bool]:
    """Write the pages when the build begins."""
    app.connect("builder-inited", lambda app: write(Path(app.srcdir) / "generated"))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
