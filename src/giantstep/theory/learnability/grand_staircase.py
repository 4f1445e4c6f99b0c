"""The grand staircase: what becomes visible when the label may be transformed first."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.numerics.tensors import block, dense_degree, symmetric_tensors, tidy_basis
from giantstep.targets import Target
from giantstep.targets.label_law.law import label_moments
from giantstep.targets.label_law.moments import LabelMoments
from giantstep.targets.used_subspace import used_subspace
from giantstep.theory.learnability.staircase import Staircase
from giantstep.theory.learnability.stairs import (
    SAMPLED_ACCURACY,
    Stair,
    climb,
    exact_directions,
    sampled_directions,
    unfolded,
)

#: Strengths (shares of a second moment) that count: of exact moments, and of sampled ones.
EXACT_STRENGTH = 1e-9
SAMPLED_STRENGTH = 1e-3
#: Sampled strengths must also exceed this many standard deviations of their noise.
DEVIATIONS = 6.0
#: With sampled moments, the largest leap, and the degree of features of learned directions.
SAMPLED_LEAP = 4
SAMPLED_FEATURES = 3


@functools.lru_cache(maxsize=128)
def grand_staircase(
    target: Target, noise: float = 0.0, degree: int = 8, seed: int = 0
) -> Staircase:
    r"""The grand staircase: directions visible to any function of label and learned directions.

    .. math::
        U \leftarrow U \oplus \mathrm{range}\; E[He_\ell(h_\perp) \mid y, h_U]

    with the smallest :math:`\ell` for which this does not vanish, again and again. It is the leap
    staircase of the family of all functions of the label: indicators of cells of y, divided by
    the root of their probability. Strengths are shares of a second moment, between 0 and 1.

    Symbols: g ``target``, label noise variance ``noise``, highest degree ``degree``; a stair's
    ``leap`` is :math:`\ell`: 1 trivial, 2 easy, 3 and more hard at n of order d.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r. Labels of more than one direction
    that are not classes are sampled: strengths below 1e-3, leaps above 4 and features of learned
    directions beyond degree 3 are not seen.
    Status: theorem for trivial and easy directions of approximate message passing (replica
    for optimality).
    References: Troiani, Dandi, Defilippis, Zdeborova, Loureiro, Krzakala 2024 (2405.15480);
    Damian, Pillaud-Vivien, Lee, Bruna 2024 (2403.05529).

    >>> staircase = grand_staircase(Target("He4(h1) + sign(h1*h2*h3)"))
    >>> [(stair.leap, len(stair.directions)) for stair in staircase.stairs]
    [(2, 1), (2, 2)]
    """
    moments = label_moments(target, noise, degree, seed=seed)
    # No direction outside of the used subspace can show, except as noise.
    used = used_subspace(target)
    basis = moments.coordinates(used)
    degree = dense_degree(basis.shape[1], moments.degree, moments.moments[:, :, 0].size)
    tensors = [
        block(tensor, basis, basis, 0, order)
        for order, tensor in enumerate(symmetric_tensors(moments.normalised(), degree))
    ]
    leaps = degree if moments.exact else min(SAMPLED_LEAP, degree)

    def search(learned: np.ndarray, leap: int) -> tuple[np.ndarray, tuple[float, ...]]:
        if moments.exact:
            matrices = unfolded(tensors, learned, leap, _scale)
            rows, values = exact_directions(matrices[0], learned, math.sqrt(EXACT_STRENGTH))
            return rows, tuple(value**2 for value in values)
        within = tensors[: leap + SAMPLED_FEATURES + 1]
        matrices = unfolded(within, learned, leap, _scale)
        return sampled_directions(matrices, learned, SAMPLED_STRENGTH, DEVIATIONS)

    stairs = tuple(
        Stair(stair.leap, _tidied(stair.directions @ used, moments.exact), stair.strengths)
        for stair in climb(search, len(used), leaps)
    )
    return Staircase(stairs, target.rank, degree, moments.method)


def _tidied(rows: np.ndarray, exact: bool) -> np.ndarray:
    return tidy_basis(rows, len(rows), 0.0 if exact else SAMPLED_ACCURACY)


def _scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(leap) * math.factorial(order - leap))


def generative_exponent(target: Target, noise: float = 0.0, degree: int = 8) -> int | None:
    r"""The smallest order of Hermite polynomial whose mean given the label is not zero.

    .. math:: k^* = \min\{k \ge 1 : E[He_k(h) \mid y] \ne 0\}

    None if there is none up to ``degree``. Never larger than the information exponent.

    Symbols: g ``target``, label noise variance ``noise``.

    Assumes: isotropic Gaussian inputs.
    Status: theorem (r = 1: d^{k*/2} samples are necessary for statistical queries and enough).
    References: Damian, Pillaud-Vivien, Lee, Bruna 2024 (2403.05529).

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
    References: Damian, Pillaud-Vivien, Lee, Bruna 2024 (2403.05529).

    >>> label_correlations(Target("He4(h1)"), degree=4).round(6).tolist()
    [1.0, 0.0, 0.775374, 0.0, 1.0]
    """
    if target.rank != 1:
        raise NoTheory(f"label correlations cover one direction; {target.text} has {target.rank}")
    moments = label_moments(target, noise, degree)
    return _correlations(moments)


def _correlations(moments: LabelMoments) -> Float[np.ndarray, " k"]:
    replicas = len(moments.moments)
    total = moments.moments.sum(axis=0)
    squares = total**2
    if replicas > 1:
        squares = (squares - (moments.moments**2).sum(axis=0)) / (replicas - 1)
    norms = [math.factorial(k) for k in range(moments.moments.shape[2])]
    return (squares / replicas / moments.mass[:, None]).sum(axis=0) / norms
