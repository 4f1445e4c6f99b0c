"""Both staircases drawn, and the samples each stair needs with the status of the claim."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from giantstep.bibliography import cite
from giantstep.explanation.explain import Explanation
from giantstep.explanation.text import explained_class, explained_sampling
from giantstep.gallery.staircase import draw_classes, draw_leaps
from giantstep.language.expressions.printing import directions_text
from giantstep.reports.drawing import HALF, report_canvas, report_svg
from giantstep.reports.experiment import report_explain_command
from giantstep.reports.mathematics import directions_mathml, mathml, power_mathml_latex
from giantstep.reports.parts import Context, Picture, Section, Table, Words
from giantstep.theory.learnability.sample_complexity import giant_step_samples, one_pass_samples
from giantstep.theory.learnability.staircase import Stair

REFERENCES = cite("2302.11055", "2305.18270", "2405.15480")
LEAPS = (
    "Each stair is what one more giant step can learn, given the stairs below it; its leap is "
    "the lowest degree at which the label correlates with it."
)
CLASSES = (
    "Trivial directions are found from any multiple of d samples, easy ones above a threshold, "
    "hard ones, dashed, never at n of order d by any known efficient algorithm."
)
#: The status of a stair whose directions sampling decided.
SAMPLED = "heuristic (sampled)"


def build_section(context: Context) -> Section:
    """Two pictures, two tables."""
    found = context.explanation
    tables = (_report_leap_table(found), _report_class_table(found))
    return Section(
        lead=(
            "Gradient steps on fresh samples see correlations with the label, and climb the first "
            "staircase one stair after another. Message passing and reused batches see any "
            "function of the label, and climb the second, the grand staircase.",
        ),
        pictures=(
            _report_stairs("leaps", LEAPS, _report_leaps(found), draw_leaps, context),
            _report_stairs("classes", CLASSES, _report_classes(found), draw_classes, context),
        ),
        tables=tuple(table for table in tables if table.rows),
        notes=(
            f"Grand staircase computed by {found.grand_staircase.method}.",
            *explained_sampling(found.grand_staircase),
        ),
        references=REFERENCES,
    )


def _report_leaps(found: Explanation) -> str:
    stairs = [
        f"{directions_text(s.directions)} at leap {s.leap}" for s in found.staircase.stairs
    ] or [f"no stair up to degree {found.staircase.degree}"]
    return f"Staircase of giant steps: {'; then '.join(stairs)}"


def _report_classes(found: Explanation) -> str:
    grand = found.grand_staircase
    stairs = [f"{directions_text(s.directions)}, {explained_class(s)}" for s in grand.stairs]
    return f"Grand staircase: {'; then '.join(stairs) or f'no stair up to order {grand.degree}'}"


def _report_stairs(
    key: str,
    caption: str,
    alt: str,
    draw: Callable[[Any, Explanation], None],
    context: Context,
) -> Picture:
    with report_canvas(HALF, 2.8) as (figure, panel):
        draw(panel, context.explanation)
        drawn = report_svg(figure, key, alt)
    command = report_explain_command(context.problem, "--picture", "staircase.png")
    return Picture(key, drawn, alt, caption, (command,))


def _report_leap_table(found: Explanation) -> Table:
    rows = [
        (
            directions_mathml(stair.directions),
            str(stair.leap),
            mathml(power_mathml_latex(giant_step_samples(stair.leap))),
            mathml(power_mathml_latex(one_pass_samples(stair.leap))),
            _report_leap_status(stair, number),
        )
        for number, stair in enumerate(found.staircase.stairs)
    ]
    head = ("directions", "leap", "samples, giant step", "samples, one-pass SGD", "status")
    return Table("Gradient descent on fresh samples", head, tuple(rows))


def _report_leap_status(stair: Stair, number: int) -> str:
    if stair.sampled:
        return SAMPLED
    return "theorem" if number == 0 else "conjecture"


def _report_class_table(found: Explanation) -> Table:
    rows: list[tuple[Words, ...]] = []
    for number, stair in enumerate(found.grand_staircase.stairs):
        if stair.difficulty != "easy":
            rows.append(
                (directions_mathml(stair.directions), explained_class(stair), *_samples(stair))
            )
            continue
        for threshold in found.thresholds:
            if threshold.stair != number:
                continue
            place = directions_mathml(threshold.directions)
            if threshold.alpha is None:
                rows.append((place, stair.difficulty, f"not known: {threshold.reason}", "open"))
            else:
                size = f"n > {threshold.alpha.value:.4g}\\,d"
                status = _report_threshold_status(stair, number)
                rows.append((place, stair.difficulty, mathml(size), status))
    head = ("directions", "class", "samples", "status")
    return Table("Any function of the label: message passing, reused batches", head, tuple(rows))


def _report_threshold_status(stair: Stair, number: int) -> str:
    """That of :func:`easy_thresholds` for the first stair, of :func:`later_threshold` beyond it."""
    if stair.sampled:
        return SAMPLED
    return "replica" if number else "theorem; optimal: replica"


def _samples(stair: Stair) -> tuple[Words, Words]:
    if stair.difficulty == "trivial":
        return mathml(r"n = \alpha d,\ \alpha > 0"), SAMPLED if stair.sampled else "theorem"
    return mathml(f"n \\sim {power_mathml_latex(f'd^{stair.leap / 2:g}')}"), "conjecture"
