"""Trees as targets: what is read, how it is written, what is refused in one line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from giantstep.cli.main import app
from giantstep.errors import GiantstepError, SettingsError, TargetError
from giantstep.language.problem import Problem
from giantstep.language.targets import Target, TreeTarget, any_target, catalogue, tree_catalogue


@pytest.mark.parametrize("entry", tree_catalogue(), ids=lambda entry: entry.name)
def test_text_and_name_agree(entry: Any) -> None:
    tree = TreeTarget(entry.name)
    assert tree == TreeTarget(entry.expression) == TreeTarget(tree.text)
    assert tree == any_target(f" {entry.name} ")
    assert TreeTarget(tree.text).text == tree.text
    assert tree.latex.count("{") == tree.latex.count("}")
    assert 10 < len(entry.shows) < 100
    assert entry.name not in {other.name for other in catalogue()}


def test_values_are_those_of_the_definition() -> None:
    tree = TreeTarget("tree(u + u^2, He3(z), branches=2, leaves=3)")
    rng = np.random.default_rng(0)
    z, signs = rng.standard_normal((5, 2, 3)), np.array([[1.0, -1.0, 1.0], [-1.0, -1.0, 1.0]])
    u = (signs * (z**3 - 3 * z)).sum(axis=-1) / np.sqrt(3)
    np.testing.assert_allclose(tree.branch_values(z, signs), u)
    np.testing.assert_allclose(tree.numpy(z, signs), (u + u**2).sum(axis=-1) / np.sqrt(2))


def test_equal_trees_have_one_text() -> None:
    assert TreeTarget("tree( tanh(u*2) , (z**2-1)/2 )") == TreeTarget(
        "tree(tanh(2u), 0.5 He2(z), leaves=d^.5, branches=1)"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tree(tanh(q), He2(z))", "first function, of u .* the name 'q' is unknown"),
        ("tree(tanh(u), He2(u))", "second function, of z .* the name 'u' is unknown"),
        ("tree(tanh(u), 3)", "second function, of z .* does not depend on z"),
        ("tree(tanh(u))", "takes two functions, of u and of z, not 1"),
        ("tree(tanh(u), He2(z), 4)", "takes two functions, of u and of z, not 3"),
        ("tree(tanh(u), He2(z), leaves=0)", "leaves = '0' is not positive"),
        ("tree(tanh(u), He2(z), leaves=many)", "leaves = 'many' is not a size"),
        ("tree(tanh(u), He2(z), depth=3)", "'depth' is no option: use branches or leaves"),
        ("tree(tanh(u), He2(z), leaves=3, leaves=4)", "leaves is given twice"),
        ("tree(tanh(u), He2(z)", "never closed"),
        ("tree(tanh(u), He2(z)) + 1", "nothing may follow"),
        ("tree-he3", "did you mean tree-he2"),
    ],
)
def test_what_is_no_tree_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(TargetError, match=said) as error:
        any_target(text)
    assert "\n" not in str(error.value)


def test_leaves_must_fit_into_the_dimension() -> None:
    assert TreeTarget("tree-he2").sizes(100) == (1, 10)
    with pytest.raises(SettingsError, match=r"branches \* leaves = 4 \* 3 is more than dim = 9"):
        TreeTarget("tree(u, He2(z), branches=4)").sizes(9)


@pytest.mark.parametrize("reader", [Target, Problem])
@pytest.mark.parametrize("given", ["tree-he2", "tree(u, He2(z))"])
def test_where_directions_are_needed_a_tree_is_refused(reader: Any, given: Any) -> None:
    with pytest.raises(GiantstepError, match="a tree has no fixed number of directions"):
        reader(given)


@pytest.mark.parametrize(
    "arguments",
    [
        ["predict", "giant-step", "--target", "tree-he2"],
        ["simulate", "amp", "--target", "tree(u, He2(z))", "--dim", "20"],
        ["compare", "random-features", "--target", "tree-he2", "--dim", "20"],
        ["report", "tree-he2"],
        ["spectrum", "weights", "--target", "tree-he2"],
        ["explain", "tree-he2", "--picture", "tree.png"],
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_commands_that_take_no_tree_say_so(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 2
    (line,) = result.stderr.strip().splitlines()
    assert "a tree has no" in line
