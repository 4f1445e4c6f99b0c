"""Is the target a number almost everywhere, and is its second moment under a Gaussian finite?

Four things can go wrong, each checked on the tree's magnitude at well-chosen points:

- a logarithm or a fractional power of something that is negative somewhere;
- a division by something that is zero on a set of positive probability;
- growth like exp(c |h|^2) with c >= 1/4 along some ray, since E[g^2] = int g^2 exp(-|h|^2 / 2);
- a pole: g ~ dist^(-s) near a set of codimension m has E[g^2] < infinity only if 2 s < m.

A target made of polynomials and of functions that grow at most linearly passes without any.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np

from giantstep.targets.generators import is_nonnegative
from giantstep.targets.language import FUNCTIONS, MAX_DEGREE
from giantstep.targets.magnitude import magnitude
from giantstep.targets.normal import normal_form
from giantstep.targets.polynomial import Unusable, natural
from giantstep.targets.printing import shortened
from giantstep.targets.singularities import check_poles, descend
from giantstep.targets.tree import (
    Call,
    Hermite,
    Node,
    Power,
    Product,
    Sum,
    Variable,
    children,
    variables,
    walk,
)

#: E[g^2] is finite if g grows slower than exp(|h|^2 / 4).
CRITICAL_GROWTH = 0.25
#: The logarithm of the largest second moment that is accepted.
MAX_LOG_MOMENT = math.log(1e200)
_SCALES = (1.0, 3.0, 30.0, 1e3)
_POINTS = 400
_FAR = 1e12
_ROUNDING = 1e-9


def check_integrable(tree: Node) -> None:
    """Raise :class:`Unusable`, saying why, unless E[g^2] is finite."""
    degree = _degree(tree)
    if degree > MAX_DEGREE and math.isfinite(degree):
        raise Unusable(f"it grows like a polynomial of degree {degree:g}, beyond {MAX_DEGREE}")
    names = sorted(variables(tree), key=natural)
    random = np.random.default_rng(0)
    tame = math.isfinite(degree) and not any(_is_singular(part) for part in walk(tree))
    with np.errstate(all="ignore"):
        if not tame:
            _check_domain(tree, names, random)
        typical = magnitude(tree, names, random.standard_normal((8, len(names))))
        if np.any(typical.log > MAX_LOG_MOMENT / 2):
            raise Unusable("its values are beyond 1e100")
        if not tame:
            _check_growth(tree, names, random)
            check_poles(tree, names, random)


def _is_singular(node: Node) -> bool:
    match node:
        case Call("log", _):
            return bool(variables(node))
        case Power(base, exponent):
            return bool(variables(base)) and (exponent < 0 or exponent.denominator > 1)
    return False


def _degree(node: Node) -> float:
    """A degree of polynomial growth that bounds the node; infinite where there is none."""
    below = [_degree(child) for child in children(node)]
    match node:
        case Variable():
            return 1.0
        case Sum():
            return max(below)
        case Product():
            return sum(below)
        case Power(_, exponent):
            return below[0] * float(exponent) if exponent > 0 or not variables(node) else math.inf
        case Hermite(k, _):
            return below[0] * k
        case Call(function, _) if FUNCTIONS[function].growth == "bounded":
            return 0.0
        case Call(function, _) if FUNCTIONS[function].growth == "linear":
            return max(below)
        case Call() if variables(node):
            return math.inf
    return 0.0


def _check_domain(tree: Node, names: Sequence[str], random: np.random.Generator) -> None:
    cloud = random.standard_normal((len(_SCALES), _POINTS, len(names)))
    points = (cloud * np.array(_SCALES)[:, None, None]).reshape(-1, len(names))
    for part in reversed(list(walk(tree))):
        match part:
            case Call("log", (base,)) | Power(base, _) if _is_singular(part):
                size = magnitude(base, names, points)
            case _:
                continue
        infinite = isinstance(part, Call) or part.exponent < 0
        if infinite and np.any(size.sign == 0):
            raise Unusable(f"{shortened(part)} is infinite where {shortened(base)} = 0")
        fractional = isinstance(part, Call) or part.exponent.denominator > 1
        if fractional and _is_negative_somewhere(base, names, points, random):
            raise Unusable(f"{shortened(part)} is not a real number where {shortened(base)} < 0")


def _is_negative_somewhere(
    base: Node, names: Sequence[str], points: np.ndarray, random: np.random.Generator
) -> bool:
    """At one of the points, or where a search from the lowest of them leads."""
    values = _plain(base, names, points)
    if np.any(values < 0) or is_nonnegative(normal_form(base)):
        return bool(np.any(values < 0))
    axes = [i for i, name in enumerate(names) if name in variables(base)]
    starts = points[np.argsort(values)[:4]]
    _, lowest = descend(functools.partial(_plain, base, names), starts, axes, 1.0, random)
    return bool(lowest.min() < -_ROUNDING * np.median(values))


def _plain(node: Node, names: Sequence[str], points: np.ndarray) -> np.ndarray:
    return magnitude(node, names, points).plain()


def _check_growth(tree: Node, names: Sequence[str], random: np.random.Generator) -> None:
    """Along rays, in the variables that some exponential depends on."""
    inside = {
        name
        for part in walk(tree)
        if isinstance(part, Call) and FUNCTIONS[part.function].growth == "exponential"
        for name in variables(part)
    }
    axes = [i for i, name in enumerate(names) if name in inside]
    if not axes:
        return
    origins = random.standard_normal((6, 1, len(names)))
    origins[0] = 0.0
    directions = _starting_directions(len(names), axes, random)
    for spread in (0.3, 0.1, 0.03, 0.01, 0.003):
        steepest = np.argsort(-_growth(tree, names, origins, directions))[:8]
        near = np.repeat(directions[steepest], 8, axis=0)
        near[:, axes] += spread * random.standard_normal((len(near), len(axes)))
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        directions = np.concatenate([directions[steepest], near])
    steepest_growth = _growth(tree, names, origins, directions).max()
    if steepest_growth >= CRITICAL_GROWTH - 1e-9:
        raise Unusable(
            f"its second moment is infinite: along some ray it grows like exp(c*|h|**2) "
            f"with c = {steepest_growth:.3g}, and c must be below 1/4"
        )
    radii = np.linspace(0.5, 60.0, 120)
    along = magnitude(tree, names, radii[:, None, None] * directions)
    if np.max(2 * along.log - radii[:, None] ** 2 / 2) > MAX_LOG_MOMENT:
        raise Unusable("its second moment is beyond 1e200: use a smaller constant in exp")


def _starting_directions(dim: int, axes: Sequence[int], random: np.random.Generator) -> np.ndarray:
    rows = [np.eye(dim)[i] * sign for i in axes for sign in (1, -1)]
    for i, j in itertools.combinations(axes[:8], 2):
        rows += [np.eye(dim)[i] * a + np.eye(dim)[j] * b for a in (1, -1) for b in (1, -1)]
    scattered = np.zeros((128, dim))
    scattered[:, axes] = random.standard_normal((128, len(axes)))
    every = np.concatenate([np.array(rows), scattered])
    return every / np.linalg.norm(every, axis=1, keepdims=True)


def _growth(
    tree: Node, names: Sequence[str], origins: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """lim log|g| / t^2 along rays in each direction; the largest over the rays' origins."""
    size = magnitude(tree, names, origins + _FAR * directions)
    growth = size.log / _FAR**2
    return np.max(np.where(np.isnan(growth), np.inf, growth), axis=0)
