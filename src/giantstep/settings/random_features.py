"""Settings of the learner `random-features`: a two-layer network whose first layer stays random."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import (
    TEST_SAMPLES,
    Settings,
    activation_option,
    number,
    option,
    size,
    whole,
)
from giantstep.settings.types import (
    ActivationField,
    NumberField,
    OptionalWholeField,
    SizeField,
    WholeField,
    WordField,
)

#: Losses with a name and a closed form; others are expressions in y and f.
CLOSED_FORMS = ("square", "logistic", "hinge")


@dataclasses.dataclass(frozen=True, kw_only=True)
class RandomFeatures(Settings):
    """The readout of p random neurons is fitted to n samples; the neurons do not learn.

    With ``f(x) = (1/sqrt p) sum_j a_j sigma(w_j.x + b_j)`` the fit minimises
    ``sum_i (y_i - f(x_i))^2 + ridge |a|^2`` for the square loss, and
    ``sum_i l(y_i, f(x_i)) + (ridge/2) |a|^2`` for all others.
    """

    learner: ClassVar[str] = "random-features"

    dim: OptionalWholeField = whole(
        None, "dimension d; without it, the limit of large d is predicted", low=3
    )
    samples: SizeField = size("2d", "samples n")
    width: SizeField = size("1d", "number of random neurons p")
    ridge: NumberField = number(0.1, "ridge of the readout fit", low=0)
    activation: ActivationField = activation_option("relu")
    loss: WordField = option(
        "square",
        "loss of the fit: square, logistic or hinge (for labels -1 and 1), or a convex function of "
        "the output f written in y and f: huber(y-f), abs(y-f), log(1+exp(-y*f)), ...",
    )
    start: str = option("sphere", "law of the weights", choices=("sphere", "gaussian"))
    biases: str = option("none", "biases of the neurons", choices=("none", "normal", "uniform"))
    test_samples: WholeField = whole(4000, TEST_SAMPLES, low=1, only="simulate")

    def check(self) -> None:
        """Rules that tie several fields together; see :class:`Settings`."""
        if self.loss not in CLOSED_FORMS:
            # Expressions are read by code that a list of options should not wait for.
            from giantstep.language.losses import loss_from_text

            loss_from_text(self.loss)
        if self.loss != "square" and self.ridge == 0:
            raise SettingsError(
                f"ridge = 0 with loss = {self.loss!r}: the minimum may not exist; "
                "give a ridge above 0, such as 1e-3"
            )
