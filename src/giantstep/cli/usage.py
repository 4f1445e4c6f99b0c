"""Wrong words on the command line get one line, as every other error does."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from giantstep.errors import GiantstepError, nearest_name_hint

#: What people call an option elsewhere, and our name for it.
SYNONYMS = {
    **dict.fromkeys(("--lr", "--learning-rate", "--eta", "--stepsize"), "--step-size"),
    **dict.fromkeys(
        ("--alpha", "--n", "--n-samples", "--num-samples", "--batch-size"), "--samples"
    ),
    **dict.fromkeys(("--p", "--neurons", "--hidden", "--hidden-size", "--features"), "--width"),
    **dict.fromkeys(("--d", "--dimension", "--input-dim"), "--dim"),
    **dict.fromkeys(("--lambda", "--reg", "--l2", "--weight-decay"), "--ridge"),
    **dict.fromkeys(("--sigma", "--noise-variance", "--delta"), "--noise"),
    **dict.fromkeys(("--optimize", "--best"), "--optimise"),
    **dict.fromkeys(("--output", "--plot", "--save", "-o"), "--out"),
    **dict.fromkeys(("--metrics", "--show"), "--metric"),
    **dict.fromkeys(("--runs", "--repeats", "--n-seeds", "--trials"), "--seeds"),
    **dict.fromkeys(("--epochs", "--iterations", "--T", "--n-steps"), "--steps"),
    **dict.fromkeys(("--function", "--teacher", "-t"), "--target"),
    **dict.fromkeys(("--target", "--column", "--response", "--y"), "--label"),
}


class HouseGroup(TyperGroup):
    """A group of commands whose usage errors are one line on standard error, exit code 2."""

    def main(  # type: ignore[override]
        self, args: Any = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        """Run the command line; see :class:`TyperGroup`."""
        if not standalone_mode:
            return super().main(args, standalone_mode=False, **extra)
        try:
            ended = super().main(args, standalone_mode=False, **extra)
        except GiantstepError as error:
            _stop_with_usage(error.at_the_prompt)
        except typer.Abort:
            sys.exit(1)
        except Exception as error:
            # Typer brings a click of its own since 0.20: its errors are known by what they can do.
            if not hasattr(error, "format_message"):
                raise
            if type(error).__name__ == "NoArgsIsHelpError":
                error.show()  # type: ignore[attr-defined]
                sys.exit(2)
            _stop_with_usage(_usage_error_line(error, sys.argv[1:] if args is None else args))
        sys.exit(ended if isinstance(ended, int) else 0)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is named first, or a line that lists those there are."""
        name = args[0]
        if self.get_command(ctx, name) is None and not name.startswith("-"):
            known = self.list_commands(ctx)
            place = ctx.command_path.partition(" ")[2]
            what = "learner" if place in ("simulate", "predict", "compare") else "command"
            where = f"{place}: " if place else ""
            if what == "learner" and is_target_not_command(name):
                better = f"{place} giant-step --target {name!r}"
                raise GiantstepError(f"{place} {name!r}: give the learner first: {better}")
            raise GiantstepError(
                f"{where}{name!r} is no {what}: {nearest_name_hint(name, known)}"
                f"use {', '.join(known)}"
            )
        return super().resolve_command(ctx, args)


def is_target_not_command(text: str) -> bool:
    """Whether a word that is no command is a target."""
    from giantstep.errors import TargetError
    from giantstep.language.targets import any_target

    try:
        any_target(text)
    except TargetError:
        return False
    return True


def command_group(summary: str) -> typer.Typer:
    """A group of commands under one name."""
    return typer.Typer(
        cls=HouseGroup,
        help=summary,
        short_help=summary,
        no_args_is_help=True,
        rich_markup_mode=None,
    )


def _stop_with_usage(message: str) -> None:
    typer.echo(f"giantstep: {message}", err=True)
    sys.exit(2)


