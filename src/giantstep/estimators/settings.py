"""Settings of the estimators, checked where a fit begins."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from giantstep.errors import SettingsError


def check_whole(estimator: BaseEstimator, **least: int) -> None:
    """Each of these settings is a whole number of at least so much, or ``auto`` where that is it.

    >>> from giantstep.estimators import IndexDirections
    >>> check_whole(IndexDirections(folds=1), folds=2)
    Traceback (most recent call last):
    giantstep.errors.SettingsError: folds = 1: give a whole number of at least 2
    """
    defaults = type(estimator)().get_params()
    for name, smallest in least.items():
        value = getattr(estimator, name)
        automatic = isinstance(value, str) and value == defaults[name]
        whole = isinstance(value, Integral) and not isinstance(value, bool)
        if not automatic and (not whole or value < smallest):
            choice = ", or 'auto'" if defaults[name] == "auto" else ""
            raise SettingsError(
                f"{name} = {value!r}: give a whole number of at least {smallest}{choice}"
            )


def check_switch(name: str, value: Any) -> None:
    """A setting that is on, off, or left to us."""
    if not (isinstance(value, bool | np.bool_) or (isinstance(value, str) and value == "auto")):
        raise SettingsError(f"{name} = {value!r}: give True, False or 'auto'")


def check_positive(name: str, value: Any) -> None:
    """A setting that is a number above zero."""
    if not (isinstance(value, Real) and float(value) > 0):
        raise SettingsError(f"{name} = {value!r}: give a positive number")
