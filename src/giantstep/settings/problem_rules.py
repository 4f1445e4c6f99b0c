"""What a problem and a learner's settings say together: the law of the inputs, the labels."""

from __future__ import annotations

from typing import Any, NamedTuple

from giantstep.errors import SettingsError
from giantstep.inputs import Sphere, Spiked
from giantstep.problem import Problem
from giantstep.sizes import Size


class InputLaw(NamedTuple):
    """`gaussian` or `sphere`, and the variance that a spike adds along h1 (None: no spike)."""

    name: str
    spike: Size | None


def input_law(problem: Problem, settings: Any) -> InputLaw:
    """The law that the settings ask for, or else the problem's own."""
    given = problem.inputs
    spike = settings.spike_strength
    if spike is None and isinstance(given, Spiked):
        spike = Size.parse(given.strength, "spike_strength") if given.strength else None
    name = "sphere" if isinstance(given, Sphere) else settings.inputs
    if name == "sphere" and spike is not None:
        raise SettingsError("inputs = 'sphere' cannot have a spike_strength: use gaussian")
    return InputLaw(name, spike)


def check_binary_labels(problem: Problem, loss: str) -> None:
    """Refuse labels that a classification loss cannot read."""
    values = problem.target.discrete_values
    remedy = "write the target as sign(...), with noise inside it such as sign(h1 + 0.5*z1)"
    if values is None or not set(values) <= {-1.0, 0.0, 1.0}:
        raise SettingsError(
            f"loss = {loss!r} needs labels -1 and 1, which {problem.target.text!r} does not take: "
            f"{remedy}"
        )
    if problem.noise:
        raise SettingsError(
            f"loss = {loss!r} needs labels -1 and 1, to which noise = {problem.noise:g} cannot be "
            f"added: {remedy}"
        )
