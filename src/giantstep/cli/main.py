"""The command `giantstep` and its sub-commands."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Collection
from typing import Annotated

import typer

import giantstep
from giantstep.cli import (
    catalogue,
    cite,
    demo,
    explain,
    figure,
    fit,
    lab,
    layer_risk,
    learners,
    report,
    spectrum,
    study,
    talks,
)
from giantstep.cli.output import run_program
from giantstep.cli.usage import HouseGroup, is_target, not_asked_for

#: What a shell sets when it asks for completions.
COMPLETION = "_GIANTSTEP_COMPLETE"


def application(
    verbs: Collection[str] = (*learners.VERBS, "spectrum", layer_risk.NAME),
) -> typer.Typer:
    """The command; only the ``verbs`` named have their learners, whose options take time to read.

    >>> [group.name for group in application(verbs=()).registered_groups][:3]
    ['simulate', 'predict', 'compare']
    """
    app = typer.Typer(
        name="giantstep",
        help="How does a neural network learn the few directions that matter in high-dimensional "
        "data?\n\nGive a target such as 'h1 + He3(h1)*h2'. `explain` says what can be learned of "
        "it, by which algorithm, from how many samples; `simulate` runs the learning at finite "
        "size, `predict` gives the exact answer in high dimension, `compare` lays one over the "
        "other.",
        epilog="Try: giantstep explain 'h1 + He3(h1)*h2'",
        no_args_is_help=True,
        cls=HouseGroup,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    explain.register(app)
    learners.register(app, verbs)
    spectrum.register(app, "spectrum" in verbs)
    layer_risk.register(app, layer_risk.NAME in verbs)
    study.register(app)
    figure.register(app)
    report.register(app)
    fit.register(app)
    lab.register(app)
    catalogue.register(app)
    cite.register(app)
    talks.register(app)
    demo.register(app)
    app.callback()(_options)
    groups = [group.typer_instance for group in app.registered_groups if group.name == "study"]
    for command in (c for one in (app, *groups) if one for c in one.registered_commands):
        # The summary in the list of commands is the whole first line, not as much as fits.
        text = inspect.getdoc(command.callback) if command.callback else None
        command.short_help = (command.help or text or "").strip().splitlines()[0]
    return app


def _tell_version(asked: bool) -> None:
    if asked:
        typer.echo(f"giantstep {giantstep.__version__}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", is_eager=True, callback=_tell_version, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    pass


def main() -> None:
    """Entry point of the command line."""
    words = sys.argv[1:] = _meant(sys.argv[1:])
    if COMPLETION in os.environ:
        # The shell asks for words of any command: it gets the whole program.
        run_program(lambda: application()(prog_name="giantstep"))
    app = application(verbs=words)
    _only_list(app, words)
    run_program(lambda: app(prog_name="giantstep"))


def _meant(words: list[str]) -> list[str]:
    """The words; a target alone, or with options of its own, is explained.

    >>> _meant(["h1*h2", "--floors"]), _meant(["predict", "h1"])
    (['explain', 'h1*h2', '--floors'], ['predict', 'h1'])
    """
    looks_like_one = words and re.search(r"[hx]_?[0-9[{]|^tree", words[0])
    return ["explain", *words] if looks_like_one and is_target(words[0]) else words


def _only_list(app: typer.Typer, words: Collection[str]) -> None:
    """Leave name and help of commands that were not asked for: typer takes long over options."""
    for group in app.registered_groups:
        if group.name not in words and group.typer_instance is not None:
            group.typer_instance.registered_commands.clear()
    for command in app.registered_commands:
        if command.callback is not None and command.name not in words:
            command.help = command.help or inspect.getdoc(command.callback)
            command.callback = not_asked_for


def __getattr__(name: str) -> typer.Typer:
    """``app``, the whole command, is made for whoever asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = application()
    return globals()["app"]
