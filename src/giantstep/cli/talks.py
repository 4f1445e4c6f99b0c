"""`giantstep talks`: the claims of the talks, the commands that check them, and the verdicts."""

from __future__ import annotations

import contextlib
import io
import json as json_reader
import shlex
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from giantstep.cli.output import (
    note,
    print_json,
    terminal_bar,
    use_compilation_cache,
    with_exit_codes,
)

if TYPE_CHECKING:
    from giantstep.gallery.figure import Scale
    from giantstep.talks.claims import Claim


@with_exit_codes
def talks_command(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A talk, or one claim of one by its key.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Run the commands again, and judge by their answers.")
    ] = False,
    keep: Annotated[
        Path | None,
        typer.Option(help="With --check: write what was measured into this folder."),
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="With --check: figures at the sizes of a paper.")
    ] = False,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """List the claims of the talks behind giantstep: what shows each, and the verdict."""
    from giantstep.errors import GiantstepError
    from giantstep.talks import verdicts

    if not check and (full or keep is not None):
        raise GiantstepError("--full and --keep say how to check: add --check")
    chosen = _talks_of_command(name)
    every = [claim for _, claims in chosen for claim in claims]
    scale: Scale = "full" if full else "reduced"
    found = _checked(every, scale, keep) if check else verdicts.stored_verdicts()
    if keep is not None:
        note(f"kept in {keep}")
    if json:
        rows = [_row(talk, claim, found) for talk, claims in chosen for claim in claims]
        print_json({"claims": rows})
        return
    for title, claims in chosen:
        typer.echo(f"{title}\n{'=' * len(title)}")
        for claim in claims:
            measured = found.get(claim.key)
            verdict = verdicts.claim_verdict(claim, measured)
            _print(claim, verdict, verdicts.claim_evidence(claim, measured))
    if check:
        note(f"{sum(row['seconds'] for row in found.values()):.0f} s of processor time")


def command_answer(command: str) -> dict[str, Any]:
    """The JSON that a command of ours answers with, run in this process."""
    from giantstep.cli.main import command_line

    words = shlex.split(command)[1:]
    with contextlib.redirect_stdout(io.StringIO()) as out:
        try:
            command_line()([*words, "--json"], prog_name="giantstep")
        except SystemExit as ended:
            if ended.code not in (0, None):
                return {}
    return json_reader.loads(out.getvalue())


def _figure_claims_to_print(name: str, scale: Scale) -> dict[str, bool]:
    """What the caption of a figure claims, and whether its data at that scale show it."""
    from giantstep.gallery.figures import figure_named
    from giantstep.gallery.rendering import render_figure

    with tempfile.TemporaryDirectory() as folder:
        return dict(render_figure(figure_named(name), scale, Path(folder)).claims)


def _talks_of_command(name: str | None) -> list[tuple[str, Sequence[Claim]]]:
    from giantstep.errors import GiantstepError
    from giantstep.talks.claims import TALKS, talk

    if name is None or name in TALKS:
        return [talk(each) for each in ((name,) if name else TALKS)]
    for each in TALKS:
        title, claims = talk(each)
        one = [claim for claim in claims if claim.key == name]
        if one:
            return [(title, one)]
    raise GiantstepError(f"name = {name!r} is no talk ({', '.join(TALKS)}) and no claim of one")


def _checked(claims: Sequence[Claim], scale: Scale, keep: Path | None) -> dict[str, Any]:
    """Run each command and each figure once, whatever number of claims it shows.

    What is found of a claim is kept before the next one, which may take hours at full size.
    """
    import giantstep
    from giantstep.talks.verdicts import keep_verdicts

    use_compilation_cache()
    if scale == "full":
        drawn = len({claim.figure for claim in claims} - {""})
        note(
            f"{drawn} figures at the sizes of a paper may take hours: one claim by its key is less"
        )
    answers: dict[str, dict[str, Any]] = {"": {}}
    figures: dict[str, dict[str, bool]] = {"": {}}
    found = {}
    with terminal_bar("claims") as advance:
        for count, claim in enumerate(claims):
            began = time.process_time()
            if claim.command not in answers:
                answers[claim.command] = command_answer(claim.command)
            if claim.figure not in figures:
                figures[claim.figure] = _figure_claims_to_print(claim.figure, scale)
            given = answers[claim.command], figures[claim.figure]
            if claim.is_shown:
                found[claim.key] = {
                    "holds": claim.holds(*given),
                    "measured": claim.measured(*given),
                    "seconds": round(time.process_time() - began, 1),
                    "version": giantstep.__version__,
                }
                if keep is not None:
                    keep_verdicts({claim.key: found[claim.key]}, keep)
            if advance is not None:
                advance((count + 1) / len(claims))
    return found


def _row(talk: str, claim: Claim, found: dict[str, Any]) -> dict[str, Any]:
    from giantstep.talks.verdicts import claim_verdict

    measured = found.get(claim.key, {}).get("measured", {})
    names = ("key", "slide", "kind", "says", "erratum", "command", "figure", "why")
    return {
        "talk": talk,
        **{name: getattr(claim, name) for name in names},
        "verdict": claim_verdict(claim, found.get(claim.key)),
        "measured": measured,
    }


def _print(claim: Claim, verdict: str, evidence: Sequence[str]) -> None:
    typer.echo(f"\n{claim.slide} ({claim.kind}; {claim.key})\n  {claim.says}")
    if claim.erratum:
        typer.echo(f"  on the slide: {claim.erratum}")
    if claim.command:
        typer.echo(f"  $ {claim.command}")
    if claim.figure:
        typer.echo(f"  $ giantstep figure {claim.figure}")
    typer.echo(f"  {verdict}{': ' + claim.why if claim.why else ''}")
    for line in evidence:
        typer.echo(f"    {line}")
