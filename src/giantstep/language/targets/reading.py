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
from giantstep.language.targets.catalogue import expressions, trees
from giantstep.language.targets.integrability import check_integrable
from giantstep.language.targets.language import MAX_CHARACTERS
from giantstep.language.targets.normal import normal_form
from giantstep.language.targets.parser import is_plain, parse, quoted
from giantstep.language.targets.polynomial import TOO_LONG, Unusable, to_tree
from giantstep.language.targets.printing import to_text
from giantstep.language.targets.tree import Node, variables

EXAMPLE = "tree(tanh(2*u), He2(z)/sqrt(2), branches=1, leaves=d^0.5)"
_OPENING = re.compile(r"\s*tree\s*\(")


def is_tree(text: str) -> bool:
    """Whether a text means a tree: written as ``tree(...)``, or one of the catalogue by name.

    >>> is_tree("tree-he2"), is_tree("tree(u, He2(z))"), is_tree("h1 + h2")
    (True, True, False)
    """
    return text.strip() in trees() or _OPENING.match(text) is not None


def refuse_tree(text: str) -> NoReturn:
    """Say that a number of directions is needed."""
    raise TargetError(
        f"target {quoted(text.strip())}: a tree has no fixed number of directions, and one is "
        "needed here: write an expression in h1, h2, ...; explain and three-layer take trees"
    )


def tree_arguments(text: str) -> tuple[list[str], dict[str, str]]:
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
            _fail(text, f"{quoted(name)} is no option: use branches or leaves")
        elif name in named:
            _fail(text, f"{name} is given twice")
        else:
            named[name] = value.strip()
    if len(ordered) != 2 or not all(ordered):
        _fail(text, f"it takes two functions, of u and of z, not {len(ordered)}: write {EXAMPLE}")
    return ordered, named


def _fail(text: str, problem: str) -> NoReturn:
    raise TargetError(f"target {quoted(text.strip())}: {problem}")


_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


@functools.lru_cache(maxsize=1024)
def read_target(text: str) -> tuple[str, Node]:
    """The canonical text and the tree of an expression in h1.. and z1.., or of a named target."""
    name = text.strip()
    if is_tree(text):
        refuse_tree(text)
    try:
        return _read(expressions().get(name, text), None, "target")
    except TargetError:
        near = difflib.get_close_matches(name, [*expressions(), *trees()], n=1, cutoff=0.6)
        if near and _NAME.fullmatch(name) and not re.fullmatch("[a-z][0-9]+", name):
            raise TargetError(
                f"target {quoted(name)}: neither an expression nor a name of the catalogue; "
                f"did you mean {near[0]}?"
            ) from None
        raise


def reading_of(text: str) -> str | None:
    """How a target in another notation than the language's was read; None if there is no doubt.

    >>> reading_of("x_1 x_2"), reading_of("h2*h1")
    ('h1*h2', None)
    """
    canonical, _ = read_target(text)
    return None if text.strip() in expressions() or is_plain(text) else canonical


@functools.lru_cache(maxsize=256)
def read_function(text: str, variable: str) -> tuple[str, Node]:
    """The canonical text and the tree of an expression in one named variable."""
    return _read(text, variable, "function")


@functools.lru_cache(maxsize=256)
def read_loss(text: str) -> Node:
    """The tree of an expression in a label y and an output f; huber(u) is known beside the rest."""

    def check(_: Node, tree: Node) -> None:
        if "f" not in variables(tree):
            raise Unusable("it does not depend on the output f")

    return _normal_tree(text, "loss", ("y", "f"), check)


def _read(text: str, variable: str | None, noun: str) -> tuple[str, Node]:
    letters = (variable,) if variable else ()

    def check(parsed: Node, tree: Node) -> None:
        _check_variables(variables(parsed), variables(tree), variable)
        canonical = to_text(tree)
        if len(canonical) > MAX_CHARACTERS:
            raise Unusable(TOO_LONG)
        parse(canonical, letters, noun)
        check_integrable(tree)

    tree = _normal_tree(text, noun, letters, check)
    return to_text(tree), tree


def _normal_tree(
    text: str, noun: str, letters: tuple[str, ...], check: Callable[[Node, Node], None]
) -> Node:
    """The tree in normal form; ``check`` looks at it, and at the tree as it was written."""
    parsed = parse(text, letters, noun)
    try:
        tree = to_tree(normal_form(parsed))
        check(parsed, tree)
    except Unusable as problem:
        counted = "; h1 is what you call h[0]" if "[" in text else ""
        raise TargetError(f"{noun} {quoted(text)}: {problem}{counted}") from None
    except RecursionError:
        raise TargetError(f"{noun} {quoted(text)}: it is nested too deeply") from None
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
