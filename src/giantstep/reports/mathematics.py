"""Mathematics for the page: LaTeX becomes MathML, which browsers draw without any script."""

from __future__ import annotations

import re

import numpy as np
from markupsafe import Markup, escape

from giantstep.language.expressions.printing import direction_text


def mathml(latex: str, display: str = "inline") -> Markup:
    """A formula.

    >>> "<msub>" in mathml("h_{1}")
    True
    """
    from latex2mathml.converter import convert

    return Markup(convert(latex, display=display))


def wrapping_mathml(latex: str) -> Markup:
    """A long sum as one formula per term, so that lines may break between them.

    >>> str(wrapping_mathml("y = h_{1} + (h_{2} + 1)")).count("<math")
    2
    """
    terms, depth, begin = [], 0, 0
    for place, letter in enumerate(latex):
        depth += letter in "({["
        depth -= letter in ")}]"
        if depth == 0 and letter in "+-" and latex[begin:place].strip().removesuffix("="):
            terms.append(latex[begin:place])
            begin = place
    terms.append(latex[begin:])
    if any(term.count(r"\left") != term.count(r"\right") for term in terms):
        terms = [latex]
    # Something empty before it makes the sign of a term that of a sum, with room on both sides.
    return Markup(" ").join(mathml("{}" * (number > 0) + term) for number, term in enumerate(terms))


def sentence_mathml(text: str, **formulas: str) -> Markup:
    """A sentence whose names in braces are formulas.

    >>> str(sentence_mathml("from {n} on", n="n")).startswith("from <math")
    True
    """
    return escape(text).format(**{name: mathml(latex) for name, latex in formulas.items()})


def directions_mathml(rows: np.ndarray) -> Markup:
    """Directions as formulas, separated by commas; `nothing` if there are none."""
    return Markup(", ").join(mathml(_direction_latex(row)) for row in rows) or Markup("nothing")


def _direction_latex(row: np.ndarray) -> str:
    r"""One direction as LaTeX.

    >>> _direction_latex(np.array([1.0, -1.0]) / 2**0.5)
    '(h_{1} - h_{2})/\\sqrt{2}'
    """
    text = re.sub(r"h(\d+)", r"h_{\1}", direction_text(row))
    return re.sub(r"sqrt\((\d+)\)", r"\\sqrt{\1}", text).replace("*", r"\,")


def power_mathml_latex(text: str) -> str:
    """A sample size such as ``d log d`` or ``d^1.5`` as LaTeX.

    >>> power_mathml_latex("d^1.5"), power_mathml_latex("d log d")
    ('d^{1.5}', 'd\\\\,\\\\log d')
    """
    base, _, power = text.partition("^")
    return f"{base}^{{{power}}}" if power else text.replace(" log ", r"\,\log ")
