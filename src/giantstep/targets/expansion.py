"""The Hermite expansion of a target, by the best method that applies to it.

Polynomials exactly; up to three variables by quadrature; more variables as sums of products of
functions of few variables; otherwise by Monte Carlo.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import MultiIndex, factorial, hermite_values, multi_indices
from giantstep.targets.expression import Target
from giantstep.targets.hermite_series import hermite_series
from giantstep.targets.integration import (
    MAX_AXES,
    MAX_SMOOTH_AXES,
    Block,
    block_of,
    integrable,
    integrate,
)
from giantstep.targets.separation import Factors, components, renamed, separated
from giantstep.targets.symmetry import invariance

#: Samples of a Monte Carlo expansion, in independent batches.
SAMPLES, BATCHES = 1 << 20, 16
#: Degree of a Monte Carlo expansion: beyond it the noise hides most coefficients.
SAMPLED_DEGREE = 4


@dataclass(frozen=True, eq=False)
class Expansion:
    """Hermite coefficients up to a degree, and the second moments of label and regression.

    ``error`` bounds the error of each ``c_j / sqrt(j!)`` and of the root mean squares (a
    difference of two quadrature rules, or a standard error).
    """

    coefficients: Mapping[MultiIndex, float]
    degree: int
    second_moment: float
    regression_moment: float
    error: float
    method: str

    @property
    def sampled(self) -> bool:
        """Whether the coefficients carry sampling noise."""
        return self.method.startswith("Monte Carlo")

    @property
    def mean(self) -> float:
        """E[g]."""
        return next(c for j, c in self.coefficients.items() if not any(j))

    @property
    def variance(self) -> float:
        """Var[g], in-label noise included."""
        return max(self.second_moment - self.mean**2, 0.0)

    def energy(self, low: int, high: int) -> float:
        """sum of |P_k g|^2 over low <= k <= high."""
        return math.fsum(
            c**2 / factorial(j) for j, c in self.coefficients.items() if low <= sum(j) <= high
        )


def expansion(target: Target, degree: int = 8) -> Expansion:
    """The target's Hermite expansion up to a total degree, by the best method that applies.

    Polynomials exactly; up to three variables by quadrature; more variables as sums of products
    of functions of few variables; otherwise by Monte Carlo.

    >>> expansion(Target("h1 + 0.5*He3(h1)*h2")).second_moment
    2.5
    """
    if degree < 0:
        raise SettingsError(f"degree = {degree} must be at least 0")
    return _expansion(target, degree)


@functools.lru_cache(maxsize=256)
def _expansion(target: Target, degree: int) -> Expansion:
    return (
        _polynomial_expansion(target, degree)
        or _quadrature_expansion(target, degree, MAX_AXES)
        or _separated_expansion(target, degree)
        or _quadrature_expansion(target, degree, MAX_SMOOTH_AXES)
        or _sampled_expansion(target, degree)
    )


def _polynomial_expansion(target: Target, degree: int) -> Expansion | None:
    series = hermite_series(target)
    if series is None:
        return None
    rank = target.rank
    coefficients = {(0,) * rank: 0.0}
    for j, a in series.terms.items():
        if sum(j) <= degree and not any(j[rank:]):
            coefficients[j[:rank]] = float(a * factorial(j))
    second = [float(a * a * factorial(j)) for j, a in series.terms.items()]
    regression = [float(a * a * factorial(j)) for j, a in series.terms.items() if not any(j[rank:])]
    return Expansion(
        coefficients, degree, math.fsum(second), math.fsum(regression), 0.0, "closed form"
    )


def _quadrature_expansion(target: Target, degree: int, most_axes: int) -> Expansion | None:
    block = block_of(target)
    if len(block.names) > most_axes or not integrable(block):
        return None
    indices = multi_indices(target.rank, degree)
    table, second, regression, error, method = block_expansion(block, degree)
    coefficients = {j: float(table[j]) for j in indices}
    return Expansion(coefficients, degree, second, regression, error, method)


def block_expansion(
    block: Block, degree: int
) -> tuple[Float[np.ndarray, " ..."], float, float, float, str]:
    """All c_j with j_i <= degree as an array over j, E[g^2], E[E[g|h]^2], error and method."""
    rank, noises = block.latent, len(block.names) - block.latent
    norms = np.sqrt([math.factorial(k) for k in range(degree + 1)])
    scale = functools.reduce(np.multiply.outer, [norms] * rank, np.array(1.0))
    within = functools.reduce(np.add.outer, [np.arange(degree + 1)] * rank, np.array(0)) <= degree

    def numbers(grid: GaussianGrid, values: np.ndarray) -> np.ndarray:
        table = grid.contract(values, [degree] * rank + [0] * noises)
        table = table.reshape((degree + 1,) * rank) / scale * within
        second = grid.average(values**2)
        regression = second
        if noises:
            given_h = grid.contract(values, [None] * rank + [0] * noises)
            regression = grid.average(np.asarray(given_h.reshape(grid.shape[:rank]) ** 2))
        return np.append(table.ravel(), np.sqrt([second, regression]))

    found, error, method = integrate(block, numbers)
    # A block of noises alone has one coefficient, and numpy would make a number of it.
    table = np.asarray(found[:-2].reshape((degree + 1,) * rank) * scale)
    return table, float(found[-2] ** 2), float(found[-1] ** 2), error, method


def _separated_expansion(target: Target, degree: int) -> Expansion | None:
    terms = separated(target.tree)
    if terms is None:
        return None
    split = [components(factors) for factors in terms]
    blocks = [Block.of(group) for _, groups in split for group in groups]
    if not all(integrable(block) for block in blocks):
        return None
    coefficients: dict[MultiIndex, float] = {(0,) * target.rank: 0.0}
    errors = []
    for constant, groups in split:
        product: dict[MultiIndex, float] = {(0,) * target.rank: constant}
        for group in groups:
            block = Block.of(group)
            table, *_, error, _ = block_expansion(block, degree)
            errors.append(error)
            axes = [int(name[1:]) - 1 for name in block.names[: block.latent]]
            product = _multiplied(product, table, axes, degree)
        for j, c in product.items():
            coefficients[j] = coefficients.get(j, 0.0) + c
    second = _mean_of_products(terms, terms)
    other = {f"z{i + 1}": f"z{i + 1 + target.noises}" for i in range(target.noises)}
    independent = [tuple(renamed(node, other) for node in factors) for factors in terms]
    regression = _mean_of_products(terms, independent) if other else second
    if second is None or regression is None:
        return None
    method = f"products of integrals in at most {max(len(b.names) for b in blocks)} variables"
    return Expansion(coefficients, degree, second, regression, sum(errors), method)


def _multiplied(
    product: Mapping[MultiIndex, float], table: np.ndarray, axes: list[int], degree: int
) -> dict[MultiIndex, float]:
    largest = np.max(np.abs(table), initial=0.0)
    result: dict[MultiIndex, float] = {}
    # Not nonzero: a block of noises only has a table without axes.
    for place in map(tuple, np.argwhere(np.abs(table) > 1e-14 * largest)):
        for j, c in product.items():
            if sum(j) + sum(map(int, place)) <= degree:
                grown = list(j)
                for axis, power in zip(axes, place, strict=True):
                    grown[axis] += int(power)
                result[tuple(grown)] = c * float(table[place])
    return result


def _mean_of_products(left: Sequence[Factors], right: Sequence[Factors]) -> float | None:
    """E[(sum of left terms)(sum of right terms)]; None if some integral has too many variables."""
    total = []
    for one, two in itertools.product(left, right):
        constant, groups = components((*one, *two))
        blocks = [Block.of(group) for group in groups]
        if not all(integrable(block) for block in blocks):
            return None
        total.append(constant * math.prod(_mean(block) for block in blocks))
    return math.fsum(total)


@functools.lru_cache(maxsize=4096)
def _mean(block: Block) -> float:
    return float(integrate(block, lambda grid, v: np.atleast_1d(grid.average(v)))[0][0])


def _sampled_expansion(target: Target, degree: int) -> Expansion:
    rng = np.random.default_rng(0)
    block = block_of(target)
    rank, axes = target.rank, len(block.names)
    degree = min(degree, SAMPLED_DEGREE)
    indices = multi_indices(rank, degree)
    batches = []
    for _ in range(BATCHES):
        points = rng.standard_normal((SAMPLES // BATCHES, axes))
        twin = points.copy()
        twin[:, rank:] = rng.standard_normal((len(twin), axes - rank))
        values = block(points)
        basis = hermite_values(points[:, :rank], degree)
        row = []
        for j in indices:
            term = values / math.sqrt(factorial(j))
            for axis in np.flatnonzero(j):
                term = term * basis[j[axis], :, axis]
            row.append(np.mean(term))
        batches.append([*row, np.mean(values**2), np.mean(values * block(twin))])
    *normalised, second, regression = np.mean(batches, axis=0)
    spread = np.std(batches, axis=0, ddof=1) / math.sqrt(BATCHES)
    coefficients = {
        j: float(c * math.sqrt(factorial(j))) for j, c in zip(indices, normalised, strict=True)
    }
    return Expansion(
        invariance(target).averaged(coefficients),
        degree,
        float(second),
        float(regression),
        float(np.max(spread[:-2])),
        f"Monte Carlo, {SAMPLES} samples",
    )
