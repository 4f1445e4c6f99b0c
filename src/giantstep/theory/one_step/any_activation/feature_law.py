"""Eigenvalues of the features' Gram matrix after one step, for any activation and for pairs."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.numerics.solve import bracketed_root
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.one_step.any_activation.bulk import HEIGHT, Bulk, bulk_of
from giantstep.theory.one_step.any_activation.resolvent_path import ResolventPath
from giantstep.theory.one_step.feature_outliers import Outlier

#: Largest eigenvalue of the bulk that is looked for, in mean eigenvalues.
_WIDEST = 60.0
#: Points of the search for outliers, from far right to this close to the edge, relatively.
_SEARCH, _NEAREST = 30, 0.02


class FeatureLaw(NamedTuple):
    """Bulk of the eigenvalues, the share of zeros, and outliers in falling order.

    ``complete`` is False where an equation was not solved.
    """

    bulk: Bulk
    mass_at_zero: float
    outliers: tuple[Outlier, ...]
    complete: bool


def feature_law(
    readout: Readout, *, samples_ratio: float, width_ratio: float, dim: float
) -> FeatureLaw:
    r"""Bulk and outliers of the eigenvalues of :math:`\Phi^T\Phi/d`, :math:`\Phi = \sigma(XW^T)`.

    .. math:: \frac1p\mathrm{tr}(\Phi^T\Phi/d - z)^{-1} = \frac1\beta\sum_a\chi_a,

    the chi of the risk at the ridge :math:`\bar\lambda = -z`. Single directions among the neurons,
    with the K and L of :class:`~giantstep.theory.giant_step.risk.readout.Readout`,
    leave the bulk where

    .. math:: \det(K^{-1} + L) = 0 \quad\Leftrightarrow\quad \det(1 - A^TLA) = 0, \quad K = -AA^T.

    With w the null vector and :math:`\lambda` the eigenvalue that vanishes there, the outlier's
    vector has the squared projection :math:`(Aw)_a^2/(d\beta_a\lambda')` on block a.

    Symbols: n/d ``samples_ratio``, beta ``width_ratio``, d ``dim``.

    Assumes: n, p, d and n_0 proportional; outliers within 2 % of the edge are missed.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938; Moniri et al. 2023, arXiv:2310.07891, for
        isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("h1"), activation("He2")
    >>> *_, layer = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1e-9], samples_ratios=[1.0])
    >>> readout = Readout(problem, sigma, layer)
    >>> law = feature_law(readout, samples_ratio=2.0, width_ratio=1.0, dim=100.0)
    >>> round(law.bulk.low / 2, 1), round(law.bulk.high / 2, 1)  # Marchenko-Pastur
    (0.2, 5.8)
    """
    equations = _Equations(readout, samples_ratio, width_ratio, dim)
    bulk = bulk_of(equations.transform, equations.unit, _WIDEST)
    outliers = _outliers(equations, bulk.high) if len(bulk.values) else ()
    zero = 1 - equations.rank / width_ratio
    return FeatureLaw(bulk, zero, outliers, equations.path.complete and len(bulk.values) > 0)


class _Equations:
    """The equations of the fit with the ridge at -z."""

    def __init__(
        self, readout: Readout, samples_ratio: float, width_ratio: float, dim: float
    ) -> None:
        self.readout, self.dim = readout, dim
        self.samples_ratio, self.width_ratio = samples_ratio, width_ratio
        self.rank = min(samples_ratio, width_ratio)
        self.fractions, weights = readout.layer.neurons.fractions, readout.learned.weights
        linear = readout.layer.variances[:, None] * readout.slopes**2
        spread = (np.diagonal(readout.noise).T + linear) @ weights
        self.unit = float(samples_ratio * (self.fractions @ spread))
        means = self.fractions @ (readout.means**2 @ weights)
        self.power = self.unit + float(samples_ratio * width_ratio * means)
        twins = readout.layer.neurons.twins
        far = 30 * self.unit * (1 + width_ratio)
        self.path = ResolventPath(self._image, self._guess, self._moments, twins=twins, far=far)

    def fit(self, z: complex) -> Fit:
        """The fit whose ridge is -z."""
        return Fit(self.samples_ratio, self.width_ratio, -z, self.dim)

    def transform(self, z: complex) -> complex | None:
        """(1/p) tr (Phi^T Phi / d - z)^-1, without the zeros."""
        state = self.path.at(z)
        if state is None:
            return None
        return self._moments(state, z) + (1 - self.rank / self.width_ratio) / z

    def _moments(self, state: State, z: complex) -> complex:
        return complex(self.fractions @ np.diag(np.linalg.inv(state.bound)))

    def _guess(self, z: complex) -> State:
        return self.readout.first_guess(self.fit(z))

    def _image(self, state: State, z: complex) -> State:
        return self.readout.next_state(state, self.fit(z))

    def levels(self, x: float) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of 1 - A^T L A in falling order of what they need, and A w of each."""
        z = complex(x, HEIGHT * self.unit)
        state = self.path.at(z)
        if state is None:
            count = self.readout.functions.shape[1]
            return np.full(count, math.nan), np.full((count, count), math.nan)
        spikes = self.readout.columns(state, self.fit(z))
        values, vectors = np.linalg.eigh(-(spikes.overlaps + spikes.overlaps.T).real / 2)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        load = (spikes.load + spikes.load.T).real / 2
        levels, turns = np.linalg.eigh(np.eye(len(root)) - root.T @ load @ root)
        return levels, root @ turns


def _outliers(equations: _Equations, edge: float) -> tuple[Outlier, ...]:
    """Where a level crosses zero to the right of the bulk."""
    highest = 4 * equations.dim * equations.power + 4 * edge
    x = edge + (highest - edge) * np.geomspace(1.0, _NEAREST * edge / highest, _SEARCH)
    levels = np.array([equations.levels(float(value))[0] for value in x])
    found = []
    for i, j in zip(*np.nonzero((levels[1:] < 0) & (levels[:-1] >= 0)), strict=True):
        # The nearby solution, from which the root is followed.
        equations.path.at(complex(x[i + 1], HEIGHT * equations.unit))

        def level(at: float, j: int = j) -> float:
            return float(equations.levels(at)[0][j])

        low, high = float(x[i + 1]), float(x[i])
        root = bracketed_root(level, low, high, absolute=1e-10 * high)
        if not root.converged:
            equations.path.complete = False
            continue
        step = 1e-4 * (root.value - edge)
        ahead, behind = (level(root.value + s) for s in (step, -step))
        blocks = equations.levels(root.value)[1][: len(equations.fractions), j]
        overlap = float(np.sum(blocks**2 / equations.dim) * 2 * step / (ahead - behind))
        found.append(Outlier(root.value, overlap))
    return tuple(sorted(found, key=lambda outlier: -outlier.value))
