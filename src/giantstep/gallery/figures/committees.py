"""Committees: units are alike until there are samples enough to tell them apart.

Bayes-optimal message passing for a sum of relu units over sqrt(r), with label noise of variance
0.1. Lines: state evolution of the squared overlap with the mean of the units and with their
differences; dots: {seeds} runs at d = {dim} from a small random start, with standard errors.
Dotted: the threshold of specialisation, 2.251 for two units and 6.007 for five. Below it message
passing knows the mean of the units and nothing else. Dots are claimed to lie within 4 standard
errors plus 0.04, for what a finite d changes; none is drawn close to a threshold, where runs
scatter.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import (
    Along,
    DataFrame,
    Picture,
    Sizes,
    Tables,
    Workbench,
    figure_sizes,
)
from giantstep.gallery.panels import draw_dots, draw_guide, on_panel_line
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.amp import Amp

NOISE = 0.1
FEW, MANY = 2, 5
#: One of how many points of the rule of averages draws the lines, by the number of units.
SHARE = {FEW: 4, MANY: 8}
#: Thresholds of specialisation by an earlier computation with other code.
KNOWN = {FEW: 2.25147, MANY: 6.00715}
#: Samples per dimension up to which lines are drawn, in units of the threshold.
FARTHEST = 3.0


OVERLAPS = {"q_plus": "mean of the units, $q_+$", "q_minus": "their differences, $q_-$"}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """q+ and q- along both branches for both committees, and what runs reach."""
    import pandas

    name = "overlap_squared_singular_values"
    for units, ratios in ((FEW, sizes.few), (MANY, sizes.many)):
        summed = " + ".join(f"relu(h{unit + 1})" for unit in range(units))
        found = bench.curve(
            [name],
            Amp(dim=sizes.dim, iterations=300, tolerance=1e-3),
            Problem(f"({summed})/sqrt({units})", NOISE),
            Along("samples", "{:g}d".format, "alpha"),
            Sizes(dots=ratios, seeds=sizes.seeds),
        )
        # Along the mean of the units, and across it, where the overlaps of the differences are
        # averaged: errors of one run's overlaps are not independent, nor their squares to be added.
        dots = pandas.DataFrame({"alpha": ratios})
        along = found.component == 1
        for symbol, chosen in (("q_plus", found[along]), ("q_minus", found[~along])):
            ends = {f"{name}{end}": f"{symbol}{end}" for end in ("", ".sem", ".theory")}
            means = chosen.groupby("alpha")[list(ends)].mean().rename(columns=ends)
            dots = dots.merge(means, on="alpha")
        lines = _drawn_branches(units, sizes.every)
        yield lines
        yield dots.assign(units=units, threshold=lines.threshold.iloc[0])


def _drawn_branches(units: int, every: int) -> DataFrame:
    """The branch of equal units up to the threshold, then the specialised one."""
    import numpy as np
    import pandas
    from scipy.special import expit

    from giantstep.language.targets import Target
    from giantstep.language.targets.symmetry import Committee
    from giantstep.theory.amp.committees.averages import unspecialised_ratio
    from giantstep.theory.amp.committees.fixed_point import SCAN, committee_overlap_branch
    from giantstep.theory.amp.committees.specialisation import specialisation

    committee = Committee(Target(f"relu(h1)/sqrt({units})"), units, 0.0, NOISE)
    leaves = specialisation(committee)
    alike = leaves.mean_overlap * np.linspace(0.02, 1, 16)
    lines = [(unspecialised_ratio(committee, float(q)), float(q), 0.0) for q in alike]
    branch = committee_overlap_branch(committee, SHARE[units])
    for t in SCAN[::every]:
        point = branch.point(expit(t))
        lines.append((point.samples_ratio, point.q_plus, point.q_minus))
        if point.samples_ratio > FARTHEST * leaves.samples_ratio:
            break
    table = pandas.DataFrame(lines, columns=["alpha", "q_plus.theory", "q_minus.theory"])
    return table.assign(units=units, threshold=leaves.samples_ratio)


def draw(table: DataFrame) -> Picture:
    """Overlaps with the mean of the units and with their differences, for two and for five."""
    import numpy as np
    from scipy.interpolate import PchipInterpolator

    figure, panels = new_figure(7.0, 3.6, ncols=2, sharey=True)
    for panel, units in zip(panels, (FEW, MANY), strict=True):
        part = table[table.units == units]
        line = part[part["q_plus"].isna()].sort_values("alpha")
        threshold = part.threshold.iloc[0]
        fine = np.linspace(line.alpha.min(), line.alpha.max(), 400)
        for (name, label), colour in zip(OVERLAPS.items(), COLOURS, strict=False):
            curve = PchipInterpolator(line.alpha, line[f"{name}.theory"])
            panel.plot(fine, curve(fine), color=colour, label=label)
            draw_dots(panel, part, "alpha", name, colour)
        draw_guide(panel, f"threshold, {threshold:.3f}", x=threshold)
        panel.set(title=f"{units} relu units", xlim=(0, FARTHEST * threshold), ylim=(-0.03, 1.03))
        panel.set_xlabel(r"samples per dimension $n/d$")
    panels[0].set_ylabel("squared overlap")
    panels[1].legend(loc="lower right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Where units part, and whether the runs are on the lines."""
    by_units = table.groupby("units").threshold.first()
    line, dots = table[table["q_plus"].isna()], table.dropna(subset="q_plus")
    specialised = line[line["q_minus.theory"] > 0]
    alike = dots[dots.alpha < dots.threshold]
    return {
        "thresholds are 2.251 and 6.007": all(
            abs(by_units[units] - known) < 1e-4 for units, known in KNOWN.items()
        ),
        "units part continuously: every specialised point is above the threshold": bool(
            (specialised.alpha > 0.99 * specialised.threshold).all()
        ),
        "runs are within 4 standard errors plus 0.04 of the lines": all(
            on_panel_line(dots, name, errors=4, allowance=0.04) for name in OVERLAPS
        ),
        "below the threshold runs know the mean of the units, and nothing of their differences": (
            bool(len(alike) > 1 and (alike.q_plus > 0.3).all() and (alike.q_minus < 0.04).all())
        ),
    }


REFERENCES = cite("1806.05451", "2405.15480")
SIZES = figure_sizes(
    few=((1.0,), (0.7, 1.4), (0.4, 0.8, 1.2, 1.6, 3.5, 4.5, 5.5, 6.5)),
    many=((2.0,), (2.0,), (1.0, 2.0, 3.0, 4.0)),
    dim=(100, 150, 500),
    seeds=(3, 4, 8),
    every=(5, 2, 1),
)
