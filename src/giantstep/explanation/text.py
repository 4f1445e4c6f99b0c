"""The report of ``explain``: a page of plain words with two drawn staircases."""

from __future__ import annotations

import itertools
import math
import re
import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from giantstep.answer.plain import counted
from giantstep.explanation.details import explained_floors, explained_repetition
from giantstep.language.expressions.printing import directions_text
from giantstep.numerics.linear_algebra import complement, tidy_basis
from giantstep.theory.learnability.sample_complexity import (
    giant_step_samples,
    one_pass_samples,
    small_batch_samples,
)
from giantstep.theory.learnability.staircase import SAMPLED_ACCURACY, Difficulty, Stair, Staircase
from giantstep.theory.learnability.thresholds import Threshold

if TYPE_CHECKING:
    from giantstep.explanation.explain import Explanation


#: What a class means, told where it first appears.
MEANING: dict[Difficulty, str] = {
    "trivial": "(found from n = alpha d samples with any alpha > 0).",
    "easy": "(found from n = alpha d samples with alpha above a threshold).",
    "hard": "(not found at n of order d by any known efficient algorithm).",
}
#: Where long sentences are broken.
WIDTH = 96
#: Shares of the variance below this are not worth words.
_LEAST = 1e-9


def _explained_staircase(staircase: Staircase, grand: bool = False) -> str:
    """A staircase as text, the first stair at the bottom; ``grand`` names classes, not leaps.

    >>> from giantstep.language.targets import Target
    >>> from giantstep.theory.learnability.staircase import leap_staircase
    >>> print(_explained_staircase(leap_staircase(Target("h1 + He3(h1)*h2"))))
              ┌──── h2 (leap 1)
      ──── h1 ┘ (leap 1)
    """
    lines: list[str] = []
    column = 2
    for number, stair in enumerate(staircase.stairs):
        tread = ("┌" if number else "") + f"──── {directions_text(stair.directions)} "
        riser = "┘ " if number + 1 < len(staircase.stairs) else ""
        lines.append(" " * column + tread + riser + _explained_stair_kind(stair, grand))
        column += len(tread)
    return "\n".join(reversed(lines))


def _explained_stair_kind(stair: Stair, grand: bool) -> str:
    if not grand:
        return f"(leap {stair.leap})"
    return f"({explained_class(stair)})"


def explained_class(stair: Stair) -> str:
    """The class of a stair of the grand staircase in words; hard ones with their order."""
    hard = stair.difficulty == "hard"
    return f"hard, order {stair.leap}" if hard else stair.difficulty


def explanation_text(
    found: Explanation, verbose: bool = False, width: int = WIDTH, numbers: bool = True
) -> str:
    """The explanation in plain words, the answer first, in lines of at most ``width`` characters.

    ``verbose`` adds methods, errors, what readouts fit, learning by repetition, and bounds;
    ``numbers`` says what the first two giant steps do.

    >>> from giantstep.explanation.explain import explain
    >>> print("\\n".join(explanation_text(explain("sin(h1)")).splitlines()[:2]))
    y = sin(h1)
    Giant steps on fresh samples learn h1 from n ~ d; message passing finds h1 from n ~ d.
    """
    sections = [
        _explanation_opening(found, verbose, found.first_steps if numbers else ""),
        _explanation_of_gradients(found),
        _explanation_of_messages(found, verbose),
        _explanation_of_never(found),
    ]
    if verbose:
        sections += [explained_repetition(found.repetition), _explanation_of_samples(found)]
    if found.floors is not None:
        sections.append(explained_floors(found.floors, verbose))
    if found.spike is not None:
        sections.append(found.spike.report())
    return "\n".join(_explained_line(line, width) for line in "\n\n".join(sections).splitlines())


def _explained_line(line: str, width: int) -> str:
    """A line, broken where it is too long; drawn stairs and tables stay as they are."""
    if len(line) <= width or "──" in line or "   " in line.strip():
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    # A size such as n ~ d stays in one piece.
    whole = re.sub(r"(?<=\bn) ([~=]) ", "\0\\1\0", line)
    filled = textwrap.fill(whole, width, subsequent_indent=indent, break_long_words=False)
    return filled.replace("\0", " ")


def explanation_headline(found: Explanation) -> str:
    """What gradient steps learn, and what the best known fast algorithm does, in one sentence."""
    return f"{_explained_gradient_steps(found)}; {_explained_best_known(found)}."


