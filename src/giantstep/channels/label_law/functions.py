"""Moments of h against functions of the label: E[f(y) He_j(h)] for a family of functions f.

A direction shows in the labels if such a moment is not zero for some f. Which family can be
integrated exactly depends on the target: powers of a polynomial, complex exponentials of a sum of
functions of different variables. Where none can, moments are sampled.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Complex, Float

from giantstep.language.expressions.kinks import expressions_by_variables
from giantstep.language.expressions.tree import Sum, expression_variables, sum_expression
from giantstep.language.targets.expansion import target_expansion, target_series
from giantstep.language.targets.integration import TargetBlock, target_block, target_hermite_tables
from giantstep.language.targets.symmetry import target_invariance
from giantstep.language.targets.target import Target
from giantstep.numerics.hermite import (
    MultiIndex,
    factorial,
    hermite_product,
    hermite_values,
    multi_indices,
)
from giantstep.numerics.linear_algebra import dense_tensor_degree

#: The highest power of a polynomial label, and the products of terms that one more may cost.
POWERS, PRODUCTS = 6, 20_000
#: Frequencies of complex exponentials of a label, in radians over its spread.
FREQUENCIES = 0.4 * np.arange(1, 7)
#: Harmonics of a label that is wrapped around a circle, by quadrature and by sampling.
HARMONICS, SAMPLED_HARMONICS = 6, 3
#: Axes of a block that is integrated over.
MAX_AXES = 2
#: Error of an integral that is good enough.
AGREEMENT = 1e-6
#: Samples of each independent replica, replicas, samples at a time, and multi-indices at most.
SAMPLES, REPLICAS, CHUNK = 1 << 16, 8, 1 << 14
MAX_INDICES = 300


#: Functions of the label, at its values.
Waves = Callable[[np.ndarray], Iterator[np.ndarray]]


@dataclass(frozen=True, eq=False)
class FunctionMoments:
    """E[f(y) He_j(h)] by multi-index, for each replica and each function f of a family.

    Functions are scaled to a size of about one. ``error`` bounds the error of each moment, divided
    by sqrt(j!). ``complete`` says whether a direction that the family does not show is invisible,
    and not only missed by this family. Several replicas are independent samples; a single one may
    be ``sampled`` too.
    """

    coefficients: Mapping[MultiIndex, Float[np.ndarray, "replicas family"]]
    degree: int
    error: float
    complete: bool
    method: str
    sampled: bool = False


def label_itself(target: Target, degree: int) -> FunctionMoments:
    """The Hermite coefficients of the target: the family of one function, f(y) = y."""
    found = target_expansion(target, degree)
    scale = math.sqrt(found.variance) or 1.0
    coefficients = {j: np.full((1, 1), c / scale) for j, c in found.coefficients.items()}
    return FunctionMoments(
        coefficients, found.degree, found.error / scale, False, found.method, found.sampled
    )


def label_powers(target: Target, degree: int) -> FunctionMoments | None:
    """The family y, y^2, ... of a polynomial label, exactly; None for other targets.

    Powers without a term of low degree, such as the odd ones of a product of three, are left out.

    >>> found = label_powers(Target("h1*h2*h3"), 2)
    >>> (found.coefficients[2, 0, 0] != 0).tolist()
    [[True, True, True]]
    """
    series, rank = target_series(target), target.rank
    if series is None:
        return None
    degree = dense_tensor_degree(rank, degree, POWERS)
    power, members = series, []
    # A product of two Hermite polynomials has at least two terms for each variable in both.
    growth = sum(2 ** sum(map(bool, j)) for j in series.terms)
    for _ in range(POWERS):
        low = {
            j[:rank]: float(a) * factorial(j)
            for j, a in power.terms.items()
            if sum(j) <= degree and not any(j[rank:])
        }
        sizes = [abs(c) / math.sqrt(factorial(j)) for j, c in low.items() if any(j)]
        if max(sizes, default=0.0) > 0:
            members.append({j: c / max(sizes) for j, c in low.items() if any(j)})
        if len(power.terms) * growth > PRODUCTS:
            break
        power = power * series
    indices = dict.fromkeys([(0,) * rank, *(j for member in members for j in member)])
    coefficients = {j: np.array([[member.get(j, 0.0) for member in members]]) for j in indices}
    return FunctionMoments(coefficients, degree, 1e-11, False, "powers of the label, closed form")


def label_waves(target: Target, degree: int) -> FunctionMoments | None:
    r"""Complex exponentials of the label, by quadrature; None if it has too many variables.

    For a sum y = sum_B g_B of functions of different variables, the family exp(i t y) factorises:

    .. math:: E[e^{i t y} He_j(h)] = \prod_B E[e^{i t g_B} He_{j_B}(h_B)]

    A label that is no such sum is first wrapped around a circle, psi = 2 atan((y - c)/s), so that
    rare large labels do not make the exponentials oscillate.
    """
    blocks = _additive_label_blocks(target)
    if max(len(block.names) for block in blocks) > MAX_AXES:
        return None
    centre, width = _label_place_and_spread(target)
    waves: Waves
    if len(blocks) == 1:
        waves = functools.partial(_wrapped, centre=centre, width=width, count=HARMONICS)
        count = HARMONICS
    else:
        waves = functools.partial(_label_exponentials, frequencies=FREQUENCIES / width)
        count = len(FREQUENCIES)
    degree = dense_tensor_degree(target.rank, degree, 2 * count)
    tables = [target_hermite_tables(b, degree, lambda _, y: waves(y), AGREEMENT) for b in blocks]
    indices = multi_indices(target.rank, degree)
    product = np.ones((count, len(indices)), dtype=complex)
    for block, (table, _) in zip(blocks, tables, strict=True):
        axes = [int(name[1:]) - 1 for name in block.names[: block.latent]]
        places: list[Any] = [[index[axis] for index in indices] for axis in axes]
        # A block of noise alone has one number for all indices.
        product = product * table[(slice(None), *places)].reshape(count, -1)
    family = np.concatenate([product.real, product.imag])
    coefficients = {j: family[None, :, i] for i, j in enumerate(indices)}
    error = sum(error for _, error in tables)
    method = f"{len(family)} functions of the label, quadrature"
    return FunctionMoments(coefficients, degree, error, True, method)


def sampled_label_waves(target: Target, degree: int, seed: int) -> FunctionMoments:
    """Functions of the label wrapped around a circle, by Monte Carlo in independent replicas.

    The moments are made as symmetric as the target is.
    """
    block = target_block(target)
    centre, width = _label_place_and_spread(target)
    while math.comb(target.rank + degree, degree) > MAX_INDICES:
        degree -= 1
    indices = multi_indices(target.rank, degree)
    random = np.random.default_rng(seed)
    found = np.zeros((REPLICAS, 2 * SAMPLED_HARMONICS, len(indices)))
    for replica in range(REPLICAS):
        for _ in range(SAMPLES // CHUNK):
            points = random.standard_normal((CHUNK, len(block.names)))
            waves = _wrapped(block(points), centre=centre, width=width, count=SAMPLED_HARMONICS)
            family = np.array([part for wave in waves for part in (wave.real, wave.imag)])
            values = hermite_values(points[:, : target.rank], degree)
            found[replica] += family @ np.stack([hermite_product(values, j) for j in indices], 1)
    found /= SAMPLES
    coefficients = target_invariance(target).averaged(
        {j: found[:, :, i] for i, j in enumerate(indices)}
    )
    method = f"Monte Carlo: {found.shape[1]} functions of the label, {REPLICAS * SAMPLES} samples"
    error = 1 / math.sqrt(REPLICAS * SAMPLES)
    return FunctionMoments(coefficients, degree, error, True, method, sampled=True)


def _additive_label_blocks(target: Target) -> list[TargetBlock]:
    """The target as a sum of functions of different variables, as many as possible."""
    terms = target.tree.terms if isinstance(target.tree, Sum) else (target.tree,)
    # Constant terms only turn the phase.
    groups = expressions_by_variables([term for term in terms if expression_variables(term)])
    return [TargetBlock.of((sum_expression(group),)) for group in groups]


def _label_place_and_spread(target: Target) -> tuple[float, float]:
    """The median of the label, and half the range of its middle 80 %."""
    block = target_block(target)
    points = np.random.default_rng(0).standard_normal((20_000, len(block.names)))
    low, middle, high = np.quantile(block(points), [0.1, 0.5, 0.9])
    return float(middle), float(high - low) / 2 or 1.0


def _wrapped(
    values: np.ndarray, *, centre: float, width: float, count: int
) -> Iterator[Complex[np.ndarray, " ..."]]:
    """exp(i k psi) for k = 1..count, psi = 2 atan((y - c)/s): powers of (1 + i x)/(1 - i x)."""
    x = (values - centre) / width
    first = (1 + 1j * x) / (1 - 1j * x)
    wave = np.ones_like(first)
    for _ in range(count):
        wave = wave * first
        yield wave


def _label_exponentials(
    values: np.ndarray, *, frequencies: np.ndarray
) -> Iterator[Complex[np.ndarray, " ..."]]:
    """exp(i t y) for each frequency t."""
    for frequency in frequencies:
        yield np.exp(1j * frequency * values)
