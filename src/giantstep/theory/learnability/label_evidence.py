"""What functions of the label show of the directions: certain evidence first, sampling last."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float

from giantstep.numerics.hermite import multi_indices
from giantstep.numerics.tensors import complement, dense_degree, symmetric_tensors
from giantstep.targets import Target
from giantstep.targets.label_law.functions import (
    FunctionMoments,
    label_itself,
    label_powers,
    label_waves,
    sampled_waves,
)
from giantstep.targets.symmetry import invariance
from giantstep.theory.learnability.stairs import (
    Tensors,
    Visible,
    exact_directions,
    sampled_directions,
    unfolded,
)

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
        self._target, self._degree, self._seed = target, degree, seed
        self._consulted: list[str] = []
        self._known: dict[str, Tensors] = {}
        self._random: dict[int, Tensors] = {}

    @property
    def method(self) -> str:
        """The families that were needed."""
        return "; ".join(dict.fromkeys(self._consulted))

    def visible(self, learned: Float[np.ndarray, "m r"], leap: int) -> Visible:
        """The directions that show at a leap, once others are known.

        A family that need not show everything is followed by the next one, unless symmetry
        forbids that there be more.
        """
        rank = self._target.rank
        found = np.zeros((0, rank))
        strengths: tuple[float, ...] = ()
        sampled, error = False, 0.0
        possible = self._possible(learned, leap)
        for asked in ("_itself", "_powers", "_waves", "_samples"):
            family = getattr(self, asked) if len(found) < possible else None
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

    @functools.cached_property
    def _itself(self) -> FunctionMoments:
        return label_itself(self._target, self._degree)

    @functools.cached_property
    def _powers(self) -> FunctionMoments | None:
        return label_powers(self._target, self._degree)

    @functools.cached_property
    def _waves(self) -> FunctionMoments | None:
        return label_waves(self._target, self._degree)

    @functools.cached_property
    def _samples(self) -> FunctionMoments:
        return sampled_waves(self._target, SAMPLED_DEGREE, self._seed)

    def _shown(
        self, family: FunctionMoments, learned: np.ndarray, found: np.ndarray, leap: int
    ) -> Visible:
        """The directions that a family shows besides those that were found already."""
        basis = complement(np.vstack([learned, found]))
        matrices = unfolded(self._tensors(family), learned, leap, _scale)
        matrices = basis @ complement(learned).T @ matrices
        if len(matrices) > 1:
            return sampled_directions(matrices, basis, SAMPLED_STRENGTH, DEVIATIONS)
        threshold = max(SMALLEST, ERRORS * family.error)
        noise = family.error if family.sampled else 0.0
        return exact_directions(matrices[0], basis, threshold, noise)

    def _tensors(self, family: FunctionMoments) -> Tensors:
        if family.method not in self._known:
            rank, functions = self._target.rank, next(iter(family.coefficients.values())).size
            degree = dense_degree(rank, family.degree, functions)
            self._known[family.method] = symmetric_tensors(family.coefficients, degree)
        return self._known[family.method]

    def _possible(self, learned: np.ndarray, leap: int) -> int:
        """How many new directions the symmetries of the target allow at a leap."""
        symmetric = invariance(self._target)
        unlearned = self._target.rank - len(learned)
        if not symmetric.flips and not symmetric.exchanges:
            return unlearned
        if leap not in self._random:
            rank = self._target.rank
            degree = dense_degree(rank, leap + 2, RANDOM_FUNCTIONS)
            random = np.random.default_rng(leap)
            coefficients = {
                j: random.normal(size=(1, RANDOM_FUNCTIONS)) for j in multi_indices(rank, degree)
            }
            self._random[leap] = symmetric_tensors(symmetric.averaged(coefficients), degree)
        tensors = self._random[leap]
        if len(tensors) <= leap:
            return unlearned
        (matrix,) = unfolded(tensors, learned, leap, _scale)
        return len(exact_directions(matrix, complement(learned), SMALLEST).directions)


def _scale(order: int, leap: int) -> float:
    return 1 / math.sqrt(math.factorial(leap) * math.factorial(order - leap))
