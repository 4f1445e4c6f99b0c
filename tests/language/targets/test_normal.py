"""Equal targets have equal text; different ones do not; canonical text is a fixed point."""

from __future__ import annotations

import itertools

import pytest

from giantstep.errors import TargetError
from giantstep.language.targets import Target, catalogue

pytestmark = pytest.mark.unchecked

EQUAL = [
    ("h1 + h2", "h2 + h1", "h1 - (-h2)", "(h2) + ((h1))", "h2+h+0"),
    ("2*h1", "h1*2", "h1 + h1", "4*h1/2", "3*h1 - h1", "h1/0.5"),
    ("h1**2", "h1^2", "h1*h1", "|h1|**2", "|h1|*|h1|", "(-h1)**2", "h1**4/h1**2", "He2(h1) + 1"),
    ("He2(h1)", "h1**2 - 1", "(h1 - 1)*(h1 + 1)", "He(2, h1)", "He2(-h1)"),
    ("h1*(h1 + h2)", "h1**2 + h1*h2"),
    ("(h1 + h2)**3", "h1**3 + 3*h1**2*h2 + 3*h1*h2**2 + h2**3"),
    ("He4(h1)*He2(h2)", "(h1**4 - 6*h1**2 + 3)*(h2**2 - 1)"),
    ("|h1*h2|", "|h1|*|h2|", "abs(h2)*|-h1|"),
    ("sqrt(h1**2)", "|h1|", "(h1**2)**0.5", "max(h1, -h1) + |h1| - max(-h1, h1)"),
    ("sqrt((h1 - h2)**2)", "|h1 - h2|", "|h2 - h1|", "((h1 - h2)**4)**0.25"),
    ("(h1**2)**0.25", "sqrt(|h1|)", "|h1|^(1/2)"),
    ("sign(h1)*sign(h2)", "sign(h1*h2)", "sign(3*h1*h2)", "sign(-h1)*sign(-h2)", "sign(h1/h2)"),
    ("sign(1 - h1)", "-sign(h1 - 1)", "-sign(2*h1 - 2)"),
    ("sign(h1)**3", "sign(h1)", "h1*0 + sign(h1)"),
    ("(h1 > 0)", "step(h1)", "step(5*h1)", "step(h1)**2", "(0 < h1)"),
    ("relu(2*h1 - 4)", "2*relu(h1 - 2)", "2*max(0, h1 - 2)"),
    ("sin(-h1)", "-sin(h1)"),
    ("cos(1 - h1)", "cos(h1 - 1)"),
    ("exp(h1)*exp(h2)", "exp(h1 + h2)", "exp(h1)/exp(-h2)"),
    ("1/exp(h1)", "exp(-h1)", "exp(h1)**(-1)", "sqrt(exp(-2*h1))"),
    ("2**h1", "exp(log(2)*h1)"),
    ("h1/sqrt(2)", "sqrt(2)*h1/2", "sqrt(0.5)*h1", "h1*2**(-0.5)"),
    ("sqrt(8)*h1", "2*sqrt(2)*h1"),
    ("h1*sqrt(6)", "sqrt(2)*sqrt(3)*h1"),
    ("0.1*h1 + 0.2*h1", "0.3*h1", "3*h1/10"),
    ("h1/3", "(1/3)*h1", "2*h1/6"),
    ("max(h1, h2, h3)", "max(h3, max(h1, h2))", "max(h1, h1, h2, h3)"),
    ("h1/(2 + 2*h2**2)", "0.5*h1/(1 + h2**2)"),
    ("(h1 + h2)/(h1 + h2) + h1", "1 + h1"),
    ("h1 + z1*z1", "z1**2 + h1"),
]


@pytest.mark.parametrize("texts", EQUAL, ids=lambda texts: texts[0])
def test_equal_targets_have_equal_text(texts):
    targets = {Target(text) for text in texts}
    assert len({target.text for target in targets}) == 1
    assert len(targets) == 1


def test_different_targets_have_different_text():
    texts = [Target(group[0]).text for group in EQUAL]
    for first, second in itertools.combinations(texts, 2):
        assert first != second
    assert Target("(relu(h1) <= 0)") != Target("(relu(h1) < 0) + 0*h1 + h1")
    assert Target("sign(relu(h1))**2 + h1") != Target("h1 + 1")


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("h1 + He3(h1)*h2", "h1 + He3(h1)*h2"),
        ("He2(h1)*h2 + h1", "h1 + He2(h1)*h2"),
        ("h1^2 + sign(h1*h2*h3)", "h1**2 + sign(h1*h2*h3)"),
        ("h1 + h2 + h1^2 - h2^2", "h1 + h2 + h1**2 - h2**2"),
        ("(|h1| < 1)", "step(1 - abs(h1))"),
        ("(|h1| <= 1)", "1 - step(abs(h1) - 1)"),
        ("sign(h1 + .5*z1)", "sign(h1 + 0.5*z1)"),
        ("He3(h1)/sqrt(6)", "He3(h1)/sqrt(6)"),
        ("1/(1+h1^2)", "1/(h1**2 + 1)"),
        ("h1^2*exp(-h1^2)", "h1**2*exp(-h1**2)"),
        ("|h1|^-0.3", "1/abs(h1)**0.3"),
        ("1e30*h1 + 1e-7", "1e30*h1 + 1e-7"),
        ("He20(h1)*He20(h2)*He20(h3)", "He20(h1)*He20(h2)*He20(h3)"),
        ("h1*He20(h1)", "h1*He20(h1)"),
        ("He20(h1) + h1**25", "He20(h1) + h1**25"),
        ("He2(h1**12)", "He2(h1**12)"),
        ("(h1+h2+h3+h4+h5)**8", "(h1 + h2 + h3 + h4 + h5)**8"),
        ("h10*h2+h1+h3+h4+h5+h6+h7+h8+h9", "h1 + h3 + h4 + h5 + h6 + h7 + h8 + h9 + h2*h10"),
    ],
)
def test_canonical_text(typed, canonical):
    assert Target(typed).text == canonical


def test_canonical_text_is_a_fixed_point():
    for text in [*itertools.chain.from_iterable(EQUAL), *(e.expression for e in catalogue())]:
        once = Target(text).text
        assert Target(once).text == once


def test_hostile_expressions_are_refused_soon():
    hostile = [
        "He3(" * 40 + "h1" + ")" * 40,
        "+".join(f"He20(h1+{i}*h2)" for i in range(1, 200)),
        "+".join(f"|h1**2+|h1-{i}*h2||^20" for i in range(1, 150)),
        "*".join(f"(h1+{i})" for i in range(1, 400)),
        "+".join(f"|h1-{i}|**-0.3" for i in range(1, 150)),
        "exp(" * 50 + "h1" + ")" * 50,
        "**".join(["2"] * 50) + "*h1",
    ]
    for text in hostile:
        with pytest.raises(TargetError):
            Target(text)
