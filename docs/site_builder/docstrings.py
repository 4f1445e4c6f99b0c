"""Docstrings as they are written in the code, made ready for the site."""

from __future__ import annotations

import re
from typing import Any

#: Labels that begin a paragraph of a docstring.
_LABEL = re.compile(
    r"^(Symbols|Assumes|Status|References|Metrics|Covers|Covered|Not covered|Shapes|Arrays): ?"
)
#: Text in backquotes, or outside of it a bar, or an underscore that ends a word.
_SIGN = re.compile(r"(`+[^`]*`+)|\||(?<=\w)_(?!\w)")
#: What scikit-learn adds to every estimator, and documents itself.
_INHERITED = ("set_fit_request", "set_score_request", "set_predict_request", "get_metadata_routing")


def _escaped(line: str) -> str:
    """|b| is a length, no substitution, and q_+ no link."""
    return _SIGN.sub(lambda found: found.group(1) or f"\\{found.group()}", line)


def prepared(lines: list[str]) -> list[str]:
    """Labels in bold, each a paragraph of its own; bars escaped outside of formulas and code."""
    found: list[str] = []
    in_code = in_paragraph = False
    for line in lines:
        label = _LABEL.match(line)
        if line.startswith((".. ", ">>>")):
            in_code = True
        elif line and not line.startswith((" ", ">>>", "...")) and found and not found[-1].strip():
            in_code = False
        if label:
            in_code = False
            in_paragraph = True
            found += ["", f"**{label.group(1)}:** {_escaped(line[label.end() :])}"]
        elif in_code or not line.strip():
            in_paragraph = False
            found.append(line)
        else:
            found.append(_escaped(line.strip() if in_paragraph else line))
    return found


def setup(app: Any) -> dict[str, bool]:
    """Register both changes."""

    def change(_app: Any, _what: str, _name: str, _thing: Any, _options: Any, lines: list) -> None:
        lines[:] = prepared(lines)

    def skip(_app: Any, _what: str, name: str, thing: Any, skipped: bool, _options: Any) -> bool:
        # A field of a named tuple is said in its class.
        a_field = str(getattr(thing, "__doc__", "")).startswith("Alias for field number")
        return skipped or a_field or name in _INHERITED

    app.connect("autodoc-process-docstring", change)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
