"""Settings of the learner `spectral`: the top eigenvectors of a matrix weighted by the labels."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.settings.options import Settings, number, option, size, switch, whole
from giantstep.settings.types import NumberField, OptionalWholeField, SizeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Spectral(Settings):
    """The top eigenvector of (1/n) sum_i T(y_i) x_i x_i^T, one for each direction.

    The optimal T(y) = 1 - 1/E[h^2|y] recovers the direction as soon as any message passing does.
    """

    learner: ClassVar[str] = "spectral"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    samples: SizeField = size("4d", "samples n")
    preprocessing: str = option("optimal", "T(y): optimal, or an expression in y such as tanh(y)")
    clip: NumberField = number(50.0, "the optimal T is cut off below minus this", above=0)
    method: str = option(
        "auto",
        "blocks: one matrix per direction; linearised: message passing around zero, for directions "
        "that no rotation separates",
        choices=("auto", "blocks", "linearised"),
    )
    phases: bool = switch("predict: the transition in n/d instead", only="predict")
