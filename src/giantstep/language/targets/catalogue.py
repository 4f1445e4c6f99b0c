"""Named targets: the examples that the literature keeps returning to, with what each one shows.

They are listed in ``catalogue.toml``, beside this file.
"""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path
from typing import NamedTuple


class Entry(NamedTuple):
    """A named target."""

    name: str
    expression: str
    shows: str


@functools.cache
def _catalogue_entries(kind: str) -> tuple[Entry, ...]:
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return tuple(Entry(name, **entry) for name, entry in tomllib.loads(text)[kind].items())


def catalogue() -> tuple[Entry, ...]:
    """Every named target that is an expression, in the order of the catalogue.

    >>> catalogue()[0].name, catalogue()[0].expression
    ('ex1', 'h1 + He2(h1) + h2 - He2(h2)')
    """
    return _catalogue_entries("targets")


@functools.cache
def named_targets() -> dict[str, str]:
    """From name to expression."""
    return {entry.name: entry.expression for entry in catalogue()}


def tree_catalogue() -> tuple[Entry, ...]:
    """Every named tree.

    >>> [entry.name for entry in tree_catalogue()]
    ['tree-he2', 'tree-authors', 'tree-slides']
    """
    return _catalogue_entries("trees")


@functools.cache
def named_tree_targets() -> dict[str, str]:
    """From the name of a tree to its text."""
    return {entry.name: entry.expression for entry in tree_catalogue()}
