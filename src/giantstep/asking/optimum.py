"""An optimum in one sentence: where it is, what it gains, and whether it is one at all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from giantstep.answer import Prediction


def asked_optimum_words(law: Prediction, names: Sequence[str]) -> str:
    """What a prediction with ``optimise`` found.

    >>> law = Prediction(
    ...     "kernel", {"ridge": 0.5}, {"test_error": 0.25, "ridge": 0.5},
    ...     {"test_error": "theorem", "ridge": "theorem"}, ())
    >>> asked_optimum_words(law, ["ridge"])
    'best ridge 0.5: test error 0.25'
    """
    error = float(np.ravel(law.metrics["test_error"])[-1])
    best = ", ".join(f"{name.replace('_', ' ')} {_shown(law.settings[name])}" for name in names)
    text = f"best {best}: test error {error:.4g}"
    if "gain_over_random_features" in law.metrics:
        gain = float(law.metrics["gain_over_random_features"])
        without = error + gain
        share = f" ({abs(gain) / without:.0%})" if without > 0 else ""
        side = "below" if gain >= 0 else "above"
        text += f", {abs(gain):.3g}{share} {side} random features at their best ridge"
    ends = ended(law, names)
    if ends:
        where = " and ".join(name.replace("_", " ") for name in ends)
        text += (
            f"; warning: {where} is at the edge of what was searched, there is no optimum inside"
        )
    return text


def _shown(setting: object) -> str:
    """A size in three digits, or each size of a schedule."""
    return "/".join(f"{float(part):.3g}" for part in str(setting).split("/"))


def ended(law: Prediction, names: Sequence[str]) -> list[str]:
    """The settings whose search ended at an edge of its range: no optimum lies inside."""
    return [name for name in names if not np.all(np.isfinite(law.metrics.get(name, 0.0)))]
