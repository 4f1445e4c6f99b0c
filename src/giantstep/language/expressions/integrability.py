"""Is the target a number almost everywhere, and is its second moment under a Gaussian finite?

Four things can go wrong, each checked on the tree's magnitude at well-chosen points:

- a logarithm or a fractional power of something that is negative somewhere;
- a division by something that is zero on a set of positive probability;
- growth like exp(c |h|^2) with c >= 1/4 along some ray, since E[g^2] = int g^2 exp(-|h|^2 / 2);
- a pole: g ~ dist^(-s) near a set of codimension m has E[g^2] < infinity only if 2 s < m.

A target made of polynomials and of functions that grow at most linearly passes without any.

A pole sits where the base of a negative power or the argument of a logarithm vanishes. Random
lines meet every such set of codimension one; sets of higher codimension, such as the origin
for 1/(h1**2 + h2**2), are found by descent.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from giantstep.language.expressions.evaluate import expression_magnitude
from giantstep.language.expressions.language import FUNCTIONS, MAX_DEGREE
from giantstep.language.expressions.magnitude import Magnitude
from giantstep.language.expressions.normal import normal_form
from giantstep.language.expressions.polynomial import (
    Unusable,
    is_nonnegative_polynomial,
    variable_order,
)
from giantstep.language.expressions.printing import short_expression_text
from giantstep.language.expressions.tree import (
    Call,
    Hermite,
    Node,
    Power,
    Product,
    Sum,
    Variable,
    expression_children,
    expression_variables,
    walk_expression,
)

#: Nodes inside roots, logarithms and denominators, counted for each of them: about a second.
MAX_WORK = 600
#: E[g^2] is finite if g grows slower than exp(|h|^2 / 4).
CRITICAL_GROWTH = 0.25
#: The logarithm of the largest second moment that is accepted.
MAX_LOG_MOMENT = math.log(1e200)
_SCALES = (1.0, 3.0, 30.0, 1e3)
_POINTS = 400
_FAR = 1e12
_ROUNDING = 1e-9


def check_expression_integrable(tree: Node) -> None:
    """Raise :class:`Unusable`, saying why, unless E[g^2] is finite."""
    degree = _degree(tree)
    if degree > MAX_DEGREE and math.isfinite(degree):
        raise Unusable(f"it grows like a polynomial of degree {degree:g}, beyond {MAX_DEGREE}")
    names = sorted(expression_variables(tree), key=variable_order)
    random = np.random.default_rng(0)
    tame = math.isfinite(degree) and not any(_is_singular(part) for part in walk_expression(tree))
    if not tame:
        _check_expression_work(tree)
    with np.errstate(all="ignore"):
        if not tame:
            _check_domain(tree, names, random)
        typical = expression_magnitude(tree, names, random.standard_normal((8, len(names))))
        if np.any(typical.log > MAX_LOG_MOMENT / 2):
            raise Unusable("its values are beyond 1e100")
        if not tame:
            _check_growth(tree, names, random)
            _check_poles(tree, names, random)


def _check_expression_work(tree: Node) -> None:
    """Refuse roots, logarithms and denominators inside one another that take long to look at."""
    singular = [part for part in walk_expression(tree) if _is_singular(part)]
    inside = itertools.chain.from_iterable(walk_expression(part) for part in singular)
    work = sum(part.degree if isinstance(part, Hermite) else 1 for part in inside)
    if work > MAX_WORK:
        raise Unusable(
            f"it has {len(singular)} roots, logarithms and denominators inside one another, too "
            "many to look for their poles: write it with fewer"
        )


def singular_expression(node: Node) -> Node | None:
    """The argument of a logarithm, or the base of a negative or fractional power; else None."""
    match node:
        case Call(function, (base,)) if FUNCTIONS[function].growth == "logarithmic":
            return base
        case Power(base, exponent) if exponent < 0 or exponent.denominator > 1:
            return base
    return None


def _is_singular(node: Node) -> bool:
    base = singular_expression(node)
    return base is not None and bool(expression_variables(base))


def _degree(node: Node) -> float:
    """A degree of polynomial growth that bounds the node; infinite where there is none."""
    below = [_degree(child) for child in expression_children(node)]
    match node:
        case Variable():
            return 1.0
        case Sum():
            return max(below)
        case Product():
            return sum(below)
        case Power(_, exponent):
            return (
                below[0] * float(exponent)
                if exponent > 0 or not expression_variables(node)
                else math.inf
            )
        case Hermite(k, _):
            return below[0] * k
        case Call(function, _) if FUNCTIONS[function].growth == "bounded":
            return 0.0
        case Call(function, _) if FUNCTIONS[function].growth == "linear":
            return max(below)
        case Call() if expression_variables(node):
            return math.inf
    return 0.0


def _check_domain(tree: Node, names: Sequence[str], random: np.random.Generator) -> None:
    cloud = random.standard_normal((len(_SCALES), _POINTS, len(names)))
    points = (cloud * np.array(_SCALES)[:, None, None]).reshape(-1, len(names))
    for part in reversed(list(walk_expression(tree))):
        base = singular_expression(part)
        if base is None or not expression_variables(base):
            continue
        if _is_infinite_at_zero(part) and np.any(
            expression_magnitude(base, names, points).sign == 0
        ):
            raise Unusable(
                f"{short_expression_text(part)} is infinite where {short_expression_text(base)} = 0"
            )
        fractional = not isinstance(part, Power) or part.exponent.denominator > 1
        if fractional and _is_negative_somewhere(base, names, points, random):
            raise Unusable(
                f"{short_expression_text(part)} is not a real number where "
                f"{short_expression_text(base)} < 0"
            )


def _is_negative_somewhere(
    base: Node, names: Sequence[str], points: np.ndarray, random: np.random.Generator
) -> bool:
    """At one of the points, or where a search from the lowest of them leads."""

    def plain(points: np.ndarray) -> np.ndarray:
        return expression_magnitude(base, names, points).plain()

    values = plain(points)
    if np.any(values < 0) or is_nonnegative_polynomial(normal_form(base)):
        return bool(np.any(values < 0))
    axes = [i for i, name in enumerate(names) if name in expression_variables(base)]
    starts = points[np.argsort(values)[:4]]
    _, lowest = _descend_expression_score(plain, starts, axes, 1.0, random)
    return bool(lowest.min() < -_ROUNDING * np.median(values))


def _check_growth(tree: Node, names: Sequence[str], random: np.random.Generator) -> None:
    """Along rays, in the variables that some exponential depends on."""
    inside = {
        name
        for part in walk_expression(tree)
        if isinstance(part, Call) and FUNCTIONS[part.function].growth == "exponential"
        for name in expression_variables(part)
    }
    axes = [i for i, name in enumerate(names) if name in inside]
    if not axes:
        return
    origins = random.standard_normal((6, 1, len(names)))
    origins[0] = 0.0
    directions = _expression_rays(len(names), axes, random)
    for spread in (0.3, 0.1, 0.03, 0.01, 0.003):
        steepest = np.argsort(-_expression_growth(tree, names, origins, directions))[:8]
        near = np.repeat(directions[steepest], 8, axis=0)
        near[:, axes] += spread * random.standard_normal((len(near), len(axes)))
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        directions = np.concatenate([directions[steepest], near])
    steepest_growth = _expression_growth(tree, names, origins, directions).max()
    if steepest_growth >= CRITICAL_GROWTH - 1e-9:
        raise Unusable(
            f"its second moment is infinite: along some ray it grows like exp(c*|h|**2) "
            f"with c = {steepest_growth:.3g}, and c must be below 1/4"
        )
    radii = np.linspace(0.5, 60.0, 120)
    along = expression_magnitude(tree, names, radii[:, None, None] * directions)
    if np.max(2 * along.log - radii[:, None] ** 2 / 2) > MAX_LOG_MOMENT:
        raise Unusable("its second moment is beyond 1e200: use a smaller constant in exp")


def _expression_rays(dim: int, axes: Sequence[int], random: np.random.Generator) -> np.ndarray:
    rows = [np.eye(dim)[i] * sign for i in axes for sign in (1, -1)]
    for i, j in itertools.combinations(axes[:8], 2):
        rows += [np.eye(dim)[i] * a + np.eye(dim)[j] * b for a in (1, -1) for b in (1, -1)]
    scattered = np.zeros((128, dim))
    scattered[:, axes] = random.standard_normal((128, len(axes)))
    every = np.concatenate([np.array(rows), scattered])
    return every / np.linalg.norm(every, axis=1, keepdims=True)


def _expression_growth(
    tree: Node, names: Sequence[str], origins: np.ndarray, directions: np.ndarray
) -> np.ndarray:
    """lim log|g| / t^2 along rays in each direction; the largest over the rays' origins."""
    size = expression_magnitude(tree, names, origins + _FAR * directions)
    growth = size.log / _FAR**2
    return np.max(np.where(np.isnan(growth), np.inf, growth), axis=0)


