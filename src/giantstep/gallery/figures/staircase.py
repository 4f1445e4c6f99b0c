"""Directions that a network learns one giant step after another.

Root mean square cosine of the neurons with directions of the target, after each giant step on a
fresh batch: d = {dim}, n = 8d, 8 relu neurons, step size 2, readout +-1 (fourth panel: n = 32d, 32
neurons, step size 4, readout N(0, 1)). A step learns what enters the target linearly, given what is
known: h1 - h2, h2 + h3, the plane of h2 and h3 wait for the second step; where the squares have one
sign, h1 - h2 is never learned. Lines: limit of large d with the fluctuations of this d; dots:
{seeds} simulations, exact in law. Right: root of the least eigenvalue of the overlap matrix of the
fourth target after two steps, {spectra} simulations; line: its limit. With a = +-1 all neurons mix
h2 and h3 alike and learn one line of the plane.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from giantstep.asking.verbs import SIMULATE
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import draw_dots, draw_line_and_dots, on_panel_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.options import Values
from giantstep.theory.giant_step.fresh_batches import giant_step_overlaps
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds

#: Sum and difference of two directions become the axes. Of ex3a, h2 - h3 then drops out.
ROTATIONS = {
    "ex1": {"h1": "(h1 + h2)/sqrt(2)", "h2": "(h1 - h2)/sqrt(2)"},
    "ex2": {"h1": "(h1 + h2)/sqrt(2)", "h2": "(h1 - h2)/sqrt(2)"},
    "ex3a": {"h2": "(h2 + h3)/sqrt(2)", "h3": "(h2 - h3)/sqrt(2)"},
    "ex3b": {},
}
TITLES = {
    "ex1": "$h_1 + h_2 + h_1^2 - h_2^2$",
    "ex2": "$h_1 + h_2 + h_1^2 + h_2^2$",
    "ex3a": "$h_1 + h_1 h_2 + h_1 h_3$",
    "ex3b": r"$h_1 + h_1 h_2 + \mathrm{He}_3(h_1) h_3$",
}
DIRECTIONS = {
    "ex1": ("$h_1+h_2$", "$h_1-h_2$"),
    "ex2": ("$h_1+h_2$", "$h_1-h_2$"),
    "ex3a": ("$h_1$", "$h_2+h_3$"),
    "ex3b": ("$h_1$", "$h_2$", "$h_3$"),
}
STEPS = 3
SETTINGS = GiantStep(samples="8d", steps=STEPS, step_size="2", width="8")


#: With |a| = 1 every neuron has the same ratio of h2 and h3: only one line of their plane is
#: learned. Unequal readouts learn both, the second weakly: it takes more samples to see.
#: Two steps: from the third on, which readouts a run happens to draw shifts its overlaps.
UNEQUAL = GiantStep(samples="32d", steps=2, step_size="4", width="32", readout="normal")


READOUTS = {"normal": r"$a \sim N(0, 1)$", "symmetric-sign": r"$a = \pm 1$"}
RANK = 3
#: A limit below this is zero, up to the sampling error of the theory.
LEAST = 3e-3


def _figure_dims(sizes: Sizes) -> list[int]:
    """Dimensions at which the eigenvalue is looked at, by factors of four."""
    return [sizes.largest // 16, sizes.largest // 4, sizes.largest]


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps by example, direction and step; the least eigenvalue by readout and dimension."""

    for example, rotation in ROTATIONS.items():
        settings = (UNEQUAL if example == "ex3b" else SETTINGS).replace(dim=sizes.dim)
        found = bench.table(
            ["overlap"],
            settings,
            _figure_rotated_target(example, rotation),
            root_mean_square=True,
            seeds=sizes.seeds,
        )
        yield found.assign(example=example, dim=sizes.dim)
    # Root of the least eigenvalue of the overlap matrix after two steps.
    after = bench.table(
        ["overlap_spectrum"],
        UNEQUAL.replace(readout=Values(READOUTS), dim=_figure_dims(sizes)),
        "ex3b",
        root_mean_square=True,
        verbs=(SIMULATE,),
        seeds=sizes.spectra,
    )
    least = after[(after.step == 2) & (after.component == RANK)]
    limits = {readout: _figure_least_eigenvalue(readout) for readout in READOUTS}
    known = {"example": "eigenvalue", "overlap_spectrum.theory": least.readout.map(limits)}
    yield least.assign(**known)


def _figure_least_eigenvalue(readout: str) -> float:
    """The same of the mean of that matrix as d goes to infinity."""
    law = giant_step_overlaps(
        Problem.of("ex3b"),
        activation("relu"),
        NeuronKinds.of(UNEQUAL.replace(readout=readout)),
        steps=UNEQUAL.steps,
        step_size=UNEQUAL.step_size.coefficient,
        samples_ratio=UNEQUAL.samples.coefficient,
    )
    limit = np.linalg.eigvalsh(law.overlap_matrices[-1])[0]
    return float(np.sqrt(max(limit, 0.0)))


