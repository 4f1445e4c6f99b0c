"""Names of axes, metrics and curves as pictures write them: words, with mathematics typeset."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from giantstep.answer import Axis
from giantstep.answer.places import DIRECTION, STEP, TIME, Place, metric_place
from giantstep.answer.words import answer_in_words
from giantstep.language.targets import Target, TreeTarget

#: Word and letter of what can be swept.
_AXES = {
    "samples": ("samples", "n"),
    "readout_samples": ("readout samples", "n"),
    "width": ("neurons", "p"),
    "dim": ("dimension", "d"),
    "step_size": ("step size", r"\eta"),
    "ridge": ("ridge", r"\lambda"),
    "noise": ("variance of the label noise", r"\Delta"),
    "steps": ("giant steps", "T"),
    STEP: ("giant step", "t"),
    TIME: ("time", r"\tau"),
    "spike": ("spike", "s"),
    "kappa": ("projection", r"\kappa"),
}
_METRICS = {
    "overlap": "overlap (cosine)",
    "overlap_squared": "squared overlap",
    "test_error_noisy": "test error with noise",
    "converged": "share that converged",
    "feature_mean": r"mean of a feature $\mu_0(\kappa)$",
    "feature_slope": r"slope of a feature $\mu_1(\kappa)$",
    "feature_noise": r"noise of a feature $\mu_\star(\kappa)$",
}


def drawn_axis_label(axis: Axis) -> str:
    r"""What stands under an axis, with its unit.

    >>> from giantstep.language.sizes import Size
    >>> drawn_axis_label(Axis("samples", (Size(1.0, 1.0), Size(2.0, 1.0))))
    'samples $n/d$'
    >>> drawn_axis_label(Axis("ridge", (0.1, 1.0)))
    'ridge $\\lambda$'
    """
    word, letter = _AXES.get(axis.name, (axis.name.replace("_", " "), ""))
    unit = axis.title.removeprefix(axis.name.replace("_", " "))
    if "power" in unit:
        return f"{word}, power of $d$"
    unit = unit.replace(" / ", "/")
    if "^" in unit:
        base, power = unit.split("^")
        unit = f"{base}^{{{power}}}"
    return f"{word} ${letter}{unit}$" if letter or unit else word


def drawn_metric_label(metric: str) -> str:
    """What stands beside an axis of that metric."""
    return _METRICS.get(metric, metric.replace("_", " "))


def legend_label(place: Place) -> str:
    """The place of a curve: ``step 2, $h_1$``."""
    parts = [
        f"$h_{{{str(at).removeprefix('h')}}}$"
        if axis == DIRECTION
        else drawn_literal(metric_place(((axis, at),)))
        for axis, at in place
    ]
    return ", ".join(parts)


def drawn_literal(text: str) -> str:
    """The text as it is: a dollar sign in it begins no mathematics, and it stays on one line."""
    return "".join(c if c.isprintable() else "?" for c in text).replace("$", r"\$")


def picture_caption(
    learner: str, known: Mapping[str, Any], target: Target | TreeTarget | None
) -> str:
    """Learner, target and settings on one line, the target typeset where that can be done."""
    shown = {name: value for name, value in known.items() if name != "target"}
    first = learner + (f", $y = {_drawn_target(target)}$" if target and "target" in known else "")
    return ", ".join([first, *map(_typeset_picture_size, answer_in_words(shown))])


def _drawn_target(target: Target | TreeTarget) -> str:
    """A target for matplotlib's mathematics; as plain text where it cannot set the LaTeX."""
    from matplotlib.mathtext import MathTextParser

    plain_text = target.text.replace("$", "").replace("_", r"\_")
    latex = target.latex if isinstance(target, Target) else ""
    for attempt in (latex, rf"\mathtt{{{plain_text}}}"):
        try:
            MathTextParser("agg").parse(f"${attempt}$")
        except ValueError:
            continue
        if attempt:
            return attempt
    return "g"


def _typeset_picture_size(word: str) -> str:
    """``n = 800 = 4d`` as mathematics; other settings as they are."""
    if re.fullmatch(r"[ndp] = [\w.^*= ]+", word):
        return "$" + re.sub(r"\^([\d.-]+)", r"^{\1}", word).replace("*", "") + "$"
    return word.replace("$", r"\$")
