"""Formulas in plain sentences, as claims and captions have them, typeset for the site."""

from __future__ import annotations

import re
from collections.abc import Iterator

_GREEK = {
    **{"alpha": "α", "beta": "β", "gamma": "γ", "delta": "δ", "Delta": "Δ", "eps": "ε"},
    **{"zeta": "ζ", "eta": "η", "theta": "θ", "Theta": "Θ", "kappa": "κ", "lambda": "λ"},
    **{"mu": "μ", "xi": "ξ", "pi": "π", "rho": "ρ", "sigma": "σ", "Sigma": "Σ", "tau": "τ"},
    **{"omega": "ω", "Omega": "Ω"},
}
_SIGNS = {"<=": "≤", ">=": "≥", "!=": "≠", ">>": "≫", "<<": "≪", "->": "→", "+-": "±"}
_LOWERED = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")
_NAME = re.compile(rf"(?<![A-Za-z])(d?)({'|'.join(_GREEK)})(\d?)(?![A-Za-z])")
_PAIR = re.compile(r"<([^<>=]+,[^<>=]+)>")
_ROOT = re.compile(r"sqrt(?:\((\w+)\)| (\w)\b)")
#: What an index belongs to: one letter, perhaps with a star or a dash.
_INDEXED = re.compile(r"(?:^|[^A-Za-z])[A-Za-zα-ωΑ-Ω∑][*']?$")
_SIMPLE = re.compile(r"-?(?:\d+(?:\.\d+)?|[A-Za-z]+\d?|[α-ωΑ-Ω][₀-₉]?)|\*")


def typeset(text: str) -> str:
    """The sentence in Markdown: Greek letters, roots, indices and exponents as they are written.

    Names of options stay as they are, and so do directions such as h1.

    >>> typeset("eta = p d^((l-1)/2), <w_j, x> >= sqrt(2) and step_size*h1^2")
    'η = p d{sup}`(l-1)/2`, ⟨w{sub}`j`, x⟩ ≥ √2 and step\\\\_size\\\\*h1{sup}`2`'
    """
    for plain, sign in _SIGNS.items():
        text = text.replace(plain, sign)
    text = re.sub(r"\bsum(?=_| a[ _])", "∑", _PAIR.sub(r"⟨\1⟩", text))
    text = _NAME.sub(lambda m: m[1] + _GREEK[m[2]] + m[3].translate(_LOWERED), text)
    text = re.sub(r"sqrt(?=\()", "√", _ROOT.sub(r"√\1\2", text))
    return "".join(_parts(text))


def _parts(text: str) -> Iterator[str]:
    """Roles for what is raised or lowered; stars and underscores elsewhere are no emphasis."""
    start = 0
    raised = False
    while start < len(text):
        place = text[start]
        lowers = place == "_" and (raised or _INDEXED.search(text[:start]) is not None)
        if (place == "^" or lowers) and (inner := _inner(text, start + 1)):
            shown, start = inner
            yield f"{{{'sup' if place == '^' else 'sub'}}}`{shown}`"
            raised = place == "^"
            continue
        yield f"\\{place}" if place in "*_" else place
        raised = False
        start += 1


def _inner(text: str, start: int) -> tuple[str, int] | None:
    """What is raised or lowered from there on, without the brackets around it, and its end."""
    opening = re.match(r"(?:max|-)?[({]", text[start:])
    if opening is None:
        simple = _SIMPLE.match(text, start)
        return (simple[0], simple.end()) if simple else None
    depth = 0
    for end in range(start + opening.end() - 1, len(text)):
        depth += (text[end] in "({") - (text[end] in ")}")
        if not depth:
            whole = text[start : end + 1]
            return (whole[1:-1] if opening.end() == 1 else whole), end + 1
    return None
