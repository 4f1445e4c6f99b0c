"""Settings of the learner `power-law`: a spectrum and a target that decay as powers."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import Settings, number, size, switch, whole
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

    samples: SizeField = size("1000", "samples n, a number")
    width: OptionalSizeField = size(None, "random projections p, a number; none: all features")
    ridge: NumberField = number(0.01, "ridge of the fit", low=0)
    capacity: NumberField = number(1.5, "decay a of the eigenvalues k^-a", above=1, high=100)
    source: NumberField = number(
        0.5, "smoothness r of the target, squared coefficients k^-(2ar+1)", above=0, high=100
    )
    modes: OptionalWholeField = whole(None, "number of features; none: all", low=1)
    exponents: bool = switch("predict the rates instead of the risk", only="predict")
    ridge_exponent: OptionalNumberField = number(
        None, "exponent ell of the ridge n^(1-ell)", above=0, high=20
    )
    width_exponent: OptionalNumberField = number(
        None, "exponent q of the width n^q", above=0, high=20
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
            raise SettingsError(
                "ridge_exponent is missing: --exponents needs --ridge-exponent ell, where the "
                "ridge is n^(1-ell)"
            )

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
