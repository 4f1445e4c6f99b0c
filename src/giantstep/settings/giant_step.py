"""Settings of the learner `giant-step`: a two-layer network that takes a few giant steps."""

from __future__ import annotations

import dataclasses
from typing import ClassVar

from giantstep.errors import SettingsError
from giantstep.settings.options import Settings, option
from giantstep.settings.types import (
    ActivationField,
    OptionalNumberField,
    OptionalSizeField,
    SizeField,
)
from giantstep.sizes import Size


@dataclasses.dataclass(frozen=True, kw_only=True)
class GiantStep(Settings):
    """A two-layer network takes `steps` gradient steps on its first layer, then fits its readout.

    The step, in the project's unit:
    ``w_j <- w_j + step_size * a_j * (1/n) sum_i (y_i - f(x_i)) sigma'(w_j.x_i + b_j) x_i``
    with ``f(x) = (1/p) sum_j a_j sigma(w_j.x + b_j)``.
    """

    learner: ClassVar[str] = "giant-step"

    dim: int | None = option(None, "dimension d of the inputs", kind=int, low=1)
    samples: SizeField = option("4d", "samples n of each gradient step", kind=Size)
    steps: int = option(1, "number of gradient steps T", kind=int, low=0)
    step_size: SizeField = option(
        "1",
        "step size eta in w_j <- w_j + eta a_j (1/n) sum_i (y_i - f) sigma' x_i: order 1 moves a "
        "neuron by order 1 (maximal update); an expression in d",
        kind=Size,
        high=1e12,
    )
    width: SizeField = option("20", "number of neurons p", kind=Size)
    activation: ActivationField = option(
        "relu", "activation: relu, tanh, erf2, He3, 'relu(z-1)', ..."
    )
    biases: str = option("none", "biases of the neurons", choices=("none", "normal", "uniform"))
    start: str = option("sphere", "law of the first weights", choices=("sphere", "gaussian"))
    readout: str = option(
        "symmetric-sign",
        "readout at the start: ones, sign, symmetric-sign, normal, or value:probability,...",
    )
    batches: str = option("fresh", "samples of each step", choices=("fresh", "reused"))
    loss: str = option("square", "loss of the first layer", choices=("square", "correlation"))
    detrend: bool = option(False, "remove the empirical constant and linear part of y", kind=bool)
    normalise: bool = option(False, "put the rows back on the sphere after each step", kind=bool)
    ridge: OptionalNumberField = option(
        None, "ridge of the readout fit; none: no fit", kind=float, low=0
    )
    readout_samples: OptionalSizeField = option(
        None,
        "fresh samples for the readout fit (default: as `samples`), or `same` for the batch",
        kind=Size,
        words=("same",),
    )
    test_samples: SizeField = option(
        "10000", "fresh samples that measure the test error", kind=Size, only="simulate"
    )
    method: str = option(
        "auto", "how to simulate", choices=("auto", "direct", "in-law"), only="simulate"
    )
    dtype: str = option(
        "float32",
        "precision of sums over samples; solves are float64",
        choices=("float32", "float64"),
        only="simulate",
    )

    def check(self) -> None:
        """A readout that can be read; see :class:`Settings`."""
        self.readout_support()

    def readout_support(self) -> tuple[tuple[float, ...], tuple[float, ...]] | None:
        """Values and probabilities of a readout with finite support; None for `normal`."""
        named = {
            "ones": ((1.0,), (1.0,)),
            "sign": ((-1.0, 1.0), (0.5, 0.5)),
            "symmetric-sign": ((-1.0, 1.0), (0.5, 0.5)),
            "normal": None,
        }
        if self.readout in named:
            return named[self.readout]
        remedy = "use ones, sign, symmetric-sign, normal, or pairs such as -1:0.3,0.5:0.3,2:0.4"
        try:
            pairs = [tuple(float(t) for t in pair.split(":")) for pair in self.readout.split(",")]
            values, weights = zip(*[(v, w) for v, w in pairs], strict=True)
        except ValueError:
            raise SettingsError(f"readout = {self.readout!r} cannot be read: {remedy}") from None
        finite = all(abs(v) < 1e6 for v in values)
        if not finite or min(weights) <= 0 or abs(sum(weights) - 1) > 1e-6:
            raise SettingsError(
                f"readout = {self.readout!r}: probabilities must sum to 1; {remedy}"
            )
        return values, weights
