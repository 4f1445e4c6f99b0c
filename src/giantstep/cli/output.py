"""How commands answer: one JSON object or text on standard output, everything else on error."""

from __future__ import annotations

import errno
import functools
import io
import json
import os
import shutil
import signal
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from giantstep.asking.workers.environment import use_compilation_cache as use_compilation_cache
from giantstep.errors import GiantstepError
from giantstep.files import PICTURES, check_file_place

if TYPE_CHECKING:
    from giantstep.language.targets import Target

#: The shell's code for a program stopped by Ctrl-C.
INTERRUPTED = 130
#: A full disk, a quota, a device that fails.
_NOTHING_MORE_FITS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
#: How long Ctrl-C waits for what is being done to end by itself.
GRACE_SECONDS = 3.0
#: Nobody needs a progress bar for less.
PATIENCE_SECONDS = 2.0


def check_picture_option(path: Path | None) -> Path | None:
    """Refuse a place where no picture can be written, before anything is computed."""
    if path is not None:
        check_file_place(path, endings=PICTURES)
    return path


def inputs_option_help() -> str:
    """What the option --inputs says of itself; the laws take time to import."""
    from giantstep.language.inputs import SYNTAX

    return f"Law of the inputs: {SYNTAX}."


def with_exit_codes(command: Callable[..., None]) -> Callable[..., None]:
    """Turn our errors into one line and exit code 2, and Ctrl-C into exit code 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> None:
        try:
            command(*args, **kwargs)
        except GiantstepError as error:
            typer.echo(f"giantstep: {error.at_the_prompt}", err=True)
            raise typer.Exit(2) from None
        except MemoryError:
            typer.echo("giantstep: out of memory: reduce --dim, --samples or --width", err=True)
            raise typer.Exit(2) from None
        except KeyboardInterrupt:
            typer.echo("giantstep: stopped", err=True)
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # The reader has gone (`giantstep ... | head`): nothing is left to say.
            sys.stderr.close()
            raise typer.Exit(1) from None

    return wrapped


def _stop_command(*_: object) -> None:
    """Ctrl-C, raised where it is heard, and the end of the process after a moment.

    A library may drop the exception in a callback of its own, or wait for its threads for ever.
    """
    end = threading.Timer(GRACE_SECONDS, os._exit, (INTERRUPTED,))
    end.daemon = True
    end.start()
    raise KeyboardInterrupt


def run_command_line(program: Callable[[], None]) -> None:
    """Run the command line: whatever the terminal is, nothing that is said to it can fail twice."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stop_command)
    for stream in (sys.stdout, sys.stderr):
        # A terminal in Latin-1 has no letter for every sign: it gets \\u2264.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        program()
    except SystemExit as end:
        if end.code != INTERRUPTED:
            raise
        # A library that is still computing in threads of its own may crash while Python tidies up.
        with suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(INTERRUPTED)
    except OSError as error:
        if error.filename is not None:
            note(f"giantstep: cannot use {str(error.filename)!r}: {error.strerror}")
        elif error.errno in _NOTHING_MORE_FITS:
            note(f"giantstep: cannot write the output: {error.strerror}")
            _drop_output()
        else:
            raise
        raise SystemExit(2) from None


def _drop_output() -> None:
    """Python writes what is left once more when it ends, and would complain again."""
    with open(os.devnull, "w") as nowhere, suppress(OSError, ValueError):
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def print_json(value: dict[str, Any]) -> None:
    """One JSON object, and nothing else, to standard output."""
    typer.echo(json.dumps(value))


def say(*lines: str) -> None:
    """Print lines, broken between words where the terminal ends; elsewhere they stay whole."""
    width = shutil.get_terminal_size((10_000, 24)).columns
    for line in lines:
        further = " " * (len(line) - len(line.lstrip()) + 2)
        typer.echo(textwrap.fill(line, width, subsequent_indent=further, break_on_hyphens=False))


def note(text: str) -> None:
    """A remark for the person at the terminal, on standard error."""
    typer.echo(text, err=True)


def print_reading(value: str) -> str:
    """Say how a target in another notation was read; one that cannot be read is refused later."""
    from giantstep.language.targets.reading import how_target_was_read

    with suppress(GiantstepError):
        # A shell that completes a line asks before there is a target.
        reading = how_target_was_read(value) if value else None
        if reading is not None:
            note(f"read as {reading}")
    return value


#: Directions from which on an explanation is announced.
MANY_DIRECTIONS = 9


def note_many_directions(target: Target) -> None:
    """Say before it begins that many directions take their time."""
    if target.rank >= MANY_DIRECTIONS:
        note(f"{target.rank} directions: to explain them can take a minute")


@contextmanager
def terminal_bar(label: str) -> Iterator[Callable[[float], None] | None]:
    """A bar on standard error that appears after two seconds; None where no one would see it.

    It moves by itself until the work first says how far it is.
    """
    if not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress

    bar = Progress(console=Console(stderr=True), transient=True)
    task = bar.add_task(label, total=None)
    clock = threading.Timer(PATIENCE_SECONDS, bar.start)
    clock.daemon = True
    clock.start()
    try:
        yield lambda fraction: bar.update(task, total=1.0, completed=fraction)
    finally:
        clock.cancel()
        clock.join()
        bar.stop()
