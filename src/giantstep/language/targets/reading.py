"""From the text that a person typed to a checked tree in normal form.

Also how trees of depth two are written, and the one line where a plain expression is needed.
"""

from __future__ import annotations

import difflib
import functools
import re
from collections.abc import Callable
from typing import NoReturn

from giantstep.errors import TargetError
from giantstep.language.expressions.integrability import check_expression_integrable
from giantstep.language.expressions.language import MAX_CHARACTERS
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.parser import (
    is_plain_expression,
    parse_expression,
    quoted_expression,
)
from giantstep.language.expressions.polynomial import TOO_LONG, Unusable, polynomial_expression
from giantstep.language.expressions.printing import expression_text
from giantstep.language.expressions.tree import Node, expression_variables
from giantstep.language.targets.catalogue import named_targets, named_tree_targets

EXAMPLE = "tree(tanh(2*u), He2(z)/sqrt(2), branches=1, leaves=d^0.5)"
_OPENING = re.compile(r"\s*tree\s*\(")


def is_tree_target(text: str) -> bool:
    """Whether a text means a tree: written as ``tree(...)``, or one of the catalogue by name.

    >>> is_tree_target("tree-he2"), is_tree_target("tree(u, He2(z))"), is_tree_target("h1 + h2")
    (True, True, False)
    """
    return text.strip() in named_tree_targets() or _OPENING.match(text) is not None


def refuse_tree_target(text: str) -> NoReturn:
    """Say that a number of directions is needed."""
    raise TargetError(
        f"target {quoted_expression(text.strip())}: a tree has no fixed number of directions, "
        "and one is needed here: write an expression in h1, h2, ...; "
        "explain and three-layer take trees"
    )


def tree_target_arguments(text: str) -> tuple[list[str], dict[str, str]]:
    """The arguments of ``tree(...)`` as texts: those in order, and those given as NAME=VALUE."""
    opening = _OPENING.match(text)
    assert opening is not None
    inside, depth, pieces = text[opening.end() :].rstrip(), 1, [""]
    for place, character in enumerate(inside):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            if place + 1 < len(inside):
                _fail(text, f"nothing may follow its last parenthesis: write {EXAMPLE}")
            break
        if character == "," and depth == 1:
            pieces.append("")
        else:
            pieces[-1] += character
    else:
        _fail(text, "its parenthesis is never closed")
    ordered: list[str] = []
    named: dict[str, str] = {}
    for piece in pieces:
        name, equals, value = re.fullmatch(r"\s*(?:(\w+)\s*(=)(?!=))?(.*)", piece, re.S).groups()  # type: ignore[union-attr]
        if not equals:
            ordered.append(value.strip())
        elif name not in ("branches", "leaves"):
            _fail(text, f"{quoted_expression(name)} is no option: use branches or leaves")
        elif name in named:
            _fail(text, f"{name} is given twice")
        else:
            named[name] = value.strip()
    if len(ordered) != 2 or not all(ordered):
        _fail(text, f"it takes two functions, of u and of z, not {len(ordered)}: write {EXAMPLE}")
    return ordered, named


def _fail(text: str, problem: str) -> NoReturn:
    raise TargetError(f"target {quoted_expression(text.strip())}: {problem}")


_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@functools.lru_cache(maxsize=1024)
def read_target(text: str) -> tuple[str, Node]:
    """The canonical text and the tree of an expression in h1.. and z1.., or of a named target."""
    name = text.strip()
    if is_tree_target(text):
        refuse_tree_target(text)
    try:
        return _read(named_targets().get(name, text), None, "target")
    except TargetError:
        near = difflib.get_close_matches(
            name, [*named_targets(), *named_tree_targets()], n=1, cutoff=0.6
        )
        if near and _NAME.fullmatch(name) and not re.fullmatch("[a-z][0-9]+", name):
            raise TargetError(
                f"target {quoted_expression(name)}: neither an expression nor a name of the "
                f"catalogue; did you mean {near[0]}?"
            ) from None
        raise


def how_target_was_read(text: str) -> str | None:
    """How a target in another notation than the language's was read; None if there is no doubt.

    >>> how_target_was_read("x_1 x_2"), how_target_was_read("h2*h1")
    ('h1*h2', None)
    """
    canonical, _ = read_target(text)
    return None if text.strip() in named_targets() or is_plain_expression(text) else canonical


@functools.lru_cache(maxsize=256)
def read_function_expression(text: str, variable: str) -> tuple[str, Node]:
    """The canonical text and the tree of an expression in one named variable."""
    return _read(text, variable, "function")


@functools.lru_cache(maxsize=256)
def read_loss_expression(text: str) -> Node:
    """The tree of an expression in a label y and an output f; huber(u) is known beside the rest."""

    def check(_: Node, tree: Node) -> None:
        if "f" not in expression_variables(tree):
            raise Unusable("it does not depend on the output f")

    return _normal_tree(text, "loss", ("y", "f"), check)


def _read(text: str, variable: str | None, noun: str) -> tuple[str, Node]:
    letters = (variable,) if variable else ()

    def check(parsed: Node, tree: Node) -> None:
        _check_variables(expression_variables(parsed), expression_variables(tree), variable)
        canonical = expression_text(tree)
        if len(canonical) > MAX_CHARACTERS:
            raise Unusable(TOO_LONG)
        parse_expression(canonical, letters, noun)
        check_expression_integrable(tree)

    tree = _normal_tree(text, noun, letters, check)
    return expression_text(tree), tree


def _normal_tree(
    text: str, noun: str, letters: tuple[str, ...], check: Callable[[Node, Node], None]
) -> Node:
    """The tree in normal form; ``check`` looks at it, and at the tree as it was written."""
    parsed = parse_expression(text, letters, noun)
    try:
        tree = polynomial_expression(normal_form(parsed))
        check(parsed, tree)
    except Unusable as problem:
        counted = "; h1 is what you call h[0]" if "[" in text else ""
        raise TargetError(f"{noun} {quoted_expression(text)}: {problem}{counted}") from None
    except RecursionError:
        raise TargetError(f"{noun} {quoted_expression(text)}: it is nested too deeply") from None
    return tree


def _check_variables(typed: frozenset[str], used: frozenset[str], variable: str | None) -> None:
    if variable is not None:
        if variable not in used:
            raise Unusable(f"it does not depend on {variable}")
        return
    if not any(name.startswith("h") for name in used):
        raise Unusable("it does not depend on any direction h1")
    for letter in "hz":
        indices = {int(name[1:]) for name in used if name.startswith(letter)}
        missing = set(range(1, max(indices, default=0))) - indices
        if missing:
            absent = f"{letter}{min(missing)}"
            present = ", ".join(f"{letter}{index}" for index in sorted(indices))
            why = f"{absent} cancels out" if absent in typed else "number them without gaps"
            raise Unusable(f"it uses {present} but not {absent}: {why}")
