"""Losses of a label y and an output f, given as expressions: slope, kinks, proximal operator."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError, TargetError
from giantstep.language.expressions.evaluate import JAX, NUMPY, evaluate_expression
from giantstep.language.expressions.kinks import expression_kink_surfaces
from giantstep.language.expressions.tree import Node
from giantstep.language.targets.reading import read_loss_expression
from giantstep.numerics.float64 import elementwise_derivative, in_float64
from giantstep.numerics.grids import padded_rows
from giantstep.numerics.solve import bisected, halved_brackets

#: Outputs between which a loss is looked at, and how finely.
FARTHEST, POINTS = 40.0, 3201
#: Labels at which a loss must be convex, whatever the target.
LABELS = np.array([-3.0, -1.0, -0.3, 0.0, 0.4, 1.0, 2.5])
#: Bisections that bring a bracket of any size down to the last digits of a number, and one of the
#: size of a proximal step down to what panels of quadrature need of their ends.
HALVINGS, PROXIMAL_HALVINGS = 70, 44
#: How far to the sides of a kink its slopes are read.
ASIDE = 1e-9
#: Losses of classifiers that have a name.
CLASSIFIERS = {"logistic": "softplus(-y*f)", "hinge": "relu(1-y*f)"}
REMEDY = (
    "give square, logistic, hinge, or a convex function of f written in y and f, such as "
    "huber(y-f), abs(y-f) or log(1+exp(-y*f))"
)


@dataclass(frozen=True)
class Loss:
    """A loss l(y, f), convex in f, as a tree of the expression language."""

    text: str
    tree: Node

    def numpy(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """l(y, f), elementwise."""
        return np.asarray(evaluate_expression(self.tree, NUMPY, {"y": y, "f": f}))

    def value(self, y: Any, f: Any) -> Any:
        """l(y, f) in JAX, elementwise."""
        return evaluate_expression(self.tree, JAX, {"y": y, "f": f})

    def slope(self, y: Any, f: Any) -> Any:
        """The derivative of l in f, in JAX; at a kink something between its sides."""
        return elementwise_derivative(lambda x: self.value(y, x) + 0 * x, f)

    def curvature(self, y: Any, f: Any) -> Any:
        """The second derivative of l in f between its kinks, in JAX."""
        return elementwise_derivative(lambda x: self.slope(y, x) + 0 * x, f)

    def proximal(self, y: Any, w: Any, v: Any) -> Any:
        r"""The minimum over t of l(y, t) + (t - w)^2/(2v), in JAX, by bisection.

        The slope in t grows, and the root of :math:`t - w + v\,l'(y, t)` lies between w and
        :math:`w - v\,l'(y, w)`; where the slope jumps across zero, bisection ends at the kink.
        """
        import jax.numpy as jnp

        pull = v * self.slope(y, w)

        def is_above(t: Any) -> Any:
            return t - w + v * self.slope(y, t) > 0

        low, high = w - jnp.maximum(pull, 0.0), w - jnp.minimum(pull, 0.0)
        low, high = halved_brackets(is_above, low, high, PROXIMAL_HALVINGS)
        return (low + high) / 2

    def kinks(self, labels: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n kinks"]:
        """Outputs f at which the loss of each label is not smooth; infinite where there is none."""
        found = [_loss_roots(surface, labels) for surface in expression_kink_surfaces((self.tree,))]
        whole = np.sort(np.concatenate([np.full((len(labels), 0), np.inf), *found], axis=1), axis=1)
        return whole[:, np.isfinite(whole).any(axis=0)]

    @functools.cached_property
    def of_margin(self) -> bool:
        """Whether the loss is a function of y f alone, as those of classifiers are."""
        y, f = np.meshgrid(LABELS, np.linspace(-3.7, 4.1, 41))
        whole, alone = (
            self.numpy(label, output) for label, output in ((y, f), (np.ones_like(y), y * f))
        )
        return bool(np.allclose(whole, alone, rtol=1e-9, atol=1e-12))


@functools.lru_cache(maxsize=64)
def loss_from_text(text: str) -> Loss:
    """The loss that an expression in y and f, or the name of a classifier's loss, stands for.

    Refuses one that is not convex in f.

    >>> loss = loss_from_text("huber(y - f)")
    >>> loss.kinks(np.array([0.5])).round(9).tolist(), loss.of_margin
    ([[-0.5, 0.5, 1.5]], False)
    """
    try:
        loss = Loss(text, read_loss_expression(CLASSIFIERS.get(text, text)))
    except TargetError as error:
        raise SettingsError(f"loss = {text[:60]!r} cannot be read: {REMEDY} ({error})") from None
    _check_loss_convex(loss)
    return loss


@in_float64
def _check_loss_convex(loss: Loss) -> None:
    """Refuse a loss whose slope falls somewhere."""
    # An irrational shift keeps the grid off kinks at round numbers.
    outputs = np.linspace(-FARTHEST, FARTHEST, POINTS) + 1e-4 * np.sqrt(2)
    y, f = LABELS[:, None] + 0 * outputs, outputs + 0 * LABELS[:, None]
    slopes, values = np.asarray(loss.slope(y, f)), np.asarray(loss.value(y, f))
    if not (np.isfinite(slopes).all() and np.isfinite(values).all()):
        where = np.argwhere(~(np.isfinite(slopes) & np.isfinite(values)))[0]
        raise SettingsError(
            f"loss = {loss.text[:60]!r} is not finite at y = {y[tuple(where)]:.3g}, "
            f"f = {f[tuple(where)]:.3g}: {REMEDY}"
        )
    step = outputs[1] - outputs[0]
    # A convex function lies between its tangents: that catches jumps of l as well as bends.
    rises, room = np.diff(values, axis=1), 1e-9 * (1 + np.abs(values[:, 1:]))
    falls = (rises < step * slopes[:, :-1] - room) | (rises > step * slopes[:, 1:] + room)
    if falls.any():
        i, j = np.argwhere(falls)[0]
        raise SettingsError(
            f"loss = {loss.text[:60]!r} is not convex in f: its slope falls near f = "
            f"{outputs[j]:.3g} at y = {LABELS[i]:.3g}; {REMEDY}"
        )


def _loss_roots(surface: Node, labels: np.ndarray) -> np.ndarray:
    """Zeros in f of a function of y and f, for each label."""
    scan = np.linspace(-FARTHEST, FARTHEST, POINTS) + 1e-4 * np.sqrt(2)

    def is_above(y: np.ndarray, f: np.ndarray) -> np.ndarray:
        with np.errstate(all="ignore"):
            return (
                np.broadcast_to(evaluate_expression(surface, NUMPY, {"y": y, "f": f}), f.shape) > 0
            )

    grid = np.broadcast_to(scan, (len(labels), POINTS))
    seen = is_above(np.broadcast_to(labels[:, None], grid.shape), grid)
    row, cell = np.nonzero(seen[:, 1:] != seen[:, :-1])
    before, y = seen[row, cell], labels[row]
    low, high = bisected(
        lambda f: is_above(y, f) != before, scan[cell], scan[cell + 1], HALVINGS if len(row) else 0
    )
    return padded_rows(row, (low + high) / 2, len(labels), np.inf)
