"""Settings of the learner `kernel`: ridge regression with an inner-product kernel."""

from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import TEST_SAMPLES, Settings, number, option, size, whole
from giantstep.settings.types import NumberField, OptionalWholeField, SizeField, WholeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kernel(Settings):
    """Kernel ridge regression with F(<x, x'>/d): the fit is ``k(x, X) (K + ridge)^-1 y``."""

    learner: ClassVar[str] = "kernel"

    dim: OptionalWholeField = number(
        None, "dimension d; without it, the limit of large d is predicted", low=3, high=1e60
    )
    samples: SizeField = size("1d", "samples n")
    ridge: NumberField = number(0.01, "ridge added to the kernel matrix", low=0)
    kernel: str = option(
        "exp", "kernel F: exp, arccos0, arccos1, a polynomial 1+t+t^2/2, or coefficients 1,1,0.5"
    )
    test_samples: WholeField = whole(4000, TEST_SAMPLES, low=1, only="simulate")

    def check(self) -> None:
        """Rules that tie several fields together; see :class:`Settings`."""
        if self.dim is not None:
            if self.dim != round(self.dim):
                raise SettingsError(f"dim = {self.dim!r} is not a whole number")
            # By way of its digits: 1e24 means 10^24, not the nearest float.
            object.__setattr__(self, "dim", int(Decimal(repr(float(self.dim)))))
