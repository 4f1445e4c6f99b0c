"""The talks, slide by slide."""

from __future__ import annotations


def page() -> str:
    """The page."""
    return "# The talks, slide by slide\n"
