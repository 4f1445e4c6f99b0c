"""Singular values of the first layer after one step, for any activation and for pairs of rows."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.numerics.solve import bracketed_root
from giantstep.theory.giant_step.risk.first_layer import FirstLayer
from giantstep.theory.giant_step.risk.pencil import Pencil, State
from giantstep.theory.one_step.any_activation.bulk import HEIGHT, Bulk, bulk_of
from giantstep.theory.one_step.any_activation.resolvent_path import ResolventPath

#: How far beyond the squared edge, relatively, an outlier is looked for.
_BEYOND = 1.02


class WeightOutlier(NamedTuple):
    """The largest singular value, and its vectors' squared cosines with a, v and the target."""

    value: float
    left: float
    right: float
    target: float


class WeightLaw(NamedTuple):
    """Bulk of the squared singular values, and the outlier, if there is one.

    ``complete`` is False where an equation was not solved.
    """

    bulk: Bulk
    outlier: WeightOutlier | None
    complete: bool


class Rows(NamedTuple):
    """A layer after its step: ``spikes`` of the kinds on the first of the ``directions`` (columns),
    then the target's directions across it, with the cosine ``alignment``; ``widths`` p/d."""

    layer: FirstLayer
    spikes: Float[np.ndarray, " k"]
    directions: Float[np.ndarray, "vectors m"]
    alignment: float
    widths: Float[np.ndarray, " k"]


def weight_law(rows: Rows, dim: float) -> WeightLaw:
    r"""Bulk and outlier of the squared singular values of rows :math:`sv + (1+\bar aS)w^0 + \xi`.

    With :math:`\delta_a = \frac1d\mathrm{tr}\,\Gamma_aQ`, :math:`Q = (W^TW - z)^{-1}` of the
    rows without their spikes,

    .. math::
        \frac1p\mathrm{tr}(WW^T - z)^{-1} = -\frac1{z\beta}\sum_a\chi_a, \qquad
        \chi_a = \frac{\beta_a}{1+\delta_a}, \qquad
        Q \simeq \Big(\sum_a\chi_a\Gamma_a - z\Big)^{-1}:

    this is the pencil of the risk at :math:`C = -\frac1z 11^T`, :math:`D = 1`, where
    :math:`H_a = \delta_a`. Its probes along v and the target give Q between them, and the outlier
    is at

    .. math:: F(z) = -d\,\Big(\sum_{ab}s_a\chi_{ab}s_b\Big)\,v^TQv = 1, \qquad
        \langle v_1, v\rangle^2 = \frac{v^TQv}{F'}, \quad
        \langle v_1, \theta\rangle^2 = \frac{(\theta^TQv)^2}{v^TQv\,F'}, \quad
        \langle u_1, a\rangle^2 = \frac{1}{z\,s^Ts\,v^TQv\,F'} .

    For pairs ``right`` is measured on the direction of :math:`W^Ta`, in which their weights moved:
    it is :math:`z\langle u_1, a\rangle^2/|W^Ta|^2`, where the first rows cancel.

    Symbols: ``rows``, beta_a their widths; d ``dim``, infinite for none: the outlier is then too.

    Assumes: n_0 proportional to d; the step subtracts no output but a constant.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: Ba et al. 2022, arXiv:2205.01445, for isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> *_, layer = first_layers(
    ...     Problem.of("relu(h1)"), activation("relu"), Neurons.of([1.0]), step_sizes=[1e-6],
    ...     samples_ratios=[1.0])
    >>> unit = layer.means[0] / np.linalg.norm(layer.means[0])
    >>> rows = Rows(layer, layer.means @ unit, unit[:, None], float(unit[0]), np.array([1.5]))
    >>> law = weight_law(rows, 100.0)
    >>> round(law.bulk.low, 2), round(law.bulk.high, 2), law.outlier, law.complete
    (0.05, 4.95, None, True)
    """
    equations = _Equations(rows)
    bulk = bulk_of(equations.transform, equations.unit, 4 * (1 + math.sqrt(equations.beta)) ** 2)
    outlier = _outlier(equations, bulk.high, dim)
    return WeightLaw(bulk, outlier, equations.path.complete and len(bulk.values) > 0)


