"""Settings of the learner `repetition`: the first moves of a neuron that sees each sample twice."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.settings.options import Settings, activation_option, number, size, whole
from giantstep.settings.types import ActivationField, NumberField, OptionalWholeField, SizeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Repetition(Settings):
    """One neuron without overlap looks ahead along a sample before it moves along the same sample.

    ``D = a y sigma'(h + (lookahead |x|^2 / d) a y sigma'(h))`` is how far it moves along x.
    """

    learner: ClassVar[str] = "repetition"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    activation: ActivationField = activation_option("relu", moved=True)
    lookahead: NumberField = number(
        0.3, "step inside the gradient: above 0 extragradient, below 0 SAM", high=1e6
    )
    readout: NumberField = number(1.0, "readout a of the neuron", high=1e6)
    samples: SizeField = size(
        "100000", "samples over which a simulation takes means", only="simulate"
    )
