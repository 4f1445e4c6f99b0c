"""The gallery: one file per figure, each a small study and a plot."""

from __future__ import annotations

import importlib

from giantstep.errors import GiantstepError
from giantstep.figures.figure import Figure

#: The figures in the order of the story; `one-step-risk` is drawn by `one_step_risk.FIGURE`.
NAMES = (
    *(
        "staircase",
        "neuron-clouds",
        "staircases",
        "in-law",
        "coordinate-check",
        "phase-transition",
        "small-batch",
        "reused-batch",
        "floors",
    ),
    *("online-staircase", "repetition", "grand-staircase", "exit-times", "saad-solla"),
    "mean-field",
    *(
        "one-step-risk",
        "step-size",
        "one-step-batch",
        "random-features-vs-giant-step",
        "equivalence",
        "risk-bounds",
        "growing-basis",
    ),
    *("weight-spectrum", "feature-spectrum", "feature-spikes", "settings-1-2"),
    *("double-descent", "polynomial-staircase", "spiked-kernel", "scaling-laws"),
    *("depth-scenarios", "depth-adam", "depth-span"),
    *("scaling-plane", "universality"),
    *("kernel-vs-network", "flow-repulsion", "flow-complexity", "langevin-parity"),
    *(
        "logistic",
        "classification",
        "amp-parity",
        "amp-staircase",
        "committees",
        "spectral-transition",
        "iterations",
    ),
)


def figure_named(name: str) -> Figure:
    """The figure of that name."""
    if name not in NAMES:
        raise GiantstepError(f"figure = {name!r} is unknown: use one of {', '.join(NAMES)}")
    return importlib.import_module(f"{__name__}.{name.replace('-', '_')}").FIGURE
