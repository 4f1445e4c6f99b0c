"""The staircase of gradient descent: which directions correlate with the label, in which order.

Everything is linear algebra on the Hermite tensors C_k = E[g(h) He_k(h)], so nothing depends on
the basis in which the target was written.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.numerics.tensors import complement, dense_degree, symmetric_tensors, tidy_basis
from giantstep.targets import Target
from giantstep.targets.expansion import Expansion, expansion
from giantstep.theory.learnability.stairs import (
    Stair,
    Visible,
    climb,
    exact_directions,
    unfolded,
)

#: Singular values below this share of the target's standard deviation count as zero.
TOLERANCE = 1e-6
#: So do those below this many times their error.
ERRORS = 20.0


@dataclass(frozen=True, eq=False)
class Staircase:
    """The stairs in the order in which they are climbed, and how they were found.

    ``open_end`` says whether it is sampling that found nothing beyond the last stair.
    """

    stairs: tuple[Stair, ...]
    rank: int
    degree: int
    method: str
    open_end: bool = False

    @property
    def sampled(self) -> bool:
        """Whether sampling decided about any of it."""
        return self.open_end or any(stair.sampled for stair in self.stairs)

    @property
    def subspace(self) -> Float[np.ndarray, "m r"]:
        """All directions that are reached, as orthonormal rows."""
        return np.vstack([np.zeros((0, self.rank)), *[stair.directions for stair in self.stairs]])

    @property
    def first_leap(self) -> int | None:
        """Leap of the first stair: information exponent, or generative exponent."""
        return self.stairs[0].leap if self.stairs else None

    @property
    def largest_leap(self) -> int | None:
        """The largest leap on the way."""
        return max((stair.leap for stair in self.stairs), default=None)


@functools.lru_cache(maxsize=128)
def leap_staircase(target: Target, degree: int = 8) -> Staircase:
    r"""The leap staircase: from what is learned, the smallest leap that shows new directions.

    .. math::
        C_k = E[g(h)\, He_k(h)], \qquad
        U \leftarrow U \oplus \mathrm{colspan}\big(C_k[U_\perp^{\ell}, U^{k-\ell}]/\sqrt{k!}
        \big)_{k \ge \ell}

    with the smallest :math:`\ell` for which this is not empty, again and again. Singular values
    are compared with :math:`\|g - E g\|`.

    Symbols: g ``target``, highest k ``degree``; a stair's ``leap`` is :math:`\ell`.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r; directions that show only beyond
    ``degree`` are missed.
    Status: theorem for the role of leaps in one-pass algorithms with correlations (parts of it for
    online SGD are conjectured).
    References: Abbe et al. 2022, arXiv:2202.08658; Abbe et al. 2023, arXiv:2302.11055; Dandi et
    al. 2023, arXiv:2305.18270.

    >>> staircase = leap_staircase(Target("h1 + He3(h1)*h2"))
    >>> [(stair.leap, stair.directions.tolist()) for stair in staircase.stairs]
    [(1, [[1.0, 0.0]]), (1, [[0.0, 1.0]])]
    """
    found, tensors = _tensors(target, degree)
    leaps = len(tensors) - 1
    stairs, open_end = climb(functools.partial(_visible, found, tensors), target.rank, leaps)
    norm = math.sqrt(found.variance) or 1.0
    relative = tuple(
        replace(stair, strengths=tuple(value / norm for value in stair.strengths))
        for stair in stairs
    )
    return Staircase(relative, target.rank, leaps, f"tensors, {found.method}", open_end)


def information_exponent(target: Target, degree: int = 8) -> int | None:
    r"""The degree of the first Hermite tensor that is not zero; None if there is none.

    .. math:: \min\{k \ge 1 : C_k \ne 0\}

    Symbols: g ``target``, highest k tried ``degree``.

    Assumes: isotropic Gaussian inputs.
    Status: theorem (r = 1: online SGD needs about d^{k-1} samples).
    References: Ben-Arous et al. 2020, arXiv:2003.10409.

    >>> information_exponent(Target("h1**2 * exp(-h1**2)"))
    4
    """
    return leap_staircase(target, degree).first_leap


def learned_subspaces(
    target: Target,
    steps: int,
    leap: int = 1,
    usable: Callable[[int], bool] | None = None,
    degree: int = 8,
) -> tuple[Float[np.ndarray, "_ r"], ...]:
    r"""The subspaces U_0, ..., U_T learned after 0..T giant steps with fresh batches of n ~ d^leap.

    .. math::
        U_0 = \{0\}, \qquad U_{t+1} = U_t + \mathrm{span}\big\{E[g(h)\, He_\ell(h_\perp) \mid
        h_{U_t} = x] : x,\ \ell \le \mathrm{leap}\big\}

    for leap 1 the span of :math:`E_{h_\perp}[\nabla_\perp g]`. One row per direction, orthonormal.

    Symbols: g ``target``, T ``steps``. ``usable(k)`` says whether the k-th Hermite coefficient of
    the activation is non-zero: relu without biases has none of odd degree above 1, and then does
    not see the tensors of those degrees.

    Assumes: isotropic Gaussian inputs, a fresh batch each step, step sizes of the right order
    (1 for leap 1, d^((l-1)/2) for leap l), readout weights that are not all of one size.
    Status: theorem for one step, conjecture for more.
    References: Dandi et al. 2023, arXiv:2305.18270, theorem 1 and conjectures 1, 2.

    >>> [len(rows) for rows in learned_subspaces(Target("h1 + He2(h1)*h2"), steps=2)]
    [0, 1, 2]
    >>> even_only = lambda k: k in (0, 1) or k % 2 == 0
    >>> [len(u) for u in learned_subspaces(Target("h1 + He2(h1)*h2"), 2, usable=even_only)]
    [0, 1, 1]
    """
    if steps < 0 or leap < 1:
        raise SettingsError(f"steps = {steps}, leap = {leap}: give at least 0 and at least 1")
    found, tensors = _tensors(target, degree)
    spaces = [np.zeros((0, target.rank))]
    for _ in range(steps):
        learned = spaces[-1]
        for at_once in range(1, min(leap, len(tensors) - 1) + 1):
            fresh = _visible(found, tensors, spaces[-1], at_once, usable)
            learned = _sum(learned, fresh.directions)
        spaces.append(learned)
    return tuple(spaces)


def _visible(
    found: Expansion,
    tensors: tuple[np.ndarray, ...],
    learned: np.ndarray,
    leap: int,
    usable: Callable[[int], bool] | None = None,
) -> Visible:
    (matrix,) = unfolded(tensors, learned, leap, _scale, usable or (lambda order: True))
    threshold = max(TOLERANCE * math.sqrt(found.variance), ERRORS * found.error)
    noise = found.error if found.sampled else 0.0
    return exact_directions(matrix, complement(learned), threshold, noise)


def _scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(order))


def _sum(learned: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the sum: those of the first space, then what the second one adds."""
    rest = fresh - fresh @ learned.T @ learned
    values = np.linalg.svd(rest, compute_uv=False)
    return np.vstack([learned, tidy_basis(rest, int(np.sum(values > 1e-6)))])


def _tensors(target: Target, degree: int) -> tuple[Expansion, tuple[np.ndarray, ...]]:
    """The tensors as a family of one function in one replica."""
    if degree < 1:
        raise SettingsError(f"degree = {degree} must be at least 1")
    found = expansion(target, degree)
    coefficients = {j: np.full((1, 1), c) for j, c in found.coefficients.items()}
    return found, symmetric_tensors(coefficients, dense_degree(target.rank, found.degree))
