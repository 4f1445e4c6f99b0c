"""A problem as the plain values a study file, a store or a worker holds, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giantstep.errors import SettingsError
from giantstep.inputs import Gaussian, Inputs, Sphere, Spiked
from giantstep.problem import Problem

FIELDS = ("target", "noise", "inputs")
_LAWS = {"gaussian": Gaussian, "sphere": Sphere, "spiked": Spiked}


def read_problem(given: Mapping[str, Any]) -> Problem:
    """The problem with these fields; ``noise`` and ``inputs`` may be left out."""
    unknown = sorted(set(given) - set(FIELDS))
    if unknown:
        raise SettingsError(f"problem has no field {unknown[0]!r}: use {', '.join(FIELDS)}")
    if "target" not in given:
        raise SettingsError("problem has no target: give one such as target = 'h1 + He2(h2)'")
    noise = given.get("noise", 0.0)
    return Problem.of(given["target"], noise=noise, inputs=_inputs(given.get("inputs", "gaussian")))


def _inputs(given: Inputs | str | Mapping[str, Any]) -> Inputs:
    if isinstance(given, Inputs):
        return given
    remedy = "use gaussian, sphere, or {law = 'spiked', strength = 'd^0.5'}"
    fields = dict(given) if isinstance(given, Mapping) else {"law": given}
    try:
        return _LAWS[fields.pop("law")](**fields)
    except (KeyError, TypeError):
        raise SettingsError(f"inputs = {given!r} are unknown: {remedy}") from None
