"""`giantstep cite`: the papers behind a learner, a figure or a result, as BibTeX."""

from __future__ import annotations

import json as json_reader
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from giantstep.cli import completion
from giantstep.cli.output import print_json, with_exit_codes
from giantstep.errors import GiantstepError


@with_exit_codes
def cite_command(
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="WHAT",
            help="A learner, a figure of the gallery, an arXiv number, or a file that `predict "
            "--json` wrote; nothing: giantstep itself.",
            autocompletion=completion.complete_source,
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
) -> None:
    """Print BibTeX entries: of giantstep, or of the papers behind a learner, figure or result."""
    from giantstep.bibliography import GIANTSTEP, bibtex_entries

    papers = _papers_to_print(what) if what else ()
    entries = bibtex_entries(papers) if what else GIANTSTEP
    if json:
        print_json({"papers": list(papers), "bibtex": entries})
    else:
        typer.echo(entries)


def _papers_to_print(what: str) -> Sequence[str]:
    """The papers that a word or a file stands for, as results cite them."""
    from giantstep.asking.table import LEARNERS
    from giantstep.bibliography import PAPERS
    from giantstep.gallery.figures import NAMES, figure_named
    from giantstep.gallery.papers import arxiv_number

    learners = {row.name: row for row in LEARNERS}
    if what in learners:
        return learners[what].references
    if what in NAMES:
        return figure_named(what).references
    if (number := arxiv_number(what) or what) in PAPERS:
        return (PAPERS[number].short,)
    if Path(what).is_file():
        return _papers_in_printed_file(Path(what))
    raise GiantstepError(
        f"what = {what!r} is no learner, figure, arXiv number of a paper we use, or file; "
        f"`giantstep learners` and `giantstep figure --list` show the names"
    )


def _papers_in_printed_file(path: Path) -> Sequence[str]:
    """The references of a result that a verb printed with ``--json``."""
    try:
        result: Any = json_reader.loads(path.read_text(encoding="utf-8"))
    except (ValueError, OSError):
        result = None
    # `compare --json` has its theory inside.
    places = [result, result.get("prediction")] if isinstance(result, dict) else []
    for place in places:
        if isinstance(place, dict) and isinstance(place.get("references"), list):
            return [str(paper) for paper in place["references"]]
    raise GiantstepError(
        f"what = {str(path)!r} names no papers: give a file that `giantstep predict ... --json` "
        "or `compare ... --json` wrote"
    )
