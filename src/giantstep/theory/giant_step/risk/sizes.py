"""The sizes that the risk after giant steps depends on, and which of them the theory covers."""

from __future__ import annotations

from typing import Any, NamedTuple

from giantstep.errors import NoTheory, TargetError, raise_refusal
from giantstep.language.inputs import (
    Gaussian,
    Spiked,
    check_input_law_aligned,
    checked_input_law,
)
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import (
    is_width_setting_fixed,
    setting_over_dim,
    step_settings_over_dim,
    step_size_settings,
)
from giantstep.theory.giant_step.start_law import limit_start_law
from giantstep.theory.spiked_random_features.conditional_features import LIMIT

#: Most steps whose risk is computed.
MOST_STEPS = 8
#: The dimension that stands for infinity beside a fixed number of neurons: 1e-8 is what it
#: leaves out, and beyond it the rounding of so small a ratio keeps the equations from converging.
FAR = 1e8


class RiskSizes(NamedTuple):
    """What steps and fit are made of, as multiples of d: the numbers that can be varied."""

    step_sizes: tuple[float, ...]
    samples_ratios: tuple[float, ...]
    readout_samples_ratio: float
    width_ratio: float
    ridge: float

    @classmethod
    def of(cls, settings: GiantStep) -> RiskSizes:
        """The sizes of the settings; the readout has as many samples as a step unless they say.

        >>> steps = GiantStep(samples="8d/2d", steps=2, width="1d", readout_samples="4d", ridge=1)
        >>> RiskSizes.of(steps)
        RiskSizes(step_sizes=(1.0, 1.0), samples_ratios=(8.0, 2.0), readout_samples_ratio=4.0, \
width_ratio=1.0, ridge=1.0)
        """
        name = "samples" if settings.readout_samples is None else "readout_samples"
        few = is_width_setting_fixed(settings)
        return cls(
            tuple(step_size_settings(settings)),
            tuple(step_settings_over_dim(settings)),
            setting_over_dim(settings, name),
            settings.width.coefficient / FAR if few else setting_over_dim(settings, "width"),
            float(settings.ridge or 0.0),
        )


def dimension(settings: GiantStep) -> float:
    """The dimension, or one that stands for the limit."""
    return float(settings.dim or (FAR if is_width_setting_fixed(settings) else LIMIT))


def check_risk_covered(problem: Problem, settings: GiantStep) -> None:
    """Raise NoTheory, in one line and before anything is computed, for what is not covered."""
    checked_input_law(problem.inputs, (Gaussian, Spiked), "the exact risk is known", NoTheory)
    check_input_law_aligned(problem.inputs, "the exact risk is known", NoTheory)
    spike = problem.inputs.spike
    few, steps, limit = is_width_setting_fixed(settings), settings.steps, settings.dim is None
    paired = settings.readout == "symmetric-sign"
    silent = steps == 1 and (paired or (settings.readout, settings.loss) == ("ones", "correlation"))
    powers = [size.power for size in settings.step_size.over(steps)]
    # One step may be small: of order d^-1/2, or between that and a plain number.
    lowest = -0.5 if steps == 1 else 0.0
    refusals = {
        f"steps = {steps}: the risk is computed for at most {MOST_STEPS} steps": steps > MOST_STEPS,
        "ridge is missing: the exact risk is that of a fitted readout; give one, such as 0.1": (
            settings.ridge is None
        ),
        "readout_samples = same: the exact risk needs fresh samples, such as 2d": (
            settings.readout_samples == "same"
        ),
        "batches = reused: the exact risk is known for fresh batches, or at a fixed --width": (
            settings.batches == "reused" and steps > 1
        ),
        "detrend: the exact risk is known without it": settings.detrend,
        f"width = {settings.width}: without a dimension a fixed number of neurons is covered for "
        "one step with readout = symmetric-sign, or ones with loss = correlation; give a multiple "
        "of d, such as 1d, or --dim": few and not silent,
        f"width = {settings.width} with biases = {settings.biases}: without a dimension the law of "
        "biases needs many neurons; give a multiple of d, such as 1d, or --dim": (
            few and settings.biases != "none"
        ),
        f"step_size = {settings.step_size}: without a dimension the risk is known for plain "
        "numbers, and after one step for powers of d from -0.5 to 0; give --dim for other steps": (
            limit and any(not lowest <= power <= 0 for power in powers)
        ),
        f"{', '.join(_uneven(settings))}: without a dimension the risk is known for multiples of "
        "d, such as 1d": limit and bool(_uneven(settings)),
        f"dim = {settings.dim} is too small: finite-size corrections need at least 10": (
            settings.dim is not None and settings.dim < 10
        ),
    }
    if spike is not None:
        plain = settings.biases == "none" and not settings.normalise and not any(powers)
        wide = settings.width.power == 1 and not _uneven(settings)
        refusals |= {
            f"inputs = {problem.inputs}: the exact risk is known for a spike of fixed strength, "
            "such as spiked:3 (one that grows with d is another limit)": spike.depends_on_dim,
            f"inputs = {problem.inputs}: with a spike the exact risk is known for fresh batches, "
            "widths and samples that are multiples of d, such as 1d, and plain step sizes "
            "(neither biases nor normalise are derived; simulate takes them)": (
                not (plain and wide) or settings.batches == "reused"
            ),
        }
    raise_refusal(refusals)
    samples = settings.readout_samples or settings.samples
    dim = dimension(settings)
    if settings.ridge == 0 and samples.at(dim) <= settings.width.at(dim):
        raise NoTheory("ridge = 0 with n <= p: give a positive ridge, such as 1e-4")
    try:
        # The square of a sign is constant, which is no target: h1 is added to it.
        Target(f"({problem.target.text})**2 + h1" if steps else problem.target.text)
    except TargetError as error:
        raise NoTheory(
            f"target = {problem.target.text[:60]}: its fourth moment is infinite, on which the "
            "lengths of rows after a step depend; use a target that grows more slowly"
        ) from error
    limit_start_law(settings)


def _uneven(settings: GiantStep) -> list[str]:
    """Sizes that are not in proportion to d."""
    sizes: dict[str, Any] = {
        "samples": settings.samples,
        "readout_samples": settings.readout_samples,
        "width": None if is_width_setting_fixed(settings) else settings.width,
    }
    return [
        f"{name} = {size}"
        for name, size in sizes.items()
        if size not in (None, "same")
        and any(each.power != 1 for each in size.over(max(settings.steps, 1)))
    ]