class _Equations:
    """The pencil at C = -11^T/z and D = 1."""

    def __init__(self, rows: Rows) -> None:
        self.rows, self.beta = rows, float(rows.widths.sum())
        self.pencil, roots = Pencil(rows.layer), np.sqrt(rows.widths)
        self.scale = np.outer(roots, roots)
        self.unit = float(rows.layer.variances @ rows.widths) / self.beta
        self.path = ResolventPath(
            self._image,
            self._guess,
            self._moments,
            twins=rows.layer.neurons.twins,
            far=10 * self.unit,
        )

    def transform(self, z: complex) -> complex | None:
        """(1/p) tr (W W^T - z)^-1, the zeros of p > d left out."""
        state = self.path.at(z)
        if state is None:
            return None
        return self._moments(state, z) + max(1 - 1 / self.beta, 0.0) / z

    def _moments(self, state: State, z: complex) -> complex:
        spread = np.diag(np.linalg.inv(state.bound))
        return complex(-(self.rows.widths @ spread) / z / self.beta)

    def _guess(self, z: complex) -> State:
        k = len(self.scale)
        flat = tuple(np.zeros((2 * k, 2 * k)) for _ in self.rows.layer.batches)
        return State(np.eye(k, dtype=complex), flat, -self.scale / z)

    def _image(self, state: State, z: complex) -> State:
        found = self.pencil.averages(state)
        twins = self.rows.layer.neurons.twins
        bound = np.where(twins, np.eye(len(twins)) + found.held / self.scale, 0.0)
        return State(bound, found.energies, -self.scale / z)

    def excess(self, z: float, dim: float) -> tuple[float, Float[np.ndarray, "m m"]]:
        """F(z) - 1 at a real z outside the bulk, and Q between v and the t; NaN if unknown."""
        rows, k, count = self.rows, len(self.scale), self.rows.directions.shape[1]
        state = self.path.at(complex(z, HEIGHT * self.unit))
        if state is None:
            return math.nan, np.full((count, count), math.nan)
        freed = self.pencil.overlaps(state, rows.directions)[: count * k, : count * k]
        blocks = freed.reshape(count, k, count, k) * self.scale[None, :, None, :]
        # K = Q^-1 + z once the coupling -1/z of all kinds to these directions is taken out.
        inner = np.linalg.inv(blocks.sum(axis=(1, 3)) - z * np.eye(count)).real
        spread = self.scale * np.linalg.inv(state.bound)
        pull = float((rows.spikes @ spread @ rows.spikes).real)
        return -dim * pull * float(inner[0, 0]) - 1, inner


def _outlier(equations: _Equations, edge: float, dim: float) -> WeightOutlier | None:
    """The outlier above the squared edge, if there is one."""
    rows = equations.rows
    power = float(rows.widths @ rows.spikes**2)
    if power == 0:
        return None
    if not np.isfinite(dim):
        return WeightOutlier(math.inf, 1.0, 1.0, rows.alignment**2)
    near, far = _BEYOND * edge, 4 * (edge + dim * power)
    if not equations.excess(near, dim)[0] > 0:
        return None
    root = bracketed_root(
        lambda z: equations.excess(z, dim)[0], near, far, absolute=1e-9 * (edge + dim * power)
    )
    if not root.converged:
        equations.path.complete = False
        return None
    z, step = root.value, 1e-4 * (root.value - edge)
    ahead, behind = (equations.excess(at, dim)[0] for at in (z + step, z - step))
    slope = -(ahead - behind) / (2 * step)
    _, inner = equations.excess(z, dim)
    gamma, along, seen = rows.alignment, inner[0, 0], inner[0, 1:]
    # The target's direction is gamma v + sqrt(1 - gamma^2) t_1; further ones are t_i.
    first = gamma * along + (math.sqrt(1 - gamma**2) * seen[0] if len(seen) else 0.0)
    squares = first**2 + float(np.sum(seen[1:] ** 2))
    left = float(-1 / (z * along * dim * power * slope))
    right = float(-along / slope)
    if rows.layer.neurons.paired:
        moved = rows.spikes * np.sqrt(rows.widths)
        apart = float(moved @ rows.layer.bulks @ moved) / power
        right = z * left / (dim * power + apart)
    return WeightOutlier(math.sqrt(z), left, right, float(-squares / (along * slope)))
