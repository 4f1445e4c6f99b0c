"""Papers whose results are drawn in the gallery: settings in our units, and what is not covered.

They are listed in ``papers.toml``, beside this file.
"""

from __future__ import annotations

import functools
import re
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from giantstep.bibliography import cited_paper
from giantstep.errors import GiantstepError
from giantstep.gallery.figures import NAMES, figure_named

#: How a match was made, for whoever looks for a number of a figure.
BY_CONTENT = "matched by content: the numbers of the paper's own figures are not known here"


class Reproduction(NamedTuple):
    """How a figure of the gallery stands to a paper.

    ``units`` says how the paper's quantities read in ours; ``missing`` what a reader of the paper
    may look for and not find in the figure.
    """

    units: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@functools.cache
def _figure_papers() -> dict[str, dict[str, Any]]:
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def reproduced_papers() -> tuple[str, ...]:
    """The arXiv numbers of papers that the gallery is matched with."""
    return tuple(_figure_papers())


def arxiv_number(text: str) -> str:
    """The arXiv number in a reference, an address or a number; an empty text if there is none.

    >>> arxiv_number("https://arxiv.org/abs/2402.04980v2").split(".")
    ['2402', '04980']
    """
    found = re.search(r"(?<!\d)\d{4}\.\d{4,5}(?!\d)", text)
    return found[0] if found else ""


def figures_of_paper(given: str) -> tuple[str, ...]:
    """The figures of the gallery that draw results of a paper, by its arXiv number or address.

    >>> figures_of_paper("arXiv:2402.03220")
    ('staircases', 'reused-batch')
    """
    number = arxiv_number(given)
    found = tuple(
        name
        for name in NAMES
        if number and any(arxiv_number(cited) == number for cited in figure_named(name).references)
    )
    if not found:
        raise GiantstepError(
            f"paper = {given!r}: no figure of the gallery draws it; give the arXiv number "
            f"of one of {'; '.join(cited_paper(known).short for known in reproduced_papers())}"
        )
    return found


def figure_reproduction(given: str, name: str) -> Reproduction:
    """How that figure of the gallery stands to that paper.

    >>> figure_reproduction("2402.04980", "one-step-batch").missing
    ('other activations',)
    """
    known = figures_of_paper(given)
    if name not in known:
        raise GiantstepError(
            f"figure = {name!r} draws nothing of {arxiv_number(given)}: use {', '.join(known)} "
            f"({BY_CONTENT})"
        )
    entry = _figure_papers().get(arxiv_number(given), {}).get(name, {})
    return Reproduction(tuple(entry.get("units", ())), tuple(entry.get("missing", ())))


def drawn_elsewhere(given: str) -> tuple[str, ...]:
    """What a reader of the paper may look for, and where it is, or why it is nowhere."""
    return tuple(_figure_papers().get(arxiv_number(given), {}).get("elsewhere", ()))


def reproduction_words(given: str, *names: str) -> list[str]:
    """The paper, and of each figure what it shows, units, and what is missing, a line each.

    Units of several figures are said once, below the title.
    """
    about = cited_paper(arxiv_number(given))
    known = {name: figure_reproduction(given, name) for name in names}
    figures_in = Counter(unit for each in known.values() for unit in each.units)
    shared = [unit for unit, count in figures_in.items() if count > 1]
    lines = [f"{about.short}, {about.title}", *(f"  in our units: {unit}" for unit in shared)]
    for name, each in known.items():
        lines.append(f"{name}: {figure_named(name).title}")
        lines += [f"  in our units: {unit}" for unit in each.units if unit not in shared]
        lines += [f"  not covered: {line}" for line in each.missing]
    return lines
