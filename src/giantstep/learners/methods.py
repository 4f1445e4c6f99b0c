"""Which of a learner's two simulations runs: with real vectors, or exactly in law."""

from __future__ import annotations

from giantstep.errors import SettingsError


def simulation_method(
    asked: str, obstacle: str | None, *, only_dearer: bool = False
) -> tuple[str, str]:
    """The method, ``direct`` or ``in-law``, and a sentence that says why.

    ``obstacle`` is what speaks against the simulation in law; it can be run all the same where that
    is ``only_dearer``.
    """
    if asked == "direct":
        return "direct", "method: direct, real vectors in d dimensions, as asked"
    if obstacle is None:
        how = "as asked" if asked == "in-law" else "chosen by auto"
        return "in-law", f"method: in-law, exact at a cost that ignores d, {how}"
    if asked == "auto":
        return "direct", f"method: direct, chosen by auto because {obstacle}"
    if only_dearer:
        return "in-law", f"method: in-law, as asked; direct would be cheaper, because {obstacle}"
    raise SettingsError(f"method = 'in-law': {obstacle}; use --method direct")
