"""The named targets."""

from __future__ import annotations

import re

import pytest

from giantstep.errors import TargetError
from giantstep.language.expressions.parser import parse_expression
from giantstep.language.targets import Target, catalogue

ENTRIES = catalogue()


def test_names_and_lines_are_distinct_and_tidy():
    names = [entry.name for entry in ENTRIES]
    assert len(set(names)) == len(names)
    assert len({entry.shows for entry in ENTRIES}) == len(names)
    for entry in ENTRIES:
        assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", entry.name)
        assert 10 < len(entry.shows) < 100
        assert "\n" not in entry.shows


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_a_name_stands_for_its_expression_and_is_none_itself(entry):
    assert Target(entry.name) == Target(f"  {entry.name} ") == Target(entry.expression)
    with pytest.raises(TargetError):
        parse_expression(entry.name)


def test_no_target_is_listed_twice():
    texts = [Target(entry.expression).text for entry in ENTRIES]
    assert len(set(texts)) == len(texts)


@pytest.mark.parametrize(
    "text",
    [
        "h1 + h2 + h1**2 - h2**2",
        "h1 + h2 + h1**2 + h2**2 - 2",
        "h1 + h1*h2 + h1*h3",
        "h1 + h1*h2 + He3(h1)*h3",
        "h1 + He2(h2) + He2(h1)*h2 + He4(h1)*He2(h2)*h3 + He2(h2)*He2(h3)",
        "h1 + He3(h1)*h2 + He3(h2)*h3",
        "sign(h1*h2*h3)",
        "He2(h1) + sign(h1*h2*h3)",
        "He4(h1) + sign(h1*h2*h3)",
        "h1**2 + sign(h1*h2*h3)",
        "tanh(h1) + tanh(h2)",
        "relu(h1) + relu(h2)",
        "sign(h1*h2)",
        "|h1|",
        "h1**2",
        "h1**3 - 3*h1",
        "He4(h1)",
        "He5(h1)",
        "h1**2*exp(-h1**2)",
        "h1*h2",
        "h1*h2*h3",
        "h1**2 + h2**2",
        "cos(h1)",
        "cos(3*h1)",
        "(|h1| < 1)",
        "h1 + |h2|",
        "h1 + 2*h2 + h1*h2 + 3*h2**2",
        "sin(h1)",
        "h1 + He3(h1)",
        "He2(h1) + He3(h1)",
        "relu(h1)*relu(h2)",
        "sin(h1) + |h2|",
    ],
)
def test_the_examples_of_the_literature_are_there(text):
    assert Target(text) in {Target(entry.expression) for entry in ENTRIES}
