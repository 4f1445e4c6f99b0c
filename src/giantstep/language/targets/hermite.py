"""Hermite coefficients, tensors and energies of a target, and the subspace that it really uses.

Conventions: h ~ N(0, I_r), He_k the probabilists' Hermite polynomials, and
``c_j = E[g(h) He_{j_1}(h_1) ... He_{j_r}(h_r)]``, so that ``|P_k g|^2 = sum_{|j|=k} c_j^2 / j!``.
A target with in-label noises z enters through its regression function E[g | h].
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.targets.expansion import (
    BATCHES,
    SAMPLES,
    Expansion,
    HermiteSeries,
    rotated_target_series,
    target_expansion,
    target_series,
)
from giantstep.language.targets.integration import (
    TargetBlock,
    integrate_target,
    is_target_integrable,
    target_block,
)
from giantstep.language.targets.target import Target
from giantstep.numerics.estimate import Estimate
from giantstep.numerics.grids import GaussianGrid
from giantstep.numerics.hermite import (
    MultiIndex,
    factorial,
    hermite_product,
    hermite_values,
    multi_indices,
)
from giantstep.numerics.linear_algebra import (
    Rows,
    complement,
    dense_tensor_degree,
    symmetric_tensors,
    tidy_basis,
)


def target_tensors(target: Target, degree: int = 8) -> tuple[Float[np.ndarray, " ..."], ...]:
    """The symmetric tensors C_0, ..., C_degree; C_k has k axes of length r.

    >>> target_tensors(Target("h1*h2"), 2)[2].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    coefficients = target_expansion(target, degree).coefficients
    return symmetric_tensors({j: np.array(c) for j, c in coefficients.items()}, degree)


def target_energies(target: Target, degree: int = 8) -> Float[np.ndarray, " k"]:
    """|P_k g|^2 for k = 0..degree.

    >>> target_energies(Target("h1*h2 + 3"), 3).tolist()
    [9.0, 0.0, 1.0, 0.0]
    """
    found = target_expansion(target, degree)
    rounding = 1e-24 * found.second_moment
    values = np.array([found.energy(k, k) for k in range(degree + 1)])
    return np.where(values > rounding, values, 0.0)


def target_moments(target: Target) -> Expansion:
    """Mean, variance and second moment of the target (in-label noise included).

    >>> target_moments(Target("sign(h1)")).variance
    1.0
    """
    return target_expansion(target)


def target_tail_energy(target: Target, degree: int) -> Estimate:
    """|P_{>l} g|^2, the part of the regression function beyond total degree l.

    >>> round(target_tail_energy(Target("sign(h1*h2)"), 2).value, 6)
    0.594715
    """
    if (series := target_series(target)) is not None:
        return Estimate(_target_series_tail(series, 0, target.rank, degree), 0.0, "closed form")
    found = target_expansion(target, max(degree, 8))
    value = max(found.regression_moment - found.energy(0, degree), 0.0)
    return Estimate(value, _target_square_error(found), found.method)


def _target_series_tail(series: HermiteSeries, m: int, rank: int, degree: int) -> float:
    """The energy beyond a degree in the directions from m on, noises averaged out."""
    return math.fsum(
        float(a) ** 2 * factorial(j)
        for j, a in series.terms.items()
        if sum(j[m:rank]) > degree and not any(j[rank:])
    )


def _target_square_error(found: Expansion) -> float:
    return 2 * found.error * math.sqrt(max(found.second_moment, 0.0)) + found.error**2