#: Denominators and logarithms whose zeros are looked for.
MAX_BASES = 20
_LINES = 16
#: Positions along a line: dense near the origin, out to 40 standard deviations.
_ALONG = np.sinh(np.linspace(-np.arcsinh(40.0), np.arcsinh(40.0), 400))
_CANDIDATES = 48
#: Distances from a zero at which the target is compared with itself.
_DISTANCES = 10.0 ** np.arange(-2.0, -5.6, -0.5)
#: Differences smaller than this part of the largest term are rounding errors.
_NOISE = 1e-9
_TOLERANCE = 5e-3


def _check_poles(tree: Node, names: Sequence[str], random: np.random.Generator) -> None:
    """Raise :class:`Unusable` if the square of the target has an infinite integral at a pole."""
    bases = _vanishing_bases(tree)
    if len(bases) > MAX_BASES:
        raise Unusable(f"it has more than {MAX_BASES} different denominators and logarithms")
    for base in bases:
        zeros, lines = _zeros_on_lines(base, names, random)
        codimension = 1
        if not len(zeros):
            zeros, lines, codimension = _isolated_zeros(base, names, random)
        if len(zeros) and 2 * _order(tree, names, zeros, lines) >= codimension - 2 * _TOLERANCE:
            raise Unusable(
                f"its second moment is infinite: it grows too fast near the points "
                f"where {short_expression_text(base)} = 0"
            )


