"""The talks, slide by slide: every claim with what shows it and what was found."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from giantstep.gallery.figures import NAMES
from giantstep.talks.claims import TALKS, VERDICTS, Claim, talk
from giantstep.talks.verdicts import claim_evidence, claim_verdict, stored_verdicts
from site_builder.typesetting import typeset
from site_builder.words import code, table

_HEAD = """# The talks, slide by slide

giantstep grew out of five talks. Here is every definition, theorem, example and experiment in them:
the statement in our notation, what the slide prints where that is wrong, the command that shows it,
and the verdict. Verdicts are not opinions: each command was run and its answer read. Under each
verdict stands what was measured, with the value it was to have and how far it may be off, or what
the figure's caption claims and its data were checked for. `giantstep talks --check` does it again.
"""


def _evidence(claim: Claim, found: Mapping[str, Any] | None) -> str:
    """The checks of a command, whose names are code, then what the caption of a figure claims."""
    lines, read = claim_evidence(claim, found), len(claim.checks)
    shown = [re.sub(r"^\S+", r"`\g<0>`", line) for line in lines[:read]]
    return "\n".join(f"- {line}" for line in [*shown, *map(typeset, lines[read:])])


def _claim(claim: Claim, found: Mapping[str, Any] | None) -> str:
    parts = [f"### {typeset(claim.slide)}", f"*{claim.kind}.* {typeset(claim.says)}"]
    if claim.erratum:
        parts.append(f"**On the slide:** {typeset(claim.erratum)}")
    if claim.command:
        parts.append(code(claim.command, "console"))
    if claim.figure:
        assert claim.figure in NAMES
        parts.append(f"Figure: [{claim.figure}](gallery/{claim.figure}.md).")
    why = f". {typeset(claim.why)}" if claim.why else ""
    parts.append(f"**Verdict: {claim_verdict(claim, found)}**{why}")
    parts.append(_evidence(claim, found))
    return "\n\n".join(part for part in parts if part)


def page() -> str:
    """The page."""
    found = stored_verdicts()
    meanings = table(("verdict", "meaning"), VERDICTS.items())
    names = [f"- [{talk(name)[0]}](#talk-{name}), {len(talk(name)[1])} claims" for name in TALKS]
    parts = [_HEAD, "\n".join(names), meanings]
    for name in TALKS:
        title, claims = talk(name)
        parts.append(f"(talk-{name})=\n## {title}")
        parts += [_claim(claim, found.get(claim.key)) for claim in claims]
    return "\n\n".join(parts) + "\n"
