"""Settings of the learner `langevin`: noisy gradient descent of a wide network of tanh units."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import Settings, number, size, whole
from giantstep.settings.types import NumberField, OptionalWholeField, SizeField, WholeField


@dataclasses.dataclass(frozen=True, kw_only=True)
class Langevin(Settings):
    """Particles X = (w, b, e): f(x) = mean_j radius * [tanh(w_j.x + b_j) + 2 tanh(e_j)]/3.

    Each step ``X <- X - step_size * (grad + 2 * temperature * decay * X)
    + sqrt(2 * temperature * step_size) * noise``, with the gradient of the mean logistic loss in
    mean-field time (no 1/N) and a temperature that falls geometrically.
    """

    learner: ClassVar[str] = "langevin"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    samples: SizeField = size("4d", "samples n")
    width: SizeField = size("500", "number of particles N")
    steps: WholeField = whole(2000, "number of steps", low=1)
    step_size: NumberField = number(1.0, "step size eta", above=0, high=1e3)
    temperature: NumberField = number(0.1, "temperature lambda at the start", above=0, high=1e3)
    last_temperature: NumberField = number(
        0.001, "temperature at the end; it falls geometrically", above=0, high=1e3
    )
    decay: NumberField = number(0.1, "weight decay lambda_1", above=0, high=1e3)
    radius: NumberField = number(15.0, "scale R of the outputs", above=0, high=1e6)
    test_samples: WholeField = whole(4000, "fresh samples that measure the accuracy", low=1)

    def check(self) -> None:
        """A decay small enough for one step; see :class:`Settings`."""
        hottest = max(self.temperature, self.last_temperature)
        if self.step_size * hottest * self.decay >= 1:
            raise SettingsError(
                f"step_size = {self.step_size:g}: with temperature = {hottest:g} and decay = "
                f"{self.decay:g} the particles run away; keep the product of the three below 1"
            )
