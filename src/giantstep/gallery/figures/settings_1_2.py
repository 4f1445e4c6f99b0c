"""Train and test error over the exponent of the step.

Errors after one step of n^alpha/sqrt(p) against alpha, for y = h + noise of variance 1 (left) and y
= h + He2(h)/sqrt 2 (right); centred relu, Gaussian readout, n = 1.5 d for the step and again for
the readout, p = d, ridge 0.015. Above: excess test error; below: mean squared residual in training.
Lines: theory at d = {dim}; dots: {seeds} simulations; dashed: limit of large d, in which the second
power of the learned direction enters beyond alpha = 1/4 (dotted), and helps where the target has
one. At this d it enters gradually. Terms of order 1/d of the gradient batch are left out: claims
allow 4 % and, for the residual, 8 %.
"""

from __future__ import annotations

from giantstep.bibliography import cite
from giantstep.gallery.figure import Along, DataFrame, Picture, Sizes, Workbench
from giantstep.gallery.panels import lay_over, on_the_line
from giantstep.gallery.style import COLOURS, GREY, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Target, label noise and title of the two settings.
PROBLEMS = {
    "Setting 1": ("h1", 1.0, "Setting 1: $h$ + noise"),
    "Setting 2": ("h1 + He2(h1)/sqrt(2)", 0.0, r"Setting 2: $h + \mathrm{He}_2(h)/\sqrt{2}$"),
}
LEAST, LARGEST = 0.05, 0.45
#: Exponents (l - 1)/(2l) between which the limit has the same spikes: l = 1, 2; the relu has no
#: third spike, and the fourth appears at 3/8.
STAIRS = ((0.0, 0.25), (0.25, 0.375))
SETTINGS = GiantStep(
    activation="relu(z) - 1/sqrt(2*pi)", readout="normal", samples="1.5d", width="1d", ridge=0.015
)
ALONG = Along("step_size", "1*n^{:g}".format, "exponent")


def rows(sizes: Sizes, bench: Workbench) -> DataFrame:
    """Errors by setting and exponent, and the limit of large d."""
    import numpy as np
    import pandas

    every = (sizes.points - 1) // (sizes.dots - 1)
    exponents = np.linspace(LEAST, LARGEST, sizes.points).round(4)
    between = [e for i, e in enumerate(exponents) if i % every]
    metrics = ("test_error", "train_error", "random_features_error")
    settings, parts = SETTINGS.replace(dim=sizes.dim, method="direct"), []
    for name, (target, noise, _) in PROBLEMS.items():
        problem, dots = Problem(target, noise), exponents[::every]
        found = bench.curve(metrics, settings, problem, ALONG, between, dots, seeds=sizes.seeds)
        parts.append(found[found.step == 1].assign(setting=name, kind="finite"))
        middles = [sum(stair) / 2 for stair in STAIRS]
        limit = bench.curve(["test_error"], SETTINGS, problem, ALONG, middles)
        after = limit[limit.step == 1]
        ends = [end for stair in STAIRS for end in stair]
        twice = after.loc[after.index.repeat(2)]
        parts.append(twice.assign(exponent=ends, setting=name, kind="limit"))
    return pandas.concat(parts, ignore_index=True)


def draw(table: DataFrame) -> Picture:
    """Test error above, train error below, one column per setting."""
    figure, panels = new_figure(7.4, 5.4, nrows=2, ncols=2, sharex=True, sharey="row")
    for column, (name, (*_, title)) in enumerate(PROBLEMS.items()):
        here = table[table.setting == name]
        finite, limit = here[here.kind == "finite"], here[here.kind == "limit"]
        above, below = panels[:, column]
        lay_over(above, finite, "exponent", "test_error", COLOURS[0], "one step, at this $d$")
        above.axhline(
            finite["random_features_error.theory"].iloc[0], color=COLOURS[1],
            label="random features",
        )  # fmt: skip
        for number, _ in enumerate(STAIRS):
            part = limit.iloc[2 * number : 2 * number + 2]
            label = "limit of large $d$" if number == 0 else None
            above.plot(
                part.exponent,
                part["test_error.theory"],
                color=COLOURS[2],
                linestyle="--",
                label=label,
            )
        lay_over(below, finite, "exponent", "train_error", COLOURS[0])
        for panel in (above, below):
            panel.axvline(0.25, color=GREY, linestyle=":", linewidth=1.0)
        above.set_title(title)
        below.set_xlabel(r"exponent $\alpha$ of the step $n^\alpha/\sqrt{p}$")
    for row in panels:
        row[0].set_ylim(bottom=0)
    panels[0, 0].set_ylabel("test error")
    panels[1, 0].set_ylabel("train error")
    panels[0, 0].legend(loc="lower left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """Both errors fall; the second stair of the limit is in the second setting only."""
    finite, limit = table[table.kind == "finite"], table[table.kind == "limit"]
    stairs = {
        name: part.sort_values("exponent")["test_error.theory"].to_numpy()
        for name, part in limit.groupby("setting")
    }
    best = finite.groupby("setting")["test_error.theory"].min()
    features = finite.groupby("setting")["random_features_error.theory"].max()
    trains = [
        part.sort_values("exponent")["train_error.theory"] for _, part in finite.groupby("setting")
    ]
    return {
        "in the limit the square is worth a second stair in setting 2 and nothing in setting 1": (
            bool(abs(stairs["Setting 1"][-1] - stairs["Setting 1"][0]) < 1e-9)
            and bool(stairs["Setting 2"][-1] < stairs["Setting 2"][0] - 0.1)
        ),
        "the best step improves on random features by more than 5 %": bool(
            (best < 0.95 * features).all()
        ),
        "the train error at the largest step is below that at the smallest": all(
            train.iloc[-1] < train.iloc[0] for train in trains
        ),
        "simulated test errors lie within 4 standard errors plus 4 % of the theory": on_the_line(
            finite, "test_error", errors=4, relative=0.04
        ),
        "simulated train errors lie within 4 standard errors plus 8 % of the theory": on_the_line(
            finite, "train_error", errors=4, relative=0.08
        ),
    }


REFERENCES = cite("2310.07891")
SIZES = {
    "reduced": Sizes(points=2, dots=2, dim=80, seeds=12),
    "quick": Sizes(points=9, dots=3, dim=120, seeds=8),
    "full": Sizes(points=17, dots=5, dim=400, seeds=20),
}
