"""The gallery: one file per figure, each a few questions and a plot.

The docstring of a file is the figure's title and its caption, which names sizes in braces; the file
has REFERENCES, the SIZES of its computation at each scale, and the functions ``rows``, ``draw`` and
``claims``; see :class:`giantstep.gallery.figure.Figure`.
"""

from __future__ import annotations

import importlib

from giantstep.errors import unknown_name_error
from giantstep.gallery.figure import Figure

#: The figures by theme, in the order of the story; `one-step-risk` is the module `one_step_risk`.
THEMES = {
    "Giant steps": "staircase neuron-clouds hero staircases in-law coordinate-check "
    "phase-transition small-batch several-small-batches reused-batch floors",
    "One sample at a time": "grand-staircase repetition exit-times saad-solla mean-field",
    "The error after giant steps": "one-step-risk step-size one-step-batch several-steps-risk "
    "schedule random-features-vs-giant-step equivalence risk-bounds growing-basis settings-1-2",
    "Spectra": "weight-spectrum spectrum-over-steps feature-spikes",
    "Kernels and random features": "double-descent polynomial-staircase scaling-laws "
    "scaling-plane universality logistic",
    "Structured data": "spiked-kernel kernel-vs-network flow-repulsion flow-complexity "
    "langevin-parity",
    "Depth": "depth-scenarios depth-adam depth-span",
    "Message passing": "classification amp-parity amp-staircase committees spectral-transition "
    "iterations",
}
NAMES = tuple(name for names in THEMES.values() for name in names.split())


def figure_named(name: str) -> Figure:
    """The figure of that name: what its module says of it."""
    if name not in NAMES:
        raise unknown_name_error("figure", name, NAMES)
    module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
    title, _, caption = str(module.__doc__).partition("\n")
    return Figure(
        name,
        title.removesuffix("."),
        caption,
        module.REFERENCES,
        module.SIZES,
        module.rows,
        module.draw,
        module.claims,
        getattr(module, "frames", None),
    )
