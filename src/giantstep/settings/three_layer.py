"""Settings of the learner `three-layer`: networks of two and three layers on a tree."""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import (
    TEST_SAMPLES,
    Settings,
    activation_option,
    option,
    size,
    switch,
    whole,
)
from giantstep.settings.types import (
    ActivationField,
    OptionalSizeField,
    OptionalWholeField,
    SizeField,
    WholeField,
)

#: Layer by layer: each of them shares the first layer of those before it.
LAYERWISE = ("first-layer", "second-layer", "joint")
SCENARIOS = ("lazy", *LAYERWISE, "adam", "authors")
#: Neurons of the first and of the second hidden layer unless they are given. A first layer of
#: fewer neurons than there are cubic polynomials of the leaves cannot fit what the second reads.
WIDTHS = {"adam": (256, 32), "authors": (1000, 100)}
LAYERWISE_WIDTHS = (500, 1000)
#: Passes of AdamW over the samples: so many that 4e5 samples are seen, within these bounds.
SEEN, FEWEST_EPOCHS, MOST_EPOCHS = 4e5, 50, 200


@dataclasses.dataclass(frozen=True, kw_only=True)
class ThreeLayer(Settings):
    """How far a network of three layers is trained on a tree, and how.

    ``lazy``: a ridge regression on all monomials of degree 1 and 2 of the inputs. ``first-layer``:
    the first layer is trained, then a readout is fitted on it, or on a random second layer.
    ``second-layer``: the second layer too. ``joint``: then the first again, through the second.
    Each reports those before it, on the same first layer. ``adam``: two and three layers trained by
    AdamW on the same samples. ``authors``: the schedule of Dandi et al. 2025, with momentum and a
    second-layer rate that is stable.
    """

    learner: ClassVar[str] = "three-layer"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=2)
    samples: SizeField = size("d^2", "samples n, used again by every layer")
    scenario: str = option("joint", "how far and how the network is trained", choices=SCENARIOS)
    layers: str = option(
        "both",
        "layers of the network that adam trains",
        choices=("2", "3", "both"),
        only="simulate",
    )
    leaves: OptionalSizeField = size(
        None,
        "directions of the first layer: a size, or auto to count them; none: those of the target",
        words=("auto",),
        only="simulate",
    )
    oracle: bool = switch(
        "draw the first layer inside the span of the true leaves", only="simulate"
    )
    width: OptionalSizeField = size(
        None, "neurons of the first layer (default 500; adam 256, authors 1000)", only="simulate"
    )
    second_width: OptionalSizeField = size(
        None, "neurons of the second layer (default 1000; adam 32, authors 100)", only="simulate"
    )
    steps: OptionalWholeField = whole(
        None,
        "steps of the first layer (default 4; authors 15 ln d), or epochs of adam",
        low=1,
        high=1e5,
        only="simulate",
    )
    activation: ActivationField = activation_option("relu", only="simulate", moved=True)
    test_samples: WholeField = whole(4000, TEST_SAMPLES, low=2, only="simulate")

    def check(self) -> None:
        """Refuse settings that the scenario does not use; see :class:`Settings`."""
        if self.scenario not in LAYERWISE and self.oracle:
            raise SettingsError(
                f"oracle goes with scenario = {' or '.join(LAYERWISE)}: {self.scenario} trains its "
                "own first layer, or none"
            )
        if self.scenario not in LAYERWISE and self.leaves is not None:
            raise SettingsError(
                f"leaves = {self.leaves} goes with scenario = {' or '.join(LAYERWISE)}: "
                f"{self.scenario} does not count them"
            )
        if self.oracle and self.leaves is not None:
            raise SettingsError(f"leaves = {self.leaves} with oracle: the oracle knows the leaves")
        if self.scenario != "adam" and self.layers != "both":
            raise SettingsError(f"layers = {self.layers} goes with scenario = adam alone")

    @property
    def networks(self) -> tuple[str, ...]:
        """The networks whose errors are reported, in their order."""
        if self.scenario == "lazy":
            return ("lazy",)
        if self.scenario == "adam":
            return tuple(f"adam-{n}" for n in (2, 3) if self.layers in (str(n), "both"))
        through = "second-layer" if self.scenario == "authors" else self.scenario
        return ("two-layer", *LAYERWISE[: LAYERWISE.index(through) + 1])

    @property
    def stages(self) -> tuple[str, ...]:
        """The first layers whose span is reported, in their order."""
        if self.scenario == "lazy":
            return ()
        if self.scenario in ("adam", "authors"):
            return self.networks if self.scenario == "adam" else ("steps",)
        return ("steps", "fitted", *(["joint"] if self.scenario == "joint" else []))

    def widths(self, dim: int) -> tuple[int, int]:
        """Neurons of the two hidden layers."""
        usual = WIDTHS.get(self.scenario, LAYERWISE_WIDTHS)
        given = (self.width, self.second_width)
        names = ("width", "second_width")
        return tuple(  # type: ignore[return-value]
            n if size is None else size.count(dim, name)
            for size, n, name in zip(given, usual, names, strict=True)
        )

    def number_of_steps(self, dim: int) -> int:
        """Steps of the first layer, or epochs of AdamW."""
        if self.steps is not None:
            return self.steps
        if self.scenario == "adam":
            epochs = round(SEEN / self.samples.count(dim, "samples"))
            return min(max(epochs, FEWEST_EPOCHS), MOST_EPOCHS)
        return round(15 * math.log(dim)) if self.scenario == "authors" else 4
