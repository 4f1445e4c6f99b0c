"""A spectrum as text: bulk, outliers and overlaps, in the table of every other result."""

from __future__ import annotations

import math
import shutil
from typing import TYPE_CHECKING, Any

from giantstep.results.table import Column, rendered, value, with_error, wrapped
from giantstep.results.words import fixed_words

if TYPE_CHECKING:
    from giantstep.twins.spectra import SpectrumComparison


def text(found: SpectrumComparison, width: int | None = None) -> str:
    """What it is about, one row a number, papers and notes."""
    width = width or shutil.get_terminal_size((80, 24)).columns
    known = found.to_json()
    kind = "comparison" if found.runs else "prediction"
    lines = [f"{kind}: spectrum of the {found.kind}"]
    fixed = {**found.problem, **found.settings}
    if not found.runs:
        fixed |= {"seeds": None, "seed": None}
    lines += wrapped(", ".join(fixed_words(fixed)), width)
    lines += ["", *rendered(_columns(known, bool(found.runs))), ""]
    lines += [f"{name.replace('_', ' ')}: {_value(own)}" for name, own in known["details"].items()]
    lines += wrapped(f"papers: {'; '.join(known['references'])}", width, "")
    lines += [line for note in known["notes"] for line in wrapped(f"note: {note}", width, "")]
    return "\n".join(line.rstrip() for line in lines)


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
    found = part[index] if index < len(part) else None
    # JSON spells infinity: an outlier that grows with d has no limit.
    return math.nan if found is None else float(found)


def _value(own: Any) -> str:
    return own if isinstance(own, str) else value(math.nan if own is None else own)
