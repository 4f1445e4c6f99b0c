"""Hermite coefficients, tensors and energies of a target, and what is left beyond a degree.

Conventions: h ~ N(0, I_r), He_k the probabilists' Hermite polynomials, and
``c_j = E[g(h) He_{j_1}(h_1) ... He_{j_r}(h_r)]``, so that ``|P_k g|^2 = sum_{|j|=k} c_j^2 / j!``.
A target with in-label noises z enters through its regression function E[g | h].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.numerics.estimate import Estimate
from giantstep.numerics.hermite import MultiIndex, factorial, multi_indices
from giantstep.numerics.tensors import complement, symmetric_tensors
from giantstep.targets.expansion import Expansion, expansion
from giantstep.targets.expression import Target
from giantstep.targets.hermite_series import hermite_series, rotated_series
from giantstep.targets.projection import Frame, captured_energy
from giantstep.targets.used_subspace import used_subspace

#: Multi-indices that are listed in full.
MAX_INDICES = 50_000


def hermite_coefficients(target: Target, degree: int = 8) -> dict[MultiIndex, float]:
    """c_j = E[g He_{j_1}(h_1) ... He_{j_r}(h_r)] for every multi-index of total degree <= degree.

    With very many multi-indices (ten directions and more) those that are zero may be left out.

    >>> hermite_coefficients(Target("h1 + He3(h1)*h2"), 4)[(3, 1)]
    6.0
    """
    found = expansion(target, degree)
    if math.comb(target.rank + found.degree, found.degree) > MAX_INDICES:
        return dict(found.coefficients)
    return {j: found.coefficients.get(j, 0.0) for j in multi_indices(target.rank, found.degree)}


def hermite_tensors(target: Target, degree: int = 8) -> tuple[Float[np.ndarray, " ..."], ...]:
    """The symmetric tensors C_0, ..., C_degree; C_k has k axes of length r.

    >>> hermite_tensors(Target("h1*h2"), 2)[2].tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    coefficients = expansion(target, degree).coefficients
    return symmetric_tensors({j: np.array(c) for j, c in coefficients.items()}, degree)


def energies(target: Target, degree: int = 8) -> Float[np.ndarray, " k"]:
    """|P_k g|^2 for k = 0..degree.

    >>> energies(Target("h1*h2 + 3"), 3).tolist()
    [9.0, 0.0, 1.0, 0.0]
    """
    found = expansion(target, degree)
    rounding = 1e-24 * found.second_moment
    values = np.array([found.energy(k, k) for k in range(degree + 1)])
    return np.where(values > rounding, values, 0.0)


@dataclass(frozen=True)
class Moments:
    """Mean, variance and second moment of the label g(h, z), with their method and error."""

    mean: float
    variance: float
    second_moment: float
    error: float
    method: str


def moments(target: Target) -> Moments:
    """Mean, variance and second moment of the target (in-label noise included).

    >>> moments(Target("sign(h1)")).variance
    1.0
    """
    found = expansion(target)
    second, variance = _tidy(found.second_moment, found), _tidy(found.variance, found)
    return Moments(_tidy(found.mean, found), variance, second, found.error, found.method)


def _tidy(value: float, found: Expansion) -> float:
    """Zero if it is zero within the error."""
    scale = math.sqrt(max(found.second_moment, 0.0))
    return 0.0 if abs(value) < 1e-13 * max(scale, scale**2) else value


def tail_energy(target: Target, degree: int) -> Estimate:
    """|P_{>l} g|^2, the part of the regression function beyond total degree l.

    >>> round(tail_energy(Target("sign(h1*h2)"), 2).value, 6)
    0.594715
    """
    if (series := hermite_series(target)) is not None:
        beyond = [
            float(a) ** 2 * factorial(j)
            for j, a in series.terms.items()
            if sum(j[: target.rank]) > degree and not any(j[target.rank :])
        ]
        return Estimate(math.fsum(beyond), 0.0, "closed form")
    found = expansion(target, max(degree, 8))
    value = max(found.regression_moment - found.energy(0, degree), 0.0)
    return Estimate(value, _square_error(found), found.method)


def _square_error(found: Expansion) -> float:
    return 2 * found.error * math.sqrt(max(found.second_moment, 0.0)) + found.error**2


def conditional_tail_energy(
    target: Target, learned: Float[np.ndarray, "m r"], degree: int
) -> Estimate:
    """|P_{U,>kappa} g|^2: beyond any function of h_U times total degree kappa in the rest.

    ``learned`` holds an orthonormal basis of U as rows, ``degree`` is kappa.

    >>> round(conditional_tail_energy(Target("abs(h1)*h2"), np.array([[0.0, 1.0]]), 0).value, 6)
    0.36338
    """
    m, rank = learned.shape
    if rank != target.rank or not np.allclose(learned @ learned.T, np.eye(m), atol=1e-6):
        raise SettingsError(f"learned must hold orthonormal rows of length {target.rank}")
    if m == rank:
        return Estimate(0.0, 0.0, "closed form")
    if m == 0:
        return tail_energy(target, degree)
    used = used_subspace(target)
    if np.allclose(used @ learned.T @ learned, used, atol=1e-8):
        return Estimate(0.0, 0.0, "depends on learned directions only")
    frame = np.vstack([learned, complement(learned)])
    if target.is_polynomial and (series := rotated_series(target, frame)) is not None:
        beyond = [
            float(a) ** 2 * factorial(j)
            for j, a in series.terms.items()
            if sum(j[m:rank]) > degree and not any(j[rank:])
        ]
        value = math.fsum(beyond)
        rounding = 1e-13 * expansion(target).second_moment
        return Estimate(value if value > rounding else 0.0, rounding, "closed form")
    found = expansion(target)
    captured = captured_energy(target, Frame(frame.tobytes(), m), max(degree, 2))
    value = max(found.regression_moment - math.fsum(captured.values[: degree + 1]), 0.0)
    return Estimate(value, captured.error + _square_error(found), captured.method)
