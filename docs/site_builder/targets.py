"""The named targets."""

from __future__ import annotations

from giantstep.language.targets.catalogue import catalogue, tree_catalogue
from site_builder.words import table

_HEAD = """# Named targets

Each name stands wherever an expression is taken: `giantstep explain ex1`.
"""


def page() -> str:
    """The page."""
    rows = (
        (f"`{e.name}`", f"`{e.expression}`", e.shows) for e in (*catalogue(), *tree_catalogue())
    )
    return f"{_HEAD}\n{table(('name', 'target', 'what it shows'), rows)}\n"
