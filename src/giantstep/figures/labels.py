"""Names of axes, metrics and curves as pictures write them: words, with mathematics typeset."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from giantstep.places import DIRECTION, STEP, TIME, Place, words
from giantstep.results.words import fixed_words
from giantstep.sweep import Positions

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
    TIME: ("time in samples/d", r"\tau"),
    "spike": ("spike", "s"),
}
_METRICS = {
    "overlap": "overlap (cosine)",
    "overlap_squared": "squared overlap",
    "test_error_noisy": "test error with noise",
    "converged": "share that converged",
}


def axis_label(axis: str, positions: Positions) -> str:
    r"""What stands under an axis, with its unit.

    >>> axis_label("samples", Positions("samples", ("d", "2d")))
    'samples $n/d$'
    >>> axis_label("ridge", Positions("ridge", (0.1, 1.0)))
    'ridge $\\lambda$'
    """
    word, letter = _AXES.get(axis, (axis.replace("_", " "), ""))
    unit = positions.label.removeprefix(axis.replace("_", " "))
    if "power" in unit:
        return f"{word}, power of $d$"
    unit = unit.replace(" / ", "/")
    if "^" in unit:
        base, power = unit.split("^")
        unit = f"{base}^{{{power}}}"
    return f"{word} ${letter}{unit}$" if letter or unit else word


def metric_label(metric: str) -> str:
    """What stands beside an axis of that metric."""
    return _METRICS.get(metric, metric.replace("_", " "))


def curve_label(place: Place) -> str:
    """The place of a curve: ``step 2, $h_1$``."""
    parts = [_direction(at) if axis == DIRECTION else words(((axis, at),)) for axis, at in place]
    return ", ".join(parts)


def caption(learner: str, fixed: Mapping[str, Any]) -> str:
    """Learner, target and settings on one line, the target typeset where that can be done."""
    shown = {name: value for name, value in fixed.items() if name != "target"}
    target = fixed.get("target")
    first = [f"{learner}" + (f", $y = {typeset(target)}$" if target else "")]
    return ", ".join([*first, *map(_typeset_size, fixed_words(shown))])


def typeset(target: str) -> str:
    """A target for matplotlib's mathematics; as plain text where it cannot set the LaTeX."""
    from matplotlib.mathtext import MathTextParser

    from giantstep.errors import GiantstepError
    from giantstep.targets import Target

    plain_text = target.replace("$", "").replace("_", r"\_")
    for attempt in (lambda: Target(target).latex, lambda: rf"\mathtt{{{plain_text}}}"):
        try:
            found = attempt()
            MathTextParser("agg").parse(f"${found}$")
        except (ValueError, GiantstepError):
            continue
        return found
    return "g"


def _typeset_size(word: str) -> str:
    """``n = 800 = 4d`` as mathematics; other settings as they are."""
    if re.fullmatch(r"[ndp] = [\w.^*= ]+", word):
        return "$" + re.sub(r"\^([\d.-]+)", r"^{\1}", word).replace("*", "") + "$"
    return word.replace("$", r"\$")


def _direction(name: Any) -> str:
    return f"$h_{{{str(name).removeprefix('h')}}}$"