def conditional_target_energy(target: Target, learned: Rows, degree: int) -> Estimate:
    """|P_{U,>kappa} g|^2: beyond any function of h_U times total degree kappa in the rest.

    ``learned`` holds an orthonormal basis of U as rows, ``degree`` is kappa.

    >>> round(conditional_target_energy(Target("abs(h1)*h2"), np.array([[0.0, 1.0]]), 0).value, 6)
    0.36338
    """
    m, rank = learned.shape
    if rank != target.rank or not np.allclose(learned @ learned.T, np.eye(m), atol=1e-6):
        raise SettingsError(f"learned must hold orthonormal rows of length {target.rank}")
    if m == rank:
        return Estimate(0.0, 0.0, "closed form")
    if m == 0:
        return target_tail_energy(target, degree)
    used = target_subspace(target)
    if np.allclose(used @ learned.T @ learned, used, atol=1e-8):
        return Estimate(0.0, 0.0, "depends on learned directions only")
    frame = np.vstack([learned, complement(learned)])
    if target.is_polynomial and (series := rotated_target_series(target, frame)) is not None:
        value = _target_series_tail(series, m, rank, degree)
        rounding = 1e-13 * target_expansion(target).second_moment
        return Estimate(value if value > rounding else 0.0, rounding, "closed form")
    found = target_expansion(target)
    captured, error, method = _captured_target_energy(target, frame.tobytes(), m, max(degree, 2))
    value = max(found.regression_moment - math.fsum(captured[: degree + 1]), 0.0)
    return Estimate(value, error + _target_square_error(found), method)


#: Points at which the target is evaluated to see on which directions it depends.
POINTS = 4000
#: Mean change, in units of the target's spread, that counts as no change.
NO_CHANGE = 2e-4


def target_subspace(target: Target) -> Rows:
    """The smallest subspace such that g depends on h through its part in it only.

    Orthonormal rows. Polynomials by linear algebra on their gradients, of every degree. For other
    targets the directions seen in the Hermite tensors, gradients at random points, or both are
    enough if drawing the coordinates outside of their span afresh changes nothing; if not, axes
    along which the target changes are added. A dependence on a set of probability below 1e-3 can
    be missed.

    >>> target_subspace(Target("h1 + h1*h2 + h1*h3")).round(4).tolist()
    [[1.0, 0.0, 0.0], [0.0, 0.7071, 0.7071]]
    """
    return _used_target_subspace(target).copy()


@functools.lru_cache(maxsize=128)
def _used_target_subspace(target: Target) -> np.ndarray:
    series = target_series(target)
    if series is not None:
        return _target_gradient_span(_target_series_gradient(series, target.rank), 1e-9)
    block = target_block(target)
    seen, gradients = _target_tensor_span(target), _target_gradients(block)
    for rows in (seen, gradients, np.vstack([seen, gradients])):
        found = _target_gradient_span(rows.T, 1e-6)
        if _is_target_subspace(block, found):
            return found
    return _target_gradient_span(np.vstack([found, _used_target_axes(block, found)]).T, 1e-6)


def _target_tensor_span(target: Target) -> np.ndarray:
    """The span of the first slots of all Hermite tensors."""
    found = target_expansion(target)
    degree = dense_tensor_degree(target.rank, found.degree)
    coefficients = {j: np.array(c) for j, c in found.coefficients.items()}
    tensors = symmetric_tensors(coefficients, degree)[1:]
    columns = [
        tensor.reshape(target.rank, -1) / math.sqrt(math.factorial(order))
        for order, tensor in enumerate(tensors, start=1)
    ]
    left, values, _ = np.linalg.svd(np.concatenate(columns, axis=1), full_matrices=False)
    threshold = max(1e-6 * math.sqrt(found.variance), 20 * found.error)
    return left[:, values > threshold].T


def _target_series_gradient(series: HermiteSeries, rank: int) -> np.ndarray:
    """Matrix of d g / d h_a in the orthonormal Hermite basis: rows a, columns multi-indices."""
    columns: dict[MultiIndex, np.ndarray] = {}
    for index, a in series.terms.items():
        for axis in np.flatnonzero(index[:rank]):
            below = (*index[:axis], index[axis] - 1, *index[axis + 1 :])
            column = columns.setdefault(below, np.zeros(rank))
            column[axis] += index[axis] * float(a) * math.sqrt(factorial(below))
    return np.stack([*columns.values()], axis=1)


def _target_gradient_span(columns: np.ndarray, tolerance: float) -> np.ndarray:
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    kept = values > tolerance * np.max(values, initial=np.finfo(float).tiny)
    return tidy_basis(left[:, kept].T, int(kept.sum()))


