"""Which laws of the inputs a learner or a theory covers: one line where it does not."""

from __future__ import annotations

from giantstep.errors import GiantstepError
from giantstep.inputs.laws import Gaussian, Inputs, Sphere, Spiked


def check_covered(
    given: Inputs,
    laws: tuple[type[Inputs], ...],
    what: str,
    error: type[GiantstepError],
    why: str = "",
) -> None:
    """Raise ``error`` unless the law is one of those for which ``what`` can be said, and ``why``.

    >>> from giantstep.errors import NoTheory
    >>> from giantstep.inputs import Gaussian, Sphere
    >>> check_covered(Sphere(), (Gaussian,), "giant steps are predicted", NoTheory)
    Traceback (most recent call last):
    giantstep.errors.NoTheory: inputs = sphere: giant steps are predicted for gaussian inputs alone
    """
    if not isinstance(given, laws):
        *first, last = (law.name for law in laws)
        names = f"{', '.join(first)} or {last}" if first else last
        isotropic = "isotropic inputs alone, " if laws == (Gaussian, Sphere) else ""
        covered = f"{isotropic}{names}" if len(laws) > 1 else f"{names} inputs alone"
        reason = f" ({why})" if why else ""
        raise error(f"inputs = {given}: {what} for {covered}{reason}")


def check_aligned(given: Inputs, what: str, error: type[GiantstepError]) -> None:
    """Raise ``error`` if there is a spike beside the target's direction.

    >>> from giantstep.errors import NoTheory
    >>> check_aligned(Spiked(4, 0.5), "a kernel is predicted", NoTheory)
    Traceback (most recent call last):
    giantstep.errors.NoTheory: inputs = spiked:strength=4,alignment=0.5: a kernel is predicted for a spike along h1 alone, of alignment 1 (its modes are split along one direction; simulate takes any alignment)
    """  # noqa: E501
    if isinstance(given, Spiked) and not given.is_aligned:
        raise error(
            f"inputs = {given}: {what} for a spike along h1 alone, of alignment 1 (its modes are "
            "split along one direction; simulate takes any alignment)"
        )
