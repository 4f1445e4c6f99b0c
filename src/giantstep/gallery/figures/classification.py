"""Trivial, easy and hard targets.

What message passing, the best known fast algorithm, needs to find the directions of {total} targets
of the catalogue. A dot is a stair of the grand staircase, larger for several directions at once:
trivial (any number of samples proportional to d), easy (beyond a threshold) or hard (no such
number). Lines join the stairs of one target; a later stair whose threshold depends on how well the
first is learned is left out.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.style import COLOURS, legend_above, new_figure
from giantstep.language.targets import Target

CLASSES = {"trivial": COLOURS[2], "easy": COLOURS[0], "hard": COLOURS[1]}
#: Where thresholds of zero and infinity are drawn.
LEFT, RIGHT = 0.1, 200.0
FEW = ["sign", "hermite-three", "absolute-value", "parity-two", "parity-three", "generative-four"]
MORE = (
    "linear sine relu-target hermite-five tanh-target noisy-sign square hermite-four window "
    "cosine cosine-three product-two circle ex1 linear-and-absolute staircase-two parity-four "
    "grand-staircase"
)
MANY = [*FEW, *MORE.split()]


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """One line per stair: its leap, its class and its threshold; 0 trivial, infinite hard."""
    from giantstep.explanation.explain import explain

    for k, name in enumerate(sizes.targets):
        told = explain(name).to_json()
        known = {str(t["directions"]): t["alpha"] for t in told["thresholds"]}
        for stair, step in enumerate(told["grand_staircase"]):
            easy = known.get(str(step["directions"]))
            kind = step["class"]
            alpha = {"trivial": 0.0, "hard": float("inf")}.get(kind, easy)
            about = {key: told[key] for key in ("target", "leap", "class")}
            own = {"kind": kind, "alpha": alpha, "directions": len(step["directions"])}
            yield {"name": name, **about, "stair": stair, **own}
        bench.report((k + 1) / len(sizes.targets))


def draw(table: DataFrame) -> Picture:
    """One row per target, one dot per stair, at its threshold."""
    order = {kind: i for i, kind in enumerate(CLASSES)}
    names = table.sort_values(
        ["class", "alpha"], key=lambda c: c.map(order) if c.name == "class" else c
    ).drop_duplicates("name")
    height_of_rows = 1.6 + 0.24 * len(names)
    figure, panel = new_figure(6.4, height_of_rows)
    # In a single column rows stay as far apart as they are.
    figure.set_figheight(height_of_rows)
    for height, (_, entry) in enumerate(names[::-1].iterrows()):
        stairs = table[table.name == entry["name"]].dropna(subset="alpha")
        places = stairs.alpha.clip(LEFT, RIGHT)
        panel.plot(places, [height] * len(places), color="#cccccc", linewidth=1, zorder=1)
        colours = [CLASSES[kind] for kind in stairs.kind]
        panel.scatter(places, [height] * len(places), s=18 * stairs.directions, c=colours, zorder=2)
    formulas = [f"${Target(text).latex}$" for text in names[::-1].target]
    panel.set_yticks(range(len(names)), formulas, fontsize=8)
    panel.set(xscale="log", xlim=(LEFT / 1.5, RIGHT * 1.6))
    ticks = (LEFT, 0.5, 2.467, 10, 50, RIGHT)
    panel.set_xticks(ticks, ["any\n$n/d > 0$", "0.5", r"$\pi^2/4$", "10", "50", "none"])
    panel.minorticks_off()
    panel.set_xlabel("$n/d$ from which message passing learns", loc="right")
    for kind, colour in CLASSES.items():
        panel.scatter([], [], s=24, color=colour, label=kind)
    legend_above(figure)
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Each class is there, and the famous members are where they belong."""
    import numpy as np

    first = table[table.stair == 0].set_index("name")
    return {
        "all three classes appear": set(first["class"]) == set(CLASSES),
        "He3 is trivial although its information exponent is 3": (
            first.kind["hermite-three"] == "trivial" and first.leap["hermite-three"] == 3
        ),
        "the parity of two is easy from pi^2/4": abs(first.alpha["parity-two"] - np.pi**2 / 4)
        < 1e-6,
        "the parity of three is hard": first.kind["parity-three"] == "hard",
    }


REFERENCES = cite("2405.15480", "2403.05529")
SIZES = figure_sizes(
    targets=(FEW, MANY, [*MANY, "standard-staircase"]), total=(len(FEW), len(MANY), len(MANY) + 1)
)
