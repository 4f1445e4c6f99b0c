"""The report of ``explain``: a page of plain words with two drawn staircases."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from giantstep.numerics.tensors import complement, tidy_basis
from giantstep.targets.directions import directions_text
from giantstep.theory.learnability.sample_complexity import giant_step_samples, one_pass_samples
from giantstep.theory.learnability.staircase import Staircase
from giantstep.theory.learnability.stairs import SAMPLED_ACCURACY, Stair

if TYPE_CHECKING:
    from giantstep.twins.explanation import Explanation


def drawn_staircase(staircase: Staircase, grand: bool = False) -> str:
    """A staircase as text, the first stair at the bottom; ``grand`` names classes, not leaps.

    >>> from giantstep.targets import Target
    >>> from giantstep.theory.learnability.staircase import leap_staircase
    >>> print(drawn_staircase(leap_staircase(Target("h1 + He3(h1)*h2"))))
              ┌──── h2 (leap 1)
      ──── h1 ┘ (leap 1)
    """
    lines: list[str] = []
    column = 2
    for number, stair in enumerate(staircase.stairs):
        tread = ("┌" if number else "") + f"──── {directions_text(stair.directions)} "
        riser = "┘ " if number + 1 < len(staircase.stairs) else ""
        lines.append(" " * column + tread + riser + _kind(stair, grand))
        column += len(tread)
    return "\n".join(reversed(lines))


def _kind(stair: Stair, grand: bool) -> str:
    if not grand:
        return f"(leap {stair.leap})"
    return f"({class_text(stair)})"


def class_text(stair: Stair) -> str:
    """The class of a stair of the grand staircase in words; hard ones with their order."""
    hard = stair.difficulty == "hard"
    return f"hard, order {stair.leap}" if hard else stair.difficulty


def report(found: Explanation) -> str:
    r"""What is learned first, what next, by which algorithm, from how many samples; and what not.

    .. math:: y = g(h) + \sqrt{\Delta}\,\xi

    Symbols: all that is in ``found``.

    Assumes: what the parts of the explanation assume.
    Status: theorem, replica or conjecture, as each part says.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.twins.explanation import explain
    >>> print(report(explain("sin(h1)")).splitlines()[0])
    y = sin(h1)
    """
    sections = [
        _opening(found),
        _gradient_section(found),
        _message_passing_section(found),
        _never_section(found),
    ]
    if found.floors is not None:
        sections.append(_floors_section(found))
    return "\n\n".join(sections)


def _opening(found: Explanation) -> str:
    noise = f" + noise of variance {found.noise:g}" if found.noise else ""
    energy = [
        f"{value.value:.4g} at degree {degree}"
        for degree, value in enumerate(found.hermite_energy)
        if degree and value.value > 1e-9 * max(found.variance.value, 1e-300)
    ]
    rank, used = found.target.rank, found.dimension
    size = f"{used} of its {rank} directions" if used < rank else _counted(rank, "direction")
    return (
        f"y = {found.target.text}{noise}\n"
        f"It uses {size}. Mean {found.mean.value:.4g}, variance {found.variance.value:.4g}"
        f" ({', '.join(energy) or 'nothing up to the highest degree'})."
    )


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _gradient_section(found: Explanation) -> str:
    staircase = found.staircase
    title = "Gradient descent on fresh samples (correlations with the label)"
    if not staircase.stairs:
        return f"{title}\n  sees no direction up to degree {staircase.degree}."
    lines = [title, drawn_staircase(staircase)]
    for number, stair in enumerate(staircase.stairs):
        when = ("First" if number == 0 else "Then") + f" {directions_text(stair.directions)}:"
        lines.append(
            f"  {when} n ~ {giant_step_samples(stair.leap)} in one giant step, "
            f"n ~ {one_pass_samples(stair.leap)} by one-pass SGD."
        )
    return "\n".join(lines)


def _message_passing_section(found: Explanation) -> str:
    grand = found.grand_staircase
    title = "Any function of the label (message passing, reused batches)"
    if not grand.stairs:
        return f"{title}\n  sees no direction up to order {grand.degree}."
    lines = [title, drawn_staircase(grand, grand=True)]
    for stair in grand.stairs:
        name = directions_text(stair.directions)
        if stair.leap == 1:
            lines.append(f"  {name}: from n = alpha d with any alpha > 0.")
        elif stair.leap > 2:
            lines.append(f"  {name}: from n ~ d^{stair.leap / 2:g}, never at n of order d.")
    for threshold in found.thresholds:
        name = directions_text(threshold.directions)
        if threshold.alpha is None:
            lines.append(f"  {name}: from some alpha that is not known ({threshold.reason}).")
        else:
            value = threshold.alpha
            lines.append(f"  {name}: from n = {value.value:.5g} d (± {value.error:.1g}).")
    lines.append(f"  Method: {grand.method}.")
    lines += [f"  {sentence}" for sentence in sampling_notes(grand)]
    return "\n".join(lines)


def sampling_notes(grand: Staircase) -> list[str]:
    """What sampling decided about a grand staircase, in sentences; none if it decided nothing."""
    notes = [
        f"Found by sampling, not proved: {directions_text(stair.directions)}"
        + (f" (sine of the angle to the truth: ± {stair.error:.1g})." if stair.error else ".")
        for stair in grand.stairs
        if stair.sampled
    ]
    if grand.open_end:
        notes.append("Found by sampling, not proved: that nothing else is visible.")
    return notes


def _never_section(found: Explanation) -> str:
    rank = found.target.rank
    by_steps = _missing(found.used, _closure(found.staircase, 1), rank)
    by_any = _missing(found.used, _closure(found.grand_staircase, 2), rank)
    return (
        "Never at n of order d\n"
        f"  by gradient steps on fresh samples: {directions_text(by_steps)};\n"
        f"  by any known efficient algorithm: {directions_text(by_any)}."
    )


def _closure(staircase: Staircase, largest: int) -> np.ndarray:
    """What is reached before the first leap that is too large."""
    rows = [np.zeros((0, staircase.rank))]
    for stair in staircase.stairs:
        if stair.leap > largest:
            break
        rows.append(stair.directions)
    return np.vstack(rows)


def _missing(used: np.ndarray, reached: np.ndarray, rank: int) -> np.ndarray:
    """The part of the used subspace that is orthogonal to what is reached."""
    rest = complement(reached) if len(reached) else np.eye(rank)
    inside = rest @ used.T @ used
    values = np.linalg.svd(inside, compute_uv=False)
    return tidy_basis(inside, int(np.sum(values > 0.1)), SAMPLED_ACCURACY)


def _floors_section(found: Explanation) -> str:
    lines = ["Error that the readout cannot go below (n samples, p neurons, T giant steps)"]
    lines.append(f"  {'n':<4} {'p':<4} {'T':<2} {'floor':>9}  fitted")
    for floor in found.floors or ():
        n, p = _power(floor.sample_power), _power(floor.width_power)
        lines.append(f"  {n:<4} {p:<4} {floor.steps:<2} {floor.floor.value:>9.4g}  {floor.fitted}")
    return "\n".join(lines)


def _power(power: int) -> str:
    return {0: "1", 1: "d"}.get(power, f"d^{power}")
