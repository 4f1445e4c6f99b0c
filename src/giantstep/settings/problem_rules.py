"""What a problem and a learner's settings must agree on."""

from __future__ import annotations

from giantstep.errors import SettingsError
from giantstep.problem import Problem


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
