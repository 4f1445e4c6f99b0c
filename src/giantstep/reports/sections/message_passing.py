"""Bayes-optimal message passing: the overlap it reaches against samples per dimension."""

from __future__ import annotations

import itertools
import time
from dataclasses import replace

import numpy as np

from giantstep.answer import Answer
from giantstep.asking.verbs import predict
from giantstep.errors import NoTheory
from giantstep.explanation.explain import Explanation
from giantstep.gallery.style import COLOURS, GREY
from giantstep.reports.drawing import report_canvas, report_svg
from giantstep.reports.experiment import ReportRun
from giantstep.reports.mathematics import sentence_mathml
from giantstep.reports.parts import Context, Picture, Section, listed, report_csv
from giantstep.reports.scale import FULL, QUICK

FIRST = 0.25


def build_section(context: Context) -> Section:
    """State evolution's curve, with the threshold where there is one."""
    found = context.explanation
    if context.scale is QUICK and found.target.rank > QUICK.most_directions:
        raise NoTheory(
            f"left out of a quick page: a point of this curve takes many seconds for "
            f"{found.target.rank} directions; it is drawn without --quick"
        )
    last = _report_largest_alpha(found)
    points = context.scale.message_points[found.target.rank > 1]
    samples = f"{FIRST}d:{last:g}d:{points}"
    experiment = ReportRun("amp", context.problem, {"samples": samples}, seed=context.seed)
    laws = _curve(context, experiment)
    overlaps = np.array([np.atleast_1d(law.metrics["overlap_squared"]) for law in laws])
    alphas = np.array([size.coefficient for size in experiment.settings.samples[: len(laws)]])
    notes = [note for law in laws for note in law.notes]
    if len(alphas) < points:
        end = alphas[-1]
        experiment = replace(experiment, options={"samples": f"{FIRST}d:{end:g}d:{len(alphas)}"})
        notes.append(f"The curve ends at n = {end:g} d: beyond it a point takes too long.")
    return Section(
        lead=(
            sentence_mathml(
                "Message passing that knows the target and the noise is the best known among fast "
                "algorithms when {n}. State evolution gives the overlap that it reaches.",
                n=r"n = \alpha d",
            ),
        ),
        pictures=(
            _picture(experiment, found, alphas, overlaps, laws[0].statuses["overlap_squared"]),
        ),
        notes=tuple(dict.fromkeys(notes)),
        references=tuple(laws[0].references),
    )


def _report_largest_alpha(found: Explanation) -> float:
    """Twice the largest threshold that is known, and at least 4."""
    known = [threshold.alpha.value for threshold in found.thresholds if threshold.alpha]
    return float(np.clip(np.ceil(2 * max(known, default=2.0)), 4, 40))


def _curve(context: Context, experiment: ReportRun) -> list[Answer]:
    """The points in growing alpha, as many as the patience of a reader allows."""
    if context.explanation.target.rank == FULL.most_directions:
        return _report_curve_in_workers(context, experiment)
    begin = time.monotonic()
    laws: list[Answer] = []
    points = experiment.settings.points
    for number, point in enumerate(points):
        laws.append(predict(point, context.problem))
        context.advance((number + 1) / len(points))
        if len(laws) > 2 and time.monotonic() - begin > context.scale.message_seconds:
            break
    return laws


def _report_curve_in_workers(context: Context, experiment: ReportRun) -> list[Answer]:
    """The same where a point may take minutes: a process that takes too long over it is ended."""
    found = predict(
        experiment.settings,
        context.problem,
        engine="local",
        cell_seconds=context.scale.point_seconds,
        progress=context.advance,
    )
    arrived = len(list(itertools.takewhile(lambda law: law is not None, found.predictions)))
    if arrived == 0:
        reason = next(iter(found.failures.values())).partition(":")[0]
        raise NoTheory(f"left out: {reason}; to wait for it: {experiment.command('predict')}")
    return list(found)[:arrived]


def _picture(
    experiment: ReportRun,
    found: Explanation,
    alphas: np.ndarray,
    overlaps: np.ndarray,
    status: str,
) -> Picture:
    ends = ", ".join(f"h{i + 1} {value:.2f}" for i, value in enumerate(overlaps[-1]))
    alt = f"Overlap of message passing against n/d; at n/d = {alphas[-1]:g}: {ends}."
    with report_canvas(height=3.3) as (figure, panel):
        for i in range(overlaps.shape[1]):
            panel.plot(
                alphas,
                overlaps[:, i],
                color=COLOURS[i],
                linestyle="-" if i == 0 else (0, (6 - 2 * i, 2)),
                label=f"$h_{{{i + 1}}}$",
                marker="." if len(alphas) < 15 else None,
            )
        drawn_thresholds = [
            threshold.alpha.value
            for threshold in found.thresholds
            if threshold.alpha and threshold.alpha.value < alphas[-1]
        ]
        for alpha in drawn_thresholds:
            panel.axvline(alpha, color=GREY, linestyle=":", linewidth=1.2)
        panel.set(
            ylim=(-0.03, 1.05),
            xlim=(0, None),
            xlabel=r"samples per dimension, $\alpha = n/d$",
            ylabel="overlap $M$ (cosine squared)",
        )
        title = f"state evolution ({status})"
        figure.legend(loc="outside upper center", ncols=overlaps.shape[1], title=title)
        drawn = report_svg(figure, "message-passing", alt)
    values = listed([f"{alpha:.3g}" for alpha in drawn_thresholds]) if drawn_thresholds else ""
    dotted = f" Dotted: weak recovery at {values}." if values else ""
    start = "from an uninformed start"
    caption = f"Overlap at the fixed point of state evolution {start} ({status}).{dotted}"
    return Picture(
        "message-passing",
        drawn,
        alt,
        caption,
        (experiment.command("predict"),),
        experiment.described(),
        data=report_csv(
            ("n/d", "direction", "overlap squared"),
            [(alphas[k], f"h{i + 1}", overlaps[k, i]) for k, i in np.ndindex(overlaps.shape)],
        ),
    )
