"""The object: frozen, hashable, JSON, pickle, and light to import."""

from __future__ import annotations

import dataclasses
import pickle
import subprocess
import sys

import pytest

from giantstep.language.targets import ScalarFunction, Target

LIGHT = """
import sys
from giantstep.language.targets import Target
Target("h1 + He3(h1)*h2").kinks, Target("log(|h1|)*erf(0.5)").latex
for text in ("exp(h1**2)", "1/h1", "log(h1)", "sgn(h1)"):
    try:
        Target(text)
    except ValueError:
        pass
assert not {"jax", "scipy", "sympy", "matplotlib", "pandas", "sklearn"} & set(sys.modules)
"""


def test_properties():
    g = Target("h1 + He3(h1)*h2 + 0.5*z1")
    assert (g.rank, g.noises, g.is_random, g.is_polynomial) == (2, 1, True, True)
    assert (g.discrete_values, g.aligned_kinks) == (None, True)
    assert (str(g), repr(g)) == (g.text, f"Target('{g.text}')")
    assert g._repr_latex_() == f"${g.latex}$"


@pytest.mark.parametrize(
    ("text", "polynomial"),
    [
        ("h1**3/sqrt(2) + pi*h2", True),
        ("exp(1)*h1", True),
        ("(h1 + h2 + h3 + h4 + h5)**8", True),
        ("1/(1 + h1**2)", False),
        ("|h1|", False),
        ("|h1|**2", True),
        ("sqrt(1 + h1**2)", False),
        ("h1 + sin(z1)", False),
    ],
)
def test_is_polynomial(text, polynomial):
    assert Target(text).is_polynomial is polynomial


def test_frozen_hashable_and_pickled():
    g = Target("h1*h2")
    assert len({g, Target("h2*h1")}) == 1
    assert pickle.loads(pickle.dumps(g)) == g
    with pytest.raises(dataclasses.FrozenInstanceError):
        g.text = "h1"
    function = ScalarFunction("tanh(z)")
    assert pickle.loads(pickle.dumps(function)) == function


@pytest.mark.parametrize("given", [3, None, b"h1", ["h1"]])
def test_only_text_is_read(given):
    with pytest.raises(Exception, match=r"text|TypeCheckError|check"):
        Target(given)


def test_reading_and_refusing_imports_nothing_heavy():
    subprocess.run([sys.executable, "-c", LIGHT], check=True)
