"""``Target``: what is to be learned, read from an expression; ``ScalarFunction``: its sister."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import TargetError
from giantstep.language.expressions.evaluate import (
    JAX,
    NUMPY,
    evaluate_expression,
    expression_to_sympy,
)
from giantstep.language.expressions.integrability import singular_expression
from giantstep.language.expressions.kinks import discrete_expression_values, expression_kinks
from giantstep.language.expressions.printing import expression_latex
from giantstep.language.expressions.tree import (
    Call,
    Node,
    Variable,
    expression_variables,
    replaced_expression,
    walk_expression,
)
from giantstep.language.targets.reading import (
    is_tree_target,
    read_function_expression,
    read_target,
    refuse_tree_target,
)

if TYPE_CHECKING:
    from giantstep.language.targets.integration import TargetBlock


@dataclass(frozen=True)
class Target:
    """A function g(h1..hr) of latent directions, and of noises z1, z2, .. inside the label.

    Built from an expression or from a name of the catalogue. ``text`` becomes the canonical
    text, so targets that the normal form recognises as equal are equal and hash alike. Refused
    with :class:`TargetError`: what cannot be read, and what has no finite second moment for
    standard Gaussian h and z.

    >>> Target("h2*He(3, h1) + h1")
    Target('h1 + He3(h1)*h2')
    >>> Target("h1*(h1 + h2) - 1") == Target("He2(h1) + h1*h2")
    True
    """

    text: str
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            if is_tree_target(str(self.text)):
                refuse_tree_target(str(self.text))
            raise TargetError(f"a target is written as text, such as 'h1 + h2', not {self.text!r}")
        text, tree = read_target(self.text)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "tree", tree)

    def __repr__(self) -> str:
        return f"Target({self.text!r})"

    def __str__(self) -> str:
        return self.text

    @cached_property
    def rank(self) -> int:
        """Number r of latent directions h1..hr."""
        return sum(name.startswith("h") for name in expression_variables(self.tree))

    @cached_property
    def noises(self) -> int:
        """Number of independent standard normal variables z1, z2, .. inside the label."""
        return sum(name.startswith("z") for name in expression_variables(self.tree))

    @property
    def is_random(self) -> bool:
        """Whether the label is random given h."""
        return self.noises > 0

    @cached_property
    def is_polynomial(self) -> bool:
        """Whether g is a polynomial in h and z."""
        return not any(
            expression_variables(part)
            and (isinstance(part, Call) or singular_expression(part) is not None)
            for part in walk_expression(self.tree)
        )

    def numpy(self, h: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        """g at points h of shape (..., r) and z of shape (..., noises), of shape (...).

        >>> Target("h1*h2").numpy(np.array([[1.0, 2.0], [3.0, 4.0]]))
        array([ 2., 12.])
        """
        with np.errstate(all="ignore"):
            return np.asarray(evaluate_expression(self.tree, NUMPY, self._leaves(np.asarray(h), z)))

    def __call__(self, h: Any, z: Any = None) -> np.ndarray:
        """g at latent points: directions on the last axis; for one direction, numbers will do.

        >>> Target("h1*h2")([[1.0, 2.0], [3.0, 4.0]]).tolist(), Target("h1**2")([1.0, 2.0]).tolist()
        ([2.0, 12.0], [1.0, 4.0])
        """
        at = np.asarray(h, dtype=float)
        if self.rank == 1 and at.shape[-1:] != (1,):
            at = at[..., None]
        return self.numpy(at, None if z is None else np.asarray(z, dtype=float))

    def jax(self, h: Any, z: Any = None) -> Any:
        """g in JAX: jit, vmap and grad go through; derivatives are finite at kinks."""
        import jax.numpy as jnp

        return evaluate_expression(self.tree, JAX, self._leaves(jnp.asarray(h), z))

    def _leaves(self, h: Any, z: Any) -> dict[str, Any]:
        if h.shape[-1:] != (self.rank,):
            raise TargetError(
                f"h of shape {h.shape} does not fit {self!r}: its last axis must be {self.rank}, "
                f"one entry for each of the {self.rank} directions"
            )
        leaves = {f"h{i + 1}": h[..., i] for i in range(self.rank)}
        if self.noises:
            if z is None or z.shape[-1:] != (self.noises,):
                raise TargetError(
                    f"{self!r} needs noises z with a last axis of {self.noises}, "
                    f"got {'none' if z is None else f'shape {z.shape}'}"
                )
            leaves |= {f"z{i + 1}": z[..., i] for i in range(self.noises)}
        return leaves

    @property
    def _block(self) -> TargetBlock:
        # A file of its own, which knows this one.
        from giantstep.language.targets.integration import target_block

        return target_block(self)

    @property
    def kinks(self) -> tuple[tuple[float, ...], ...]:
        """For each direction, the sorted positions on its axis of kinks, jumps and poles.

        >>> Target("sign(h1*h2) + relu(h2 - 1)").kinks
        ((0.0,), (0.0, 1.0))
        """
        return self._block.kinks[: self.rank]

    @property
    def noise_kinks(self) -> tuple[tuple[float, ...], ...]:
        """The same for each noise."""
        return self._block.kinks[self.rank :]

    @property
    def aligned_kinks(self) -> bool:
        """False if there are kinks besides, on other surfaces, as in relu(h1 + h2 - 1)."""
        return self._block.aligned

    @cached_property
    def discrete_values(self) -> tuple[float, ...] | None:
        """The sorted label values if there are finitely many, else None.

        >>> Target("sign(h1) + (|h2| < 1)").discrete_values
        (-1.0, 0.0, 1.0, 2.0)
        """
        return discrete_expression_values(self.tree)

    @cached_property
    def latex(self) -> str:
        """The expression in LaTeX, for mathematics mode."""
        return expression_latex(self.tree)

    def _repr_latex_(self) -> str:
        return f"${self.latex}$"

    def sympy(self) -> Any:
        """The expression in SymPy, in real symbols h1, h2, .. and z1, z2, .."""
        return expression_to_sympy(self.tree)


@dataclass(frozen=True)
class ScalarFunction:
    """A function of one variable in the same language, such as an activation ``relu(z - 1)``.

    >>> ScalarFunction("0.7*He2(z) + relu(z-1)").kinks
    (1.0,)
    >>> float(ScalarFunction("He2(z) + 1").numpy(np.array(3.0)))
    9.0
    """

    text: str
    variable: str = "z"
    tree: Node = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):
            raise TargetError(
                f"a function is written as text, such as 'relu(z)', not {self.text!r}"
            )
        text, tree = read_function_expression(self.text, self.variable)
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "tree", tree)

    def numpy(self, x: np.ndarray) -> np.ndarray:
        """The function of each entry."""
        with np.errstate(all="ignore"):
            return np.asarray(evaluate_expression(self.tree, NUMPY, {self.variable: np.asarray(x)}))

    def jax(self, x: Any) -> Any:
        """The function of each entry, in JAX."""
        import jax.numpy as jnp

        return evaluate_expression(self.tree, JAX, {self.variable: jnp.asarray(x)})

    def of(self, name: str) -> Node:
        """The tree with another name for the variable."""
        return replaced_expression(self.tree, {Variable(self.variable): Variable(name)})

    @cached_property
    def kinks(self) -> tuple[float, ...]:
        """Sorted positions of kinks, jumps and poles."""
        return expression_kinks(self.tree, (self.variable,)).positions[self.variable]
