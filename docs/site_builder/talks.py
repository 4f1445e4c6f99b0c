"""The talks, slide by slide: every claim with what shows it and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from giantstep.figures.gallery import NAMES
from giantstep.talks.claims import TALKS, VERDICTS, Claim, talk
from giantstep.talks.verdicts import stored, verdict
from site_builder.words import code, prose, table

_HEAD = """# The talks, slide by slide

giantstep grew out of five talks. Here is every definition, theorem, example and experiment in them:
the statement in our notation, what the slide prints where that is wrong, the command that shows it,
and the verdict. Verdicts are not opinions: each command was run, its answer read, and what was
measured stored; `giantstep talks --check` does it again.
"""


def _measured(found: Mapping[str, Any]) -> str:
    numbers = [f"`{name}` = {_shown(value)}" for name, value in found["measured"].items()]
    return "; ".join(numbers)


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _claim(claim: Claim, found: Mapping[str, Any] | None) -> str:
    parts = [f"### {prose(claim.slide)}", f"*{claim.kind}.* {prose(claim.says)}"]
    if claim.erratum:
        parts.append(f"**On the slide:** {prose(claim.erratum)}")
    if claim.command:
        parts.append(code(claim.command, "console"))
    if claim.figure:
        assert claim.figure in NAMES
        parts.append(f"Figure: [{claim.figure}](gallery.md#{claim.figure}).")
    why = f". {prose(claim.why)}" if claim.why else ""
    parts.append(f"**Verdict: {verdict(claim, found)}**{why}")
    if found and claim.checks:
        parts.append(f"Measured: {_measured(found)}.")
    return "\n\n".join(parts)


def page() -> str:
    """The page."""
    found = stored()
    meanings = table(("verdict", "meaning"), VERDICTS.items())
    parts = [_HEAD, meanings]
    for name in TALKS:
        title, claims = talk(name)
        parts.append(f"## {title}")
        parts += [_claim(claim, found.get(claim.key)) for claim in claims]
    return "\n\n".join(parts) + "\n"
