"""Bulk and outliers of the first layer's weights and of its features, from the pencil of the rows.

Both are fits at a complex ridge: the singular values of W those of the rows alone, the eigenvalues
of Phi^T Phi / d those of the readout fit with its ridge at -z.
"""

from __future__ import annotations

import abc
import copy
import itertools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.linear_algebra import matrix_square_root
from giantstep.numerics.solve import bracketed_root
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, limit_frame_of_means
from giantstep.theory.giant_step.risk.pencil import Pencil, State
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.spectra.gathered_samples import gathered_bulk_samples
from giantstep.theory.giant_step.spectra.resolvent_path import ResolventPath

#: Height above the axis at which a density is read, in units of the mean eigenvalue.
HEIGHT = 1e-9
#: A density below this, in the inverse unit, counts as none. Labels that are not bounded leave a
#: soft end, of which no finite network sees the last thousandth.
NOTHING = 2e-3
#: Eigenvalues at which the density is tabulated, and among which its ends are sought; halvings of
#: an end's bracket, and secant steps that follow.
POINTS, SEARCH, HALVINGS, SECANTS = 64, 40, 8, 4
#: Points of the search for outliers, from far right to this close to the edge, relatively.
OUTLIER_SEARCH, NEAREST = 48, 5e-4
#: A level that is larger where its sign changes has a pole there, in the tail of a soft end.
POLE = 1e-3


class Bulk(NamedTuple):
    """The smallest and the largest eigenvalue of a bulk, and its density at some of them.

    Points at which the density was not found are left out.
    """

    low: float
    high: float
    values: Float[np.ndarray, " points"]
    density: Float[np.ndarray, " points"]


class Outlier(NamedTuple):
    """An eigenvalue outside the bulk, and its vector on the directions that the law singles out."""

    value: float
    vector: Float[np.ndarray, " directions"]


