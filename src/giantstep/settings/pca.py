"""Settings of the learner `pca`: the inputs' top principal component, and a curve along it."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.language.sizes import Size
from giantstep.settings.options import Settings, option
from giantstep.settings.types import OptionalWholeField, RidgeField, SizeField, WholeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pca(Settings):
    """Project the inputs on their top principal component; fit a polynomial of it by ridge.

    The component does not look at the labels: it finds a spike of the inputs, and with it the
    target if the two are aligned.
    """

    learner: ClassVar[str] = "pca"

    dim: OptionalWholeField = option(None, "dimension d of the inputs", kind=int, low=2)
    samples: SizeField = option("4d", "samples n", kind=Size)
    degree: WholeField = option(
        8, "degree of the polynomial along the component", kind=int, low=1, high=30
    )
    ridge: RidgeField = option(
        "gcv", "ridge of the polynomial fit, or gcv to choose it", kind=float, low=0, words=("gcv",)
    )
    test_samples: WholeField = option(
        4000, "fresh samples that measure the test error", kind=int, low=1
    )
