"""Settings of the learner `pca`: the inputs' top principal component, and a curve along it."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.settings.options import TEST_SAMPLES, Settings, number, size, whole
from giantstep.settings.types import OptionalWholeField, RidgeField, SizeField, WholeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Pca(Settings):
    """Project the inputs on their top principal component; fit a polynomial of it by ridge.

    The component does not look at the labels: it finds a spike of the inputs, and with it the
    target if the two are aligned.
    """

    learner: ClassVar[str] = "pca"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=2)
    samples: SizeField = size("4d", "samples n")
    degree: WholeField = whole(8, "degree of the polynomial along the component", low=1, high=30)
    ridge: RidgeField = number(
        "gcv", "ridge of the polynomial fit, or gcv to choose it", low=0, words=("gcv",)
    )
    test_samples: WholeField = whole(4000, TEST_SAMPLES, low=1)
