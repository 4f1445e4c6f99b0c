"""SymPy and LaTeX."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import sympy

from giantstep.errors import GiantstepError
from giantstep.language.targets import Target, catalogue

TEXTS = [
    *(entry.expression for entry in catalogue()),
    "erf(h1) + gelu(h2)/sqrt(2*pi)",
    "softplus(h1)*sigmoid(h2) - Phi(h1)",
    "min(h1, h2, 1) + max(h1, h2)",
    "|h1|**0.5*exp(h2/3) + log(1 + h1**2)",
    "He20(h1)/2**10 + 1e-7*h1",
    "(h1 + h2 + h3 + h4 + h5)**8",
    "h1/(1 + h2**2)**3",
    "2**(1/3)*h1",
]


@pytest.mark.parametrize("text", TEXTS)
def test_sympy_has_the_same_values(text):
    target = Target(text)
    symbols = [sympy.Symbol(f"h{i + 1}", real=True) for i in range(target.rank)]
    symbols += [sympy.Symbol(f"z{i + 1}", real=True) for i in range(target.noises)]
    rng = np.random.default_rng(0)
    h, z = rng.standard_normal((5, target.rank)), rng.standard_normal((5, target.noises))
    expression = target.sympy()
    assert expression.free_symbols == set(symbols)
    for row, value in zip(np.hstack([h, z]), target.numpy(h, z), strict=True):
        exact = expression.subs(dict(zip(symbols, map(sympy.Float, row), strict=True)))
        assert float(exact) == pytest.approx(value, rel=1e-10, abs=1e-10)


def test_sympy_numbers_are_exact():
    h1 = sympy.Symbol("h1", real=True)
    assert Target("He3(h1)/sqrt(6)").sympy() == (h1**3 - 3 * h1) / sympy.sqrt(6)
    assert Target("0.1*h1").sympy() == h1 / 10


@pytest.mark.parametrize(
    ("text", "latex"),
    [
        ("h1 + He3(h1)*h2", r"h_{1} + \mathrm{He}_{3}(h_{1})\, h_{2}"),
        ("h1**2 - 2", r"h_{1}^{2} - 2"),
        ("(|h1| < 1)", r"\mathbf{1}\{\left|h_{1}\right| < 1\}"),
        ("step(h1 - 2)", r"\mathbf{1}\{h_{1} > 2\}"),
        ("h1/3", r"\frac{h_{1}}{3}"),
        ("He3(h1)/sqrt(6)", r"\frac{\mathrm{He}_{3}(h_{1})}{\sqrt{6}}"),
        ("h1**2*exp(-h1**2)", r"h_{1}^{2}\, e^{-h_{1}^{2}}"),
        ("-0.5*sin(h1 + h2)", r"-0.5\, \sin\left(h_{1} + h_{2}\right)"),
        ("1/(1 + h1**2)", r"\frac{1}{h_{1}^{2} + 1}"),
        ("|h1|**0.3", r"\left|h_{1}\right|^{0.3}"),
        ("1e-9*h1", r"1 \cdot 10^{-9}\, h_{1}"),
    ],
)
def test_latex(text, latex):
    assert Target(text).latex == latex


def test_latex_can_be_typeset():
    from matplotlib.mathtext import MathTextParser

    parser = MathTextParser("path")
    for text in TEXTS:
        parser.parse(f"${Target(text).latex}$")


def test_without_sympy_the_remedy_is_said(monkeypatch):
    monkeypatch.setitem(sys.modules, "sympy", None)
    with pytest.raises(GiantstepError, match=r"pip install '\.\[sympy\]'"):
        Target("h1*h2").sympy()
