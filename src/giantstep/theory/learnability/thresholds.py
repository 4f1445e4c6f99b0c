"""Sample thresholds alpha_c = n/d of easy directions, for the best known algorithm (AMP)."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.law import FINE, FINER, label_core, label_moments
from giantstep.errors import NoTheory
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import symmetrised_by_target, target_as_committee
from giantstep.numerics.estimate import Estimate, jackknife
from giantstep.numerics.hermite import MultiIndex
from giantstep.numerics.linear_algebra import Rows, complement, symmetric_tensors, tidy_basis
from giantstep.theory.learnability.grand_staircase import grand_staircase
from giantstep.theory.learnability.later_thresholds import (
    LaterThreshold,
    later_threshold,
    sandwich_spectrum,
    specialised_threshold,
)
from giantstep.theory.learnability.staircase import SAMPLED_ACCURACY, leap_difficulty

#: Relative error with which a first look at sampled labels is left at that.
GOOD_ENOUGH = 5e-5
#: Relative scatter of a cell's probability over replicas up to which it is divided by.
STEADY = 0.1
#: The spread of six replicas underestimates a standard error: Student's quantile at 68 %.
STUDENT = 1.11
#: Relative error of exact sums: where the label is flat, roots are known to half the digits.
ROUNDING = 1e-8
#: Eigenvalues this close to the largest (relatively) belong to the same threshold.
EXACT_TIE, SAMPLED_TIE = 1e-6, 0.02


@dataclass(frozen=True, eq=False)
class Threshold:
    """Directions, and the alpha from which they are recovered; or why that is not known.

    ``above`` is a lower bound where alpha is not known.

    ``stair`` is the number of their stair in the grand staircase, from 0. The directions of the
    first easy stair may have several thresholds, the lowest comes first.
    """

    stair: int
    directions: Rows
    alpha: Estimate | None
    reason: str | None = None
    above: Estimate | None = None


@functools.lru_cache(maxsize=128)
def easy_thresholds(
    target: Target, noise: float = 0.0, degree: int = 8, seed: int = 0
) -> tuple[Threshold, ...]:
    r"""The thresholds of all easy directions, in the order of the grand staircase.

    The first easy stair of a target without trivial directions has

    .. math::
        \alpha_c^{-1} = \lambda_{\max}\big(M \mapsto E_y[G(y) M G(y)]\big), \qquad
        G(y) = E[h h^\top \mid y] - I,

    on symmetric matrices; the directions are the range of the top eigen-matrices. For later
    stairs see :func:`giantstep.theory.learnability.later_thresholds.later_threshold`.

    Symbols: g ``target``, label noise variance ``noise``.

    Assumes: isotropic Gaussian inputs, n = alpha d with d to infinity, r fixed.
    Status: theorem for approximate message passing; replica for its optimality.
    References: Troiani et al. 2024, arXiv:2405.15480; Mondelli, Montanari 2017, arXiv:1708.05932;
    Lu, Li 2017, arXiv:1702.06435.

    >>> (only,) = easy_thresholds(Target("sign(h1*h2)"))
    >>> round(only.alpha.value, 5), len(only.directions)
    (2.4674, 2)
    """
    found: list[Threshold] = []
    learned = np.zeros((0, target.rank))
    for number, stair in enumerate(grand_staircase(target, noise, degree, seed).stairs):
        if stair.difficulty == "easy" and number == 0:
            found += _first_stair(target, noise, stair.directions, seed)
        elif stair.difficulty == "easy":
            later = _later(target, learned, stair.directions, noise)
            found.append(Threshold(number, stair.directions, *later))
        elif stair.difficulty == "hard":
            break
        learned = np.vstack([learned, stair.directions])
    return tuple(found)


def _later(target: Target, learned: Rows, directions: Rows, noise: float) -> LaterThreshold:
    """The threshold of a stair beyond the first; that of a committee has a form of its own."""
    if target_as_committee(target) is not None:
        found = specialised_threshold(target, directions, noise)
        if found is not None:
            return found
    return later_threshold(target, learned, directions, noise)


def weak_recovery_threshold(target: Target, noise: float = 0.0, seed: int = 0) -> Estimate:
    r"""alpha_c: with more than alpha_c d samples the first direction is found, with fewer not.

    .. math:: \alpha_c = 1/E_y\big[(E[h^2 \mid y] - 1)^2\big] \quad (r = 1)

    and in general as in :func:`easy_thresholds`; 0 if some direction is trivial.

    Symbols: g ``target``, label noise variance ``noise``.

    Assumes: isotropic Gaussian inputs, n = alpha d with d to infinity, r fixed; the first stair
    of the grand staircase is trivial or easy.
    Status: theorem for approximate message passing; replica for its optimality.
    References: Troiani et al. 2024, arXiv:2405.15480.

    >>> round(weak_recovery_threshold(Target("abs(h1)"), noise=0.5).value, 5)
    1.0831
    """
    staircase = grand_staircase(target, noise, seed=seed)
    first = leap_difficulty(staircase.first_leap)
    if first == "trivial":
        return Estimate(0.0, 0.0, staircase.method)
    thresholds = easy_thresholds(target, noise, seed=seed)
    if first != "easy" or thresholds[0].alpha is None:
        raise NoTheory(f"{target.text} has no finite threshold: its first stair is not easy")
    return thresholds[0].alpha


def _first_stair(
    target: Target, noise: float, directions: np.ndarray, seed: int
) -> list[Threshold]:
    symmetric = label_core(target, noise=noise).target
    for resolution in (FINE, FINER):
        moments = label_moments(target, noise, 8, resolution, seed)
        estimate = _exact_threshold if moments.exact else _sampled
        alpha = estimate(moments, directions, symmetric)
        if alpha.error < GOOD_ENOUGH * alpha.value:
            break
    _, matrices = _top_threshold(moments, directions, symmetric)
    ranges = sum(matrix @ matrix for matrix in matrices)
    weights, vectors = np.linalg.eigh(ranges)
    first = vectors[:, weights > 0.05 * weights[-1]].T
    rows = tidy_basis(first @ directions, len(first), 0.0 if moments.exact else SAMPLED_ACCURACY)
    found = [Threshold(0, rows, alpha)]
    if len(first) < len(directions):
        rest = complement(first) @ directions
        later = _later(target, rows, rest, noise)
        if later.alpha is None:
            reason = "easy, but weaker: found above alpha_c once the first ones are partly known"
            later = LaterThreshold(None, reason)
        found.append(Threshold(0, rest, *later))
    return found


def _exact_threshold(moments: LabelMoments, directions: np.ndarray, symmetric: Target) -> Estimate:
    value, _ = _top_threshold(moments, directions, symmetric)
    error = ROUNDING * value
    if moments.coarse is not None:
        error += abs(value - _top_threshold(moments.coarse, directions, symmetric)[0])
    # The value is a sum of m^2/p over cells, where m and p are known up to moments.error.
    (second,) = _second_moments(moments.moments, moments.indices)
    size = np.linalg.norm(second, axis=(1, 2)) / moments.mass
    error += moments.error * float(np.sum(2 * math.sqrt(2) * size + size**2))
    return Estimate(1 / value, error / value**2, moments.method)


def _sampled(moments: LabelMoments, directions: np.ndarray, symmetric: Target) -> Estimate:
    """Jackknife over replicas against bias; cells of one, two and four units extrapolated."""
    steady = moments.steadied(STEADY)
    (fine, spread), (middle, _), (wide, _) = (
        _jackknife(steady.merged(group), directions, symmetric) for group in (1, 2, 4)
    )
    gain = max(fine - middle, 0.0)
    ratio = min(max((middle - wide) / gain, 2.0), 4.0) if gain > 0 else 4.0
    value = fine + gain / (ratio - 1)
    error = STUDENT * spread + (value - fine)
    return Estimate(1 / value, error / value**2, f"Monte Carlo: {moments.method}")


def _jackknife(
    moments: LabelMoments, directions: np.ndarray, symmetric: Target
) -> tuple[float, float]:
    replicas = range(len(moments.moments))
    every, _ = _top_threshold(moments, directions, symmetric)
    others = ([r for r in replicas if r != out] for out in replicas)
    without = np.array([_top_threshold(moments, directions, symmetric, kept)[0] for kept in others])
    count, spread = len(without), float(jackknife(np.append(every, without)))
    return count * every - (count - 1) * float(without.mean()), spread


def _top_threshold(
    moments: LabelMoments,
    directions: np.ndarray,
    symmetric: Target,
    replicas: list[int] | None = None,
) -> tuple[float, Float[np.ndarray, "n m m"]]:
    """The largest eigenvalue of M -> E[G M G] on the directions, and its eigen-matrices.

    The operator is made as symmetric as the target is: sampling would split eigenvalues that
    symmetry makes equal, and the largest of them would be too large.
    """
    chosen = moments.moments if replicas is None else moments.moments[replicas]
    mass = moments.mass if replicas is None else np.maximum(chosen[:, :, 0].mean(axis=0), 1e-300)
    second = _second_moments(chosen, moments.indices)
    product = _summed_products(second.sum(axis=0), mass)
    count = len(chosen)
    if count > 1:
        product -= sum(_summed_products(replica, mass) for replica in second)
        product /= count * (count - 1)
    product = symmetrised_by_target(symmetric, product)
    basis = moments.coordinates(directions)
    for _ in range(4):
        # Each slot in turn, from the last to the first.
        product = np.moveaxis(product @ basis.T, -1, 0)
    values, matrices = sandwich_spectrum(product)
    tie = EXACT_TIE if count == 1 else SAMPLED_TIE
    return float(values[-1]), matrices[values > values[-1] * (1 - tie)]


def _summed_products(
    matrices: Float[np.ndarray, "cells r r"], mass: Float[np.ndarray, " cells"]
) -> Float[np.ndarray, "r r r r"]:
    """The sum over cells of M_ij M_kl / mass."""
    flat = matrices.reshape(len(mass), -1)
    return ((flat.T / mass) @ flat).reshape(matrices.shape[1:] * 2)


def _second_moments(
    moments: np.ndarray, indices: tuple[MultiIndex, ...]
) -> Float[np.ndarray, "replicas cells r r"]:
    """E[1{y in b} (h h^T - I)]."""
    return symmetric_tensors({j: moments[:, :, i] for i, j in enumerate(indices)}, 2)[2]
