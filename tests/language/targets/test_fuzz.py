"""6,500 strings: only TargetError comes out, and what is accepted has one canonical text."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from giantstep.errors import TargetError
from giantstep.language.expressions import arithmetic
from giantstep.language.expressions.evaluate import NUMPY, evaluate_expression
from giantstep.language.expressions.language import FUNCTIONS
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.parser import parse_expression
from giantstep.language.expressions.polynomial import (
    Polynomial,
    exp_of_polynomial,
    polynomial_expression,
)
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import Node
from giantstep.language.targets import Target
from giantstep.language.targets.reading import _read

pytestmark = pytest.mark.unchecked


def fuzz(examples: int) -> settings:
    return settings(max_examples=examples, suppress_health_check=[HealthCheck.too_slow])


class Choices:
    """Bytes as a stream of choices: the shrinker of hypothesis then shrinks expressions."""

    def __init__(self, data: bytes) -> None:
        self.data = list(data)[::-1]

    def below(self, n: int) -> int:
        return self.data.pop() % n if self.data else 0

    def one_of(self, options: str | list[str]) -> str:
        return options[self.below(len(options))]


LEAVES = ["h1", "h2", "h3", "h", "z1", "1", "2", "0.5", "3", "1/3", "pi", "sqrt(2)", "0", "7.25"]
EXPONENTS = ["2", "3", "0.5", "-1", "-0.3", "(1/3)", "5", "-2", "1.5", "20", "0", "-h1"]
HIGH_EXPONENTS = ["50", "-50", "49", "(-49)", "49.5", "(-99/2)", "(101/3)", "0.5", "(1/3)", "-1"]
LENGTHS = [17, 23, 40, 61, 90, 118]
CALLS = [*(f for f in FUNCTIONS if f not in ("min", "max")), "sqrt", "He2", "He3", "He8", "He20"]
ODDITIES = "h12z()*+-/^|<>=.,e He9\n\t_'\"[]{}\\;:@#$%&~`!?\0\u00e9\u03c0\u2212\U0001f600"
ODDITIES += "xX\u2081\u2082\u00b2\u207b\u00d7\u00b7"


def expression(choices: Choices, depth: int) -> str:
    """A string of the grammar."""
    kind = choices.below(14) if depth else 0
    if kind < 3:
        return choices.one_of(LEAVES)
    a = expression(choices, depth - 1)
    if kind < 10:
        b = expression(choices, depth - 1)
        forms = [f"{a} + {b}", f"{a} - {b}", f"({a})*({b})", f"{a}*{b}", f"({a})/({b})"]
        forms += [f"max({a}, {b})", f"({a} {choices.one_of(['<', '<=', '>', '>='])} {b})"]
        return forms[kind - 3]
    if kind == 10:
        return f"({a}){choices.one_of(['**', '^'])}{choices.one_of(EXPONENTS)}"
    if kind == 11:
        return f"|{a}|"
    if kind == 12:
        return f"-{a}"
    return f"{choices.one_of(CALLS)}({a})"


def long_number(choices: Choices) -> str:
    """A decimal with many digits, anywhere between 1e-100 and 1e100."""
    length = LENGTHS[choices.below(len(LENGTHS))]
    # Digits from a generator of their own: a number takes three bytes, whatever its length.
    seed = choices.below(256)
    digits = "".join(str((seed * (i + 3) ** 3 + i) // 7 % 10) for i in range(length))
    forms = [f"0.{digits}", f"1.{digits}", f"0.000{digits}", digits, f"{digits[:9]}.{digits[9:]}"]
    forms += [f"1.{digits[:60]}e-{choices.below(99)}", f"1.{digits[:60]}e{choices.below(99)}"]
    return forms[choices.below(len(forms))]


def expression_of_long_numbers(choices: Choices, depth: int) -> str:
    """A string of the grammar in which numbers are long and powers high."""
    kind = choices.below(9) if depth else 0
    if kind < 2:
        return long_number(choices) if choices.below(3) else choices.one_of(LEAVES)
    a = expression_of_long_numbers(choices, depth - 1)
    if kind < 5:
        return f"({a})**{choices.one_of(HIGH_EXPONENTS)}"
    if kind == 5:
        return f"{choices.one_of(CALLS)}({a})"
    b = expression_of_long_numbers(choices, depth - 1)
    return [f"{a} + {b}", f"({a})*({b})", f"({a})/({b})"][kind - 6]


def mutated(choices: Choices, text: str) -> str:
    """The string with a few characters taken out, put in or changed."""
    for _ in range(1 + choices.below(3)):
        at = choices.below(len(text) + 1)
        kind, oddity = choices.below(3), choices.one_of(ODDITIES)
        text = text[:at] + (oddity if kind else "") + text[at + (kind != 1) :]
    return text


def checked(text: str) -> str | None:
    """The canonical text, or None if the string is refused as it should be."""
    canonical, message = None, ""
    try:
        canonical, _ = _read(text, None, "target")
    except TargetError as error:
        message = str(error)
    assert "\n" not in message
    assert len(message) < 400
    if canonical is not None:
        assert _read(canonical, None, "target")[0] == canonical
    return canonical


def normal(text: str) -> Node | None:
    try:
        return polynomial_expression(normal_form(parse_expression(text)))
    except TargetError:
        return None


#: Ways to write a piece of an expression; that of a direction is chosen once.
OPERATORS = {"*": ["*", "\u00d7", " \u00b7 ", r" \cdot ", r"\times "], "-": ["-", "\u2212"]}
NAMES = {
    "sign": ["sgn", "np.sign", r"\operatorname{sign}", "Sign"],
    "relu": ["ReLU", "torch.nn.functional.relu", r"\mathrm{relu}"],
    "max": ["np.maximum", r"\max", "max"],
    "sqrt": ["np.sqrt", "math.sqrt"],
    "pi": ["\u03c0", r"\pi ", "np.pi"],
    "He3": ["H_3", r"\mathrm{He}_3", "He_{3}", "H3"],
    "He20": ["He_{20}", r"\mathrm{He}_{20}"],
}
POWERS = {"2": "\u00b2", "3": "\u00b3", "5": "\u2075", "20": "\u00b2\u2070", "-1": "\u207b\u00b9"}
DIRECTIONS = ["h_{0}", "h_{{{0}}}", "x{0}", "x_{0}", "h[{1}]", "x[:, {1}]", "X[..., {1}]", "h{2}"]
PIECE = re.compile(r"\*\*-?[0-9]+(?![0-9.])|[A-Za-z]+[0-9]*|[0-9.]+|\*\*|.")


def in_another_notation(choices: Choices, text: str) -> str:
    """The same expression as a paper or a program might write it."""
    form = choices.one_of(DIRECTIONS)

    def piece(match: re.Match[str]) -> str:
        plain = match.group()
        if re.fullmatch("h[0-9]*", plain):
            i = int(plain[1:] or 1)
            return form.format(i, i - 1, "\u2080\u2081\u2082\u2083"[i])
        if plain.startswith("**") and plain[2:] in POWERS:
            power = plain[2:]
            return choices.one_of([POWERS[power], "^{" + power + "}", f"^{power}"])
        return choices.one_of({**OPERATORS, **NAMES}.get(plain, [plain]))

    inside = PIECE.sub(piece, text)
    return choices.one_of(["{}", "${}$", "y = {}", r"\({}\)", "$$ {} $$"]).replace("{}", inside)


binary = st.binary(min_size=1, max_size=60)


@fuzz(1400)
@given(binary)
def test_grammar_has_one_normal_form(data):
    tree = normal(expression(Choices(data), 4))
    if tree is not None:
        again = normal(expression_text(tree))
        assert again is not None
        assert expression_text(again) == expression_text(tree)


@fuzz(1200)
@given(binary)
def test_mutations(data):
    choices = Choices(data)
    checked(mutated(choices, expression(choices, 3)))


@fuzz(1000)
@given(st.text(max_size=40))
def test_unicode(text):
    checked(text)


@fuzz(600)
@given(binary)
def test_notations_are_read_alike(data):
    choices = Choices(data)
    plain = expression(choices, 3)
    pasted = in_another_notation(choices, plain)
    expected, tree = normal(plain), normal(pasted)
    assert (tree is None) == (expected is None), (plain, pasted)
    if tree is not None:
        assert expression_text(tree) == expression_text(expected), (plain, pasted)


@fuzz(800)
@given(binary)
def test_mutations_of_notations(data):
    choices = Choices(data)
    checked(mutated(choices, in_another_notation(choices, expression(choices, 2))))


@fuzz(600)
@given(binary)
def test_accepted_targets_round_trip(data):
    checked(expression(Choices(data), 3))


@fuzz(300)
@given(binary)
def test_long_numbers_to_high_powers(data):
    checked("h1 + " + expression_of_long_numbers(Choices(data), 3))


@pytest.mark.parametrize(
    "text",
    [
        "h1 + 0.87739701560296978755105**50",
        "h1 + 0.87739701560296978755105**(-50)",
        f"h1*sqrt(0.{'7' * 118})*sqrt(0.{'3' * 118})",
        f"h1 + He8(h1)/({'18' * 45} + 1/3)",
        "h1 + sqrt(He8(0.21482425073771852/0.0009773857806054077398374668506753543542283))",
        "h1 + He3(0.3139527979518353517491917305757396131395**49*He2(h1))",
        f"h1 + 1.{'15' * 40}**(1/3)",
        "h1 + (3**(-49) + 1)**(1/3)",
        "h1 + log(1 + 1e-20)",
        "h1 + (z1 + 1.23e-11)**2 - 1",
    ],
)
def test_long_numbers_are_read(text):
    assert checked(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "h1 + (sqrt(2)**(-99/2))**49.5",
        "h1 + (tanh(2)**(-49))**(101/3)",
        "h1 + sqrt(gelu(1.3e33) + 1.7e-76)",
        "h1 + 1e99*1e49",
    ],
)
def test_numbers_out_of_range_are_refused(text):
    assert checked(text) is None


@fuzz(600)
@given(binary)
def test_normal_form_keeps_the_values(data):
    """At points where both are numbers; half of them may suffer from cancellation."""
    text = expression(Choices(data), 3)
    tree = normal(text)
    if tree is None:
        return
    random = np.random.default_rng(0)
    at = {name: random.standard_normal(40) for name in ("h1", "h2", "h3", "z1")}
    with np.errstate(all="ignore"):
        raw = np.broadcast_to(evaluate_expression(parse_expression(text), NUMPY, at), 40)
        value = np.broadcast_to(evaluate_expression(tree, NUMPY, at), 40)
        both = np.isfinite(raw) & np.isfinite(value)
        error = np.abs(raw - value)[both] / (1e-9 + np.abs(raw[both]))
    assert not both.any() or np.median(error) < 1e-6


#: Reads every text in one process whose processor time is limited: a text that takes a time which
#: grows with the square of its length, or its cube, ends the process.
READ_ALL = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (60, 60))
from giantstep.errors import GiantstepError
from benchmarks.fuzz import READERS
for text in json.load(sys.stdin):
    for read in READERS.values():
        try:
            read(text)
        except GiantstepError:
            pass
"""


def test_long_runs_and_deep_nests_are_read_quickly():
    runs = [*map(chr, range(9, 127)), "\u00a0", "\u2081", "\u00b2", "np.", "\\frac ", "h1 ", "x["]
    texts = [f"h1{run * 3990}+h2" for run in runs]
    spaces = " " * 20_000
    texts += [f"{front}{spaces}{back}" for front in ("1", "y", "$") for back in ("x", "d", "")]
    texts += [f"{name}(" * 57 + "|h1|" + ")" * 57 for name in CALLS]
    read = [sys.executable, "-c", READ_ALL]
    subprocess.run(read, input=json.dumps(texts), text=True, check=True)


def test_exponentials_nested_in_powers_are_given_up_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """It took over a second: each of 240 joined exponentials is printed, up to 4,000 characters."""
    joined = []

    def counted(x: Polynomial) -> Polynomial:
        joined.append(x)
        return exp_of_polynomial(x)

    monkeypatch.setattr(arithmetic, "exp_of_polynomial", counted)
    with pytest.raises(TargetError, match="too long to multiply out"):
        Target("h1*exp(h1 + He18(" * 8 + "h1" + "))" * 8)
    assert 20 < len(joined) < 200
