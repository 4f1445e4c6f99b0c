"""The command reference: the help texts of the command line itself."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

from giantstep.cli.main import app
from site_builder.words import code

_HEAD = """# Commands

What `giantstep COMMAND --help` prints, written from the command line itself.
"""


def _commands(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield words, command
    for name, below in getattr(command, "commands", {}).items():
        yield from _commands(below, (*words, name))


def _help(command: Any, words: tuple[str, ...]) -> str:
    context = command.context_class(command, info_name=" ".join(words), terminal_width=92)
    return command.get_help(context)


def page() -> str:
    """The page."""
    parts = [_HEAD]
    for words, command in _commands(typer.main.get_command(app), ("giantstep",)):
        depth = min(len(words), 3) + 1
        parts += [f"{'#' * depth} {' '.join(words)}", code(_help(command, words))]
    return "\n\n".join(parts) + "\n"
