"""The curve on which an optimum was searched, the optimum marked, and what it gains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from giantstep.errors import GiantstepError
from giantstep.figures.labels import axis_label, caption
from giantstep.figures.style import COLOURS, GREY, house_style, new_figure, save
from giantstep.results import Prediction
from giantstep.results.words import about
from giantstep.sweep import Sweep
from giantstep.twins.curves import law_at, theory_line

#: How far the curve reaches to both sides of the optimum.
FACTOR = 30.0


def draw_optimum(
    law: Prediction, names: Sequence[str], path: Path, *, with_caption: bool = True
) -> Path:
    """One panel for each optimised setting: the test error along it, the others at their best."""
    with house_style():
        figure, panels = new_figure(
            max(3.6 * len(names), 4.6), 3.5, ncols=len(names), squeeze=False
        )
        for panel, name in zip(panels[0], names, strict=True):
            best = float(law.settings[name])
            if not best > 0:
                raise GiantstepError(f"{name} = {best:g} has no curve by decades around it")
            ends = (best / FACTOR, best * FACTOR)
            curve = theory_line(Sweep(name, ends, tuple(law_at(law, name, end) for end in ends)))
            if curve is None:
                raise GiantstepError(f"no curve along {name} can be drawn in time")
            errors = curve.stack(lambda point: np.ravel(point.metrics["test_error"])[-1])
            least = np.ravel(law.metrics["test_error"])[-1]
            panel.plot(curve.values, errors, color=COLOURS[0], label="theory")
            panel.plot(
                [best], [least], "*", color=COLOURS[1], markersize=10, label=f"best, {best:.3g}"
            )
            if "gain_over_random_features" in law.metrics:
                without = least + float(law.metrics["gain_over_random_features"])
                panel.axhline(without, color=GREY, linestyle="--", label="best random features")
            panel.set_xscale("log")
            panel.set_xlabel(axis_label(name, curve.positions))
            panel.set_ylabel("test error")
            panel.legend(loc="best")
        if with_caption:
            learner, fixed, _ = about(law)
            shown = {key: value for key, value in fixed.items() if key not in names}
            figure.suptitle(caption(learner, shown), fontsize=8, wrap=True)
        return save(figure, path)
