"""``TreeTarget``: a function of branches, each a sum over many leaves; no fixed directions."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError, TargetError
from giantstep.language.expressions.language import MAX_CHARACTERS
from giantstep.language.expressions.parser import quoted_expression
from giantstep.language.expressions.printing import expression_latex, expression_text
from giantstep.language.sizes import Size
from giantstep.language.targets.catalogue import named_tree_targets
from giantstep.language.targets.reading import EXAMPLE, is_tree_target, tree_target_arguments
from giantstep.language.targets.target import ScalarFunction, Target

_DEFAULTS = {"branches": "1", "leaves": "d^0.5"}


@dataclass(frozen=True)
class TreeTarget:
    r"""A target of depth two: labels from branches, branches from leaves, leaves from inputs.

    .. math:: y = \frac{1}{\sqrt{b}} \sum_{i \le b} g(u_i), \qquad
        u_i = \frac{1}{\sqrt{l}} \sum_{j \le l} a_{ij}\, p(z_{ij}), \qquad z = W^* x

    with g the ``outer`` and p the ``inner`` function, b ``branches`` and l ``leaves``, signs
    a = +-1 drawn at random and orthonormal rows of W*. Sizes are expressions in d. Written
    ``tree(OUTER, INNER, branches=1, leaves=d^0.5)``, or by a name of the catalogue; ``text``
    becomes the canonical text.

    >>> TreeTarget("tree(tanh(2 u), (z^2 - 1)/2, leaves=8)")
    TreeTarget('tree(tanh(2*u), 0.5*He2(z), branches=1, leaves=8)')
    """

    text: str
    outer: ScalarFunction = field(init=False, repr=False, compare=False)
    inner: ScalarFunction = field(init=False, repr=False, compare=False)
    branches: Size = field(init=False, repr=False, compare=False)
    leaves: Size = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str) or not is_tree_target(self.text):
            raise TargetError(f"a tree is written as {EXAMPLE}, not {str(self.text)[:60]!r}")
        written = named_tree_targets().get(self.text.strip(), self.text)
        if len(written) > MAX_CHARACTERS:
            raise TargetError(
                f"target {quoted_expression(written)}: more than {MAX_CHARACTERS} characters"
            )
        (outer, inner), named = tree_target_arguments(written)
        parts: dict[str, Any] = {
            "outer": _function(written, "first", outer, "u", "a branch"),
            "inner": _function(written, "second", inner, "z", "a leaf"),
        }
        for name, usual in _DEFAULTS.items():
            parts[name] = _tree_target_size(written, name, named.get(name, usual))
        functions = f"{parts['outer'].text}, {parts['inner'].text}"
        sizes = f"branches={parts['branches']}, leaves={parts['leaves']}"
        for name, part in {"text": f"tree({functions}, {sizes})", **parts}.items():
            object.__setattr__(self, name, part)

    def __repr__(self) -> str:
        return f"TreeTarget({self.text!r})"

    def __str__(self) -> str:
        return self.text

    def sizes(self, dim: int) -> tuple[int, int]:
        """Branches and leaves at a dimension, rounded; refused if they do not fit into it.

        >>> TreeTarget("tree-he2").sizes(64)
        (1, 8)
        """
        branches, leaves = self.branches.count(dim, "branches"), self.leaves.count(dim, "leaves")
        if branches * leaves > dim:
            raise SettingsError(
                f"branches * leaves = {branches} * {leaves} is more than dim = {dim}: the leaves "
                "are orthogonal directions, so lower branches or leaves, or raise dim"
            )
        return branches, leaves

    @cached_property
    def inner_link(self) -> Target:
        """The inner function p as a target of one direction, for its Hermite coefficients."""
        return Target(expression_text(self.inner.of("h1")))

    def branch_values(
        self, z: Float[np.ndarray, "... branches leaves"], signs: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "... branches"]:
        """The values u of the branches at leaves z, with the signs a of shape (branches, leaves).

        >>> TreeTarget("tree-he2").branch_values(np.ones((1, 4)), np.ones((1, 4))).tolist()
        [0.0]
        """
        return np.sum(signs * self.inner.numpy(z), axis=-1) / np.sqrt(z.shape[-1])

    def numpy(
        self, z: Float[np.ndarray, "... branches leaves"], signs: Float[np.ndarray, "..."]
    ) -> Float[np.ndarray, "..."]:
        """The labels at leaves z, with the signs a of shape (branches, leaves)."""
        values = self.outer.numpy(self.branch_values(z, signs))
        return np.sum(values, axis=-1) / np.sqrt(z.shape[-2])

    @cached_property
    def latex(self) -> str:
        """The target in LaTeX, for mathematics mode."""
        outer = expression_latex(self.outer.of("u_i"))
        inner = expression_latex(self.inner.of("z_{ij}"))
        b, leaves = _size_latex(self.branches), _size_latex(self.leaves)
        branch = rf"u_i = \frac{{1}}{{\sqrt{{l}}}} \sum_{{j \le l}} a_{{ij}} \left[{inner}\right]"
        sizes = rf"b = {b},\ l = {leaves}"
        return rf"\frac{{1}}{{\sqrt{{b}}}} \sum_{{i \le b}} {outer},\quad {branch},\quad {sizes}"

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"


def any_target(given: Target | TreeTarget | str) -> Target | TreeTarget:
    """The target or the tree that a text stands for.

    >>> any_target("tree-he2").text, any_target("h2*h1").text
    ('tree(tanh(2.449*u), He2(z)/sqrt(2), branches=1, leaves=d^0.5)', 'h1*h2')
    """
    if isinstance(given, Target | TreeTarget):
        return given
    return TreeTarget(given) if isinstance(given, str) and is_tree_target(given) else Target(given)


def _function(whole: str, place: str, text: str, variable: str, what: str) -> ScalarFunction:
    try:
        return ScalarFunction(text, variable)
    except TargetError as error:
        said = str(error).removeprefix("function ")
        raise TargetError(
            f"target {quoted_expression(whole.strip())}: its {place} function, of {variable} "
            f"({what}), {said}"
        ) from None


def _tree_target_size(whole: str, name: str, given: str) -> Size:
    try:
        return Size.parse(given, name)
    except SettingsError as error:
        raise TargetError(f"target {quoted_expression(whole.strip())}: {error}") from None


def _size_latex(size: Size) -> str:
    number = "" if size.coefficient == 1 and size.power else f"{size.coefficient:.12g}"
    return number + ("" if size.power == 0 else "d" if size.power == 1 else f"d^{{{size.power:g}}}")