class SpectrumLaw(abc.ABC):
    """A spectrum without the ``zero`` share of its values that vanish.

    ``unit``: the mean of the others; ``reach``: where density is looked for, in these units;
    ``highest``: no outlier is larger; ``complete``: whether every equation was solved.
    """

    def __init__(self, layer: FirstLayer, unit: float, zero: float, *, far: float) -> None:
        self.layer, self.unit, self.zero = layer, unit, zero
        self.complete = True
        self.path = ResolventPath(
            self.image, self.guess, self.moments, twins=layer.neurons.twins, far=far * unit
        )

    reach: float
    highest: float

    @abc.abstractmethod
    def image(self, state: State, z: complex) -> State:
        """One iteration of the equations."""

    @abc.abstractmethod
    def guess(self, z: complex) -> State:
        """A state to begin with, far above the axis."""

    @abc.abstractmethod
    def moments(self, state: State, z: complex) -> complex:
        """The mean of 1/(value - z) over all values."""

    @abc.abstractmethod
    def matrices(self, state: State, x: float) -> tuple[np.ndarray, np.ndarray]:
        """A and B, of which 1 - A^T B A is singular at an outlier x."""

    def transform(self, z: complex) -> complex | None:
        """The mean of 1/(value - z) over the values that do not vanish, times their share."""
        state = self.path.at(z)
        return None if state is None else self.moments(state, z) + self.zero / z

    def density(self, x: float) -> float:
        """The density at x, in the inverse unit; NaN where it is not known."""
        found = self.transform(complex(x, HEIGHT * self.unit))
        return math.nan if found is None else max(found.imag / math.pi, 0.0) * self.unit

    def bulk(self) -> Bulk:
        r"""The bulk: where :math:`\mathrm{Im}\,m(x + i0) > 0`; one interval, or its ends.

        An end below a hundred-thousandth of the unit is taken for 0.
        """
        around = np.geomspace(1e-3, 0.1, 6)
        near = np.concatenate([1 - around, [1.0], 1 + around])
        grid = np.sort(np.concatenate([np.geomspace(1e-5, self.reach, SEARCH), near]))[::-1]
        x, seen = self.unit * grid, np.zeros(len(grid))
        for i, value in enumerate(x):
            # Right of the bulk there is a solution that goes on into it, without density.
            if not (seen > NOTHING).any():
                self.path.near = None
            seen[i] = self.density(value)
        dense = np.flatnonzero(seen > NOTHING)
        if not len(dense):
            return Bulk(math.nan, math.nan, np.zeros(0), np.zeros(0))
        first, last = int(dense[0]), int(dense[-1])
        high = self._end(x[first], x[first - 1]) if first else float(x[0])
        low = self._end(x[last], x[last + 1]) if last + 1 < len(x) else 0.0
        # Nodes gather at the edges, where the density is a square root.
        angles = np.pi * (np.arange(POINTS) + 0.5) / POINTS
        values = (low + high) / 2 - (high - low) / 2 * np.cos(angles)
        self.path.near = None
        found = np.array([self.density(value) for value in values[::-1]])[::-1]
        known = np.isfinite(found)
        self.complete = self.complete and bool(known.all())
        return Bulk(low, high, values[known], found[known] / self.unit)

    def _end(self, inside: float, outside: float) -> float:
        """Where the density ends between two points."""
        # The state of a distant neighbour may lead to a solution that is no resolvent.
        self.path.near = None
        seen = self.density(inside)
        for _ in range(HALVINGS):
            near, middle = self.path.near, (outside + inside) / 2
            here = self.density(middle)
            if here > NOTHING:
                inside, seen = middle, here
            else:
                outside, self.path.near = middle, near
        end, before = float(inside + outside) / 2, inside - 4 * (outside - inside)
        deep = self.density(before)
        # The square of the density vanishes linearly at a sharp end, at a soft one it does not.
        for _ in range(SECANTS):
            if not deep > seen:
                break
            guess = inside + (inside - before) * seen**2 / (deep**2 - seen**2)
            closer = guess + (inside - guess) / 30
            here = self.density(closer)
            if not 0 < here < seen / 4:
                break
            before, deep, inside, seen, end = inside, seen, closer, here, float(guess)
        return end

    def levels(self, x: float) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues of 1 - A^T B A in rising order, and A w of each; NaN where not known."""
        state = self.path.at(complex(x, HEIGHT * self.unit))
        if state is None:
            return np.full(1, math.nan), np.full((1, 1), math.nan)
        root, load = self.matrices(state, x)
        levels, turns = np.linalg.eigh(np.eye(root.shape[1]) - root.T @ load @ root)
        return levels, root @ turns

    def outliers(self, edge: float) -> list[Outlier]:
        r"""Where a level :math:`\lambda` crosses zero right of the bulk, in falling order.

        With w its vector there, the outlier's is :math:`Aw/\sqrt{\lambda'}`. Those closer to the
        edge than a two-thousandth of it are missed.
        """
        if not self.highest > edge:
            return []
        span = self.highest - edge
        x = edge + span * np.geomspace(1.0, NEAREST * edge / self.highest, OUTLIER_SEARCH)
        found, above = [], self.levels(x[0])[0]
        for high, low in itertools.pairwise(x.tolist()):
            levels = self.levels(low)[0]
            self.complete = self.complete and bool(np.isfinite(levels).all())
            crossed = np.flatnonzero((levels < 0) & (above >= 0))
            found += [self._outlier(int(j), low, high, edge) for j in crossed]
            above = levels
        return [outlier for outlier in found if outlier is not None]

    def _outlier(self, j: int, low: float, high: float, edge: float) -> Outlier | None:
        def level(x: float) -> float:
            return float(self.levels(x)[0][j])

        root = bracketed_root(level, low, high, absolute=1e-11 * high)
        if not root.converged:
            self.complete = False
            return None
        if abs(root.residual) > POLE:
            return None
        step = 1e-4 * (root.value - edge)
        slope = (level(root.value + step) - level(root.value - step)) / (2 * step)
        return Outlier(root.value, self.levels(root.value)[1][:, j] / math.sqrt(slope))


class WeightLaw(SpectrumLaw):
    r"""Squared singular values of the first layer, and the vectors of the outliers.

    With :math:`\delta_a = \frac1d\mathrm{tr}\,\Gamma_aQ`, :math:`Q = (W^TW - z)^{-1}` of the rows
    without their means,

    .. math::
        \frac1p\mathrm{tr}(WW^T - z)^{-1} = -\frac1{z\beta}\sum_a\chi_a, \qquad
        \chi_a = \frac{\beta_a}{1+\delta_a}, \qquad
        Q \simeq \Big(\sum_a\chi_a\Gamma_a - z\Big)^{-1}:

    this is the pencil of the risk at :math:`C = -\frac1z 11^T`, :math:`D = 1`, where
    :math:`H_a = \delta_a`. Outliers are where :math:`1 + \chi Y` is singular,

    .. math:: Y_{ab} = d\,m_a^TQm_b + \frac{(\Theta - c)_{ab}}{\sqrt{\beta_a\beta_b}}\,
        \frac1d\mathrm{tr}\,Q,

    with Theta the covariance of the kinds' sums, which the network's own output correlates.
    ``dim``: d.
    """

    def __init__(self, layer: FirstLayer, width_ratio: float, dim: float) -> None:
        neurons, self.dim, self.beta = layer.neurons, dim, width_ratio
        self.roots = np.sqrt(width_ratio * neurons.fractions)
        self.pencil, self.scale = Pencil(layer), np.outer(self.roots, self.roots)
        self.light = Pencil(gathered_bulk_samples(layer))
        self.means, self.frame = limit_frame_of_means(layer.means, layer.rank)
        power = np.sum(self.means**2, axis=1)
        mean = float(neurons.fractions @ layer.variances)
        #: theta^2 = sum_j |m_j|^2 of the rows.
        self.strength = dim * float(self.roots**2 @ power)
        super().__init__(layer, mean * max(width_ratio, 1.0), max(0.0, 1 - 1 / width_ratio), far=10)
        self.reach = 4 * (1 + math.sqrt(self.beta)) ** 2
        self.highest = 4 * self.strength + 4 * self.unit * self.reach if self.strength else 0.0

    def image(self, state: State, z: complex) -> State:
        """One iteration at C = -11^T/z, D = 1."""
        found, twins = self.light.averages(state), self.layer.neurons.twins
        bound = np.where(twins, np.eye(len(twins)) + found.held / self.scale, 0.0)
        return State(bound, found.energies, np.zeros_like(bound) - self.scale / z)

    def guess(self, z: complex) -> State:
        """No held bulk."""
        k = len(self.scale)
        flat = tuple(np.zeros((2 * k, 2 * k)) for _ in self.layer.batches)
        return State(np.eye(k, dtype=complex), flat, -self.scale / z)

    def moments(self, state: State, z: complex) -> complex:
        """(1/p) tr (W W^T - z)^-1."""
        spread = np.diag(np.linalg.inv(state.bound))
        return complex(-(self.layer.neurons.fractions @ spread) / z)

    def matrices(self, state: State, x: float) -> tuple[np.ndarray, np.ndarray]:
        """A of chi = A A^T, and -Y, both per sqrt(beta)."""
        inner, mean = self.resolvent(state, x)
        pulled = self.roots[:, None] * self.means
        load = -self.dim * pulled @ inner @ pulled.T
        if not self.layer.neurons.paired:
            load -= (self.layer.common - self.layer.bulks) * mean
        return np.linalg.cholesky(np.linalg.inv(state.bound).real), load

    def resolvent(self, state: State, x: float) -> tuple[np.ndarray, float]:
        """Q between the directions of the frame, and tr Q / d, at a real x outside the bulk."""
        k, count = len(self.scale), self.frame.shape[1]
        freed = self.pencil.overlaps(state, self.frame)[: count * k, : count * k]
        blocks = freed.reshape(count, k, count, k) * self.scale[None, :, None, :]
        # K = Q^-1 + z once the coupling -1/z of all kinds to these directions is taken out.
        inner = np.linalg.inv(blocks.sum(axis=(1, 3)).real - x * np.eye(count))
        bulk = self.pencil.resolvent(state)[:k, :k] * self.scale
        return inner, float((-bulk.sum().real / x - 1) / x)

    def right(self, outlier: Outlier) -> Float[np.ndarray, " D"]:
        """The outlier's right singular vector on the directions of the frame."""
        state = self.path.at(complex(outlier.value, HEIGHT * self.unit))
        assert state is not None
        inner, _ = self.resolvent(state, outlier.value)
        return inner @ (math.sqrt(self.dim) * (self.roots * outlier.vector) @ self.means)

    def left(self, outlier: Outlier) -> Float[np.ndarray, " k"]:
        """The outlier's left singular vector on the sums of the kinds."""
        return outlier.vector / math.sqrt(outlier.value)


class FeatureLaw(SpectrumLaw):
    r"""Eigenvalues of :math:`\Phi^T\Phi/d`, :math:`\Phi = \sigma(XW^T)`.

    .. math:: \frac1p\mathrm{tr}(\Phi^T\Phi/d - z)^{-1} = \frac1\beta\sum_a\chi_a,

    the chi of the risk at the ridge :math:`\bar\lambda = -z`. Single directions among the neurons,
    with the K and L of :class:`~giantstep.theory.giant_step.risk.readout.Readout`,
    leave the bulk where

    .. math:: \det(K^{-1} + L) = 0 \quad\Leftrightarrow\quad \det(1 - A^TLA) = 0, \quad K = -AA^T.
    """

    def __init__(self, readout: Readout, fit: Fit) -> None:
        self.readout, self.fit, layer = readout, fit, readout.layer
        self.light = copy.copy(readout)
        self.light.pencil = Pencil(gathered_bulk_samples(layer))
        self.fractions, weights = layer.neurons.fractions, readout.learned.weights
        slopes, noise = layer.variances[:, None] * readout.slopes**2, np.diagonal(readout.noise).T
        rank = min(fit.samples_ratio, fit.width_ratio)
        if np.max(noise) <= 1e-12 * np.max(slopes):
            # Linear features have no more than d directions.
            rank = min(rank, 1.0)
        nonzero = rank / fit.width_ratio
        mean = fit.samples_ratio * float(self.fractions @ ((slopes + noise) @ weights))
        super().__init__(layer, mean / nonzero, 1 - nonzero, far=30 * (1 + fit.width_ratio))
        self.reach = 60.0
        power = self.fractions @ (readout.means**2 @ weights)
        power = mean + fit.samples_ratio * fit.width_ratio * float(power)
        self.highest = 4 * fit.dim * power + 4 * self.reach * self.unit

    def image(self, state: State, z: complex) -> State:
        """One iteration at the ridge -z."""
        return self.light.next_state(state, self.fit._replace(penalty=-z))

    def guess(self, z: complex) -> State:
        """The fit's own."""
        return self.readout.first_guess(self.fit._replace(penalty=-z))

    def moments(self, state: State, z: complex) -> complex:
        """(1/p) tr (Phi^T Phi / d - z)^-1."""
        return complex(self.fractions @ np.diag(np.linalg.inv(state.bound)))

    def matrices(self, state: State, x: float) -> tuple[np.ndarray, np.ndarray]:
        """A of K = -A A^T, which may be singular, and L."""
        spikes = self.readout.columns(state, self.fit._replace(penalty=complex(-x)))
        root = matrix_square_root(-(spikes.overlaps + spikes.overlaps.T).real / 2)
        return root, (spikes.load + spikes.load.T).real / 2

    def on_kinds(self, outlier: Outlier) -> float:
        """Squared projection of the outlier's vector on the indicators of the kinds."""
        kinds = outlier.vector[: len(self.fractions)]
        return float(np.sum(kinds**2)) / self.fit.dim
