"""Settings of the learner `giant-step`: a two-layer network that takes a few giant steps."""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar

from giantstep.errors import SettingsError, shown
from giantstep.language.sizes import Schedule, Size, StepInSamples
from giantstep.settings.neuron_readouts import (
    Pairs,
    listed_readouts,
    readout_setting_by_neuron,
    weighted_setting_values,
)
from giantstep.settings.options import (
    TEST_SAMPLES,
    Settings,
    activation_option,
    number,
    option,
    size,
    switch,
    whole,
)
from giantstep.settings.types import (
    ActivationField,
    OptionalSizeField,
    OptionalWholeField,
    RidgeField,
    SizeField,
    WholeField,
)

#: What a recipe sets, wherever a setting is left at its default.
RECIPES: dict[str, dict[str, Any]] = {
    "spiked-network": {
        "width": Size(400.0),
        "biases": "normal",
        "readout": "sign",
        "loss": "correlation",
        "centre": True,
        "forget": True,
        "redraw_biases": True,
        "ridge": "gcv",
    },
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class GiantStep(Settings):
    """A two-layer network takes `steps` gradient steps on its first layer, then fits its readout.

    The step, in the project's unit:
    ``w_j <- w_j + step_size * a_j * (1/n) sum_i (y_i - f(x_i)) sigma'(w_j.x_i + b_j) x_i``
    with ``f(x) = (1/p) sum_j a_j sigma(w_j.x + b_j)``.
    """

    learner: ClassVar[str] = "giant-step"

    dim: OptionalWholeField = whole(None, "dimension d of the inputs", low=1)
    samples: SizeField = size(
        "4d", "samples n of each gradient step; 8d/2d: one value per step", schedule=True
    )
    steps: WholeField = whole(1, "number of gradient steps T", low=0)
    step_size: SizeField = size(
        "1",
        "step size eta in w_j <- w_j + eta a_j (1/n) sum_i (y_i - f) sigma' x_i: order 1 moves a "
        "neuron by order 1 (maximal update); an expression in d, or C*n^A with 0 < A < 1/2 for "
        "eta = C n^A/sqrt(p), between small steps and giant ones; 2/1/1: one value per step",
        high=1e12,
        in_samples=True,
        schedule=True,
    )
    width: SizeField = size("20", "number of neurons p")
    activation: ActivationField = activation_option("relu", moved=True)
    biases: str = option("none", "biases of the neurons", choices=("none", "normal", "uniform"))
    start: str = option("sphere", "law of the first weights", choices=("sphere", "gaussian"))
    readout: str = option(
        "symmetric-sign",
        "readout at the start: ones, sign, symmetric-sign, normal, value:probability,..., or "
        "1,-1,1,-1 for the neurons one by one",
    )
    batches: str = option("fresh", "samples of each step", choices=("fresh", "reused"))
    loss: str = option("square", "loss of the first layer", choices=("square", "correlation"))
    detrend: bool = switch("remove the empirical constant and linear part of y")
    normalise: bool = switch("put the rows back on the sphere after each step")
    centre: bool = switch("remove the mean label of the batch")
    forget: bool = switch(
        "replace the rows by their gradient, at unit variance of the pre-activations; neurons "
        "without a gradient are dropped"
    )
    redraw_biases: bool = switch("draw new biases for the readout")
    ridge: RidgeField = number(
        None, "ridge of the readout fit, or gcv to choose it; none: no fit", low=0, words=("gcv",)
    )
    readout_samples: OptionalSizeField = size(
        None,
        "fresh samples for the readout fit (default: as `samples`), or `same` for the batch",
        words=("same",),
    )
    test_samples: SizeField = size("10000", TEST_SAMPLES, only="simulate")
    method: str = option(
        "auto", "how to simulate", choices=("auto", "direct", "in-law"), only="simulate"
    )
    dtype: str = option(
        "float32",
        "precision of sums over samples; solves are float64",
        choices=("float32", "float64"),
        only="simulate",
    )

    recipe: str = option(
        "none",
        "a named set of settings, for those left at their default: spiked-network, the network of "
        "Ba et al. under a spike",
        choices=("none", *RECIPES),
    )

    def check(self) -> None:
        """Settings of a recipe, and a readout that can be read; see :class:`Settings`."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}
        for name, value in RECIPES.get(self.recipe, {}).items():
            if str(getattr(self, name)) == str(defaults[name]):
                object.__setattr__(self, name, value)
        self._check_schedules()
        if isinstance(self.step_size, StepInSamples):
            step = self.step_size.in_dimension(self.samples, self.width)
            object.__setattr__(self, "step_size", step)
        self.readout_support()
        listed = listed_readouts(self.readout) or ()
        if len(listed) > 1:
            if self.width.power:
                raise SettingsError(
                    f"readout = {shown(self.readout)} lists {len(listed)} neurons and width = "
                    f"{self.width} grows with d: give --width {len(listed)}"
                )
            readout_setting_by_neuron(self.readout, self.width.count(1, "width"))

    def _check_schedules(self) -> None:
        for name in ("samples", "step_size"):
            given = getattr(self, name)
            if not isinstance(given, Schedule):
                continue
            if len(given.each) != self.steps:
                raise SettingsError(
                    f"{name} = {shown(str(given))} has {len(given.each)} values, one per step, and "
                    f"steps = {self.steps}: give as many (half of d is written 0.5d)"
                )
            if name == "samples" and self.batches == "reused":
                raise SettingsError(
                    f"samples = {shown(str(given))}: steps on one batch have one number of samples"
                )
            if name == "samples" and isinstance(self.step_size, StepInSamples):
                raise SettingsError(
                    f"step_size = {self.step_size} is in samples, of which there is one number per "
                    "step: give step sizes as numbers or expressions in d"
                )

    @property
    def scheduled(self) -> str:
        """The schedules among the sizes, in words; empty where every step is alike."""
        sizes = {name: getattr(self, name) for name in ("samples", "step_size")}
        return ", ".join(f"{n} = {s}" for n, s in sizes.items() if isinstance(s, Schedule))

    @property
    def without_theory(self) -> str:
        """The settings given here that no prediction covers."""
        names = ("centre", "forget", "redraw_biases", "detrend")
        given = [name for name in names if getattr(self, name)]
        return ", ".join([*given, *(["ridge = gcv"] if self.ridge == "gcv" else [])])

    @property
    def readout_is_random(self) -> bool:
        """Whether readouts are drawn from a law, not the same in every run."""
        return self.readout not in ("ones", "symmetric-sign") and not listed_readouts(self.readout)

    def readout_support(self) -> Pairs | None:
        """Values of a readout with finite support, and their shares; None for `normal`."""
        named = {
            "ones": ((1.0,), (1.0,)),
            "sign": ((-1.0, 1.0), (0.5, 0.5)),
            "symmetric-sign": ((-1.0, 1.0), (0.5, 0.5)),
            "normal": None,
        }
        if self.readout in named:
            return named[self.readout]
        listed = listed_readouts(self.readout)
        if listed is not None:
            values = tuple(sorted(set(listed)))
            return values, tuple(listed.count(value) / len(listed) for value in values)
        remedy = (
            "use ones, sign, symmetric-sign, normal, pairs such as -1:0.3,0.5:0.3,2:0.4, or one "
            "number for each neuron such as 1,-1,1,-1"
        )
        return weighted_setting_values("readout", self.readout, remedy)
