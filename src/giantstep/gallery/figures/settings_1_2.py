"""Train and test error over the exponent of the step.

Errors after one step of n^alpha/sqrt(p) against alpha, for y = h + noise of variance 1 (left) and y
= h + He2(h)/sqrt 2 (right); centred relu, Gaussian readout, n = 1.5 d for the step and again for
the readout, p = d, ridge 0.015. Lines: theory at d = {dim}; dots: {seeds} simulations; dashed:
limit of large d, in which the second power of the learned direction enters beyond alpha = 1/4
(dotted), and helps where the target has one. At this d it enters gradually.
"""

from __future__ import annotations

from giantstep.asking.verbs import SIMULATE
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
from giantstep.gallery.panels import draw_guide, draw_line_and_dots, on_panel_line
from giantstep.gallery.style import COLOURS, legend_above, new_figure
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep

#: Target, label noise and title of the two settings.
PROBLEMS = {
    "Setting 1": ("h1", 1.0, "Setting 1: $h$ + noise"),
    "Setting 2": ("h1 + He2(h1)/sqrt(2)", 0.0, r"Setting 2: $h + \mathrm{He}_2(h)/\sqrt{2}$"),
}
#: Exponents (l - 1)/(2l) between which the limit has the same spikes: l = 1, 2; the relu has no
#: third spike, and the fourth appears at 3/8.
STAIRS = ((0.0, 0.25), (0.25, 0.375))
SETTINGS = GiantStep(
    activation="relu(z) - 1/sqrt(2*pi)", readout="normal", samples="1.5d", width="1d", ridge=0.015
)
ALONG = Along("step_size", "1*n^{:g}".format, "exponent", (0.05, 0.45))


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Errors by setting and exponent, and the limit of large d."""

    metrics = ("test_error", "train_error", "random_features_error")
    settings = SETTINGS.replace(dim=sizes.dim, method="direct")
    for name, (target, noise, _) in PROBLEMS.items():
        problem = Problem(target, noise)
        found = bench.curve(metrics, settings, problem, ALONG, sizes, verbs=(SIMULATE,))
        found = found[found.step == 1].copy()
        # Dots at a place of the line, which is a part of theirs, are compared with it.
        for metric in ("test_error.theory", "train_error.theory"):
            found[metric] = found.groupby("exponent")[metric].transform("max")
        yield found.assign(setting=name, kind="finite")
        middles = Sizes(points=[sum(stair) / 2 for stair in STAIRS], seeds=1)
        limit = bench.curve(["test_error"], SETTINGS, problem, ALONG, middles)
        after = limit[limit.step == 1]
        ends = [end for stair in STAIRS for end in stair]
        twice = after.loc[after.index.repeat(2)]
        yield twice.assign(exponent=ends, setting=name, kind="limit")


def draw(table: DataFrame) -> Picture:
    """Test and train error, one panel per setting."""
    figure, panels = new_figure(7.4, 3.8, ncols=2, sharey=True)
    limit_style = {"color": COLOURS[2], "linestyle": "--"}
    for panel, (name, (*_, title)) in zip(panels, PROBLEMS.items(), strict=True):
        here = table[table.setting == name]
        finite, limit = here[here.kind == "finite"], here[here.kind == "limit"]
        draw_line_and_dots(panel, finite, "exponent", "test_error", COLOURS[0], "test error")
        draw_line_and_dots(panel, finite, "exponent", "train_error", COLOURS[1], "train error")
        plain = finite["random_features_error.theory"].max()
        panel.axhline(plain, color=COLOURS[3], label="test error, random features")
        for label, stair in zip(("test error, large $d$", None), STAIRS, strict=True):
            part = limit[limit.exponent.isin(stair)].groupby("exponent").last()
            level = part["test_error.theory"]
            panel.plot(stair, [level.iloc[-1 if stair[0] else 0]] * 2, label=label, **limit_style)
        draw_guide(panel, "square enters", x=0.25, at=0.2)
        panel.set(title=title, xlabel=r"exponent $\alpha$ of the step $n^\alpha/\sqrt{p}$")
    panels[0].set(ylabel="error", ylim=(0, None))
    legend_above(figure)
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
    far = {
        name: (finite[name] / finite[f"{name}.theory"] - 1).dropna()
        for name in ("test_error", "train_error")
    }
    spread = {
        name: (finite[f"{name}.sem"] / finite[f"{name}.theory"]).dropna().pow(2).sum() ** 0.5
        for name in far
    }
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
        "simulated test and train errors lie within 4 standard errors of the theory": all(
            on_panel_line(finite, name, errors=4) for name in far
        ),
        "so do their means over all dots, whose standard errors are below 1.2 and 2.5 %": all(
            abs(far[name].sum()) < 4 * spread[name] < 4 * bar * len(far[name])
            for name, bar in (("test_error", 0.012), ("train_error", 0.025))
        ),
    }


REFERENCES = cite("2310.07891")
SIZES = figure_sizes(points=(2, 5, 17), dots=(2, 3, 9), dim=(80, 120, 400), seeds=(64, 48, 20))