def _figure_rotated_target(example: str, rotation: dict[str, str]) -> str:
    text = Target(example).text
    return re.sub(r"\bh\d\b", lambda name: f"({rotation.get(name[0], name[0])})", text)


def draw(table: DataFrame) -> Picture:
    """One panel per example, one line per direction; last the eigenvalue over dimensions."""
    figure, panels = new_figure(10.4, 3.3, ncols=len(TITLES) + 1)
    for panel, (example, title) in zip(panels, TITLES.items(), strict=False):
        for direction, label in enumerate(DIRECTIONS[example]):
            here = table[(table.example == example) & (table.direction == f"h{direction + 1}")]
            draw_line_and_dots(panel, here, "step", "overlap", COLOURS[direction])
            end = here["overlap.theory"].iloc[-1]
            panel.annotate(
                label,
                (here.step.max(), end),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                color=COLOURS[direction],
            )
        panel.set(title=title, xlim=(-0.2, STEPS + 1.9), ylim=(-0.02, 0.88))
        panel.set_xticks(range(STEPS + 1))
        panel.set_xlabel("giant steps")
    panels[0].set_ylabel("overlap with the direction (cosine)")
    _draw_eigenvalue(panels[-1], table[table.example == "eigenvalue"])
    return figure


def _draw_eigenvalue(panel: Any, table: DataFrame) -> None:
    for (readout, label), colour in zip(READOUTS.items(), (COLOURS[3], GREY), strict=True):
        here = table[table.readout == readout]
        limit = here["overlap_spectrum.theory"].iloc[0]
        draw_dots(panel, here, "dim", "overlap_spectrum", colour, label)
        if limit > LEAST:
            panel.axhline(limit, color=colour)
        else:
            falling = here["overlap_spectrum"].iloc[0] * np.sqrt(here.dim.iloc[0] / here.dim)
            panel.plot(here.dim, falling, color=colour, linestyle=":", label="$d^{-1/2}$")
    panel.set(xscale="log", yscale="log")
    panel.set_xticks(list(here.dim), [f"{dim // 1024}k" for dim in here.dim])
    panel.set_yticks([0.003, 0.01, 0.03], [".003", ".01", ".03"])
    panel.minorticks_off()
    panel.set(ylim=(0.002, 0.09), xlabel="dimension $d$", title="the third direction, step 2")
    panel.legend(loc="lower left")


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on the lines; which direction is learned when, and which space."""
    steps = table[table.example != "eigenvalue"]
    overlap = steps.set_index(["example", "direction", "step"])["overlap"].sort_index()
    noise = 2 * steps.dim.iloc[0] ** -0.5
    least = table[table.example == "eigenvalue"].set_index(["readout", "dim"]).sort_index()
    value, error = least["overlap_spectrum"], least["overlap_spectrum.sem"]
    dims = sorted(set(least.index.get_level_values("dim")))
    unequal, equal = value["normal"], value["symmetric-sign"]
    limit = least["overlap_spectrum.theory"]["normal"].iloc[0]
    return {
        "each dot is within 5 standard errors of its line": on_panel_line(
            steps, "overlap", errors=5
        ),
        "the first step learns h1 (or h1 + h2) and nothing else": all(
            overlap[example, "h1", 1] > 0.3
            and all(overlap[example, f"h{k + 1}", 1] < noise for k in range(1, len(names)))
            for example, names in DIRECTIONS.items()
        ),
        "the second step learns h1 - h2 where the squares differ in sign, and never otherwise": (
            overlap["ex1", "h2", 2] > 0.2 and overlap["ex2", "h2"].max() < noise
        ),
        "the second step learns h2 + h3": overlap["ex3a", "h2", 2] > 0.2,
        "unequal readouts learn the plane of h2 and h3: the least eigenvalue stays as d grows, "
        "within 5 standard errors of its limit at the largest d": bool(
            abs(unequal[dims[-1]] - limit) < 5 * error["normal"][dims[-1]]
            and unequal[dims[-1]] > 0.5 * unequal[dims[0]]
        ),
        "readouts +-1 learn one line of it: the least eigenvalue falls as d^(-1/2), within a "
        "factor 1.5 from the smallest to the largest d": bool(
            1 / 1.5 < equal[dims[-1]] / equal[dims[0]] * (dims[-1] / dims[0]) ** 0.5 < 1.5
        ),
    }


REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270, examples 1-3",)
SIZES = figure_sizes(
    dim=(2000, 8000, 16_000), seeds=(8, 16, 32), largest=(4096, 16_384, 32_768), spectra=(4, 8, 16)
)
