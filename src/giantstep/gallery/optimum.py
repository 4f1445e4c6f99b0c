"""The curve on which an optimum was searched, the optimum marked, and what it gains."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from giantstep.answer import Answer
from giantstep.answer.words import answer_facts
from giantstep.asking.curves import ask_theory_between
from giantstep.asking.optimum import ended
from giantstep.asking.verbs import predict
from giantstep.errors import GiantstepError
from giantstep.gallery.labels import drawn_axis_label
from giantstep.gallery.paper import add_picture_title, paper_panels
from giantstep.gallery.style import COLOURS, GREY, Size, house_style, save_figure

#: How far the curve reaches to both sides of the optimum.
FACTOR = 30.0
#: Points without which a curve is none.
FEWEST = 8


def draw_optimum(
    answer: Answer,
    names: Sequence[str],
    path: Path,
    *,
    with_caption: bool = True,
    size: Size | None = None,
) -> Path:
    """One panel for each optimised setting: the test error along it, the others at their best.

    ``size`` is one or two columns of a paper, as for every picture.
    """
    law = answer.prediction
    # A schedule has no curve along it.
    names = [name for name in names if "/" not in str(law.settings[name])]
    if not names:
        raise GiantstepError("a schedule has no curve along it: optimise the ridge too, to draw it")
    with house_style(size):
        figure, panels = paper_panels(len(names), with_caption)
        for panel, name in zip(panels, names, strict=True):
            best = float(law.settings[name])
            if not best > 0:
                raise GiantstepError(f"{name} = {best:g} has no curve by decades around it")
            ends = (best / FACTOR, best * FACTOR)
            along = predict(answer.settings.replace(**{name: list(ends)}), answer.problem)
            curve = ask_theory_between(along, name)
            if curve is None or len(curve) < FEWEST:
                raise GiantstepError(f"no curve along {name} can be drawn in time")
            errors = [np.ravel(point.metrics["test_error"])[-1] for point in curve]
            least = np.ravel(law.metrics["test_error"])[-1]
            panel.plot(curve.axes[name].numbers, errors, color=COLOURS[0], label="theory")
            words = "least at the end of the search" if name in ended(law, names) else "best"
            panel.plot(
                [best], [least], "*", color=COLOURS[1], markersize=10, label=f"{words}, {best:.3g}"
            )
            if "gain_over_random_features" in law.metrics:
                without = least + float(law.metrics["gain_over_random_features"])
                panel.axhline(without, color=GREY, linestyle="--", label="best random features")
            panel.set(xscale="log", xlabel=drawn_axis_label(curve.axes[name]), ylabel="test error")
            panel.legend(loc="best")
        if with_caption:
            known = {
                name: value for name, value in answer_facts(answer).items() if name not in names
            }
            add_picture_title(figure, answer.learner, known, answer.target)
        return save_figure(figure, path)
