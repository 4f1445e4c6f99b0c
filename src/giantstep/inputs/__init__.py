"""Where x comes from: the laws of the inputs, as small frozen objects."""

from __future__ import annotations

from giantstep.inputs.laws import Gaussian, Inputs, Sphere, Spiked

__all__ = ["Gaussian", "Inputs", "Sphere", "Spiked"]
