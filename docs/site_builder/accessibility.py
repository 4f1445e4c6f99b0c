"""What Sphinx leaves out of its pages, and people who listen to them or have no mouse need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: A heading says its level, a list of pages what it is; what is scrolled is reached by keyboard.
CHANGES = {
    '<p class="caption" role="heading">': '<p class="caption" role="heading" aria-level="2">',
    "<pre><span></span>": '<pre tabindex="0"><span></span>',
    '<div class="math">': '<div class="math" tabindex="0">',
    '<div class="output_subarea ': '<div tabindex="0" class="output_subarea ',
    '<aside class="sidebar-drawer">': '<aside class="sidebar-drawer" aria-label="Pages">',
}


def accessible(html: str) -> str:
    """The page with what was left out.

    >>> accessible('<p class="caption" role="heading">Learn</p>')
    '<p class="caption" role="heading" aria-level="2">Learn</p>'
    """
    for left_out, whole in CHANGES.items():
        html = html.replace(left_out, whole)
    return html


def _finish(app: Any, error: Exception | None) -> None:
    for path in [] if error else Path(app.outdir).rglob("*.html"):
        path.write_text(accessible(path.read_text(encoding="utf-8")), encoding="utf-8")


def setup(app: Any) -> dict[str, bool]:
    """Change every page once all are written."""
    app.connect("build-finished", _finish)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
