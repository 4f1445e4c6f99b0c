"""What a problem and a learner's settings must agree on."""

from __future__ import annotations

from giantstep.errors import SettingsError
from giantstep.language.problem import Problem


def has_binary_labels(problem: Problem) -> bool:
    """Whether labels are -1 and 1, as a classification loss reads them.

    >>> has_binary_labels(Problem.of("sign(h1)")), has_binary_labels(Problem.of("h1"))
    (True, False)
    """
    values = problem.target.discrete_values
    return values is not None and set(values) <= {-1.0, 0.0, 1.0} and not problem.noise


def check_loss_setting(problem: Problem, loss: str) -> None:
    """Refuse labels that a classification loss cannot read."""
    remedy = "write the target as sign(...), with noise inside it such as sign(h1 + 0.5*z1)"
    if has_binary_labels(problem):
        return
    if not problem.noise:
        raise SettingsError(
            f"loss = {loss!r} needs labels -1 and 1, which {problem.target.text!r} does not take: "
            f"{remedy}"
        )
    raise SettingsError(
        f"loss = {loss!r} needs labels -1 and 1, to which noise = {problem.noise:g} cannot be "
        f"added: {remedy}"
    )
