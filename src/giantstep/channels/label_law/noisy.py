"""Moments of h given a label with additive Gaussian noise, y = g(h) + sqrt(variance) xi."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float

from giantstep.channels.label_law import LabelMoments
from giantstep.channels.label_law.branches import Branch, Branches
from giantstep.numerics.grids import thinned
from giantstep.numerics.hermite import MultiIndex, hermite_values
from giantstep.numerics.quadrature import CUTOFF, legendre_panels, split_gaussian

#: Nodes on the axis of h at most; largest step of g between two, in units of the noise.
MAX_NODES = 100_000
STEP = 0.5
#: Gauss-Legendre nodes of a panel of labels.
LABEL_ORDER = 8


def noisy_label_moments(
    branches: Branches, variance: float, order: int = LABEL_ORDER
) -> LabelMoments | None:
    """p(y) and E[He_j(h) 1{y}] of a label with one moving direction, by quadrature in h and in y.

    None if the noise is too small for a grid of reasonable size.

    >>> from giantstep.channels.label_law.branches import single_label_branch
    >>> found = noisy_label_moments(single_label_branch(lambda h: h**2, [], degree=2), 0.5)
    >>> zeta = found.moments[0, :, 2] / found.mass
    >>> round(1 / float(found.mass @ zeta**2), 5)
    0.57799
    """
    deviation = math.sqrt(variance)
    counts = [_label_node_count(branch, deviation) for branch in branches.branches]
    if max(counts) > MAX_NODES:
        return None
    edges = [
        _label_panels(branch.function, branch.kinks, deviation) for branch in branches.branches
    ]
    y, lengths = legendre_panels(thinned(np.concatenate(edges), 0.5 * deviation), order)
    powers = branches.powers
    moments = np.zeros((len(y), len(powers)))
    for branch, count in zip(branches.branches, counts, strict=True):
        h, weights = split_gaussian(
            branch.kinks, panel_order=order, panel_length=18 * order / count
        )
        sorting = np.argsort(branch.function(h))
        values = branch.function(h)[sorting]
        weighted = (weights * hermite_values(h, max(powers))).T[sorting]
        along = np.empty((len(y), max(powers) + 1))
        for start in range(0, len(y), 4 * order):
            part = slice(start, start + 4 * order)
            ends = y[part][[0, -1]] + np.array([-1, 1]) * CUTOFF * deviation
            near = slice(*np.searchsorted(values, ends))
            along[part] = _label_normal(y[part, None] - values[near], deviation) @ weighted[near]
        moments += along[:, powers] * branch.moments
    moments *= lengths[:, None]
    return _normalised_label_moments(branches.indices, moments, "noisy grids", branches.error)


def _label_node_count(branch: Branch, deviation: float) -> int:
    """Nodes of h such that the label moves by less than a step of the noise between two."""
    probe = np.linspace(-4.0, 4.0, 4001)
    steps = np.abs(np.diff(branch.function(probe)))
    slope = float(np.quantile(steps, 0.99)) / (probe[1] - probe[0])
    return max(math.ceil(18 * slope / (STEP * deviation)), 2000)


def smeared_label_classes(
    values: Sequence[float],
    indices: tuple[MultiIndex, ...],
    moments: Float[np.ndarray, "classes indices"],
    variance: float,
    order: int = LABEL_ORDER,
    error: float = 0.0,
) -> LabelMoments:
    """Moments on a continuous label y = v_c + noise, from the moments of the classes v_c."""
    deviation = math.sqrt(variance)
    y, lengths = legendre_panels(_graded_label_edges(np.array(values), deviation), order)
    mixed = _label_normal(y[:, None] - np.array(values), deviation) @ moments
    method = "exact sums over classes, noisy grid"
    return _normalised_label_moments(indices, mixed * lengths[:, None], method, error)


def _label_normal(difference: np.ndarray, deviation: float) -> np.ndarray:
    return np.exp(-((difference / deviation) ** 2) / 2) / (deviation * math.sqrt(2 * math.pi))


def _normalised_label_moments(
    indices: tuple[MultiIndex, ...], moments: np.ndarray, method: str, error: float
) -> LabelMoments:
    kept = moments[moments[:, 0] > 1e-290]
    kept = kept / kept[:, 0].sum()
    return LabelMoments(indices, kept[:, 0], kept[None], method, error=error)


def _graded_label_edges(points: np.ndarray, deviation: float) -> np.ndarray:
    """Edges one deviation apart around each point, up to where the noise ends."""
    steps = np.arange(-CUTOFF, CUTOFF + 1)
    return thinned((points[:, None] + deviation * steps).ravel(), 0.25 * deviation)


def _label_panels(
    function: Callable[[np.ndarray], np.ndarray], kinks: Sequence[float], deviation: float
) -> np.ndarray:
    """Edges that follow g in steps of h, and steps of the noise where g turns or breaks off."""
    corners = [-8.0, *(k for k in sorted(kinks) if -8 < k < 8), 8.0]
    values, singular = [], []
    for left, right in itertools.pairwise(corners):
        count = max(math.ceil((right - left) / 0.05), 8)
        here = function(np.linspace(left + 1e-9, right - 1e-9, count + 1))
        step = np.diff(here)
        values.append(here)
        singular.append(here[1:-1][step[1:] * step[:-1] <= 0])
        singular.append(here[[0, -1]])
    edges = np.concatenate([*values, _graded_label_edges(np.concatenate(singular), deviation)])
    return thinned(edges, 0.5 * deviation)
