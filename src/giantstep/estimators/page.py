"""One self-contained page about a fitted table."""

from __future__ import annotations

import shlex
from collections.abc import Hashable, Iterable
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

#: What is said where no method is recommended.
NO_BETTER = (
    "No other method here is clearly better. Rows held out see large differences only: on new rows "
    "another method may still be better by a few hundredths."
)


def write_fit_page(
    fitted: Fitted, prepared: Prepared, file: str, label: str, out: Path, *, seed: int = 0
) -> None:
    """The answer, scores, links, what was done to the table; folded, what theory says."""
    words = ["giantstep", "fit", file, "--label", label, "--out", out.name]
    command = shlex.join(words + ["--seed", str(seed)] * (seed != 0))
    sections = [_fit_page_scores(fitted, label, command)]
    directions = fitted.direction_lines()
    links = bool(directions) and fitted.clear
    if links:
        sections += _links(fitted, label, command)
    elif directions:
        sections.append(Section("links", "Along which directions", lead=_sentences(directions)))
    notes = fitted.notes or ("nothing: every column was used as it is",)
    sections.append(Section("table", "What was done to the table", lead=_sentences(notes)))
    if links and fitted.task == "regression":
        sections.append(_fit_page_theory(fitted, prepared, command, seed))
    title = f"{label} in {file}"
    source = counted(len(prepared.labels), "row")
    write_report_page(Page(title, title, source, tuple(sections), command, fitted.verdict()), out)


def _sentences(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"{line[0].upper()}{line[1:]}." for line in map(str.strip, lines))


def _fit_page_scores(fitted: Fitted, label: str, command: str) -> Section:
    with report_canvas(4.8, 0.5 + 0.35 * len(fitted.scores)) as (figure, axis):
        places = np.arange(len(fitted.scores))[::-1]
        names = []
        for place, score in zip(places, fitted.scores, strict=True):
            # What is worse than the mean by a whole variance is off the picture.
            far = score.mean < -1
            names.append(f"{score.name} (below -1)" if far else score.name)
            if not far:
                axis.errorbar(score.mean, place, xerr=score.sem, fmt="o", color="C0")
        axis.set_yticks(places, names)
        axis.set_xlabel(f"{fitted.kind} on rows that were not fitted")
        alt = "; ".join(f"{score.name} {score}" for score in fitted.scores)
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
        if fitted.forecast_known:
            tables = (Table(f"{title} 90 % intervals", ("rows", "error ratio", "R2"), rows),)
        notes = fitted.curve.attrs["notes"]
    # On twelve tables where another method was better by .03, rows held out named it on three.
    better = () if fitted.advice else (NO_BETTER,)
    return Section(
        "scores",
        "How well",
        lead=(
            f"{label} is predicted from {counted(len(fitted.columns), 'column')}; every score is "
            "on rows that were left out of the fit, with its standard error.",
            *(f"About the forecast: {note}." for note in notes),
            *better,
        ),
        pictures=(Picture("scores", drawing, alt, f"{fitted.kind}, held out.", (command,)),),
        tables=tables,
    )


def _links(fitted: Fitted, label: str, command: str) -> list[Section]:
    model = fitted.model
    with report_style():
        links = model.plot_links(label) if fitted.task == "regression" else model.plot_links()
        drawing = report_svg(links, "links", "labels over the learned indices")
        alt = "weights of the columns in each direction"
        bars = report_svg(model.plot_directions(), "directions", alt)
    lead = (
        "Each index is a weighted sum of columns; the curve is the fitted link along it, and the "
        "band its standard error.",
        *_sentences(fitted.direction_lines()),
    )
    caption = "Labels over the learned indices."
    curves = Picture("links", drawing, "links", caption, (command,))
    weights = Picture("directions", bars, "directions", "Weights of the columns.", (command,))
    title = "Along which directions"
    if fitted.shown is not None and fitted.shown.directions_.shape[1] == 1:
        return [Section("links", title, lead=lead, pictures=(curves, weights))]
    # Pictures with several panels are as wide as the page.
    return [
        Section("links", title, lead=lead, pictures=(curves,)),
        Section("directions", "Weights of the columns", pictures=(weights,)),
    ]


def _fit_page_theory(fitted: Fitted, prepared: Prepared, command: str, seed: int) -> Section:
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
                tuple(_fit_page_stair(stair) for stair in found.stairs.to_dict("records")),
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


def _fit_page_stair(stair: dict[Hashable, Any]) -> tuple[str, str, str, str]:
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