def _usage_error_line(error: Any, words: Sequence[str]) -> str:
    """What is wrong with the words, which option it is about, and what would work."""
    ctx: Any = getattr(error, "ctx", None)
    place = ctx.command_path.partition(" ")[2] if ctx is not None else ""
    kind = type(error).__name__
    if kind == "NoSuchOption":
        return _no_option(error.option_name, place, ctx.command.params)
    if kind == "MissingParameter" and error.param is not None:
        name = error.param.opts[0]
        if not name.startswith("-"):
            name = name.upper()
        such = "tree-he2" if place.endswith("three-layer") else "'h1 + He3(h1)*h2'"
        shown = " ".join((ctx.command.epilog or "").partition("\b")[2].replace("\\", "").split())
        remedy = f"give one such as --target {such}" if name == "--target" else f"as in {shown}"
        if name.startswith("-") and (spare := _spare_word(words, place, ctx.command.params)):
            remedy = f"give {spare!r} as {name} {shlex.quote(spare)}"
        return f"{name} is missing: {remedy}; see giantstep {place} --help"
    if kind == "BadParameter" and error.param is not None:
        # The newest click says which kind of error a wrong choice is.
        said = error.message.removeprefix("Value error, ").rstrip(".")
        said = said.replace("Input should be", "it must be").partition(", unable to parse")[0]
        return f"{error.param.opts[0]}: {said}"
    said = str(error.format_message()).rstrip(".").replace("\n", " ")
    if extra := re.search(r"unexpected extra argument\S* \((.*)\)", said):
        # Commands whose target may begin with a minus take every word for a part of it.
        target = f"{ctx.params.get('target', '')} {extra[1]}"
        if named := re.search(r"(?<!\S)-(-\S+|[a-z](?!\S))", target):
            return _no_option(named[0], place, ctx.command.params)
        if any(param.opts[0] == "target" for param in ctx.command.params):
            return f"a target is one word, in quotes: giantstep {place} {shlex.quote(target)}"
        return f"{extra[1]!r} is more than {place} takes: see giantstep {place} --help"
    return said


def _no_option(name: str, place: str, params: Sequence[Any]) -> str:
    """That a command has no option of a name, and which is probably meant."""
    options = [option for param in params for option in param.opts]
    meant = SYNONYMS.get(name)
    if name == "--alpha" and meant in options:
        return f"{name} is no option of {place}: write n = alpha d as --samples, such as 2d"
    if name in ("--seeds", "--seed"):
        return f"{name} is no option of {place}: nothing is drawn there, leave it out"
    guess = f"do you mean {meant}? " if meant in options else ""
    if meant is None:
        guess = nearest_name_hint(name, options)
    see = f"giantstep {place} --help".replace("  ", " ")
    return f"{name} is no option of {place or 'giantstep'}: {guess}see {see}"


def _spare_word(words: Sequence[str], place: str, params: Sequence[Any]) -> str:
    """The first word that no argument takes: what people forget to name."""
    known = len(place.split()) + sum(not param.opts[0].startswith("-") for param in params)
    options = (word.startswith("-") for word in ("", *words))
    plain = [word for word, named in zip(words, options, strict=False) if not named]
    return next(iter([word for word in plain if not word.startswith("-")][known:]), "")


def command_example(command: str, width: int = 78) -> str:
    r"""An example under a command's help: its lines survive copying.

    >>> lines = command_example("giantstep predict amp --target 'h1' --samples 4d", width=40)
    >>> print(lines.replace("\b", "(kept as it is)"))
    Example:
    <BLANKLINE>
    (kept as it is)
      giantstep predict amp --target 'h1' \
        --samples 4d
    """
    parts = command.split(" --")
    words = [parts[0], *[f"--{part}" for part in parts[1:]]]
    lines, line = [], "  " + words[0]
    for word in words[1:]:
        if len(line) + len(word) + 3 > width:
            lines.append(line + " \\")
            line = "    " + word
        else:
            line += " " + word
    return "\n".join(["Example:", "", "\b", *lines, line])
