"""Which laws of the inputs a learner or a theory covers: one line where it does not."""

from __future__ import annotations

from giantstep.errors import GiantstepError
from giantstep.inputs.laws import Inputs


def check_covered(
    given: Inputs, laws: tuple[type[Inputs], ...], what: str, error: type[GiantstepError]
) -> None:
    """Raise ``error`` unless the law is one of those for which ``what`` can be said.

    >>> from giantstep.errors import NoTheory
    >>> from giantstep.inputs import Gaussian, Sphere
    >>> check_covered(Sphere(), (Gaussian,), "giant steps are predicted", NoTheory)
    Traceback (most recent call last):
    giantstep.errors.NoTheory: inputs = sphere: giant steps are predicted for gaussian inputs alone
    """
    if not isinstance(given, laws):
        names = " or ".join(law.name for law in laws)
        covered = f"isotropic inputs alone, {names}" if len(laws) > 1 else f"{names} inputs alone"
        raise error(f"inputs = {given}: {what} for {covered}")