def _explained_gradient_steps(found: Explanation) -> str:
    stairs = found.staircase.stairs
    if not stairs:
        degree = found.staircase.degree
        return f"Giant steps on fresh samples find nothing: no correlation up to degree {degree}"
    parts = [
        f"{_one_by_one([directions_text(stair.directions) for stair in group])} from n ~ {samples}"
        for samples, group in itertools.groupby(
            stairs, lambda stair: giant_step_samples(stair.leap)
        )
    ]
    known = sum(len(stair.directions) for stair in stairs)
    rest = found.dimension - known
    never = f", and never the other {rest}" if rest > 0 else ""
    return f"Giant steps on fresh samples learn {', then '.join(parts)}{never}"


def _one_by_one(names: Sequence[str]) -> str:
    """Directions that follow one another, each as it is learned.

    >>> _one_by_one(["h1"]), _one_by_one(["h1", "h2"]), _one_by_one(["h1", "h2", "h3"])
    ('h1', 'h1, then h2', 'h1, h2, h3 one after another')
    """
    if len(names) < 3:
        return ", then ".join(names)
    return f"{', '.join(names)} one after another"


def _explained_best_known(found: Explanation) -> str:
    stairs = found.grand_staircase.stairs
    if not stairs:
        degree = found.grand_staircase.degree
        return f"message passing sees nothing up to order {degree} either"
    parts = []
    for number, stair in enumerate(stairs):
        name = directions_text(stair.directions)
        if stair.difficulty == "hard":
            parts.append(f"no fast algorithm is known to find {name} from n of order d")
            break
        known = [t.alpha.value for t in found.thresholds if t.stair == number and t.alpha]
        where = "from n ~ d"
        if stair.difficulty == "easy":
            multiple = f"n = {max(known):.3g} d" if known else "a multiple of d that is not known"
            where = f"beyond {multiple}"
        parts.append(f"message passing finds {name} {where}" if not parts else f"{name} {where}")
    return ", then ".join(parts)


def explanation_summary(found: Explanation) -> str:
    r"""The explanation in a few lines: the target and both staircases.

    >>> from giantstep.explanation.explain import explain
    >>> print(explanation_summary(explain("h1 + h1*h2")).partition("from n ~ d.\n")[2])
    It depends on 2 directions. Mean 0, variance 2: 1 at degree 1, 1 at degree 2.
    Gradient descent on fresh samples: h1 (leap 1), then h2 (leap 1)
    Any function of the label: h1, h2 (trivial)
    report() says all of it, plot() draws it, to_frame() is the table
    """
    lines = [_explanation_opening(found, verbose=False)]
    for title, staircase, grand in (
        ("Gradient descent on fresh samples", found.staircase, False),
        ("Any function of the label", found.grand_staircase, True),
    ):
        stairs = [
            f"{directions_text(stair.directions)} {_explained_stair_kind(stair, grand)}"
            for stair in staircase.stairs
        ]
        text = f"{title}: {', then '.join(stairs) or 'no direction is seen'}"
        lines.append(textwrap.fill(text, WIDTH, subsequent_indent="  "))
    return "\n".join([*lines, "report() says all of it, plot() draws it, to_frame() is the table"])


def _explanation_opening(found: Explanation, verbose: bool, numbers: str = "") -> str:
    noise = f" + noise of variance {found.noise:g}" if found.noise else ""
    rank, used = found.target.rank, found.dimension
    size = f"{used} of its {rank} directions" if used < rank else counted(rank, "direction")
    lines = [
        f"y = {found.target.text}{noise}",
        explanation_headline(found),
        *[numbers] * bool(numbers),
        textwrap.fill(
            f"It depends on {size}. Mean {found.mean.value:.4g}, "
            f"variance {found.variance.value:.4g}" + _explained_energies(found),
            WIDTH,
            subsequent_indent="  ",
        ),
    ]
    if verbose:
        lines.append(f"Method: {found.variance.method}, ± {found.variance.error:.1g}.")
    return "\n".join(lines)


def _explained_energies(found: Explanation) -> str:
    """The shares of the variance, which add up to it."""
    degree = len(found.hermite_energy) - 1
    shares = [
        (value.value, f"at degree {k}") for k, value in enumerate(found.hermite_energy) if k > 0
    ]
    shares.append((found.energy_beyond.value, f"beyond degree {degree}"))
    shares.append((found.label_noise.value, "from the noise inside the label"))
    shown = [f"{value:.4g} {where}" for value, where in shares if value > _LEAST * _size(found)]
    return f": {', '.join(shown)}." if shown else "."


def _size(found: Explanation) -> float:
    return max(found.variance.value, 1e-300)