def _is_target_subspace(block: TargetBlock, rows: np.ndarray) -> bool:
    """Whether new coordinates outside of the subspace leave the target as it is."""
    rng = np.random.default_rng(0)
    points = rng.standard_normal((POINTS, len(block.names)))
    fresh = points.copy()
    rest = complement(rows)
    moved = rng.standard_normal((POINTS, len(rest))) @ rest
    fresh[:, : block.latent] = points[:, : block.latent] @ rows.T @ rows + moved
    before, after = block(points), block(fresh)
    spread = np.std(before) or 1.0
    return bool(np.mean(np.minimum(np.abs(after - before) / spread, 1.0)) < NO_CHANGE)


def _target_gradients(block: TargetBlock) -> np.ndarray:
    """Gradients at random points, by central differences, where two step sizes agree."""
    rng = np.random.default_rng(1)
    points = rng.standard_normal((400, len(block.names)))
    fine, coarse = (_target_difference(block, points, step) for step in (1e-4, 2e-4))
    norm = np.linalg.norm(fine, axis=1)
    good = np.linalg.norm(fine - coarse, axis=1) < 1e-6 * norm
    return fine[good] / norm[good, None]


def _target_difference(block: TargetBlock, points: np.ndarray, step: float) -> np.ndarray:
    columns = []
    for axis in range(block.latent):
        shift = np.zeros(points.shape[1])
        shift[axis] = step
        columns.append((block(points + shift) - block(points - shift)) / (2 * step))
    return np.stack(columns, axis=1)


def _used_target_axes(block: TargetBlock, found: np.ndarray) -> np.ndarray:
    """Those directions of the complement along which the target changes."""
    rest = complement(found)
    return rest[[not _is_target_subspace(block, complement(row[None])) for row in rest]]


#: Energies, one for each degree in the directions outside of U, with error and method.
Captured = tuple[Float[np.ndarray, " k"], float, str]


@functools.lru_cache(maxsize=256)
def _captured_target_energy(target: Target, frame: bytes, learned: int, degree: int) -> Captured:
    """E_u[sum_{|b|=k} E[g He_b(v) | u]^2 / b!] for k = 0..degree, where h = (u, v) in the frame.

    ``frame`` are the bytes of orthonormal rows, the first ``learned`` of which span U. By
    quadrature, or by pairs of samples that share u.
    """
    block = target_block(target)
    by = _energy_by_quadrature if is_target_integrable(block) else _energy_by_sampling
    return by(block, np.frombuffer(frame).reshape(target.rank, -1), learned, degree)


def _energy_by_quadrature(block: TargetBlock, frame: np.ndarray, m: int, degree: int) -> Captured:
    rank, noises = block.latent, len(block.names) - block.latent
    full = np.eye(rank + noises)
    full[:rank, :rank] = frame

    def energies(grid: GaussianGrid, values: np.ndarray) -> np.ndarray:
        conditional = grid.contract(values, [None] * m + [degree] * (rank - m) + [0] * noises)
        total = np.zeros(degree + 1)
        for j in multi_indices(rank - m, degree):
            place: tuple[Any, ...] = (..., *j, *[0] * noises)
            total[sum(j)] += grid.average(conditional[place] ** 2) / factorial(j)
        return total

    return integrate_target(block, energies, full)


def _energy_by_sampling(block: TargetBlock, frame: np.ndarray, m: int, degree: int) -> Captured:
    rng = np.random.default_rng(0)
    rank, axes = block.latent, len(block.names)
    batches = []
    for _ in range(BATCHES):
        one, two = rng.standard_normal((2, SAMPLES // BATCHES, axes))
        two[:, :m] = one[:, :m]
        left, right = (
            np.concatenate([side[:, :rank] @ frame, side[:, rank:]], axis=1) for side in (one, two)
        )
        product = block(left) * block(right)
        he_one, he_two = (hermite_values(side[:, m:rank], degree) for side in (one, two))
        row = np.zeros(degree + 1)
        for j in multi_indices(rank - m, degree):
            both = hermite_product(he_one, j) * hermite_product(he_two, j)
            row[sum(j)] += np.mean(product * both) / factorial(j)
        batches.append(row)
    spread = np.std(np.cumsum(batches, axis=1), axis=0, ddof=1) / math.sqrt(BATCHES)
    method = f"Monte Carlo, {SAMPLES} samples"
    return np.mean(batches, axis=0), float(np.max(spread)), method
