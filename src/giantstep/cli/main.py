"""The command `giantstep` and its sub-commands."""

from __future__ import annotations

import inspect
import os
import re
import sys
from collections.abc import Callable, Collection
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
from giantstep.cli.output import run_command_line
from giantstep.cli.usage import HouseGroup, command_example, is_target_not_command

#: What a shell sets when it asks for completions.
COMPLETION = "_GIANTSTEP_COMPLETE"


def command_line(
    verbs: Collection[str] = (*learners.VERBS, "spectrum", layer_risk.NAME),
) -> typer.Typer:
    """The command; only the ``verbs`` named have their learners, whose options take time to read.

    >>> [group.name for group in command_line(verbs=()).registered_groups][:3]
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
    learners.register_learner_commands(app, verbs)
    spectrum.register_spectrum_commands(app, "spectrum" in verbs)
    study.register_study_commands(app)
    layers = (
        layer_risk.layer_risk_command()
        if layer_risk.NAME in verbs
        else layer_risk.layer_risk_command_help
    )
    commands: dict[str, tuple[Callable[..., None], str]] = {
        "explain": (explain.explain_command, "'h1 + He3(h1)*h2' --floors"),
        "learners": (learners.list_learners_command, "--json"),
        layer_risk.NAME: (layers, layer_risk.EXAMPLE),
        "figure": (figure.figure_command, "one-step-risk --out pictures"),
        "reproduce": (figure.reproduce_command, "2402.04980 one-step-risk"),
        "report": (report.report_command, "'h1 + h1*h2' --out report.html"),
        "fit": (fit.fit_command, "data.csv --label price --out report.html"),
        "apply": (fit.apply_command, "model.skops new.csv --out predictions.csv"),
        "lab": (lab.lab_command, "--port 8765 --no-browser"),
        "targets": (catalogue.list_targets_command, "--json"),
        "cite": (cite.cite_command, "giant-step > papers.bib"),
        "talks": (talks.talks_command, "wu"),
        "demo": (demo.demo_command, "--out out"),
    }
    for name, (command, words) in commands.items():
        app.command(
            name,
            epilog=command_example(f"giantstep {name} {words}"),
            # A target may begin with a minus sign.
            context_settings={"ignore_unknown_options": name in ("explain", "report")},
        )(command)
    app.callback()(_options)
    groups = [group.typer_instance for group in app.registered_groups if group.name == "study"]
    for each in (c for one in (app, *groups) if one for c in one.registered_commands):
        # The summary in the list of commands is the whole first line, not as much as fits.
        each.short_help = (inspect.getdoc(each.callback) or "").splitlines()[0]
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
    words = sys.argv[1:] = _meant_command_words(sys.argv[1:])
    if COMPLETION in os.environ:
        # The shell asks for words of any command: it gets the whole program.
        run_command_line(lambda: command_line()(prog_name="giantstep"))
    app = command_line(verbs=words)
    _only_listed_commands(app, words)
    run_command_line(lambda: app(prog_name="giantstep"))


def _meant_command_words(words: list[str]) -> list[str]:
    """The words; a target alone, or with options of its own, is explained.

    >>> _meant_command_words(["h1*h2", "--floors"]), _meant_command_words(["predict", "h1"])
    (['explain', 'h1*h2', '--floors'], ['predict', 'h1'])
    """
    looks_like_one = words and re.search(r"[hx]_?[0-9[{]|^tree", words[0])
    return ["explain", *words] if looks_like_one and is_target_not_command(words[0]) else words


def _only_listed_commands(app: typer.Typer, words: Collection[str]) -> None:
    """Leave name and help of commands that were not asked for: typer takes long over options."""
    for group in app.registered_groups:
        if group.name not in words and group.typer_instance is not None:
            group.typer_instance.registered_commands.clear()
    for command in app.registered_commands:
        if command.callback is not None and command.name not in words:
            command.help = command.help or inspect.getdoc(command.callback)
            command.callback = lambda: None


def __getattr__(name: str) -> typer.Typer:
    """``app``, the whole command, is made for whoever asks for it."""
    if name != "app":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()["app"] = command_line()
    return globals()["app"]
