"""Where x comes from: the laws of the inputs, as small frozen objects."""

from __future__ import annotations

from giantstep.inputs.coverage import check_aligned, check_covered
from giantstep.inputs.laws import Gaussian, Hypercube, Inputs, Sphere, Spiked
from giantstep.inputs.reading import read_inputs

__all__ = [
    "Gaussian",
    "Hypercube",
    "Inputs",
    "Sphere",
    "Spiked",
    "check_aligned",
    "check_covered",
    "read_inputs",
]
