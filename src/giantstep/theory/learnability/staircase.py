"""The staircase of gradient descent: which directions correlate with the label, in which order.

Everything is linear algebra on the Hermite tensors C_k = E[g(h) He_k(h)], so nothing depends on
the basis in which the target was written.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import Expansion, target_expansion
from giantstep.language.targets.hermite import target_subspace, target_tensors
from giantstep.numerics.hermite import MultiIndex, factorial
from giantstep.numerics.linear_algebra import (
    Rows,
    complement,
    dense_tensor_degree,
    symmetric_tensors,
    tensor_block,
    tidy_basis,
)

#: Sampled directions this close to simple ones are taken to be those, whatever their error.
SAMPLED_ACCURACY = 3e-3
#: Sampled directions known worse than this are not compared with simple ones.
SAMPLED_BLUR = 0.1

Tensors = Sequence[Float[np.ndarray, "replicas family ..."]]
Difficulty = Literal["trivial", "easy", "hard"]


def leap_difficulty(leap: int | None) -> Difficulty:
    """What a leap of the grand staircase means at n of order d; None stands for never.

    >>> [leap_difficulty(leap) for leap in (1, 2, 3, None)]
    ['trivial', 'easy', 'hard', 'hard']
    """
    if leap == 1:
        return "trivial"
    return "easy" if leap == 2 else "hard"


@dataclass(frozen=True, eq=False)
class Visible:
    """Directions (orthonormal rows) that are visible, with strengths where they are known.

    ``sampled`` says whether sampling decided that it is these directions and no others, and
    ``error`` how far off they may be (the sine of an angle).
    """

    directions: Rows
    strengths: tuple[float, ...] = ()
    sampled: bool = False
    error: float = 0.0


@dataclass(frozen=True, eq=False, kw_only=True)
class Stair(Visible):
    """Directions that become visible together, at a leap; the rest as in :class:`Visible`."""

    leap: int

    @property
    def difficulty(self) -> Difficulty:
        """The class of a stair of the grand staircase."""
        return leap_difficulty(self.leap)


#: Given what is learned and a leap: what is newly visible.
Search = Callable[[np.ndarray, int], Visible]


def climb_staircase(search: Search, rank: int, leaps: int) -> tuple[tuple[Stair, ...], bool]:
    """From nothing learned, take the smallest leap that shows new directions, again and again.

    Also returns whether sampling decided that there is nothing beyond the last stair.
    """
    learned = np.zeros((0, rank))
    stairs: list[Stair] = []
    sampled = False
    while len(learned) < rank:
        sampled = False
        for leap in range(1, leaps + 1):
            found = search(learned, leap)
            sampled = sampled or found.sampled
            if len(found.directions):
                break
        else:
            return tuple(stairs), sampled
        found.directions.setflags(write=False)
        stairs.append(Stair(found.directions, found.strengths, sampled, found.error, leap=leap))
        learned = np.vstack([learned, found.directions])
    return tuple(stairs), False


def unfolded_leap_tensors(
    tensors: Tensors,
    learned: Rows,
    leap: int,
    scale: Callable[[int, int], float],
    usable: Callable[[int], bool] | None = None,
) -> Float[np.ndarray, "replicas unlearned columns"]:
    """The blocks C_k[unlearned^leap, learned^(k-leap)] as matrices over their first slot.

    They are scaled by ``scale(k, leap)`` and put side by side over k and over the family.
    """
    rest = complement(learned)
    replicas = len(tensors[0])
    matrices = [np.zeros((replicas, len(rest), 0))]
    for order in range(leap, len(tensors)):
        if (usable is None or usable(order)) and (len(learned) or order == leap):
            part = tensor_block(tensors[order], rest, learned, leap, order) * scale(order, leap)
            rows = np.moveaxis(part, 2, 1)
            matrices.append(rows.reshape(replicas, len(rest), math.prod(rows.shape[2:])))
    return np.concatenate(matrices, axis=2)


def exact_leap_directions(
    matrix: Float[np.ndarray, "rows columns"],
    basis: Float[np.ndarray, "rows r"],
    threshold: float,
    noise: float = 0.0,
) -> Visible:
    """The column span by singular values above a threshold; ``basis`` are the rows' directions.

    ``noise`` is the standard error of each entry if they are sampled.
    """
    left, values, _ = np.linalg.svd(matrix, full_matrices=False)
    kept = values > threshold
    rows = left[:, kept].T @ basis
    strengths = tuple(float(v) for v in values[kept])
    if not noise:
        return Visible(tidy_basis(rows, len(rows)), strengths)
    error = (
        noise * (math.sqrt(len(matrix)) + math.sqrt(matrix.shape[1])) / min(strengths, default=1)
    )
    return Visible(simplified_directions(rows, error), strengths, True, error if strengths else 0.0)


def sampled_leap_directions(
    matrices: Float[np.ndarray, "replicas rows columns"],
    basis: Float[np.ndarray, "rows r"],
    threshold: float,
    deviations: float,
) -> Visible:
    """The column span of a matrix known through independent noisy replicas.

    Products of different replicas have no bias, so eigenvalues of their mean are centred at zero
    where there is no signal. Kept: those above the threshold and above ``deviations`` times the
    noise, which the spread of the replicas tells. The error is a jackknife over replicas.
    """
    replicas = len(matrices)
    values, vectors = np.linalg.eigh(_leap_cross_gram(matrices))
    variance = matrices.var(axis=0, ddof=1)
    pairs = replicas * (replicas - 1) / 2
    noise = math.sqrt(float(np.max(np.sum(variance**2, axis=1), initial=0.0)) / pairs)
    kept = values > max(threshold, deviations * noise)
    count = int(kept.sum())
    if not count:
        return Visible(np.zeros((0, basis.shape[1])), (), sampled=True)
    whole = vectors[:, kept] @ vectors[:, kept].T
    moved = []
    for out in range(replicas):
        _, others = np.linalg.eigh(_leap_cross_gram(np.delete(matrices, out, axis=0)))
        top = others[:, -count:]
        moved.append(np.linalg.norm(top @ top.T - whole, 2))
    error = math.sqrt((replicas - 1) / replicas * float(np.sum(np.square(moved))))
    rows = simplified_directions(vectors[:, kept].T @ basis, error)
    return Visible(rows, tuple(float(v) for v in values[kept][::-1]), True, error)


def _leap_cross_gram(
    matrices: Float[np.ndarray, "replicas rows columns"],
) -> Float[np.ndarray, "rows rows"]:
    """The mean of M_s M_t^T over pairs of different replicas."""
    replicas = len(matrices)
    total = matrices.sum(axis=0)
    own = np.einsum("sij,skj->ik", matrices, matrices)
    gram = (total @ total.T - own) / (replicas * (replicas - 1))
    return (gram + gram.T) / 2


def simplified_directions(rows: Rows, error: float) -> Rows:
    """Sampled directions, snapped to ratios of small whole numbers that their error allows."""
    close = max(SAMPLED_ACCURACY, 4 * error) if error < SAMPLED_BLUR else SAMPLED_ACCURACY
    return tidy_basis(rows, len(rows), close)


#: Singular values below this share of the target's standard deviation are rounding; so are those
#: below this many times their error.
TOLERANCE, ERRORS = 1e-12, 20.0
#: Where dense tensors leave directions unseen, coefficients are looked at up to this degree.
HIGHEST_DEGREE = 20


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
    def subspace(self) -> Rows:
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
    found, tensors = leap_hermite_family(target, degree)
    leaps = len(tensors) - 1
    stairs, open_end = climb_staircase(
        functools.partial(visible_at_leap, found, tensors), target.rank, leaps
    )
    if sum(len(stair.directions) for stair in stairs) < len(target_subspace(target)):
        found = target_expansion(target, max(degree, HIGHEST_DEGREE))
        higher, _ = climb_staircase(
            functools.partial(_visible_leap_axes, found), target.rank, found.degree
        )
        if len(higher) > len(stairs) and not found.sampled:
            stairs, leaps, open_end = higher, found.degree, False
    norm = math.sqrt(found.variance) or 1.0
    relative = tuple(
        replace(stair, strengths=tuple(value / norm for value in stair.strengths))
        for stair in stairs
    )
    return Staircase(relative, target.rank, leaps, f"tensors, {found.method}", open_end)


def predicted_subspaces(
    target: Target,
    steps: int,
    leap: int | Sequence[int] = 1,
    usable: Callable[[int], bool] | None = None,
    degree: int = 8,
) -> tuple[Rows, ...]:
    r"""The subspaces U_0, ..., U_T learned after 0..T giant steps with fresh batches of n ~ d^leap.

    .. math::
        U_0 = \{0\}, \qquad U_{t+1} = U_t + \mathrm{span}\big\{E[g(h)\, He_\ell(h_\perp) \mid
        h_{U_t} = x] : x,\ \ell \le \mathrm{leap}\big\}

    for leap 1 the span of :math:`E_{h_\perp}[\nabla_\perp g]`. One row per direction, orthonormal.

    Symbols: g ``target``, T ``steps``; ``leap``, one or one per step. ``usable(k)`` says whether
    the k-th Hermite coefficient of the activation is non-zero: relu without biases has none of odd
    degree above 1, and then does not see the tensors of those degrees.

    Assumes: isotropic Gaussian inputs, a fresh batch each step, step sizes of the right order
    (1 for leap 1, d^((l-1)/2) for leap l), readout weights that are not all of one size.
    Status: theorem for one step, conjecture for more.
    References: Dandi et al. 2023, arXiv:2305.18270, theorem 1 and conjectures 1, 2.

    >>> [len(rows) for rows in predicted_subspaces(Target("h1 + He2(h1)*h2"), steps=2)]
    [0, 1, 2]
    >>> even_only = lambda k: k in (0, 1) or k % 2 == 0
    >>> [len(u) for u in predicted_subspaces(Target("h1 + He2(h1)*h2"), 2, usable=even_only)]
    [0, 1, 1]
    """
    leaps = [leap] * steps if isinstance(leap, int) else list(leap)
    if steps < 0 or min(leaps, default=1) < 1:
        raise SettingsError(f"steps = {steps}, leap = {leap}: give at least 0 and at least 1")
    found, tensors = leap_hermite_family(target, degree)
    spaces = [np.zeros((0, target.rank))]
    for most in leaps:
        learned = spaces[-1]
        for at_once in range(1, min(most, len(tensors) - 1) + 1):
            fresh = visible_at_leap(found, tensors, spaces[-1], at_once, usable)
            learned = joined_leap_directions(learned, fresh.directions)
        spaces.append(learned)
    return tuple(spaces)


def visible_at_leap(
    found: Expansion,
    tensors: tuple[np.ndarray, ...],
    learned: np.ndarray,
    leap: int,
    usable: Callable[[int], bool] | None = None,
) -> Visible:
    """What correlations with the label show at a leap, once some directions are known."""
    (matrix,) = unfolded_leap_tensors(tensors, learned, leap, _leap_scale, usable)
    noise = found.error if found.sampled else 0.0
    return exact_leap_directions(matrix, complement(learned), _threshold(found), noise)


def _threshold(found: Expansion) -> float:
    return max(TOLERANCE * math.sqrt(found.variance), ERRORS * found.error)


def _visible_leap_axes(found: Expansion, learned: Rows, leap: int) -> Visible:
    """The same from the coefficients alone, at any degree, while the learned directions are axes.

    Equal columns of an unfolded tensor, which differ by the order of their slots, are one here.
    """
    rank = learned.shape[1]
    known = np.abs(learned).max(axis=0, initial=0.0) > 0
    free = np.flatnonzero(~known)
    columns: dict[MultiIndex, np.ndarray] = {}
    for j, coefficient in found.coefficients.items():
        if known.sum() > len(learned) or sum(j[axis] for axis in free) != leap:
            continue
        for row, axis in enumerate(free):
            if j[axis]:
                rest = tuple(power - int(at == axis) for at, power in enumerate(j))
                orders = math.factorial(leap - 1) * math.factorial(sum(j) - leap) / factorial(rest)
                column = columns.setdefault(rest, np.zeros(len(free)))
                column[row] = coefficient * math.sqrt(orders) * _leap_scale(sum(j), leap)
    matrix = np.array([*columns.values()]).reshape(len(columns), len(free)).T
    return exact_leap_directions(matrix, np.eye(rank)[free], _threshold(found))


def _leap_scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(order))


def joined_leap_directions(learned: np.ndarray, fresh: np.ndarray) -> np.ndarray:
    """Orthonormal rows of the sum: those of the first space, then what the second one adds."""
    rest = fresh - fresh @ learned.T @ learned
    values = np.linalg.svd(rest, compute_uv=False)
    return np.vstack([learned, tidy_basis(rest, int(np.sum(values > 1e-6)))])


def leap_hermite_family(target: Target, degree: int) -> tuple[Expansion, tuple[np.ndarray, ...]]:
    """The tensors as a family of one function in one replica."""
    if degree < 1:
        raise SettingsError(f"degree = {degree} must be at least 1")
    found = target_expansion(target, degree)
    coefficients = {j: np.full((1, 1), c) for j, c in found.coefficients.items()}
    return found, symmetric_tensors(coefficients, dense_tensor_degree(target.rank, found.degree))


def one_step_direction(target: Target) -> tuple[Float[np.ndarray, " r"], float]:
    r"""The unit vector, in latent space, to which one step turns all neurons, and its weight.

    .. math:: C_1 = E[g(h)\,h] = |C_1|\,e, \qquad e = e_1 \text{ where } C_1 = 0

    Assumes: isotropic Gaussian inputs.
    Status: theorem.
    References: Ba et al. 2022, arXiv:2205.01445; Dandi et al. 2023, arXiv:2305.18270.

    >>> direction, weight = one_step_direction(Target("3*h1 + 4*h2"))
    >>> direction.round(6).tolist(), round(weight, 6)
    ([0.6, 0.8], 5.0)
    """
    gradient = target_tensors(target, 1)[1]
    weight = float(np.linalg.norm(gradient))
    if weight < 1e-12:
        return np.eye(target.rank)[0], 0.0
    return gradient / weight, weight