def expression_vanishes(node: Node, names: Sequence[str]) -> bool:
    """Whether a zero of the node was found."""
    random = np.random.default_rng(0)
    with np.errstate(all="ignore"):
        if len(_zeros_on_lines(node, names, random)[0]):
            return True
        return len(_isolated_zeros(node, names, random)[0]) > 0


def _is_infinite_at_zero(node: Node) -> bool:
    return not isinstance(node, Power) or node.exponent < 0


def _vanishing_bases(tree: Node) -> list[Node]:
    bases = {
        singular_expression(part): None
        for part in walk_expression(tree)
        if _is_infinite_at_zero(part)
    }
    return [base for base in bases if base is not None and expression_variables(base)]


def _zeros_on_lines(
    base: Node, names: Sequence[str], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Points where the base vanishes, and the unit vectors of the lines they were found on."""
    dim = len(names)
    origins = random.standard_normal((_LINES, dim))
    vectors = _unit_expression_rays(random.standard_normal((_LINES, dim)))
    size = expression_magnitude(base, names, origins[:, None] + _ALONG[:, None] * vectors[:, None])
    line, left = np.nonzero(size.sign[:, 1:] != size.sign[:, :-1])
    crossing = _nearest_expression_zero(line, left, left + 1)
    inner = size.log[:, 1:-1]
    line, middle = np.nonzero((inner < size.log[:, :-2]) & (inner < size.log[:, 2:]))
    touching = _nearest_expression_zero(line, middle, middle + 2)
    found, along = [], []
    for (line, low, high), search in ((crossing, _bisect), (touching, _descend_on_expression)):
        lines = _Lines(base, tuple(names), origins[line], vectors[line])
        position = search(lines, low, high)
        vanishes = lines.vanish(position)
        found.append(lines.points(position)[vanishes])
        along.append(lines.vectors[vanishes])
    return np.concatenate(found), np.concatenate(along)


@dataclass(frozen=True, eq=False)
class _Lines:
    """An expression along several lines, at one position or several on each."""

    node: Node
    names: tuple[str, ...]
    origins: np.ndarray
    vectors: np.ndarray

    def points(self, position: np.ndarray) -> np.ndarray:
        return self.origins + position[..., None] * self.vectors

    def at(self, position: np.ndarray) -> Magnitude:
        return expression_magnitude(self.node, self.names, self.points(position))

    def vanish(self, position: np.ndarray) -> np.ndarray:
        """Whether the values go to zero there, rather than jump or stay away from it."""
        offsets = np.array([1e-6, -1e-6, 1e-3, -1e-3])[:, None]
        log = self.at(position + offsets).log
        return np.min(log[:2], axis=0) < np.min(log[2:], axis=0) - 0.5


def _nearest_expression_zero(
    line: np.ndarray, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    order = np.argsort(np.abs(_ALONG[left]))[:_CANDIDATES]
    return line[order], _ALONG[left[order]], _ALONG[right[order]]


def _bisect(lines: _Lines, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Nine parts at a time: the part with the first change of sign."""
    for _ in range(16):
        parts = low + np.linspace(0.0, 1.0, 10)[:, None] * (high - low)
        signs = lines.at(parts).sign
        first = np.argmax(signs[1:] != signs[:-1], axis=0)
        low, high = _expression_at_rows(parts, first), _expression_at_rows(parts, first + 1)
    return (low + high) / 2


def _descend_on_expression(lines: _Lines, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Ten parts at a time: the two parts around the smallest value."""
    for _ in range(13):
        parts = low + np.linspace(0.0, 1.0, 11)[:, None] * (high - low)
        lowest = 1 + np.argmin(lines.at(parts).log[1:-1], axis=0)
        low, high = _expression_at_rows(parts, lowest - 1), _expression_at_rows(parts, lowest + 1)
    return (low + high) / 2


def _expression_at_rows(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    return rows[row, np.arange(rows.shape[1])]


def _order(tree: Node, names: Sequence[str], zeros: np.ndarray, vectors: np.ndarray) -> float:
    """The largest s such that the target grows like distance**(-s) at one of the zeros."""
    steps = _DISTANCES[:, None, None, None] * np.array([1.0, -1.0])[:, None, None] * vectors
    near, twice = zeros + steps, zeros + 2 * steps
    difference = expression_magnitude(tree, names, near) - expression_magnitude(tree, names, twice)
    terms = tree.terms if isinstance(tree, Sum) else (tree,)
    largest = np.max([expression_magnitude(term, names, near).log for term in terms], axis=0)
    reliable = difference.log > largest + np.log(_NOISE)
    slopes = np.diff(difference.log, axis=0) / np.log(_DISTANCES[0] / _DISTANCES[1])
    slopes = np.where(reliable[1:] & reliable[:-1], slopes, -np.inf)
    settled = np.minimum(slopes[1:], slopes[:-1])
    last = [column[np.isfinite(column)][-1:] for column in settled.reshape(len(settled), -1).T]
    values = np.concatenate(last)
    return float(values.max()) if len(values) else 0.0


def _isolated_zeros(
    base: Node, names: Sequence[str], random: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, int]:
    """One zero of a base that does not vanish on any line, several directions, codimension."""
    inside = expression_variables(base)
    axes = [i for i, name in enumerate(names) if name in inside]
    nothing = np.zeros((0, len(names)))
    cloud = random.standard_normal((1000, len(names)))

    def size(points: np.ndarray) -> np.ndarray:
        return expression_magnitude(base, names, points).log

    sizes = size(cloud)
    if len(axes) < 2 or not np.all(np.isfinite(sizes)):
        return nothing, nothing, 1
    best = cloud[np.argsort(sizes)[:1]]
    zero, log = _descend_expression_score(size, best, axes, 1.0, random)
    if log[0] > np.median(sizes) + np.log(1e-6):
        return nothing, nothing, 1
    around = np.repeat(zero, 3 * len(axes), axis=0)
    around[:, axes] += 0.1 * _unit_expression_rays(random.standard_normal((len(around), len(axes))))
    others, logs = _descend_expression_score(size, around, axes, 0.05, random)
    reached = others[logs < np.median(sizes) + np.log(1e-6)]
    spread = np.linalg.svd(reached - zero, compute_uv=False) if len(reached) else np.zeros(1)
    codimension = max(len(axes) - int(np.sum(spread > 1e-2)), 1)
    vectors = np.zeros((8, len(names)))
    vectors[:, axes] = random.standard_normal((8, len(axes)))
    return np.repeat(zero, 8, axis=0), _unit_expression_rays(vectors), codimension


def _descend_expression_score(
    score: Callable[[np.ndarray], np.ndarray],
    starts: np.ndarray,
    axes: Sequence[int],
    width: float,
    random: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Random local search along the axes for points of lowest score, one from each start."""
    best, lowest = starts, score(starts)
    rows = np.arange(len(starts))
    for scale in width * 0.7 ** np.arange(60):
        trial = np.repeat(best[:, None], 24, axis=1)
        trial[..., axes] += scale * random.standard_normal((len(starts), 24, len(axes)))
        scores = score(trial)
        choice = np.argmin(scores, axis=1)
        better = scores[rows, choice] < lowest
        best = np.where(better[:, None], trial[rows, choice], best)
        lowest = np.where(better, scores[rows, choice], lowest)
    return best, lowest


def _unit_expression_rays(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
