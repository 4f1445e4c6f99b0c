"""Sizes as multiples of the dimension: a whole number over d, or in the limit the coefficient."""

from __future__ import annotations

from typing import Any


def setting_over_dim(settings: Any, name: str) -> float:
    """The size of that name over d; without a dimension it must be proportional to d.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> settings = GiantStep(width="1.5d")
    >>> setting_over_dim(settings, "width"), setting_over_dim(settings.replace(dim=101), "width")
    (1.5, 1.504950495049505)
    """
    return _setting_ratio(getattr(settings, name), settings.dim, name)


def step_settings_over_dim(settings: Any) -> list[float]:
    """The samples of each step over d.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> step_settings_over_dim(GiantStep(samples="8d/2d", steps=2))
    [8.0, 2.0]
    """
    each = settings.samples.over(settings.steps)
    return [_setting_ratio(size, settings.dim, "samples") for size in each]


def step_size_settings(settings: Any) -> list[float]:
    """The size of each step; without a dimension they must be plain numbers.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> step_size_settings(GiantStep(step_size="2/1", steps=2))
    [2.0, 1.0]
    """
    each = settings.step_size.over(settings.steps)
    return [float(size.at(settings.dim or 1.0)) for size in each]


def _setting_ratio(size: Any, dim: int | None, name: str) -> float:
    return float(size.ratio(name) if dim is None else size.count(dim, name) / dim)


def is_width_setting_fixed(settings: Any) -> bool:
    """Whether the number of neurons stays fixed while d grows.

    >>> from giantstep.settings.giant_step import GiantStep
    >>> [is_width_setting_fixed(GiantStep(width=width)) for width in ("20", "1d")]
    [True, False]
    """
    return settings.dim is None and settings.width.power == 0
