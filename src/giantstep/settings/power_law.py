"""Settings of the learner `power-law`: a spectrum and a target that decay as powers."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.language.sizes import Size
from giantstep.settings.options import Settings, option
from giantstep.settings.types import (
    NumberField,
    OptionalNumberField,
    OptionalSizeField,
    OptionalWholeField,
    SizeField,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class PowerLaw(Settings):
    """Gaussian features of variance k^-a, a target with squared coefficients k^-(2ar+1).

    The fit sees p random projections of the features, or all of them without ``width``, and
    minimises ``sum_i (y_i - f(x_i))^2 + ridge |a|^2``. With ``exponents`` the prediction is the
    rates of the risk for p = n^q and ridge = n^(1 - ell).
    """

    learner: ClassVar[str] = "power-law"

    samples: SizeField = option("1000", "samples n, a number", kind=Size)
    width: OptionalSizeField = option(
        None, "random projections p, a number; none: all features", kind=Size
    )
    ridge: NumberField = option(0.01, "ridge of the fit", kind=float, low=0)
    capacity: NumberField = option(
        1.5, "decay a of the eigenvalues k^-a", kind=float, above=1, high=100
    )
    source: NumberField = option(
        0.5,
        "smoothness r of the target, squared coefficients k^-(2ar+1)",
        kind=float,
        above=0,
        high=100,
    )
    modes: OptionalWholeField = option(None, "number of features; none: all", kind=int, low=1)
    exponents: bool = option(
        False, "predict the rates instead of the risk", kind=bool, only="predict"
    )
    ridge_exponent: OptionalNumberField = option(
        None, "ell: the ridge is n^(1-ell)", kind=float, above=0, high=20
    )
    width_exponent: OptionalNumberField = option(
        None, "q: the width is n^q", kind=float, above=0, high=20
    )

    def check(self) -> None:
        """Rules that tie several fields together; see :class:`Settings`."""
        for name in ("samples", "width"):
            size = getattr(self, name)
            if size is not None and size.power != 0:
                raise SettingsError(
                    f"{name} = {size}: power laws have no dimension d, give a number"
                )
        if self.exponents and self.ridge_exponent is None:
            raise SettingsError("exponents need a ridge_exponent (ridge = n^(1-ell))")

    def number_of_samples(self) -> float:
        """n."""
        return self.samples.at(1)

    def number_of_projections(self) -> float:
        """p: the width, or n^q where its exponent is given, or infinite."""
        if self.width_exponent is not None:
            return self.number_of_samples() ** self.width_exponent
        return float("inf") if self.width is None else self.width.at(1)

    def ridge_value(self) -> float:
        """The ridge, or n^(1-ell) where its exponent is given."""
        if self.ridge_exponent is not None:
            return self.number_of_samples() ** (1 - self.ridge_exponent)
        return self.ridge
