"""Settings of `spiked-random-features`: the model of a network after one giant step."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.neuron_readouts import Pairs, weighted_setting_values
from giantstep.settings.options import Settings, activation_option, number, option, size, whole
from giantstep.settings.types import (
    ActivationField,
    NumberField,
    OptionalNumberField,
    OptionalWholeField,
    SizeField,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SpikedRandomFeatures(Settings):
    """Ridge regression on ``sigma(W x)/sqrt(p)``, ``w_j = s_j v + sqrt(c_j) * unit vector``.

    Blocks of neurons share their spike s and their bulk variance c. The direction v has the
    cosine `alignment` with the target's mean gradient E[g h] (with h1 where that is zero).
    """

    learner: ClassVar[str] = "spiked-random-features"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=4)
    activation: ActivationField = activation_option("tanh")
    spike: str = option("1", "spike s of the neurons: a number, or value:fraction,...")
    bulk: str = option("1", "bulk variance c: a number, or one per block, as 1.02,1.1,1.3")
    alignment: NumberField = number(1.0, "cosine of the spike with the target", low=0)
    readout_samples: SizeField = size("2d", "samples n of the ridge regression")
    width: SizeField = size("1d", "number of neurons p")
    ridge: NumberField = number(0.1, "ridge of the readout", above=0)
    kappa: OptionalNumberField = number(
        None, "projection <v, x> at which features are predicted: their mean, slope and noise"
    )

    def check(self) -> None:
        """Spikes and bulks that can be read and go together; see :class:`Settings`."""
        if self.kappa is not None and ":" in self.spike:
            raise SettingsError(f"kappa = {self.kappa!r} takes one spike, not {self.spike!r}")
        if self.alignment > 1:
            raise SettingsError(f"alignment = {self.alignment!r} is a cosine: give at most 1")
        self.blocks()

    def blocks(self) -> tuple[tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
        """Spike, bulk variance and fraction of neurons of each block."""
        spikes, fractions = self._spikes()
        bulks = _numbers("bulk", self.bulk.split(","), "a number, or one per block: 1.02,1.1,1.3")
        if len(bulks) == 1:
            bulks *= len(spikes)
        if len(bulks) != len(spikes) or min(bulks) <= 0:
            raise SettingsError(
                f"bulk = {self.bulk!r}: give one positive number, or one for each of the "
                f"{len(spikes)} blocks of spike = {self.spike!r}"
            )
        return spikes, bulks, fractions

    def _spikes(self) -> Pairs:
        remedy = "a number, or pairs value:fraction such as -2:0.4,2:0.6"
        if ":" not in self.spike:
            return _numbers("spike", [self.spike], remedy), (1.0,)
        values, shares = weighted_setting_values("spike", self.spike, f"give {remedy}", 1e3)
        return values, tuple(share / sum(shares) for share in shares)


def _numbers(name: str, texts: Any, remedy: str) -> tuple[float, ...]:
    try:
        values = tuple(float(text) for text in texts)
    except ValueError:
        values = (math.nan,)
    if not all(math.isfinite(value) and abs(value) < 1e3 for value in values):
        raise SettingsError(f"{name} = {','.join(texts)!r} cannot be read: give {remedy}")
    return values
