"""Settings of the learner `gradient-flow`: one neuron follows its gradient, then a readout."""

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
    OptionalNumberField,
    OptionalWholeField,
    RidgeField,
    SizeField,
    WholeField,
)

#: Where a flow is read when no time is given: 400 steps of 0.2.
DEFAULT_TIME = 80.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class GradientFlow(Settings):
    """A neuron sigma(<w, x>) descends E(y - f)^2, without a factor 1/2, in one of three geometries.

    ``spherical``: on the unit sphere. ``normalised``: f = sigma(<w, x>/sqrt(q)) with step
    q = w^T Sigma w. ``preconditioned``: the same with its gradient times Sigma^-1 (Algorithm 1).
    The simulation takes gradient steps on n samples, the prediction has infinitely many.
    """

    learner: ClassVar[str] = "gradient-flow"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=3)
    samples: SizeField = size("8d", "samples n of the simulated flow")
    activation: ActivationField = activation_option("relu", moved=True)
    geometry: str = option(
        "preconditioned",
        "geometry of the flow",
        choices=("spherical", "normalised", "preconditioned"),
    )
    start_spike_overlap: OptionalNumberField = number(
        None, "start: cosine m with the spike; none: random", low=-1, high=1
    )
    start_target_overlap: OptionalNumberField = number(
        None, "start: cosine b with the target; none: random", low=-1, high=1
    )
    start_overlap: OptionalNumberField = number(
        None, "start: overlap omega of the pre-activation and h1", low=-1, high=1
    )
    times: OptionalNumberField = number(
        None, f"time at which the flow is read (default {DEFAULT_TIME:g})", low=0
    )
    until: OptionalNumberField = number(
        None, "overlap omega whose hitting time is asked for", low=-1, high=1
    )
    step: NumberField = number(0.2, "time step of the simulated flow", above=0)
    starts: WholeField = whole(
        8, "random starts of the simulated flow, each with both signs", low=1
    )
    width: SizeField = size("100", "neurons of the readout, with random biases")
    ridge: RidgeField = number(
        "gcv", "ridge of the readout, or gcv to choose it", low=0, words=("gcv",)
    )
    test_samples: WholeField = whole(4000, TEST_SAMPLES, low=1)
    dtype: str = option(
        "float32", "precision of the simulated flow", choices=("float32", "float64")
    )

    def check(self) -> None:
        """A start is given once; see :class:`Settings`."""
        if self.start_overlap is not None and self.has_two_overlaps:
            raise SettingsError(
                f"start_overlap = {self.start_overlap:g} is given beside the overlaps with spike "
                "and target, which determine it: give one or the other"
            )
        if self.until is not None and abs(self.until) == 1:
            raise SettingsError(f"until = {self.until:g} is reached after infinite time: go below")

    @property
    def has_two_overlaps(self) -> bool:
        """Whether an overlap with the spike or with the target is given."""
        return self.start_spike_overlap is not None or self.start_target_overlap is not None

    @property
    def has_start(self) -> bool:
        """Whether the start is given at all."""
        return self.start_overlap is not None or self.has_two_overlaps

    @property
    def horizon(self) -> float:
        """The time at which the flow is read."""
        return DEFAULT_TIME if self.times is None else self.times
