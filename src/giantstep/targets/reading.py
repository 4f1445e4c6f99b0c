"""From the text a person typed to a checked tree in normal form."""

from __future__ import annotations

import difflib
import functools
import re

from giantstep.errors import TargetError
from giantstep.targets.catalogue import expressions, trees
from giantstep.targets.integrability import check_integrable
from giantstep.targets.language import MAX_CHARACTERS
from giantstep.targets.normal import normal_form
from giantstep.targets.parser import is_plain, parse, quoted
from giantstep.targets.polynomial import TOO_LONG, Unusable, to_tree
from giantstep.targets.printing import to_text
from giantstep.targets.tree import Node, variables
from giantstep.targets.tree_text import is_tree, refuse_tree

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
    parsed = parse(text, noun="loss", letters=("y", "f"))
    try:
        tree = to_tree(normal_form(parsed))
        if "f" not in variables(tree):
            raise Unusable("it does not depend on the output f")
    except Unusable as problem:
        raise TargetError(f"loss {quoted(text)}: {problem}") from None
    except RecursionError:
        raise TargetError(f"loss {quoted(text)}: it is nested too deeply") from None
    return tree


def _read(text: str, variable: str | None, noun: str) -> tuple[str, Node]:
    parsed = parse(text, variable=variable, noun=noun)
    try:
        tree = to_tree(normal_form(parsed))
        _check_variables(variables(parsed), variables(tree), variable)
        canonical = to_text(tree)
        if len(canonical) > MAX_CHARACTERS:
            raise Unusable(TOO_LONG)
        parse(canonical, variable=variable, noun=noun)
        check_integrable(tree)
    except Unusable as problem:
        counted = "; h1 is what you call h[0]" if "[" in text else ""
        raise TargetError(f"{noun} {quoted(text)}: {problem}{counted}") from None
    except RecursionError:
        raise TargetError(f"{noun} {quoted(text)}: it is nested too deeply") from None
    return canonical, tree


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
