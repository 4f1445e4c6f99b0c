"""The error floors of ``explain`` as a table: one row for each regime, one column for each step."""

from __future__ import annotations

from collections.abc import Sequence

from giantstep.theory.learnability.floors import Floor

_TITLE = "Error that the readout cannot go below (n samples, p neurons, T giant steps)"


def floors_text(floors: Sequence[Floor], verbose: bool = False) -> str:
    """Regimes of equal floors share a row; ``verbose`` lists what is fitted in each instead."""
    return _every_floor(floors) if verbose else _compact(floors)


def _compact(floors: Sequence[Floor]) -> str:
    table: dict[tuple[int, int], list[str]] = {}
    for floor in floors:
        row = table.setdefault((floor.sample_power, floor.width_power), [])
        row.append(f"{floor.floor.value:.4g}")
    steps = max(len(row) for row in table.values())
    while steps > 1 and all(row[steps - 1] == row[steps - 2] for row in table.values()):
        steps -= 1
    merged: dict[tuple[int, tuple[str, ...]], list[str]] = {}
    for (samples, width), row in table.items():
        merged.setdefault((samples, tuple(row[:steps])), []).append(power_text(width))
    heads = [f"T = {step}" for step in range(steps)]
    if steps < max(len(row) for row in table.values()):
        heads[-1] += " on"
    lines = [_TITLE, f"  {'n':<5}{'p':<11}" + "".join(f"{head:>11}" for head in heads)]
    for (samples, values), widths in merged.items():
        place = f"  {power_text(samples):<5}{', '.join(widths):<11}"
        lines.append(place + "".join(f"{value:>11}" for value in values))
    return "\n".join(lines)


def _every_floor(floors: Sequence[Floor]) -> str:
    lines = [_TITLE, f"  {'n':<4} {'p':<4} {'T':<2} {'floor':>9}  fitted"]
    for floor in floors:
        n, p = power_text(floor.sample_power), power_text(floor.width_power)
        lines.append(f"  {n:<4} {p:<4} {floor.steps:<2} {floor.floor.value:>9.4g}  {floor.fitted}")
    return "\n".join(lines)


def power_text(power: int) -> str:
    """A power of d, as it is written in tables and JSON."""
    return {0: "1", 1: "d"}.get(power, f"d^{power}")
