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
from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.expressions.evaluate import Algebra, evaluate_expression
from giantstep.language.targets.integration import (
    MAX_AXES,
    MAX_SMOOTH_AXES,
    Factors,
    TargetBlock,
    integrate_target,
    is_target_integrable,
    renamed_target,
    separated_target,
    target_block,
    target_factors,
    target_norms_within,
)
from giantstep.language.targets.symmetry import target_invariance
from giantstep.language.targets.target import Target
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import (
    MultiIndex,
    factorial,
    hermite_moments,
    multi_indices,
)

#: Products of terms in one expansion; (h1 + ... + h20)**4 needs about a million.
MAX_PRODUCTS = 3_000_000


class ExpansionTooLarge(Exception):
    """The expansion has more terms than is reasonable; integrate numerically instead."""


class HermiteSeries:
    """sum_j a_j He_{j_1}(c_1) He_{j_2}(c_2) ... as a dictionary j -> a_j."""

    __slots__ = ("terms",)

    def __init__(self, terms: dict[MultiIndex, Any]) -> None:
        self.terms = {index: a for index, a in terms.items() if a != 0}

    def __add__(self, other: HermiteSeries) -> HermiteSeries:
        terms = dict(self.terms)
        for index, a in other.terms.items():
            terms[index] = terms.get(index, 0) + a
        return HermiteSeries(terms)

    def __sub__(self, other: HermiteSeries) -> HermiteSeries:
        return self + HermiteSeries({index: -a for index, a in other.terms.items()})

    def __mul__(self, other: HermiteSeries) -> HermiteSeries:
        if len(self.terms) * len(other.terms) > MAX_PRODUCTS:
            raise ExpansionTooLarge
        terms: dict[MultiIndex, Any] = {}
        for (left, a), (right, b) in itertools.product(self.terms.items(), other.terms.items()):
            for index, weight in _linearised(left, right):
                terms[index] = terms.get(index, 0) + a * b * weight
        return HermiteSeries(terms)


@functools.lru_cache(maxsize=100_000)
def _linearised(left: MultiIndex, right: MultiIndex) -> tuple[tuple[MultiIndex, int], ...]:
    """He_a He_b = sum_m m! C(a,m) C(b,m) He_{a+b-2m}, axis by axis."""
    axes = [
        [
            (a + b - 2 * m, math.factorial(m) * math.comb(a, m) * math.comb(b, m))
            for m in range(min(a, b) + 1)
        ]
        for a, b in zip(left, right, strict=True)
    ]
    return tuple(
        (tuple(degree for degree, _ in choice), math.prod(weight for _, weight in choice))
        for choice in itertools.product(*axes)
    )


class _SeriesAlgebra(Algebra):
    def __init__(self, axes: int) -> None:
        self._constant = (0,) * axes
        self.pi = self.number(Fraction(math.pi))

    def number(self, value: Fraction) -> HermiteSeries:
        return HermiteSeries({self._constant: value})

    def power(self, base: HermiteSeries, exponent: Fraction) -> HermiteSeries:
        if len(base.terms) <= 1 and set(base.terms) <= {self._constant}:
            value = float(base.terms.get(self._constant, 0)) ** float(exponent)
            return self.number(Fraction(value))
        result = self.number(Fraction(1))
        for _ in range(int(exponent)):
            result = result * base
        return result

    def call(self, function: str, arguments: Sequence[Any]) -> Any:
        raise ExpansionTooLarge


@functools.lru_cache(maxsize=256)
def target_series(target: Target) -> HermiteSeries | None:
    """The exact series of a polynomial target in (h_1..h_r, z_1..z_m); None for other targets.

    >>> {j: float(a) for j, a in sorted(target_series(Target("h1**2 + He3(h1)*h2")).terms.items())}
    {(0, 0): 1.0, (2, 0): 1.0, (3, 1): 1.0}
    """
    identity = np.eye(target.rank, dtype=int)
    return _target_series_in_frame(target, [[Fraction(int(x)) for x in row] for row in identity])


def rotated_target_series(target: Target, frame: Float[np.ndarray, "r r"]) -> HermiteSeries | None:
    """The series of a polynomial target in the coordinates c of an orthonormal frame, h = c frame.

    ``frame`` has the new axes as rows.
    """
    return _target_series_in_frame(target, frame.tolist())


def _target_series_in_frame(target: Target, frame: Sequence[Sequence[Any]]) -> HermiteSeries | None:
    if not target.is_polynomial:
        return None
    axes = target.rank + target.noises
    unit = [tuple(int(i == axis) for i in range(axes)) for axis in range(axes)]
    variables = {
        f"h{i + 1}": HermiteSeries({unit[a]: row[i] for a, row in enumerate(frame)})
        for i in range(target.rank)
    }
    for noise in range(target.noises):
        variables[f"z{noise + 1}"] = HermiteSeries({unit[target.rank + noise]: Fraction(1)})
    try:
        return evaluate_expression(target.tree, _SeriesAlgebra(axes), variables)
    except ExpansionTooLarge:
        return None


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
        return self._tidy(next(c for j, c in self.coefficients.items() if not any(j)))

    @property
    def variance(self) -> float:
        """Var[g], in-label noise included."""
        return self._tidy(max(self.second_moment - self.mean**2, 0.0))

    def _tidy(self, value: float) -> float:
        """Zero where it is zero within rounding."""
        scale = math.sqrt(max(self.second_moment, 0.0))
        return 0.0 if abs(value) < 1e-13 * max(scale, scale**2) else value

    def energy(self, low: int, high: int) -> float:
        """sum of |P_k g|^2 over low <= k <= high."""
        return math.fsum(
            c**2 / factorial(j) for j, c in self.coefficients.items() if low <= sum(j) <= high
        )


