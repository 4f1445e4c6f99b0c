"""Looking ahead along each sample learns what one pass cannot.

Mean signed cosine of one neuron with the direction of y = He3(h) (tanh, step size 0.2, from overlap
0) and y = He4(h) (relu, readout -1, step size 0.08, from overlap 4 d^(-1/2), so that no run leaves
with the other sign), correlation loss, one sample at a time. Each neuron steps along a sample after
a look ahead along the same sample (extragradient, 0.5 and 0.3), or without (SGD). The first finds
its direction from n ~ d and n ~ d log d samples, the second needs d^2 and d^3. Lines: equations of
motion; dots: {seeds} simulations, exact in law, d = {small} and {large}. SGD leaves the line of He3
as d^2 samples come into sight, at the smaller d first; the claim is about extragradient at the
larger d.
"""

from __future__ import annotations

from typing import Any

from giantstep.bibliography import cite
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, on_panel_line, overlay_panels
from giantstep.settings.online_sgd import OnlineSgd

#: Target, settings, and a look ahead that learns it.
CASES: dict[str, dict[str, Any]] = {
    "He3(h1)": {
        "activation": "tanh",
        "step_size": "0.2",
        "start_overlap": "0",
        "lookahead": 0.5,
        "times": "0,1,2,5,10,15,20,30,40",
    },
    "He4(h1)": {
        # From d^-0.5, what a random start has, some runs leave with the other sign, and their mean
        # is not what the equations follow.
        "activation": "relu",
        "step_size": "0.08",
        "start_overlap": "4d^-0.5",
        "lookahead": 0.3,
        "readout": "-1",
        "times": "0,5,10,15,20,30,40,50,60",
    },
}


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps along time by target, dimension, and with or without a look ahead."""

    for target, options in CASES.items():
        settings = OnlineSgd(**options, loss="correlation").replace(
            dim=[sizes.small, sizes.large], lookahead=[options["lookahead"], 0.0]
        )
        found = bench.table(["overlap"], settings, target, seeds=sizes.seeds)
        yield found.assign(target=target)


def draw(table: DataFrame) -> Picture:
    """One panel per target."""
    small, large = sorted(table.dim.unique())
    kinds = [(dim, looks) for dim in (small, large) for looks in (True, False)]
    named = {
        f"{dim} {looks}": f"{'extragradient' if looks else 'SGD'}, $d = {dim}$"
        for dim, looks in kinds
    }
    return overlay_panels(
        table.assign(curve=table.dim.astype(str) + " " + (table.lookahead > 0).astype(str)),
        Side("time", "samples / $d$"),
        Side("overlap", "overlap (signed cosine)"),
        panels=("target", {f"He{k}(h1)": rf"$y = \mathrm{{He}}_{k}(h)$" for k in (3, 4)}),
        curves=("curve", named),
        sharey=False,
        legend="above",
    )[0]


def claims(table: DataFrame) -> dict[str, bool]:
    """Dots on lines; SGD stays near its start."""
    last = table[table.time == table.groupby("target").time.transform("max")]
    sizes = last.set_index(["target", "lookahead", "dim"])["overlap"].abs()
    large, looking = table.dim.max(), table[table.lookahead > 0]
    return {
        "extragradient at the larger d is within 5 standard errors of the equations": on_panel_line(
            looking[(looking.time > 0) & (looking.dim == large)], "overlap", errors=5
        ),
        "extragradient learns: the mean overlap is above 0.3 at the end": bool(
            (sizes[sizes.index.get_level_values("lookahead") > 0] > 0.3).all()
        ),
        "SGD does not: at the larger d it is below a third of that": all(
            sizes[target, 0.0, large] < sizes[target, CASES[target]["lookahead"], large] / 3
            for target in CASES
        ),
    }


REFERENCES = cite("2405.15459")
SIZES = figure_sizes(small=(512, 1024, 1024), large=(1024, 4096, 4096), seeds=(16, 24, 200))
