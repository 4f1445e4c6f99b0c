"""Settings of the learner `online-sgd`: a first layer that sees one sample, or few, at a time."""

from __future__ import annotations

import dataclasses
import itertools
import math
import re
from typing import ClassVar

from giantstep.errors import SettingsError, shown
from giantstep.language.sizes import Size
from giantstep.settings.neuron_readouts import listed_readouts, readout_setting_by_neuron
from giantstep.settings.options import Settings, activation_option, number, option, size, whole
from giantstep.settings.sweeps import setting_range_values
from giantstep.settings.types import (
    ActivationField,
    NumberField,
    OptionalNumberField,
    OptionalWholeField,
    SizeField,
    WholeField,
)

#: A start overlap: a sign, then a number or an expression in d.
_SIGNED = re.compile(r"^(?P<sign>[+-]?)(?P<size>.+)$")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OnlineSgd(Settings):
    """Each sample is used once: p neurons take a small step after every batch of few samples.

    ``w_j <- w_j + (step_size * batch / d) * mean_i D_ij x_i``, then back to the sphere, with
    ``D_j = a_j (y - f) sigma'(h_j)`` for the square loss, ``f = (1/p) sum_j a_j sigma(h_j)``, and
    ``D_j = a_j y sigma'(h_j + (lookahead |x|^2 / d) a_j y sigma'(h_j))`` for the correlation loss.
    Time is samples / d.
    """

    learner: ClassVar[str] = "online-sgd"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    times: str = option("1,2,4,8", "times to look at, in samples/d: a list, or a range 0:10:11")
    step_size: SizeField = size(
        "1", "step size for each sample, in units of 1/d, an expression in d", high=1e12
    )
    activation: ActivationField = activation_option("relu", moved=True)
    loss: str = option("square", "loss of the first layer", choices=("square", "correlation"))
    geometry: str = option(
        "sphere", "whether rows go back to the sphere", choices=("sphere", "free")
    )
    width: SizeField = size("1", "number of neurons p")
    readout: str = option(
        "ones", "readouts a_j of f = (1/p) sum_j a_j sigma: ones, symmetric-sign, or 1,-1,1,-1"
    )
    lookahead: NumberField = number(
        0.0, "step inside the gradient: above 0 extragradient, below 0 SAM", high=1e6
    )
    batch: WholeField = whole(1, "samples of each step", low=1, high=1e9)
    start_overlap: str = option(
        "random", "cosines at the start, one for each direction (0.1,-d^-0.5), neurons apart by ;"
    )
    until: OptionalNumberField = number(
        None, "record when the overlap reaches this size", above=0, high=1
    )
    test_samples: SizeField = size("8192", "points that measure the test error", only="simulate")
    method: str = option(
        "auto", "how to simulate", choices=("auto", "direct", "in-law"), only="simulate"
    )

    def check(self) -> None:
        """Times must increase; start overlaps, readouts and losses must go together."""
        object.__setattr__(self, "times", ",".join(f"{time:.12g}" for time in self._read_times()))
        listed = listed_readouts(self.readout) or ()
        self.readouts(max(len(listed), 2))
        if self.start_overlap != "random":
            self._signed_sizes()
        if self.lookahead and self.loss == "square":
            raise SettingsError(
                f"lookahead = {self.lookahead:g} with the square loss: its law is not known; "
                "use --loss correlation, or --lookahead 0"
            )

    @property
    def time_list(self) -> tuple[float, ...]:
        """The times to look at."""
        return tuple(float(time) for time in self.times.split(","))

    def readouts(self, width: int) -> tuple[float, ...]:
        """a_j of each of the ``width`` neurons."""
        values = readout_setting_by_neuron(self.readout, width)
        if values is None:
            raise SettingsError(
                f"readout = {shown(self.readout)} cannot be read: use ones, symmetric-sign, or one "
                "number for each neuron such as 1,-1,1,-1"
            )
        return values

    def start_overlaps(self, rank: int, width: int, dim: float) -> list[list[float]] | None:
        """Cosines of each neuron with each direction; None where the start is random."""
        if self.start_overlap == "random":
            return None
        sizes = self._signed_sizes()
        rows = [[sign * size.at(dim) if size else 0.0 for sign, size in row] for row in sizes]
        given = f"start_overlap = {shown(self.start_overlap)}"
        if any(len(row) > rank for row in rows):
            raise SettingsError(
                f"{given} has {max(map(len, rows))} values and the target {rank} "
                f"direction{'s' * (rank > 1)}: give at most {rank} for each neuron"
            )
        # One value stands for every direction that is there, one row for every neuron.
        rows = [row * rank if len(row) == 1 else row + [0.0] * (rank - len(row)) for row in rows]
        if len(rows) not in (1, width):
            raise SettingsError(
                f"{given} has {len(rows)} rows for {width} neurons: give one row, or one for each"
            )
        longest = max(math.sqrt(sum(x * x for x in row)) for row in rows)
        if longest > 1 + 1e-12:
            varies = any(size and size.power for row in sizes for _, size in row)
            where = f" at d = {dim:g}" if varies else ""
            raise SettingsError(
                f"{given} has the norm {longest:.4g}{where}: cosines with orthogonal directions "
                "have a norm of at most 1"
            )
        return rows * width if len(rows) == 1 else rows

    def _signed_sizes(self) -> list[list[tuple[float, Size | None]]]:
        return [
            [_signed_setting(part.strip(), self.start_overlap) for part in row.split(",")]
            for row in self.start_overlap.split(";")
        ]

    def _read_times(self) -> list[float]:
        text = self.times.strip("[]() ")
        given = f"times = {shown(self.times)}"
        if text.count(":") == 2:
            sizes = setting_range_values(text, "times")
            if any(size.power for size in sizes):
                raise SettingsError(f"{given}: times are samples/d already, give plain numbers")
            times = [size.coefficient for size in sizes]
        else:
            try:
                times = [float(part) for part in text.split(",")]
            except ValueError:
                raise SettingsError(
                    f"{given} cannot be read: give a list such as 1,2,4 or a range such as 0:10:11"
                ) from None
        if not all(0 <= time <= 1e12 for time in times):
            raise SettingsError(f"{given}: give numbers from 0 to 1e12")
        if any(later <= earlier for earlier, later in itertools.pairwise(times)):
            raise SettingsError(f"{given} do not increase: give each time once, smallest first")
        return times


def _signed_setting(text: str, whole: str) -> tuple[float, Size | None]:
    """A sign and a size; a zero has none."""
    match = _SIGNED.match(text)
    try:
        if match and float(match["size"]) == 0:
            return 1.0, None
    except ValueError:
        pass
    if not match:
        raise SettingsError(
            f"start_overlap = {shown(whole)} cannot be read: give numbers or expressions in d such "
            "as 0.1,-d^-0.5, or random"
        )
    return (-1.0 if match["sign"] == "-" else 1.0), Size.parse(match["size"], "start_overlap")
