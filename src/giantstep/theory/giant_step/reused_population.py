"""Any number of steps on one batch: the limit of large d, by a population of its rows."""

from __future__ import annotations

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.estimate import mean_and_error
from giantstep.numerics.quadrature import MOST_AXES
from giantstep.theory.giant_step.batch_population import BatchPopulation, RidgeFit
from giantstep.theory.giant_step.fresh_batches import (
    OverlapPath,
    ReplicaPath,
    mean_overlap_path,
    replica_path,
)
from giantstep.theory.giant_step.fresh_fields import FreshFields
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds

#: Independent populations, whose scatter is the error.
POPULATIONS = 6
#: Rows of the first populations, and how many times more the next ones have.
FEWEST_ROWS, GROWTH = 1 << 13, 4
#: A wide network averages over its neurons, and makes do with fewer rows.
FEWEST_ROWS_OF_WIDE = 1 << 10
#: Rows for each direction that a mode explores: the bias of a population is about its inverse.
ROWS_PER_DIRECTION = 1 << 8
#: Numbers that one population may hold, 8 bytes each, and operations that it may take.
MOST_NUMBERS, MOST_OPERATIONS = 1 << 26, 1 << 36


def reused_batch_path(
    problem: Problem,
    activation: Activation,
    kinds: NeuronKinds,
    *,
    steps: int,
    step_size: float,
    samples_ratio: float,
    loss: str = "square",
    normalise: bool = False,
    fit: RidgeFit | None = None,
    accuracy: float = 1e-3,
    seed: int = 0,
) -> OverlapPath:
    r"""Overlaps and errors of p neurons that take T steps on one batch, as d goes to infinity.

    In the limit one row of the batch is (h*, h, z_1, z_2, ...), every scalar is deterministic, and

    .. math::
        z_k = \frac{u_k}{\sqrt\alpha} + g_k,\qquad
        A \leftarrow [A, 0] + E[D z^T],\qquad H = A z,\qquad M = A_{h*},\quad Q = AA^T,

    with :math:`D_j = \eta a_j(y-f)\sigma'(h_j + b_j)` and :math:`u_k` the D of all steps so far,
    orthonormalised in L2. Expectations are averages over a population of rows. The train error is
    that of the population, the test error that of fresh fields with the same M and Q.

    Symbols: alpha ``samples_ratio``, eta ``step_size``, a and b in ``kinds``. With a ``fit``
    the errors are those of a ridge fit, on the batch itself or on fresh samples:

    .. math:: \hat b = \mathrm{argmin}\; E\Big(y - \sum_j b_j\sigma(h_j)\Big)^2
        + \mathrm{penalty}\sum_j b_j^2 .

    Assumes: isotropic Gaussian inputs, d to infinity at fixed n/d, width and T. The population
    has Sobol rows with matched moments; it grows until the standard error of all results over 6
    populations is below ``accuracy``, or until it would not fit.
    Status: theorem for smooth activations, heuristic for those with kinks.
    References: Celentano et al. 2021, arXiv:2112.07572 (first-order methods); Dandi et al. 2024,
        arXiv:2402.03220; Bolthausen conditioning.

    >>> from giantstep.language.activations.activation import activation
    >>> path = reused_batch_path(
    ...     Problem.of("sign(h1)"), activation("tanh"), NeuronKinds.one_of_each([1.0]), steps=2,
    ...     step_size=0.8, samples_ratio=2.0)
    >>> path.cosines[:, 0].round(2).tolist()
    [0.0, 0.38, 0.57]
    """
    basis = np.eye(problem.target.rank)
    fields = FreshFields(problem, activation, kinds, basis, step_size, loss)
    rows = _fewest_population_rows(fields, steps)
    while True:
        paths = []
        for number in range(POPULATIONS):
            rng = np.random.default_rng([seed, rows, number])
            population = BatchPopulation(fields, rows, steps, samples_ratio, rng)
            paths.append(replica_path(population, fields, steps, normalise, fit))
        precise = _population_uncertainty(paths, fit is not None) <= accuracy
        if precise or not _is_population_affordable(fields, steps, rows * GROWTH):
            return mean_overlap_path(paths, kinds.shares, basis)._replace(rows=rows)
        rows *= GROWTH


def _population_uncertainty(paths: list[ReplicaPath], with_errors: bool) -> float:
    """Largest standard error: of a cosine, and of errors in units of the first of them."""
    _, cosines = mean_and_error(np.stack([path.means for path in paths]))
    mean, errors = mean_and_error(np.stack([path.fitted for path in paths]))
    relative = np.max(errors / mean[:1]) if with_errors else 0.0
    return float(max(np.max(cosines), relative))


def _fewest_population_rows(fields: FreshFields, steps: int) -> int:
    """Rows of the first populations; refused where not even those are affordable."""
    axes = BatchPopulation.axes(fields, steps)
    rows = FEWEST_ROWS
    while rows < ROWS_PER_DIRECTION * (steps + 1) * len(fields.kinds.family):
        rows *= 2
    while rows > FEWEST_ROWS_OF_WIDE and not _is_population_affordable(fields, steps, rows):
        rows //= 2
    if axes > MOST_AXES or not _is_population_affordable(fields, steps, rows):
        raise NoTheory(
            f"{fields.kinds.width} neurons over {steps} steps on one batch are too many to "
            "follow: lower --width or --steps, or use --loss correlation"
        )
    return rows


def _is_population_affordable(fields: FreshFields, steps: int, rows: int) -> bool:
    """Whether a population of so many rows fits into memory and time."""
    numbers = operations = 0
    for mode in fields.modes:
        size = mode.kinds.stop - mode.kinds.start
        columns = fields.rank + 2 * size * (steps + 1)
        # A mode of differences has a row for each copy of its kinds.
        own_rows = rows * mode.normals // size
        numbers += own_rows * columns
        operations += own_rows * columns**2 * (steps + 1)
    return numbers <= MOST_NUMBERS and operations <= MOST_OPERATIONS
