"""Settings of the learner `repetition`: the first moves of a neuron that sees each sample twice."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.language.sizes import Size
from giantstep.settings.options import Settings, option
from giantstep.settings.types import ActivationField, NumberField, OptionalWholeField, SizeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Repetition(Settings):
    """One neuron without overlap looks ahead along a sample before it moves along the same sample.

    ``D = a y sigma'(h + (lookahead |x|^2 / d) a y sigma'(h))`` is how far it moves along x.
    """

    learner: ClassVar[str] = "repetition"

    dim: OptionalWholeField = option(None, "dimension d of the inputs", kind=int, low=1)
    activation: ActivationField = option(
        "relu", "activation: relu, tanh, erf2, He3, 'relu(z-1)', ...", moved=True
    )
    lookahead: NumberField = option(
        0.3, "step inside the gradient: above 0 extragradient, below 0 SAM", kind=float, high=1e6
    )
    readout: NumberField = option(1.0, "readout a of the neuron", kind=float, high=1e6)
    samples: SizeField = option(
        "100000", "samples over which a simulation takes means", kind=Size, only="simulate"
    )
