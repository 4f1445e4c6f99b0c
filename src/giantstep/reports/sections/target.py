"""What the target is: formula, moments, symmetries, and its energy by Hermite degree."""

from __future__ import annotations

import itertools

import numpy as np

from giantstep.answer.plain import counted
from giantstep.explanation.explain import Explanation
from giantstep.gallery.style import COLOURS
from giantstep.reports.drawing import report_canvas, report_svg
from giantstep.reports.experiment import report_explain_command
from giantstep.reports.mathematics import sentence_mathml
from giantstep.reports.parts import Context, Picture, Section, report_csv
from giantstep.reports.symmetries import reported_symmetries


def build_section(context: Context) -> Section:
    """Facts and the bars of the Hermite energies."""
    found = context.explanation
    energies = np.array([energy.value for energy in found.hermite_energy])
    seen = energies[1:].sum() / max(found.variance.value, 1e-300)
    parts = reported_symmetries(found.target)
    used = counted(found.dimension, "direction")
    if found.dimension < found.target.rank:
        used += f" of {found.target.rank} named"
    facts = [
        ("Directions", used),
        ("Mean", f"{found.mean.value:.4g}"),
        ("Variance", f"{found.variance.value:.4g}"),
        ("Label noise", _report_target_noise(found)),
        ("Information exponent", _report_exponent(found.information_exponent)),
        ("Generative exponent", _report_exponent(found.generative_exponent)),
        ("Class", _report_target_classes(found)),
        ("Symmetries", "; ".join(parts) or "none by sign or exchange"),
    ]
    lead = sentence_mathml(
        "The label is {y}, with {x} standard Gaussian in {d} dimensions and {h} the few latent "
        "directions that matter.",
        y="y = g(h)" + (r" + \sqrt{\Delta}\,\xi" if found.noise else ""),
        x="x",
        d="d",
        h="h = W^* x",
    )
    return Section(
        lead=(lead,),
        facts=tuple(facts),
        pictures=(_report_energy_bars(context, energies, seen),),
    )


def _report_target_classes(found: Explanation) -> str:
    """The classes of the stairs, from the first to the last; hard where a direction is missed."""
    classes = [stair.difficulty for stair in found.grand_staircase.stairs]
    if len(found.grand_staircase.subspace) < found.dimension:
        classes.append("hard")
    return ", then ".join(kind for kind, _ in itertools.groupby(classes)) or found.difficulty


def _report_target_noise(found: Explanation) -> str:
    inside = (
        counted(found.target.noises, "noise variable") + " inside" if found.target.noises else ""
    )
    added = f"variance {found.noise:g} added" if found.noise else ""
    return ", ".join(filter(None, (inside, added))) or "none"


def _report_exponent(value: int | None) -> str:
    return "none found" if value is None else str(value)


def _report_energy_bars(context: Context, energies: np.ndarray, seen: float) -> Picture:
    with report_canvas(height=2.7) as (figure, panel):
        degrees = np.arange(1, len(energies))
        bars = panel.bar(degrees, energies[1:], color=COLOURS[0], width=0.62)
        least = 1e-9 * max(energies[1:].max(), 1e-300)
        numbers = [f"{energy:.3g}" if energy > least else "" for energy in energies[1:]]
        panel.bar_label(bars, numbers, padding=2, fontsize=8)
        panel.margins(y=0.12)
        panel.set_xticks(degrees)
        panel.set(xlabel="Hermite degree $k$", ylabel=r"energy $\|P_k\, g\|^2$")
        panel.grid(False, axis="x")
        listed = ", ".join(f"{value:.3g} at degree {k}" for k, value in enumerate(energies) if k)
        alt = f"Bars of the Hermite energies of the target: {listed}."
        drawn = report_svg(figure, "energies", alt)
    share = f"{100 * min(seen, 1.0):.3g} %"
    return Picture(
        key="energies",
        svg=drawn,
        alt=alt,
        caption=sentence_mathml(
            "The variance of the target, split by Hermite degree {k}. Degree 1 is all that a "
            f"linear method can fit. Shown up to degree {len(energies) - 1}: {share} of the "
            "variance that depends on {h}.",
            k="k",
            h="h",
        )
        if not context.explanation.target.noises
        else sentence_mathml(
            "What the mean label given {h} varies, split by Hermite degree {k}. Degree 1 is all "
            f"that a linear method can fit. Shown up to degree {len(energies) - 1}.",
            k="k",
            h="h",
        ),
        commands=(report_explain_command(context.problem, "--json"),),
        data=report_csv(("degree", "energy"), list(enumerate(energies))[1:]),
    )
