"""A spectrum as text: bulk, outliers and overlaps, in the table of every other result."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from giantstep.answer.table import Column, page_of_text, value, with_error
from giantstep.answer.words import question_facts, words_of

if TYPE_CHECKING:
    from giantstep.asking.spectra import SpectrumComparison


def text(found: SpectrumComparison, width: int | None = None) -> str:
    """What it is about, one row per number, papers and notes."""
    known = found.to_json()
    kind = "comparison" if found.runs else "prediction"
    facts = question_facts(found.settings, found.problem)
    if found.runs:
        facts |= {"seeds": found.seeds, **({"seed": found.seed} if found.seed else {})}
    about = (f"{kind}: spectrum of the {found.kind}", ", ".join(words_of(facts)))
    below = [f"{name.replace('_', ' ')}: {_value(own)}" for name, own in known["details"].items()]
    below.append(f"papers: {'; '.join(known['references'])}")
    columns = _columns(known, bool(found.runs))
    return page_of_text(about, columns, below, known["notes"], width)


def _columns(known: dict[str, Any], simulated: bool) -> list[Column]:
    low, high = known["bulk_edges"]
    rows = [("bulk from", math.nan, math.nan, low), ("bulk to", math.nan, math.nan, high)]
    groups = {"outlier": known["outliers"]}
    groups |= {f"overlap, {name}": own for name, own in known["overlaps"].items()}
    for name, own in groups.items():
        parts = [own["simulated"], own["simulated_sem"], own["predicted"]]
        for index in range(max(map(len, parts))):
            mean, sem, theory = (_entry(part, index) for part in parts)
            rows.append((f"{name} {index + 1}", mean, sem, theory))
    measured = Column("", "simulation", [with_error(mean, sem) for _, mean, sem, _ in rows])
    return [
        Column("", "", [name for name, *_ in rows]),
        *([measured] if simulated else []),
        Column("", "theory", [value(theory) for *_, theory in rows]),
    ]


def _entry(part: list[float | str | None], index: int) -> float:
    """One number of a list, in which an infinite one is text and a missing one None."""
    found = part[index] if index < len(part) else None
    return math.nan if found is None else float(found)


def _value(own: Any) -> str:
    return own if isinstance(own, str) else value(math.nan if own is None else own)
