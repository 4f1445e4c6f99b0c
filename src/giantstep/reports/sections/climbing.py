"""A network takes giant steps: the overlap with each direction, step after step."""

from __future__ import annotations

from typing import Any

import numpy as np

from giantstep.answer import Answer
from giantstep.answer.plain import counted
from giantstep.errors import NoTheory
from giantstep.explanation.explain import Explanation
from giantstep.gallery.style import COLOURS, GREY
from giantstep.language.targets.symmetry import exchangeable_target_directions
from giantstep.reports.drawing import INK, report_canvas, report_svg
from giantstep.reports.experiment import ReportRun
from giantstep.reports.parts import Context, Picture, Section, listed, report_csv
from giantstep.reports.verdict import typeset_verdict

#: A leap beyond this needs more samples than a page should wait for.
LARGEST_LEAP = 3
#: Step size over the size of the first Hermite tensor, by leap, and its unit.
_STEP = {1: (4.0, ""), 2: (1.5, "d^0.5"), 3: (2.5, "d")}
#: So many times the overlap that pure noise would show, and three errors, are clearly above it.
CLEAR = 2.0
REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270",)


def build_section(context: Context) -> Section:
    """Dots for the simulation, each seed a thin line; thick lines where theory exists."""
    experiment = _report_experiment(context)
    run = experiment.simulate(context.advance)
    prediction, reason = _report_theory(experiment)
    verb = "compare" if prediction is not None and len(prediction.metrics["overlap"]) > 2 else ""
    picture = _picture(experiment, run, prediction, verb or "simulate")
    notes = [*run.notes, *(prediction.notes if prediction is not None else ()), *reason]
    return Section(
        lead=(typeset_verdict(_report_lead(context.explanation, run)),),
        pictures=(picture,),
        notes=tuple(dict.fromkeys(notes)),
        references=tuple(prediction.references if prediction is not None else REFERENCES),
    )


def _report_experiment(context: Context) -> ReportRun:
    found, scale = context.explanation, context.scale
    leap = found.information_exponent
    leap = leap if leap in _STEP else 1
    energy = found.hermite_energy[leap].value
    size, unit = _STEP[leap]
    scaled = size / max(energy, 1e-2 * max(found.variance.value, 1e-12)) ** 0.5
    options = {
        "dim": str(scale.climb_dims[leap]),
        "samples": scale.climb_samples if leap == 1 else f"d^{leap}",
        "steps": str(scale.climb_steps),
        "step_size": f"{scaled:.2g}{unit}",
        "width": str(scale.climb_width),
        "activation": "tanh",
        "biases": "normal",
    }
    return ReportRun("giant-step", context.problem, options, scale.seeds, context.seed)


def _report_theory(experiment: ReportRun) -> tuple[Answer | None, tuple[str, ...]]:
    """The whole path; else its first step; else nothing, and why."""
    try:
        return experiment.predict(), ()
    except NoTheory as whole:
        try:
            first = ReportRun(
                experiment.learner, experiment.problem, {**experiment.options, "steps": "1"}
            )
            return first.predict(), (f"Theory is drawn for the first step alone: {whole}.",)
        except NoTheory:
            return None, (f"No theory line: {whole}.",)


def _report_lead(found: Explanation, run: Answer) -> str:
    """Which directions are met in this many steps, by the simulation's own account."""
    chance = run.mean("baseline")
    when: dict[int, list[str]] = {}
    missed: dict[str, list[str]] = {}
    # Directions that may be exchanged rise together: what tells them apart is noise.
    for group in exchangeable_target_directions(found.target):
        mean = run.mean("overlap")[:, group].mean(axis=1)
        error = np.nan_to_num(run.sem("overlap"))[:, group].max(axis=1)
        level = chance[:, group].mean(axis=1)
        clear = (mean > CLEAR * level) & (mean - 3 * error > level)
        own = [f"h{i + 1}" for i in group]
        if clear[1:].any():
            step = int(np.argmax(clear[1:])) + 1
            when.setdefault(step, []).append(f"{listed(own)} ({mean[step]:.2f})")
        else:
            missed.setdefault(_report_reason(found, group[0], len(mean) - 1), []).extend(own)
    parts = [
        f"{listed(risen)} after {counted(step, 'step')}" for step, risen in sorted(when.items())
    ]
    at_chance = f"chance, {chance[-1].mean():.2f}"
    text = f"Rises clearly above {at_chance}: {'; '.join(parts)}." if parts else ""
    for reason, names in missed.items():
        verb = "does" if len(names) == 1 else "do"
        text += f" {listed(names)} {verb} not rise clearly above {at_chance if not text else 'it'}"
        text += f": {reason}."
    return text.strip()


