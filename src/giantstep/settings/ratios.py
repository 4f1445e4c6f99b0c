"""Sizes as multiples of the dimension: a whole number over d, or in the limit the coefficient."""

from __future__ import annotations

from typing import Any


def ratio_to_dim(settings: Any, name: str) -> float:
    """The size of that name over d; without a dimension it must be proportional to d.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> settings = GiantStep(width="1.5d")
    >>> ratio_to_dim(settings, "width"), ratio_to_dim(settings.replace(dim=101), "width")
    (1.5, 1.504950495049505)
    """
    return _ratio(getattr(settings, name), settings.dim, name)


def ratios_of_steps(settings: Any) -> list[float]:
    """The samples of each step over d.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> ratios_of_steps(GiantStep(samples="8d/2d", steps=2))
    [8.0, 2.0]
    """
    each = settings.samples.over(settings.steps)
    return [_ratio(size, settings.dim, "samples") for size in each]


def sizes_of_steps(settings: Any) -> list[float]:
    """The size of each step; without a dimension, that of plain numbers.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> sizes_of_steps(GiantStep(step_size="2/1", steps=2))
    [2.0, 1.0]
    """
    each = settings.step_size.over(settings.steps)
    return [float(size.at(settings.dim or 1.0)) for size in each]


def _ratio(size: Any, dim: int | None, name: str) -> float:
    return float(size.ratio(name) if dim is None else size.count(dim, name) / dim)


def fixed_width(settings: Any) -> bool:
    """Whether the number of neurons stays while d grows.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> [fixed_width(GiantStep(width=width)) for width in ("20", "1d")]
    [True, False]
    """
    return settings.dim is None and settings.width.power == 0
