"""The same readout fitted on random features, and on the features that one giant step leaves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from giantstep.answer import Answer, unique
from giantstep.answer.plain import counted
from giantstep.errors import GiantstepError, NoTheory
from giantstep.explanation.explain import Explanation
from giantstep.gallery.style import COLOURS, GREY
from giantstep.language.targets.symmetry import is_odd_target
from giantstep.learners.seeds import run_part
from giantstep.reports.drawing import INK, report_canvas, report_svg
from giantstep.reports.experiment import ReportRun
from giantstep.reports.mathematics import sentence_mathml
from giantstep.reports.parts import Context, Picture, Section, report_csv
from giantstep.reports.scale import QUICK

RANGE = "0.5d:8d"
#: Where the ridge of each method is the best.
RIDGE_AT = "2d"
#: Activation, readout at the start, and step size over the size of the linear part. An odd
#: activation is best for odd targets; others need one without parity, and neurons of both signs.
ODD = ("tanh", "ones", 3.0)
GENERAL = ("tanh(z-1)", "sign", 2.0)


#: As in the gallery.
COLOUR = {"random features": COLOURS[1], "one giant step": COLOURS[0]}


def build_section(context: Context) -> Section:
    """Test error against the samples of the readout fit."""
    found = context.explanation
    if found.information_exponent != 1:
        raise NoTheory(_report_nothing_learned(found))
    experiments = _report_experiments(context)
    theories: dict[str, Answer] = {}
    notes: list[str] = []
    for name, experiment in experiments.items():
        if found.target.rank > context.scale.most_directions and name == "one giant step":
            notes.append(
                f"No theory line for one giant step: its integrals over {found.target.rank} "
                "directions take too long for this page, and its ridge is a guess; giantstep "
                "predict computes it with the same settings."
            )
            continue
        try:
            theories[name] = experiment.predict()
        except GiantstepError as error:
            notes.append(f"No theory line for {name}: {error}.")
    share = 1 / len(experiments)
    runs = {
        name: experiment.simulate(run_part(context.advance, number * share, share))
        for number, (name, experiment) in enumerate(experiments.items())
    }
    notes += [f"{name}: {note}" for name, laws in theories.items() for note in laws.notes]
    references = unique(ref for laws in theories.values() for ref in laws.references)
    return Section(
        lead=(
            sentence_mathml(
                "Two networks of the same width fit their readout to the same number of samples. "
                "The first layer of one stays random; that of the other takes one giant step "
                "first, on {n} samples of its own.",
                n=r"n_0 = 20\, d",
            ),
            sentence_mathml(
                "Activation, readout at the start and step size suit a target of this parity; "
                "others gain less. Each method has the ridge that is best for it at {n}.",
                n="n = 2d",
            ),
        ),
        pictures=(_picture(context, experiments, theories, runs),),
        notes=tuple(dict.fromkeys(notes)),
        references=tuple(references),
    )


def _report_nothing_learned(found: Explanation) -> str:
    leap = found.information_exponent
    first = (
        "no direction correlates with the label" if leap is None else f"the first leap is {leap}"
    )
    return (
        f"{first}: from n of order d samples one giant step learns no direction in the limit of "
        "large d, and so gains nothing over random features there"
    )


def _report_experiments(context: Context) -> dict[str, ReportRun]:
    found, scale = context.explanation, context.scale
    linear = found.hermite_energy[1].value
    # What is not linear acts as noise on random features; the ridge grows with it.
    rest = max(found.variance.value - linear, 0.0) + found.noise
    activation, readout, size = ODD if is_odd_target(found.target) else GENERAL
    shared = {
        "dim": str(scale.feature_dim),
        "width": "2d",
        "activation": activation,
    }
    guess = f"{np.clip(0.1 * rest / linear, 0.05, 2.0):.1g}"
    sizes = f"{RANGE}:{scale.feature_points}log"
    step = {"samples": "20d", "step_size": f"{size / linear**0.5:.2g}", "readout": readout}

    def experiment(learner: str, along: str, options: Mapping[str, str]) -> ReportRun:
        given = {**shared, **options}
        tuned = {**given, along: RIDGE_AT, "ridge": guess}
        if scale is QUICK and learner == "giant-step":
            # The limit of large d has its best ridge nearby, and is found in half the time.
            del tuned["dim"]
        ridge = _report_best_ridge(learner, context, tuned)
        given |= {"ridge": ridge, along: sizes}
        return ReportRun(learner, context.problem, given, scale.feature_seeds, context.seed)

    return {
        "random features": experiment("random-features", "samples", {}),
        "one giant step": experiment("giant-step", "readout_samples", step),
    }


def _report_best_ridge(learner: str, context: Context, options: Mapping[str, str]) -> str:
    """The ridge of least predicted error in the middle of the range; the one given if unknown.

    A fixed ridge would compare a method at its best with another at its worst.
    """
    experiment = ReportRun(learner, context.problem, options)
    too_many = context.explanation.target.rank > context.scale.most_directions
    if too_many and learner == "giant-step":
        return options["ridge"]
    try:
        ridge = experiment.best("ridge")
    except GiantstepError:
        return options["ridge"]
    return f"{ridge:.2g}" if np.isfinite(ridge) else options["ridge"]


def _picture(
    context: Context,
    experiments: Mapping[str, ReportRun],
    theories: Mapping[str, Answer],
    runs: Mapping[str, Answer],
) -> Picture:
    found = context.explanation
    floor = _report_floor(found, steps=0)
    ends: list[str] = []
    rows: list[tuple[object, ...]] = []
    reached = 0.0
    with report_canvas(height=3.4) as (figure, panel):
        for name in experiments:
            colour = COLOUR[name]
            ratios = np.array(next(iter(runs[name].axes.values())).numbers)
            mean = np.array([_last(run.mean("test_error")) for run in runs[name]])
            sem = np.array([_last(run.sem("test_error")) for run in runs[name]])
            panel.errorbar(ratios, mean, np.nan_to_num(sem), fmt="o", color=colour, label=name)
            errors = np.full(len(ratios), np.nan)
            if name in theories:
                errors = np.array([_last(law.metrics["test_error"]) for law in theories[name]])
                panel.plot(ratios, errors, color=colour)
            rows += [(name, *numbers) for numbers in zip(ratios, mean, sem, errors, strict=True)]
            ends.append(f"{name} {mean[-1]:.3g}")
            reached = float(mean[-1])
        floor_style = {"color": GREY, "linestyle": "--", "linewidth": 0.9}
        panel.axhline(floor, label="floor of linear methods", **floor_style)
        if theories:
            panel.plot([], [], color=INK, label="theory")
        panel.plot([], [], "o", color=INK, label="simulation")
        panel.set_xscale("log")
        panel.set_xticks([0.5, 1, 2, 4, 8], ["0.5", "1", "2", "4", "8"])
        panel.minorticks_off()
        panel.set(ylim=(0, None), xlabel="samples of the readout fit, $n/d$", ylabel="test error")
        figure.legend(loc="outside upper center", ncols=3)
        alt = f"Test error against samples: at the largest n, {' and '.join(ends)}."
        drawn = report_svg(figure, "features", alt)
    statuses = " and ".join(unique(law.status for laws in theories.values() for law in laws))
    lines = f"Lines: theory at the same d ({statuses}). " if theories else ""
    caption = (
        f"Test error of the fitted readout. {lines}Dots: mean of "
        f"{counted(context.scale.feature_seeds, 'seed')} with its standard error. Dashed: the "
        "energy beyond degree one, below which no linear method goes."
    )
    after = _report_floor(found, steps=1)
    if np.isfinite(after) and reached > 1.05 * after:
        caption += (
            f" One giant step ends above its own floor of {after:.3g}, which holds for n and p far "
            "above d: here 8d samples fit 2d weights, the fit takes up noise, and after a step of "
            "finite size the neurons know the direction only in part."
        )
    commands = tuple(
        experiment.command(
            "compare" if name in theories else "simulate",
            f"{experiment.learner}.png" if name in theories else None,
        )
        for name, experiment in experiments.items()
    )
    settings = experiments["one giant step"].described()
    head = ("method", "n/d", "test error", "standard error", "theory")
    return Picture(
        "features",
        drawn,
        alt,
        caption,
        commands,
        settings,
        context.seed,
        data=report_csv(head, rows),
    )


def _report_floor(found: Explanation, steps: int) -> float:
    """The floor after that many giant steps, n and p of order d; with none, of linear methods."""
    regimes = {(f.sample_power, f.width_power, f.steps): f for f in found.floors or ()}
    return regimes[1, 1, steps].floor.value if (1, 1, steps) in regimes else np.inf


def _last(value: Any) -> float:
    """The end of the path, where a metric has one entry per step."""
    return float(np.ravel(value)[-1])
