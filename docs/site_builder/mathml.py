"""Mathematics as MathML, which browsers draw by themselves: the site needs no network."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml.converter import convert


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(convert(node.astext()))
    raise nodes.SkipNode


def _displayed(translator: Any, node: nodes.math_block) -> None:
    # Sphinx allows several lines of mathematics, one under the other.
    lines = [line for line in node.astext().split("\n\n") if line.strip()]
    drawn = "".join(convert(" ".join(line.split()), display="block") for line in lines)
    translator.body.append(f'<div class="math">{drawn}</div>')
    raise nodes.SkipNode


def setup(app: Any) -> dict[str, bool]:
    """Register the renderer."""
    app.add_html_math_renderer("mathml", (_inline, None), (_displayed, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
