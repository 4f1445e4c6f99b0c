"""Giant steps simulated exactly in law, at a cost that ignores the dimension.

Two giant steps on y = h1 + h1 h2, 8 relu neurons, step size 3, simulated directly and in law. Left:
overlaps with h1 and h2 in {seeds} networks of each kind at d = 100, n = 10d; the two histograms are
of one law. Right: CPU seconds per network at n = 2000 samples per step, median and range of
{repetitions} runs. What a network does to Gaussian inputs depends on few of their projections; the
others are drawn afterwards, together, as one small random matrix.
"""

from __future__ import annotations

import time
from itertools import pairwise

from giantstep.asking.verbs import simulate
from giantstep.gallery.figure import DataFrame, Picture, Sizes, Tables, Workbench, figure_sizes
from giantstep.gallery.panels import Side, draw_mark
from giantstep.gallery.style import COLOURS, new_figure
from giantstep.settings.giant_step import GiantStep

TARGET = "h1 + h1*h2"
LAW = GiantStep(dim=100, samples="10d", steps=2, step_size="3", width="8")
TIMED = LAW.replace(samples="2000")
LABELS = {"direct": "direct: d numbers a sample", "in-law": "in law: only what matters"}
#: Beyond this dimension only the simulation in law is timed.
LAST_DIRECT = 2**14


def rows(sizes: Sizes, bench: Workbench) -> Tables:
    """Overlaps of every run by method and direction; seconds per run by method and dimension."""
    import pandas

    for number, method in enumerate(LABELS):
        run = simulate(LAW.replace(method=method), TARGET, seeds=sizes.seeds)
        for direction in (0, 1):
            values = run.metrics["overlap"][:, -1, direction]
            part = pandas.DataFrame({"overlap": values, "direction": direction + 1})
            yield part.assign(method=method, panel="law", dim=LAW.dim)
        bench.report(0.2 * (number + 1))
    for number, power in enumerate(sizes.powers):
        for method in LABELS:
            dim = 2**power
            if method == "in-law" or dim <= LAST_DIRECT:
                seconds = _figure_seconds(TIMED.replace(dim=dim, method=method), sizes.repetitions)
                part = pandas.DataFrame({"seconds": seconds})
                yield part.assign(method=method, panel="time", dim=dim)
        bench.report(0.4 + 0.6 * (number + 1) / len(sizes.powers))


def _figure_seconds(settings: GiantStep, repetitions: int) -> list[float]:
    """CPU seconds of each repetition, after one that compiles: others may use the machine too."""
    ends = []
    for seed in range(repetitions + 1):
        simulate(settings, TARGET, seeds=1, seed=seed)
        ends.append(time.process_time())
    return [after - before for before, after in pairwise(ends)]


def draw(table: DataFrame) -> Picture:
    """Histograms of both methods over one another; time against dimension."""
    import numpy as np

    figure, (left, right) = new_figure(7.4, 3.6, ncols=2)
    law, times = table[table.panel == "law"], table[table.panel == "time"]
    edges = np.linspace(law.overlap.min(), law.overlap.max(), 41)
    for (method, label), colour in zip(LABELS.items(), (COLOURS[1], COLOURS[0]), strict=True):
        look = {"histtype": "step", "linewidth": 1.4}
        if method == "direct":
            look = {"histtype": "stepfilled", "alpha": 0.35}
        values = [law[(law.method == method) & (law.direction == k)].overlap for k in (1, 2)]
        names = [method.replace("-", " "), "_"]
        left.hist(values, edges, density=True, color=[colour] * 2, label=names, **look)
        spread = times[times.method == method].groupby("dim").seconds
        middle = spread.median()
        ranges = [middle - spread.min(), spread.max() - middle]
        right.errorbar(middle.index, middle, ranges, fmt="o-", color=colour, label=label)
    for direction in (1, 2):
        draw_mark(left, f"$h_{direction}$", law[law.direction == direction].overlap.median())
    left.set(xlabel="overlap after two steps (cosine)", ylabel="density over networks")
    left.legend(loc="upper center")
    highest = (None, 8 * times.seconds.max())
    Side("dim", "dimension $d$, at $n = 2000$ samples", "log2").rule(right, "x")
    Side("seconds", "CPU seconds per network", "log", limits=highest).rule(right, "y")
    right.legend(loc="upper left")
    return figure


def claims(table: DataFrame) -> dict[str, bool]:
    """One law, and a time that does not grow with d."""
    from scipy.stats import ks_2samp

    law, times = table[table.panel == "law"], table[table.panel == "time"]
    values = {key: part.overlap for key, part in law.groupby(["method", "direction"])}
    fastest = times.groupby(["method", "dim"]).seconds.min()
    shared, last = fastest["direct"].index.max(), fastest["in-law"].index.max()
    first = fastest["in-law"].index.min()
    found = {
        f"a Kolmogorov-Smirnov test at level 0.001 cannot tell the laws of h{k} apart": bool(
            ks_2samp(values["direct", k], values["in-law", k]).pvalue > 0.001
        )
        for k in (1, 2)
    }
    found["at the largest d of both, in law is over three times faster"] = bool(
        fastest["direct", shared] > 3 * fastest["in-law", shared]
    )
    found["in law, the largest d takes less than five times as long as the smallest"] = bool(
        fastest["in-law", last] < 5 * fastest["in-law", first]
    )
    return found


REFERENCES = (
    "Dandi et al. 2023, arXiv:2305.18270 (the steps)",
    "Bolthausen 2014, arXiv:1201.2891 (conditioning)",
)
SIZES = figure_sizes(
    seeds=(120, 1000, 10_000),
    repetitions=(3, 5, 15),
    powers=((7, 13), (6, 8, 10, 12, 14, 17, 20), (6, 8, 10, 12, 14, 16, 18, 20)),
)
