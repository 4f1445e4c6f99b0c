"""The grand staircase: what becomes visible when the label may be transformed first."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.numerics.hermite import MultiIndex, factorial
from giantstep.numerics.tensors import complement, dense_degree, symmetric_tensors, tidy_basis
from giantstep.targets import Target
from giantstep.targets.label_law.core import label_core
from giantstep.targets.label_law.law import exact_label_moments, label_moments
from giantstep.targets.label_law.moments import LabelMoments
from giantstep.theory.learnability.label_evidence import LabelEvidence
from giantstep.theory.learnability.quadratic import QuadraticLabel
from giantstep.theory.learnability.staircase import Staircase
from giantstep.theory.learnability.stairs import (
    Search,
    Stair,
    Visible,
    climb,
    exact_directions,
    simplified,
    unfolded,
)

#: Strengths (shares of a second moment) of exact moments that count.
EXACT_STRENGTH = 1e-9


@functools.lru_cache(maxsize=128)
def grand_staircase(
    target: Target, noise: float = 0.0, degree: int = 8, seed: int = 0
) -> Staircase:
    r"""The grand staircase: directions visible to any function of label and learned directions.

    .. math::
        U \leftarrow U \oplus \mathrm{range}\; E[He_\ell(h_\perp) \mid y, h_U]

    with the smallest :math:`\ell` for which this does not vanish, again and again. It is the leap
    staircase of the family of all functions of the label, so it contains the leap staircase of the
    label itself. Noise of any variance added to the label changes no stair: it multiplies the
    Fourier transform of every conditional moment by :math:`e^{-\Delta t^2/2}`, which has no zero.

    By structure where there is some: classes of labels, labels that move with one direction,
    quadratic labels, powers of polynomials, sums of functions of few variables, symmetries. What
    is left is sampled, and the stairs say so.

    Symbols: g ``target``, :math:`\Delta` ``noise``, highest degree ``degree``; a stair's ``leap``
    is :math:`\ell`: 1 trivial, 2 easy, 3 and more hard at n of order d.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r.
    Status: theorem for trivial and easy directions of approximate message passing (replica
    for optimality); heuristic where a stair is sampled.
    References: Troiani et al. 2024, arXiv:2405.15480; Damian et al. 2024, arXiv:2403.05529.

    >>> staircase = grand_staircase(Target("He4(h1) + sign(h1*h2*h3)"))
    >>> [(stair.leap, len(stair.directions)) for stair in staircase.stairs]
    [(2, 1), (2, 2)]
    """
    core = label_core(target)
    search: Search
    if (form := QuadraticLabel.of(core.target)) is not None:
        search, method = form.visible, lambda: "quadratic label, linear algebra"
    elif (moments := exact_label_moments(core.target, degree, 0.0)) is not None:
        degree = min(degree, moments.degree)
        search, method = _partition_search(moments, degree), lambda: moments.method
    else:
        evidence = LabelEvidence(core.target, degree, seed)
        search, method = evidence.visible, lambda: evidence.method
    stairs, open_end = climb(search, core.target.rank, degree)
    found = tuple(
        Stair(s.leap, _in_all(s.directions, core.rows, s.error), s.strengths, s.sampled, s.error)
        for s in stairs
    )
    return Staircase(found, target.rank, degree, method(), open_end)


def _in_all(rows: np.ndarray, core: np.ndarray, error: float) -> np.ndarray:
    """Directions of the simpler target as directions of the given one."""
    turned = rows @ core
    return simplified(turned, error) if error else tidy_basis(turned, len(turned))


def _partition_search(moments: LabelMoments, degree: int) -> Search:
    """What indicators of cells of the label show, divided by the root of their probability."""
    coefficients = _compressed(moments.normalised())
    functions = next(iter(coefficients.values())).size
    rank = len(next(iter(coefficients)))
    tensors = symmetric_tensors(coefficients, dense_degree(rank, degree, functions))

    def search(learned: np.ndarray, leap: int) -> Visible:
        if leap >= len(tensors):
            return Visible(np.zeros((0, rank)))
        (matrix,) = unfolded(tensors, learned, leap, _scale)
        found = exact_directions(matrix, complement(learned), math.sqrt(EXACT_STRENGTH))
        return Visible(found.directions, tuple(value**2 for value in found.strengths))

    return search


def _compressed(
    coefficients: Mapping[MultiIndex, Float[np.ndarray, "1 cells"]],
) -> dict[MultiIndex, Float[np.ndarray, "1 functions"]]:
    """The same with few combinations of cells: turning the cells changes no strength."""
    table = np.concatenate(list(coefficients.values()))
    norms = np.sqrt([factorial(j) for j in coefficients])
    left, values, _ = np.linalg.svd(table / norms[:, None], full_matrices=False)
    kept = values > 1e-13 * values[0]
    rows = norms[:, None] * left[:, kept] * values[kept]
    return {j: rows[None, i] for i, j in enumerate(coefficients)}


def _scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(leap) * math.factorial(order - leap))


def generative_exponent(target: Target, noise: float = 0.0, degree: int = 8) -> int | None:
    r"""The smallest order of Hermite polynomial whose mean given the label is not zero.

    .. math:: k^* = \min\{k \ge 1 : E[He_k(h) \mid y] \ne 0\}

    None if there is none up to ``degree``. Never larger than the information exponent.

    Symbols: g ``target``, label noise variance ``noise``.

    Assumes: isotropic Gaussian inputs.
    Status: theorem (r = 1: d^{k*/2} samples are necessary for statistical queries and enough).
    References: Damian et al. 2024, arXiv:2403.05529.

    >>> generative_exponent(Target("He3(h1)")), generative_exponent(Target("h1**2*exp(-h1**2)"))
    (1, 4)
    """
    return grand_staircase(target, noise, degree).first_leap


def label_correlations(
    target: Target, noise: float = 0.0, degree: int = 8
) -> Float[np.ndarray, " k"]:
    r"""lambda_k^2 for k = 0..degree: how much of He_k(h) the label of one direction tells.

    .. math:: \lambda_k^2 = E_y\big[E[He_k(h) \mid y]^2\big] / k! \in [0, 1]

    Symbols: g ``target``, label noise variance ``noise``.

    Assumes: isotropic Gaussian inputs, one direction (r = 1).
    Status: theorem (the definition, by quadrature).
    References: Damian et al. 2024, arXiv:2403.05529.

    >>> label_correlations(Target("He4(h1)"), degree=4).round(6).tolist()
    [1.0, 0.0, 0.775374, 0.0, 1.0]
    """
    if target.rank != 1:
        raise NoTheory(f"label correlations cover one direction; {target.text} has {target.rank}")
    return _correlations(label_moments(target, noise, degree))


def _correlations(moments: LabelMoments) -> Float[np.ndarray, " k"]:
    replicas = len(moments.moments)
    total = moments.moments.sum(axis=0)
    squares = total**2
    if replicas > 1:
        squares = (squares - (moments.moments**2).sum(axis=0)) / (replicas - 1)
    norms = [math.factorial(k) for k in range(moments.moments.shape[2])]
    return (squares / replicas / moments.mass[:, None]).sum(axis=0) / norms
