"""Two staircases with a hard last stair, climbed one sample at a time.

Root mean square cosines, over {seeds} simulations, exact in law, of one neuron on the sphere with
the target's directions; correlation loss, from cosines of d^(-1/2). The sign alone is a hard
target: h1 opens the way to h2 and h3. Left: He2 shows h1 to one-pass SGD; slopes z^2/2 + 0.12 z -
0.1, step size 0.008, d = {small}. Middle: a look ahead of 0.0002 along each sample, which uses it
twice, shows h1 in He4; slopes z^2 - 1, step size 0.002, d = {large}. Right: without it theory lets
no overlap of this neuron grow, and SGD must learn the sign first, from d^2 samples. That is what d
must be this large for: at d = 256 40000 d samples are enough for either.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE, predict
from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import DIRECTIONS, Side, overlay_panels
from giantstep.gallery.style import GREY
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.settings.repetition import Repetition

SIGN = r"\mathrm{sign}(h_1 h_2 h_3)$"
TITLES = {
    "standard": rf"SGD: $\mathrm{{He}}_2(h_1) + {SIGN}",
    "grand": rf"look ahead: $\mathrm{{He}}_4(h_1) + {SIGN}",
    "one pass": rf"SGD: $\mathrm{{He}}_4(h_1) + {SIGN}",
}
COMMON = OnlineSgd(loss="correlation", start_overlap="d^-0.5", test_samples=1)
STANDARD = COMMON.replace(activation="z**3/6 + 0.06*z**2 - 0.1*z", step_size=0.008)
GRAND = COMMON.replace(activation="He3(z)/3", step_size=0.002)
#: Target and settings of each panel.
CASES: dict[str, tuple[str, OnlineSgd]] = {
    "standard": ("He2(h1) + sign(h1*h2*h3)", STANDARD),
    "grand": ("He4(h1) + sign(h1*h2*h3)", GRAND.replace(lookahead=0.0002)),
    "one pass": ("He4(h1) + sign(h1*h2*h3)", GRAND),
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps along time by case and direction; the rate at which theory lets small ones grow."""

    for case, (target, chosen) in CASES.items():
        dim, until = (sizes.small, 8000) if case == "standard" else (sizes.large, sizes.until)
        settings = chosen.replace(dim=dim, times=f"0:{until}:{sizes.points}")
        asking = {"root_mean_square": True, "verbs": (SIMULATE,), "seeds": sizes.seeds}
        found = bench.table(["overlap"], settings, target, **asking)
        moves = Repetition(activation=chosen.activation, lookahead=chosen.lookahead)
        growth = predict(moves, target).metrics["growth"]
        yield found.assign(case=case, start=dim**-0.5, growth=growth)


def draw(table: DataFrame) -> Picture:
    """One panel per case, one colour per direction."""
    figure, panels = overlay_panels(
        table,
        Side("time", "samples / $d$"),
        Side("overlap", "overlap |cosine|", limits=(0, 1)),
        panels=("case", TITLES),
        curves=DIRECTIONS,
        legend=None,
    )
    for panel, case in zip(panels, TITLES, strict=True):
        panel.title.set_fontsize(8)
        chance = table[table.case == case].start.iloc[0]
        panel.axhline(chance, color=GREY, linestyle=":", label=r"chance, $d^{-1/2}$")
    panels[1].legend(loc="upper right")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Both staircases are climbed, the second with a look ahead."""
    last = table[table.time == table.groupby("case").time.transform("max")]
    found = last.pivot_table("overlap", "case", "direction")
    first, others = found.h1, found[["h2", "h3"]].min(axis=1)
    growth = table.groupby("case").growth.first()
    return {
        "He2: SGD learns h1 beyond 0.6, h2 and h3 beyond 0.3": bool(
            first["standard"] > 0.6 and others["standard"] > 0.3
        ),
        "He4: a look ahead learns h1 beyond 0.2 and over twice what SGD does": bool(
            first["grand"] > max(0.2, 2 * first["one pass"])
        ),
        "He4: a look ahead learns more of h2 and h3 than SGD, by half at least": bool(
            others["grand"] > 1.5 * found.loc["one pass", ["h2", "h3"]].max()
        ),
        "by theory small overlaps grow for the first two neurons, and not for the third": bool(
            growth[["standard", "grand"]].min() > 0.1 and abs(growth["one pass"]) < 1e-6
        ),
    }


REFERENCES = cite("2405.15459", "2405.15480", "2202.08658")
SIZES = figure_sizes(
    small=(64, 64, 256),
    large=(1024, 1024, 4096),
    until=(10_000, 14_000, 30_000),
    points=(3, 9, 17),
    seeds=(4, 8, 16),
)
