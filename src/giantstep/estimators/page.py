"""One self-contained page about a fitted table."""

from __future__ import annotations

import shlex
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.answer.plain import counted
from giantstep.errors import GiantstepError
from giantstep.estimators.fitting import Fitted
from giantstep.estimators.link_theory import link_theory
from giantstep.estimators.tables import Prepared
from giantstep.reports.drawing import report_canvas, report_style, report_svg
from giantstep.reports.page import Page, write_report_page
from giantstep.reports.parts import Picture, Section, Table


def write_fit_page(
    fitted: Fitted, prepared: Prepared, file: str, label: str, out: Path, *, seed: int = 0
) -> None:
    """The answer, scores, links, what was done to the table; folded, what theory says."""
    words = ["giantstep", "fit", file, "--label", label, "--out", out.name]
    command = shlex.join(words + ["--seed", str(seed)] * (seed != 0))
    sections = [_scores(fitted, label, command)]
    links = fitted.shown is not None and fitted.shown.link_ is not None
    if links:
        sections.append(_links(fitted, label, command))
    notes = fitted.notes or ("nothing: every column was used as it is",)
    done = tuple(f"{note[0].upper()}{note[1:]}." for note in notes)
    sections.append(Section("table", "What was done to the table", lead=done))
    if links and fitted.task == "regression":
        sections.append(_theory(fitted, prepared, command, seed))
    title = f"{label} in {file}"
    source = counted(len(prepared.labels), "row")
    write_report_page(Page(title, title, source, tuple(sections), command, fitted.verdict()), out)


def _scores(fitted: Fitted, label: str, command: str) -> Section:
    with report_canvas(4.8, 0.5 + 0.35 * len(fitted.scores)) as (figure, axis):
        places = np.arange(len(fitted.scores))[::-1]
        axis.errorbar(
            [score.mean for score in fitted.scores],
            places,
            xerr=[score.sem for score in fitted.scores],
            fmt="o",
        )
        axis.set_yticks(places, [score.name for score in fitted.scores])
        axis.set_xlabel(f"{fitted.kind} on rows that were not fitted")
        alt = "; ".join(f"{score.name} {score}" for score in fitted.scores)
        # What is worse than the mean by a whole variance is off the picture.
        axis.set_xlim(left=max(axis.get_xlim()[0], -1.0))
        drawing = report_svg(figure, "scores", alt)
    tables: tuple[Table, ...] = ()
    notes: tuple[str, ...] = ()
    if fitted.curve is not None:
        rows = tuple(
            (
                str(int(line["samples"])),
                f"{line['ratio']:.2f} ({line['ratio_low']:.2f}–{line['ratio_high']:.2f})",
                f"{line['r2']:.2f} ({line['r2_low']:.2f}–{line['r2_high']:.2f})",
            )
            for line in fitted.curve.to_dict("records")
        )
        title = "What more rows would buy: the error as a ratio to the present one, and R2, with"
        tables = (Table(f"{title} 90 % intervals", ("rows", "error ratio", "R2"), rows),)
        notes = fitted.curve.attrs["notes"]
    return Section(
        "scores",
        "How well",
        lead=(
            f"{label} is predicted from {counted(len(fitted.columns), 'column')}; every score is "
            "on rows that were left out of the fit, with its standard error.",
            *(f"About the forecast: {note}." for note in notes),
        ),
        pictures=(Picture("scores", drawing, alt, f"{fitted.kind}, held out.", (command,)),),
        tables=tables,
    )


def _links(fitted: Fitted, label: str, command: str) -> Section:
    model = fitted.model
    with report_style():
        links = model.plot_links(label) if fitted.task == "regression" else model.plot_links()
        drawing = report_svg(links, "links", "labels over the learned indices")
        alt = "weights of the columns in each direction"
        bars = report_svg(model.plot_directions(), "directions", alt)
    return Section(
        "links",
        "Along which directions",
        lead=(
            "Each index is a weighted sum of columns; the curve is the fitted link along it, and "
            "the band its standard error.",
            *fitted.direction_lines(),
        ),
        pictures=(
            Picture("links", drawing, "links", "Labels over the learned indices.", (command,)),
            Picture("directions", bars, "directions", "Weights of the columns.", (command,)),
        ),
    )


def _theory(fitted: Fitted, prepared: Prepared, command: str, seed: int) -> Section:
    title, model = "For the curious: theory of this link", fitted.model
    try:
        inputs = fitted.pipeline[:-1].transform(prepared.inputs)
        found = link_theory(model, inputs, prepared.labels, random_state=seed)
    except GiantstepError as error:
        return Section("theory", title, skipped=str(error).rstrip("."))
    curves = found.curves
    drawing = report_svg(found.plot(), "curves", "R2 over the number of rows, theory and measured")
    return Section(
        "theory",
        title,
        folded=True,
        lead=(
            "If the columns were Gaussian and independent, how many rows would a network need to "
            "find these directions? The numbers are orders of magnitude for plain gradient "
            "methods; the estimator, whose dots are measured on this table, often needs fewer.",
        ),
        tables=(
            Table(
                "The link as a target",
                ("", ""),
                (
                    ("expression", found.link.target.text),
                    ("share of the link's variance", f"{found.link.captured:.2f}"),
                    ("class of its hardest direction", found.explanation.difficulty),
                ),
            ),
            Table(
                f"Rows from which directions should appear, at d = {found.dim}",
                ("directions", "leap", "by", "rows"),
                tuple(_stair(stair) for stair in found.stairs.to_dict("records")),
            ),
        ),
        pictures=(
            Picture(
                "curves",
                drawing,
                "learning curves",
                "Lines: theory, for Gaussian inputs. Dots: this estimator on part of the rows.",
                (command,),
                data=curves.to_csv(index=False),
            ),
        ),
        notes=found.notes,
    )


def _stair(stair: dict[Hashable, Any]) -> tuple[str, str, str, str]:
    """Directions, leap, algorithm and rows of one stair."""
    if stair["staircase"] == "staircase":
        by, rows = "one giant step", f"~ {stair['samples']} = {stair['samples_at_dim']:.3g}"
    else:
        by = f"message passing ({stair['class']})"
        known = np.isfinite(stair["samples_at_dim"])
        rows = f"{stair['samples_at_dim']:.3g}" if known else "not known"
        if stair["class"] == "trivial":
            rows = "any share of d"
    return str(stair["directions"]), str(stair["leap"]), by, rows
