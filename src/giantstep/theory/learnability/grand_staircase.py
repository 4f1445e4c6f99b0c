"""The grand staircase: what becomes visible when the label may be transformed first.

Certain evidence is asked first, sampling last.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.functions import (
    FunctionMoments,
    label_itself,
    label_powers,
    label_waves,
    sampled_label_waves,
)
from giantstep.channels.label_law.law import (
    LabelCore,
    exact_label_moments,
    label_core,
)
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import target_series
from giantstep.language.targets.symmetry import target_invariance
from giantstep.numerics.hermite import MultiIndex, factorial, multi_indices
from giantstep.numerics.linear_algebra import (
    Rows,
    complement,
    dense_tensor_degree,
    symmetric_tensors,
    tidy_basis,
)
from giantstep.theory.learnability.staircase import (
    Search,
    Staircase,
    Tensors,
    Visible,
    climb_staircase,
    exact_leap_directions,
    joined_leap_directions,
    leap_hermite_family,
    sampled_leap_directions,
    simplified_directions,
    unfolded_leap_tensors,
    visible_at_leap,
)

#: Relative size below which a vector counts as zero.
ZERO = 1e-9


@dataclass(frozen=True, eq=False)
class QuadraticLabel:
    r"""y = x^T A x / 2 + b^T x + constant, with x the directions h, then the noises z.

    The characteristic function of the label gives, with x = (x_\perp, h_U) and h_U known,

    .. math:: E[e^{i t y} x_\perp \mid h_U]
        \propto (I - i t A_{\perp\perp})^{-1} (b_\perp + A_{\perp U} h_U),

    so what is visible at leap 1 is the Krylov space of A on b and on the columns of A_{\perp U};
    where that is empty, the second moments show the range of the powers of A at leap 2.
    """

    matrix: Float[np.ndarray, "x x"]
    linear: Float[np.ndarray, " x"]
    rank: int

    @classmethod
    def of(cls, target: Target) -> QuadraticLabel | None:
        """The quadratic form of a target; None if it is not of degree two."""
        series = target_series(target)
        if series is None or max(map(sum, series.terms)) > 2:
            return None
        coefficients = {j: np.array(float(a * factorial(j))) for j, a in series.terms.items()}
        _, linear, matrix = symmetric_tensors(coefficients, 2)
        return cls(matrix, linear, target.rank)

    @property
    def _size(self) -> float:
        return float(np.linalg.norm(self.matrix, 2) + np.linalg.norm(self.linear))

    def visible(self, learned: Rows, leap: int) -> Visible:
        """The directions that show at a leap, once others are known."""
        rest = complement(learned)
        unknown = np.zeros((len(rest) + len(self.linear) - self.rank, len(self.linear)))
        unknown[: len(rest), : self.rank] = rest
        unknown[len(rest) :, self.rank :] = np.eye(len(self.linear) - self.rank)
        known = np.pad(learned, ((0, 0), (0, len(self.linear) - self.rank)))
        matrix, linear = self.matrix / self._size, self.linear / self._size
        inner = unknown @ matrix @ unknown.T
        if leap == 1:
            sources = np.column_stack([unknown @ linear, unknown @ matrix @ known.T])
            shown = _leap_krylov_span(inner, sources)[: len(rest)]
        elif leap == 2:
            powers = [np.linalg.matrix_power(inner, k + 1) for k in range(len(unknown))]
            shown = np.column_stack([power[: len(rest), : len(rest)] for power in powers])
        else:
            shown = np.zeros((len(rest), 0))
        left, values, _ = np.linalg.svd(shown, full_matrices=False)
        rows = left[:, values > ZERO].T @ rest
        return Visible(tidy_basis(rows, len(rows)))


def _leap_krylov_span(
    matrix: Float[np.ndarray, "n n"], sources: Float[np.ndarray, "n s"]
) -> Float[np.ndarray, "n k"]:
    """An orthonormal basis of the span of A^k b over all k and all columns b."""
    found, waiting = np.zeros((len(matrix), 0)), sources
    while waiting.shape[1]:
        # Twice, so that rounding leaves nothing of what is already there.
        for _ in range(2):
            waiting = waiting - found @ (found.T @ waiting)
        left, values, _ = np.linalg.svd(waiting, full_matrices=False)
        fresh = left[:, values > ZERO]
        found = np.column_stack([found, fresh])
        waiting = matrix @ fresh
    return found


#: A moment counts if it is this much, and this many times its error.
SMALLEST, ERRORS = 1e-6, 20.0
#: Sampled strengths (mean squares of moments) count from here on, and from so many deviations.
SAMPLED_STRENGTH, DEVIATIONS = 2e-5, 6.0
#: With sampled moments, the degree of features of learned directions.
SAMPLED_DEGREE = 4
#: Random functions that are as symmetric as the target: what they do not show, symmetry forbids.
RANDOM_FUNCTIONS = 8


class LabelEvidence:
    """Families of functions of the label, from the cheapest to the sampled one."""

    def __init__(self, target: Target, degree: int, seed: int) -> None:
        self._target = target
        self._families: list[Callable[[], FunctionMoments | None]] = [
            functools.cache(functools.partial(label_itself, target, degree)),
            functools.cache(functools.partial(label_powers, target, degree)),
            functools.cache(functools.partial(label_waves, target, degree)),
            functools.cache(functools.partial(sampled_label_waves, target, SAMPLED_DEGREE, seed)),
        ]
        self._consulted: list[str] = []
        self._known: dict[str, Tensors] = {}
        self._random: dict[int, Tensors] = {}

    @property
    def method(self) -> str:
        """The families that were needed."""
        return "; ".join(dict.fromkeys(self._consulted))

    def visible(self, learned: Rows, leap: int) -> Visible:
        """The directions that show at a leap, once others are known.

        A family that need not show everything is followed by the next one, unless symmetry
        forbids that there be more.
        """
        rank = self._target.rank
        found = np.zeros((0, rank))
        strengths: tuple[float, ...] = ()
        sampled, error = False, 0.0
        possible = self._possible(learned, leap)
        for ask in self._families:
            family = ask() if len(found) < possible else None
            if family is None:
                continue
            self._consulted.append(family.method)
            sampled = sampled or family.sampled
            more = self._shown(family, learned, found, leap)
            found = np.vstack([found, more.directions])
            strengths, error = strengths + more.strengths, max(error, more.error)
            if family.complete:
                break
        if len(found) == possible < rank - len(learned):
            self._consulted.append("symmetries")
        return Visible(found, strengths, sampled, error)

    def _shown(
        self, family: FunctionMoments, learned: np.ndarray, found: np.ndarray, leap: int
    ) -> Visible:
        """The directions that a family shows besides those that were found already."""
        basis = complement(np.vstack([learned, found]))
        matrices = unfolded_leap_tensors(self._tensors(family), learned, leap, _grand_leap_scale)
        matrices = basis @ complement(learned).T @ matrices
        if len(matrices) > 1:
            return sampled_leap_directions(matrices, basis, SAMPLED_STRENGTH, DEVIATIONS)
        threshold = max(SMALLEST, ERRORS * family.error)
        noise = family.error if family.sampled else 0.0
        return exact_leap_directions(matrices[0], basis, threshold, noise)

    def _tensors(self, family: FunctionMoments) -> Tensors:
        if family.method not in self._known:
            rank, functions = self._target.rank, next(iter(family.coefficients.values())).size
            degree = dense_tensor_degree(rank, family.degree, functions)
            self._known[family.method] = symmetric_tensors(family.coefficients, degree)
        return self._known[family.method]

    def _possible(self, learned: np.ndarray, leap: int) -> int:
        """How many new directions the symmetries of the target allow at a leap."""
        symmetric = target_invariance(self._target)
        unlearned = self._target.rank - len(learned)
        if not symmetric.flips and not symmetric.exchanges:
            return unlearned
        if leap not in self._random:
            rank = self._target.rank
            degree = dense_tensor_degree(rank, leap + 2, RANDOM_FUNCTIONS)
            random = np.random.default_rng(leap)
            coefficients = {
                j: random.normal(size=(1, RANDOM_FUNCTIONS)) for j in multi_indices(rank, degree)
            }
            self._random[leap] = symmetric_tensors(symmetric.averaged(coefficients), degree)
        tensors = self._random[leap]
        if len(tensors) <= leap:
            return unlearned
        (matrix,) = unfolded_leap_tensors(tensors, learned, leap, _grand_leap_scale)
        return len(exact_leap_directions(matrix, complement(learned), SMALLEST).directions)


def _grand_leap_scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(leap) * math.factorial(order - leap))


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
    method: Callable[[], str]
    if (form := QuadraticLabel.of(core.target)) is not None:
        search, method = form.visible, lambda: "quadratic label, linear algebra"
    elif (moments := exact_label_moments(core.target, degree, 0.0)) is not None:
        degree = min(degree, moments.degree)
        search, method = _partition_search(moments, degree), lambda: moments.method
    else:
        evidence = LabelEvidence(core.target, degree, seed)
        search, method = evidence.visible, lambda: evidence.method
    stairs, open_end = climb_staircase(
        _with_correlations(search, target, core, degree), len(core.rows), degree
    )
    found = [replace(s, directions=_leap_rows(s.directions, core.rows, s.error)) for s in stairs]
    return Staircase(tuple(found), target.rank, degree, method(), open_end)


def _with_correlations(search: Search, target: Target, core: LabelCore, degree: int) -> Search:
    """The search, and what the label itself shows: it is a function of the label as well.

    However faint a correlation is, the generative exponent is at most the information exponent.
    """
    found, tensors = leap_hermite_family(target, degree)
    if found.sampled:
        return search

    def both(learned: np.ndarray, leap: int) -> Visible:
        shown = search(learned, leap)
        if len(learned) + len(shown.directions) == len(core.rows) or leap >= len(tensors):
            return shown
        itself = visible_at_leap(found, tensors, learned @ core.rows, leap).directions @ core.rows.T
        every = joined_leap_directions(shown.directions, itself)
        return replace(shown, directions=every) if len(every) > len(shown.directions) else shown

    return both


def _leap_rows(rows: np.ndarray, core: np.ndarray, error: float) -> np.ndarray:
    """Directions of the simpler target as directions of the given one."""
    turned = rows @ core
    return simplified_directions(turned, error) if error else tidy_basis(turned, len(turned))


def _partition_search(moments: LabelMoments, degree: int) -> Search:
    """What indicators of cells of the label show, divided by the root of their probability."""
    coefficients = _compressed_leap_coefficients(moments.normalised())
    functions = next(iter(coefficients.values())).size
    rank = len(next(iter(coefficients)))
    tensors = symmetric_tensors(coefficients, dense_tensor_degree(rank, degree, functions))

    def search(learned: np.ndarray, leap: int) -> Visible:
        if leap >= len(tensors):
            return Visible(np.zeros((0, rank)))
        (matrix,) = unfolded_leap_tensors(tensors, learned, leap, _grand_leap_scale)
        found = exact_leap_directions(matrix, complement(learned), math.sqrt(EXACT_STRENGTH))
        return Visible(found.directions, tuple(value**2 for value in found.strengths))

    return search


def _compressed_leap_coefficients(
    coefficients: Mapping[MultiIndex, Float[np.ndarray, "1 cells"]],
) -> dict[MultiIndex, Float[np.ndarray, "1 functions"]]:
    """The same with few combinations of cells: turning the cells changes no strength."""
    table = np.concatenate(list(coefficients.values()))
    norms = np.sqrt([factorial(j) for j in coefficients])
    left, values, _ = np.linalg.svd(table / norms[:, None], full_matrices=False)
    kept = values > 1e-13 * values[0]
    rows = norms[:, None] * left[:, kept] * values[kept]
    return {j: rows[None, i] for i, j in enumerate(coefficients)}
