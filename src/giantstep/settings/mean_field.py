"""Settings of the learner `mean-field`: a wide network in the population flow."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.settings.options import Settings, activation_option, number, option, size, whole
from giantstep.settings.types import ActivationField, NumberField, OptionalWholeField, SizeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class MeanField(Settings):
    """A wide two-layer network follows the gradient of the population risk, readouts fixed at +-1.

    ``w_j <- w_j + step * a_j E[(y - f) sigma'(w_j.x) x]``, ``f = (1/p) sum_j a_j sigma(w_j.x)``;
    time is the sum of the steps. A simulation replaces the mean by one over fresh samples.
    """

    learner: ClassVar[str] = "mean-field"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    times: str = option("1,2,5", "times to look at: a list, or a range 0:10:11")
    step: NumberField = number(0.1, "time that one step takes", above=0, high=1e6)
    width: SizeField = size("100", "number of neurons p, or of particles")
    activation: ActivationField = activation_option("tanh", moved=True)
    samples: SizeField = size("50d", "fresh samples of each step of a simulation", only="simulate")

    def check(self) -> None:
        """Times that increase."""
        object.__setattr__(self, "times", OnlineSgd(times=self.times).times)

    @property
    def time_list(self) -> tuple[float, ...]:
        """The times to look at."""
        return tuple(float(time) for time in self.times.split(","))

    @property
    def step_counts(self) -> tuple[int, ...]:
        """Steps until each of the times."""
        return tuple(round(time / self.step) for time in self.time_list)

    def even_width(self, dim: int) -> int:
        """The width, which must be even: half of the readouts are +1, half are -1."""
        width = self.width.count(dim, "width")
        if width % 2:
            raise SettingsError(
                f"width = {width} is odd: every row is there twice; use an even one"
            )
        return width