def _explanation_of_gradients(found: Explanation) -> str:
    staircase = found.staircase
    title = "Gradient descent on fresh samples (it sees correlations with the label)"
    if not staircase.stairs:
        return f"{title}\n  sees no direction up to degree {staircase.degree}."
    lines = [title, _explained_staircase(staircase)]
    lines.append(
        "  The leap of a stair counts the factors of new directions that must be found at once, "
        "when those before it are known; one giant step finds a leap l from n ~ d^l samples."
    )
    for number, stair in enumerate(staircase.stairs):
        when = ("First" if number == 0 else "Then") + f" {directions_text(stair.directions)}:"
        lines.append(
            f"  {when} n ~ {giant_step_samples(stair.leap)} in one giant step, "
            f"n ~ {one_pass_samples(stair.leap)} by one-pass SGD."
        )
    if staircase.stairs[0].difficulty != "trivial":
        lines.append(
            "  Several giant steps on smaller fresh batches amplify what they are given: n ~ "
            f"{small_batch_samples(staircase.stairs[0].leap)} do for the first stair (not proved)."
        )
    if len(found.unseen):
        lines.append(
            f"  Warning: {found.activation} without biases, the default, does not see "
            f"{directions_text(found.unseen)}: its Hermite coefficients of the degrees needed "
            "are zero. Use another activation or --biases normal."
        )
    return "\n".join(lines)


def _explanation_of_messages(found: Explanation, verbose: bool) -> str:
    grand = found.grand_staircase
    title = "Any function of the label (message passing, reused batches)"
    if not grand.stairs:
        return f"{title}\n  sees no direction up to order {grand.degree}."
    lines = [title, _explained_staircase(grand, grand=True)]
    told: set[str] = set()
    for number, stair in enumerate(grand.stairs):
        meaning = "" if stair.difficulty in told else f" {MEANING[stair.difficulty]}"
        told.add(stair.difficulty)
        name = directions_text(stair.directions)
        if stair.difficulty == "easy":
            thresholds = [t for t in found.thresholds if t.stair == number]
            lines.append(f"  {name}: easy{meaning or '.'}")
            lines += [f"    {_threshold_text(threshold, verbose)}" for threshold in thresholds]
        elif stair.difficulty == "hard":
            lines.append(f"  {name}: hard{meaning or '.'} It takes n ~ d^{stair.leap / 2:g}.")
        else:
            lines.append(f"  {name}: trivial{meaning or '.'}")
    if verbose:
        lines.append(f"  Method: {grand.method}.")
    lines += [f"  {sentence}" for sentence in explained_sampling(grand)]
    return "\n".join(lines)


def _explanation_of_samples(found: Explanation) -> str:
    lines = [
        "Samples for all that is seen, by algorithm",
        "  CSQ: algorithms that use averages of label times a function of the input; SQ: averages "
        "of any function of label and input.",
    ]
    for known in found.complexities.values():
        source = f"{known.status}; {known.reference}"
        # "d log d" is a size; "nothing is learned at ..." is a sentence.
        size = known.samples if known.samples.startswith("nothing") else f"n ~ {known.samples}"
        lines.append(f"  {known.algorithm}: {size} [{source}]")
    return "\n".join(lines)


def _threshold_text(threshold: Threshold, verbose: bool) -> str:
    name = directions_text(threshold.directions)
    if threshold.alpha is None:
        return f"{name}: from some alpha that is not known ({threshold.reason})."
    found = threshold.alpha
    told = f"{name}: from n = {found.value:.5g} d"
    # An error that would not change the digits shown says nothing.
    if verbose or found.error > 0.5 * 10 ** (math.floor(math.log10(found.value)) - 4):
        told += f" (± {found.error:.1g})"
    return told + (f", by {found.method}." if verbose else ".")


def explained_sampling(grand: Staircase) -> list[str]:
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


def _explanation_of_never(found: Explanation) -> str:
    rank = found.target.rank
    by_steps = _explained_as_missing(found.used, _explained_closure(found.staircase, 1), rank)
    by_any = _explained_as_missing(found.used, _explained_closure(found.grand_staircase, 2), rank)
    return (
        "Never at n of order d\n"
        f"  by gradient steps on fresh samples: {directions_text(by_steps)};\n"
        f"  by any known efficient algorithm: {directions_text(by_any)}."
    )


def _explained_closure(staircase: Staircase, largest: int) -> np.ndarray:
    """What is reached before the first leap that is too large."""
    rows = [np.zeros((0, staircase.rank))]
    for stair in staircase.stairs:
        if stair.leap > largest:
            break
        rows.append(stair.directions)
    return np.vstack(rows)


def _explained_as_missing(used: np.ndarray, reached: np.ndarray, rank: int) -> np.ndarray:
    """The part of the used subspace that is orthogonal to what is reached."""
    rest = complement(reached) if len(reached) else np.eye(rank)
    inside = rest @ used.T @ used
    values = np.linalg.svd(inside, compute_uv=False)
    return tidy_basis(inside, int(np.sum(values > 0.1)), SAMPLED_ACCURACY)
