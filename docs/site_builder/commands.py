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


def pages() -> dict[str, str]:
    """The pages by file name: one for each command with those below it, and one that lists them."""
    whole = typer.main.get_command(app)
    first = code(_help(whole, ("giantstep",)))
    found, names = {}, []
    for name, command in getattr(whole, "commands", {}).items():
        parts = []
        for words, below in _commands(command, ("giantstep", name)):
            parts += [f"{'#' * (len(words) - 1)} {' '.join(words)}", code(_help(below, words))]
        found[f"commands/{name}.md"] = "\n\n".join(parts) + "\n"
        names.append(f"commands/{name}")
    listed = "\n".join(names)
    index = f"{_HEAD}\n{first}\n\n```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    return {"commands.md": index, **found}
