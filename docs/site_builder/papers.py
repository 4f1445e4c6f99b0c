"""Every paper that a page names by its number is a link to it."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

_NUMBER = re.compile(r"(arXiv:\d{4}\.\d{4,5})")
#: Within these a number is a link already, or stays as it was typed.
_LEFT_ALONE = (nodes.reference, nodes.literal, nodes.FixedTextElement, nodes.raw)


def link_papers(tree: nodes.document) -> None:
    """Put a link in the place of every arXiv number of the text."""
    for text in list(tree.findall(nodes.Text)):
        above, inside = text.parent, text.parent
        while inside is not None and not isinstance(inside, _LEFT_ALONE):
            inside = inside.parent
        parts = _NUMBER.split(text.astext())
        if inside is None and len(parts) > 1:
            above.replace(text, [_node(part) for part in parts if part])


def _node(part: str) -> nodes.Node:
    if not _NUMBER.fullmatch(part):
        return nodes.Text(part)
    number = part.removeprefix("arXiv:")
    return nodes.reference("", part, refuri=f"https://arxiv.org/abs/{number}", internal=False)


def setup(app: Any) -> dict[str, bool]:
    """Register the change."""
    app.connect("doctree-read", lambda _app, tree: link_papers(tree))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
