"""Tables of `explain`: error floors, ways to repeat, an explanation for pandas."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from giantstep.language.expressions.printing import directions_text
from giantstep.theory.learnability.floors import Floor
from giantstep.theory.learnability.sample_complexity import giant_step_samples
from giantstep.theory.repetition import ACTIVATIONS, EVEN, LOOKAHEADS, ODD, Way

if TYPE_CHECKING:
    import pandas

    from giantstep.explanation.explain import Explanation

_TITLE = "Error that the readout cannot go below (n samples, p neurons, T giant steps)"


def explained_floors(floors: Sequence[Floor], verbose: bool = False) -> str:
    """Regimes of equal floors share a row; ``verbose`` lists what is fitted in each instead."""
    return _every_floor(floors) if verbose else _compact_explained_floors(floors)


def _compact_explained_floors(floors: Sequence[Floor]) -> str:
    table: dict[tuple[int, int], list[str]] = {}
    for floor in floors:
        row = table.setdefault((floor.sample_power, floor.width_power), [])
        row.append(f"{floor.floor.value:.4g}")
    steps = max(len(row) for row in table.values())
    while steps > 1 and all(row[steps - 1] == row[steps - 2] for row in table.values()):
        steps -= 1
    merged: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (samples, width), row in table.items():
        merged.setdefault((samples, tuple(row[:steps])), []).append(explained_power(width))
    heads = [f"T = {step}" for step in range(steps)]
    if steps < max(len(row) for row in table.values()):
        heads[-1] += " on"
    lines = [_TITLE, f"  {'n':<5}{'p':<11}" + "".join(f"{head:>11}" for head in heads)]
    for (samples, values), widths in merged.items():
        place = f"  {explained_power(samples):<5}{', '.join(widths):<11}"
        lines.append(place + "".join(f"{value:>11}" for value in values))
    return "\n".join(lines)


def _every_floor(floors: Sequence[Floor]) -> str:
    lines = [_TITLE, f"  {'n':<4} {'p':<4} {'T':<2} {'floor':>9}  fitted"]
    for floor in floors:
        n, p = explained_power(floor.sample_power), explained_power(floor.width_power)
        lines.append(f"  {n:<4} {p:<4} {floor.steps:<2} {floor.floor.value:>9.4g}  {floor.fitted}")
    return "\n".join(lines)


def explained_power(power: int) -> str:
    """A power of d, as it is written in tables and JSON."""
    return {0: "1", 1: "d"}.get(power, f"d^{power}")


#: Activations whose best way is shown, at most.
SHOWN = 3
#: Why an activation may learn nothing, by its parity.
_BY_PARITY = (
    (ODD, "odd: overlaps grow only where labels have several sizes"),
    (EVEN, "even: no force ever"),
)


def explained_repetition(ways: Sequence[Way] | None) -> str:
    """The best ways in words, then the activations that have none, or why there is none at all."""
    title = (
        "By repetition (a sample is seen twice: the neuron looks ahead along its gradient, then "
        "steps; a force moves it from overlap zero, growth multiplies the overlap that it has)"
    )
    if ways is None:
        return f"{title}\n  is computed for at most 3 directions and noises together."
    if not ways:
        tried = f"look ahead {_explained_numbers(LOOKAHEADS)}, both signs of the readout"
        return (
            f"{title}\n  nothing is learned at n of order d log d: neither force nor growth, for\n"
            f"  {', '.join(ACTIVATIONS)}\n  ({tried})."
        )
    best: dict[str, Way] = {}
    for way in ways:
        best.setdefault(way.activation, way)
    lines = [_explained_way(way) for way in list(best.values())[:SHOWN]]
    others = list(best)[SHOWN:]
    if others:
        lines.append(f"More slowly, in this order: {', '.join(others)}.")
    return "\n".join([title, *[f"  {line}" for line in [*lines, *_explained_silence(best)]]])


def _explained_silence(best: Collection[str]) -> Iterator[str]:
    """The activations that learn nothing, with the reason where parity is one."""
    missing = [name for name in ACTIVATIONS if name not in best]
    for group, reason in _BY_PARITY:
        if named := [name for name in missing if name in group]:
            yield f"Not by {', '.join(named)} ({reason})."
    neither = [name for name in missing if name not in (*ODD, *EVEN)]
    if neither:
        yield f"Not by {', '.join(neither)} (neither force nor growth)."


def _explained_way(way: Way) -> str:
    moves = way.moves
    how = f"{way.activation}, look ahead {way.lookahead:+g}, readout {way.sign:+d}"
    found = directions_text(moves.direction[None])
    if moves.has_force:
        what = f"n ~ d by a force of {np.linalg.norm(moves.force):.3g}"
    else:
        what = f"n ~ {1 / (2 * moves.rate):.3g} d log d by growth at rate {moves.rate:.3g}"
    return f"{found}: {what}, step size {moves.step_size:.3g} ({how})."


def _explained_numbers(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)


def explanation_frame(found: Explanation) -> pandas.DataFrame:
    """One line per stair, and one for each threshold where the directions of a stair have several.

    ``samples`` are those of a giant step on fresh samples; ``class`` and ``alpha``, the threshold
    in samples over d where it is known, are of the grand staircase.
    """
    import pandas

    lines = [
        {
            "staircase": "staircase",
            "stair": number + 1,
            "directions": directions_text(stair.directions),
            "leap": stair.leap,
            "samples": giant_step_samples(stair.leap),
        }
        for number, stair in enumerate(found.staircase.stairs)
    ]
    for number, stair in enumerate(found.grand_staircase.stairs):
        known = {"staircase": "grand_staircase", "stair": number + 1, "leap": stair.leap}
        own = [threshold for threshold in found.thresholds if threshold.stair == number]
        parts = [(t.directions, t.alpha and t.alpha.value) for t in own]
        least = 0.0 if stair.difficulty == "trivial" else None
        for directions, alpha in parts or [(stair.directions, least)]:
            names = directions_text(directions)
            lines.append({**known, "directions": names, "class": stair.difficulty, "alpha": alpha})
    columns = ["staircase", "stair", "directions", "leap", "class", "samples", "alpha"]
    return pandas.DataFrame(lines, columns=columns).astype({"alpha": float})