def target_expansion(target: Target, degree: int = 8) -> Expansion:
    """The target's Hermite expansion up to a total degree, by the best method that applies.

    Polynomials exactly; up to three variables by quadrature; more variables as sums of products
    of functions of few variables; otherwise by Monte Carlo.

    >>> target_expansion(Target("h1 + 0.5*He3(h1)*h2")).second_moment
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
    series = target_series(target)
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
    block = target_block(target)
    if len(block.names) > most_axes or not is_target_integrable(block):
        return None
    indices = multi_indices(target.rank, degree)
    table, second, regression, error, method = target_block_expansion(block, degree)
    coefficients = {j: float(table[j]) for j in indices}
    return Expansion(coefficients, degree, second, regression, error, method)


def target_block_expansion(
    block: TargetBlock, degree: int
) -> tuple[Float[np.ndarray, " ..."], float, float, float, str]:
    """All c_j with j_i <= degree as an array over j, E[g^2], E[E[g|h]^2], error and method."""
    rank, noises = block.latent, len(block.names) - block.latent
    scale, within = target_norms_within(rank, degree)

    def numbers(grid: GaussianGrid, values: np.ndarray) -> np.ndarray:
        table = grid.contract(values, [degree] * rank + [0] * noises)
        table = table.reshape((degree + 1,) * rank) / scale * within
        second = grid.average(values**2)
        regression = second
        if noises:
            given_h = grid.contract(values, [None] * rank + [0] * noises)
            regression = grid.average(np.asarray(given_h.reshape(grid.shape[:rank]) ** 2))
        return np.append(table.ravel(), np.sqrt([second, regression]))

    found, error, method = integrate_target(block, numbers)
    # A block of noises alone has one coefficient, and numpy would make a number of it.
    table = np.asarray(found[:-2].reshape((degree + 1,) * rank) * scale)
    return table, float(found[-2] ** 2), float(found[-1] ** 2), error, method


def _separated_expansion(target: Target, degree: int) -> Expansion | None:
    terms = separated_target(target.tree)
    if terms is None:
        return None
    split = [target_factors(factors) for factors in terms]
    blocks = [TargetBlock.of(group) for _, groups in split for group in groups]
    if not all(is_target_integrable(block) for block in blocks):
        return None
    coefficients: dict[MultiIndex, float] = {(0,) * target.rank: 0.0}
    errors = []
    for constant, groups in split:
        product: dict[MultiIndex, float] = {(0,) * target.rank: constant}
        for group in groups:
            block = TargetBlock.of(group)
            table, *_, error, _ = target_block_expansion(block, degree)
            errors.append(error)
            axes = [int(name[1:]) - 1 for name in block.names[: block.latent]]
            product = _multiplied(product, table, axes, degree)
        for j, c in product.items():
            coefficients[j] = coefficients.get(j, 0.0) + c
    second = _mean_target_product(terms, terms)
    other = {f"z{i + 1}": f"z{i + 1 + target.noises}" for i in range(target.noises)}
    independent = [tuple(renamed_target(node, other) for node in factors) for factors in terms]
    regression = _mean_target_product(terms, independent) if other else second
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


def _mean_target_product(left: Sequence[Factors], right: Sequence[Factors]) -> float | None:
    """E[(sum of left terms)(sum of right terms)]; None if some integral has too many variables."""
    total = []
    for one, two in itertools.product(left, right):
        constant, groups = target_factors((*one, *two))
        blocks = [TargetBlock.of(group) for group in groups]
        if not all(is_target_integrable(block) for block in blocks):
            return None
        total.append(constant * math.prod(_mean_of_target_block(block) for block in blocks))
    return math.fsum(total)


@functools.lru_cache(maxsize=4096)
def _mean_of_target_block(block: TargetBlock) -> float:
    return float(integrate_target(block, lambda grid, v: np.atleast_1d(grid.average(v)))[0][0])


def _sampled_expansion(target: Target, degree: int) -> Expansion:
    rng = np.random.default_rng(0)
    block = target_block(target)
    rank, axes = target.rank, len(block.names)
    degree = min(degree, SAMPLED_DEGREE)
    indices = multi_indices(rank, degree)
    norms = np.sqrt([factorial(j) for j in indices])
    batches = []
    for _ in range(BATCHES):
        points = rng.standard_normal((SAMPLES // BATCHES, axes))
        resampled = points.copy()
        resampled[:, rank:] = rng.standard_normal((len(resampled), axes - rank))
        values = block(points)
        row = hermite_moments(values, points[:, :rank], degree) / norms
        batches.append([*row, np.mean(values**2), np.mean(values * block(resampled))])
    *normalised, second, regression = np.mean(batches, axis=0)
    spread = np.std(batches, axis=0, ddof=1) / math.sqrt(BATCHES)
    coefficients = dict(zip(indices, (normalised * norms).tolist(), strict=True))
    return Expansion(
        target_invariance(target).averaged(coefficients),
        degree,
        float(second),
        float(regression),
        float(np.max(spread[:-2])),
        f"Monte Carlo, {SAMPLES} samples",
    )
