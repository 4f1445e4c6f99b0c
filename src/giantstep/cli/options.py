"""Options of commands that are made from a settings class."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

import typer

from giantstep.cli import completion
from giantstep.cli.output import (
    check_picture_option,
    inputs_option_help,
    print_reading,
    with_exit_codes,
)
from giantstep.language.sizes import Size
from giantstep.settings.options import flag

#: As typer writes the kinds of the options that are written by hand.
_METAVAR = {Size: "<size>", float: "<number>", int: "<int>", str: "<str>", Path: "<path>"}


def command_option(
    name: str,
    kind: type,
    help: str,
    default: Any,
    callback: Callable[[str], str] | None = None,
    completed: Callable[[str], list[str]] | None = None,
) -> inspect.Parameter:
    """An option of a command; without a default (``...``) it must be given."""
    option = typer.Option(
        flag(name),
        help=_help_sentence(help),
        metavar=_METAVAR.get(kind),
        callback=callback,
        autocompletion=completed,
    )
    return _keyword(name, kind, option, inspect.Parameter.empty if default is ... else default)


def _keyword(name: str, kind: Any, option: Any, default: Any) -> inspect.Parameter:
    """A keyword of a command with the option that typer makes of it."""
    told = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default)
    return told.replace(annotation=Annotated[kind, option])


def _help_sentence(help: str) -> str:
    """The help of a setting as that of any other option: a sentence with its full stop."""
    return help[0].upper() + help[1:] + ("" if help.endswith(".") else ".")


def _option_of(
    field: dataclasses.Field[Any], shown_default: Any, hidden: bool
) -> inspect.Parameter:
    """The option that sets a field of a settings class, and the default that its help shows."""
    rule, name = field.metadata, flag(field.name)
    choices = f" ({', '.join(rule['choices'])})" if rule["choices"] else ""
    help = _help_sentence(rule["help"] + choices)
    if rule["kind"] is bool:
        option, kind, default = typer.Option(name, help=help, hidden=hidden), bool, field.default
    else:
        # Numbers stay text here: the settings class reads them, ranges included.
        shown = "" if shown_default is None else f"  [default: {shown_default}]"
        option = typer.Option(
            name,
            help=help + shown,
            metavar=_METAVAR[rule["kind"]],
            hidden=hidden,
            autocompletion=_completed_option(field),
        )
        kind, default = str | None, None  # type: ignore[assignment]
    return _keyword(field.name, kind, option, default)


def _completed_option(field: dataclasses.Field[Any]) -> Callable[[str], list[str]] | None:
    """What a shell offers for a setting: its choices, or activations."""
    if choices := field.metadata["choices"]:
        return lambda incomplete: [word for word in choices if word.startswith(incomplete)]
    return completion.complete_activation if field.name == "activation" else None


def target_argument(help: str) -> Any:
    """The target where it is what a command is about: it needs no option."""
    complete = completion.complete_target
    return typer.Argument(help=help, autocompletion=complete, callback=print_reading)


PictureSize = Literal["single", "double"]
PICTURE_SIZE = typer.Option(
    "--size", help="One or two columns of a paper.", metavar="single|double"
)
NOISE = command_option("noise", str, "variance of the label noise", "0.0")


def _problem_options() -> list[inspect.Parameter]:
    """The options that say what is to be learned, the same for every learner and verb."""
    return [
        command_option(
            "target",
            str,
            "target: an expression in h1, h2, ... or a name",
            ...,
            print_reading,
            completion.complete_target,
        ),
        NOISE,
        command_option("inputs", str, inputs_option_help(), "gaussian"),
    ]


def picture_command_options(of_ranges: str = "") -> list[inspect.Parameter]:
    """The options of a picture, the same for every verb that draws when it is asked to.

    ``of_ranges`` says how ranges are drawn, for a verb that takes them.
    """
    captions = typer.Option("--caption/--no-caption", help="Settings above the picture.")
    file = typer.Option(
        "--out",
        help=_help_sentence(f"draw it to this .png, .pdf or .svg file{of_ranges}"),
        metavar=_METAVAR[Path],
        callback=check_picture_option,
    )
    return [
        _keyword("out", Path | None, file, None),
        _keyword("size", PictureSize | None, PICTURE_SIZE, None),
        _keyword("caption", bool, captions, True),
    ]


def settings_command(
    settings_class: Any,
    answer: Callable[[dict[str, Any], dict[str, Any]], None],
    more: Sequence[inspect.Parameter],
    *,
    problem: Sequence[inspect.Parameter] | None = None,
    without: Collection[str] = (),
    defaults: Mapping[str, Any] = MappingProxyType({}),
    is_hidden: Callable[[dataclasses.Field[Any]], bool] = lambda field: False,
) -> Callable[..., None]:
    """A command with the options of a problem, of a settings class, and ``more``.

    ``answer`` gets the settings that were given, and all options. ``without`` names settings that
    the command does not have, ``defaults`` replaces some of the defaults.
    """
    every = [f for f in dataclasses.fields(settings_class) if f.metadata]
    fields = [f for f in every if f.name not in without]

    @with_exit_codes
    def command(**given: Any) -> None:
        chosen = {f.name: given[f.name] for f in fields if given[f.name] is not None}
        answer({**defaults, **chosen}, given)

    parameters = [
        *(_problem_options() if problem is None else problem),
        *[_option_of(f, defaults.get(f.name, f.default), is_hidden(f)) for f in fields],
        *more,
        command_option("json", bool, "print one JSON object", False),
    ]
    signed: Any = command
    signed.__signature__ = inspect.Signature(parameters)
    signed.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
