"""How a tree target is written, and the one line where a plain expression is needed instead."""

from __future__ import annotations

import re
from typing import NoReturn

from giantstep.errors import TargetError
from giantstep.targets.catalogue import trees
from giantstep.targets.parser import quoted

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