def _report_reason(found: Explanation, direction: int, steps: int) -> str:
    """Why a direction is not seen to rise within these steps."""
    leap = next(
        (s.leap for s in found.staircase.stairs if np.abs(s.directions[:, direction]).max() > 0.1),
        None,
    )
    if leap is None:
        return f"the label shows no correlation with it up to degree {found.staircase.degree}"
    if leap > LARGEST_LEAP or leap > (found.information_exponent or 0):
        return f"that stair needs n ~ d^{leap} samples, more than are taken here"
    return f"{counted(steps, 'step')} are too few, or d too small, to see it"


def _picture(experiment: ReportRun, run: Answer, prediction: Answer | None, verb: str) -> Picture:
    overlaps = run.metrics["overlap"]
    mean, sem = run.mean("overlap"), np.nan_to_num(run.sem("overlap"))
    steps = np.arange(len(mean))
    last = ", ".join(f"h{i + 1} {value:.2f}" for i, value in enumerate(mean[-1]))
    alt = f"Overlap with each direction over {counted(steps[-1], 'giant step')}; at the end {last}."
    with report_canvas(height=3.3) as (figure, panel):
        for i in range(mean.shape[1]):
            colour = COLOURS[i % (len(COLOURS) - 1)]
            panel.plot(steps, overlaps[:, :, i].T, color=colour, alpha=0.22, linewidth=0.8)
            panel.errorbar(
                steps, mean[:, i], sem[:, i], fmt="o", color=colour, label=f"$h_{{{i + 1}}}$"
            )
            if prediction is not None:
                theory = np.asarray(prediction.metrics["overlap"])[:, i]
                panel.plot(steps[: len(theory)], theory, color=colour)
        _report_legend(panel, prediction)
        chance = run.mean("baseline").mean(axis=1)
        panel.plot(steps, chance, color=GREY, linestyle="--", linewidth=0.9, label="chance")
        panel.margins(x=0.04)
        panel.set_xticks(steps)
        highest = float(overlaps.max())
        panel.set(
            ylim=(0, max(1.0, 1.05 * highest) if highest > 0.5 else 1.2 * highest),
            xlabel="giant steps",
            ylabel="overlap (rms cosine)",
        )
        figure.legend(loc="outside upper center", ncols=4)
        drawn = report_svg(figure, "climbing", alt)
    lines = ""
    if prediction is not None:
        whole = len(prediction.metrics["overlap"]) == len(steps)
        lines = f"thick lines theory{'' if whole else ' of the first step'}, "
    caption = (
        "Overlap of the neurons with each direction. Dots: mean of "
        f"{counted(experiment.seeds, 'seed')} with its standard error; {lines}thin lines single "
        "seeds; dashed: chance, what a gradient of pure noise would show."
    )
    commands = (experiment.command(verb, "climbing.png" if verb == "compare" else None),)
    return Picture(
        "climbing",
        drawn,
        alt,
        caption,
        commands,
        experiment.described(),
        experiment.seed,
        data=_report_data(mean, sem, prediction),
    )


def _report_legend(panel: Any, prediction: Answer | None) -> None:
    """An entry for the lines of theory, whatever their colour."""
    if prediction is not None:
        panel.plot([], [], color=INK, label=f"theory ({prediction.statuses['overlap']})")


def _report_data(mean: np.ndarray, sem: np.ndarray, prediction: Answer | None) -> str:
    theory = np.full(mean.shape, np.nan)
    if prediction is not None:
        known = np.asarray(prediction.metrics["overlap"])
        theory[: len(known)] = known
    rows = [
        (t, f"h{i + 1}", mean[t, i], sem[t, i], theory[t, i]) for t, i in np.ndindex(mean.shape)
    ]
    return report_csv(("step", "direction", "overlap", "standard error", "theory"), rows)
