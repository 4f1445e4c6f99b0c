"""One self-contained page about a fitted table."""

from __future__ import annotations

import shlex
from collections.abc import Hashable
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.estimators.fitting import FOLDS, Fitted
from giantstep.estimators.link_theory import link_theory
from giantstep.estimators.regressor import GiantStepRegressor
from giantstep.estimators.tables import Prepared
from giantstep.report.drawing import canvas, svg
from giantstep.report.page import Page, write_page
from giantstep.report.parts import Picture, Section, Table, counted


def write_fit_page(
    fitted: Fitted, prepared: Prepared, file: str, label: str, out: Path, *, seed: int = 0
) -> None:
    """Scores, directions, links, and what theory says of the link, with its assumptions."""
    words = ["giantstep", "fit", file, "--label", label, "--out", out.name]
    command = shlex.join(words + ["--seed", str(seed)] * (seed != 0))
    sections = [_scores(fitted, prepared, label, command)]
    model = fitted.pipeline[-1]
    if isinstance(model, GiantStepRegressor) and model.link_ is not None:
        sections.append(_links(fitted, model, command))
        sections.append(_theory(fitted, model, prepared, command, seed))
    title = f"{label} in {file}"
    write_page(
        Page(title, title, counted(len(prepared.labels), "row"), tuple(sections), command), out
    )


def _scores(fitted: Fitted, prepared: Prepared, label: str, command: str) -> Section:
    kind = "Accuracy" if fitted.task == "classification" else "R2"
    with canvas(4.8, 0.5 + 0.35 * len(fitted.scores)) as (figure, axis):
        places = np.arange(len(fitted.scores))[::-1]
        axis.errorbar(
            [score.mean for score in fitted.scores],
            places,
            xerr=[score.sem for score in fitted.scores],
            fmt="o",
        )
        axis.set_yticks(places, [score.name for score in fitted.scores])
        axis.set_xlabel(f"{kind} on rows that were not fitted")
        alt = "; ".join(f"{s.name} {s.mean:.3f} +- {s.sem:.3f}" for s in fitted.scores)
        drawing = svg(figure, "scores", alt)
    return Section(
        "scores",
        "How well",
        lead=(
            f"{label} is predicted from {counted(len(fitted.columns), 'column')}; "
            f"scores are means over {FOLDS} folds with their standard errors.",
        ),
        pictures=(Picture("scores", drawing, alt, f"{kind} by cross-validation.", (command,)),),
        notes=fitted.notes,
    )


def _links(fitted: Fitted, model: GiantStepRegressor, command: str) -> Section:
    drawing = svg(model.plot_links(), "links", "labels over the learned indices")
    bars = svg(model.plot_directions(), "directions", "weights of the columns in each direction")
    found = fitted.directions
    facts = []
    if found is not None:
        # The stack may read more indices than can be told apart from chance.
        facts = [
            ("directions that held-out rows support", str(found.n_directions_)),
            ("indices of the fitted link", str(model.directions_.shape[1])),
            ("p-value of no dependence", f"{found.pvalue_:.2g}"),
        ]
    return Section(
        "links",
        "Along which directions",
        lead=("Each index is a weighted sum of columns; the curve is the fitted link along it.",),
        facts=tuple(facts),
        pictures=(
            Picture("links", drawing, "links", "Labels over the learned indices.", (command,)),
            Picture("directions", bars, "directions", "Weights of the columns.", (command,)),
        ),
    )


def _theory(
    fitted: Fitted, model: GiantStepRegressor, prepared: Prepared, command: str, seed: int
) -> Section:
    title = "What theory says of this link"
    try:
        inputs = fitted.pipeline[:-1].transform(prepared.inputs)
        found = link_theory(model, inputs, prepared.labels, random_state=seed)
    except GiantstepError as error:
        return Section("theory", title, notes=(str(error),))
    curves = found.curves
    drawing = svg(found.plot(), "curves", "R2 over the number of rows, theory and measured")
    return Section(
        "theory",
        title,
        lead=(
            "The fitted link, written as a polynomial of the indices, is itself a target: theory "
            "tells from how many rows each direction should appear, and how random features and "
            "one giant step would learn it.",
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
