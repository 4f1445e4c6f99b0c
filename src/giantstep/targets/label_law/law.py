"""What a target's labels say about its directions: E[1{y in cell} He_j(h)], by the best method."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import Function, GaussianGrid, line_crossings, rotated
from giantstep.numerics.hermite import MultiIndex, factorial, multi_indices
from giantstep.targets.expansion import expansion
from giantstep.targets.expression import Target
from giantstep.targets.integration import Block, block_of, integrable, integrate
from giantstep.targets.label_law.core import label_core
from giantstep.targets.label_law.moments import LabelMoments
from giantstep.targets.label_law.noisy import LABEL_ORDER, noisy_moments, smeared_classes
from giantstep.targets.label_law.preimages import NODES, preimage_moments
from giantstep.targets.label_law.slices import Slicing, sliced_moments
from giantstep.targets.used_subspace import used_subspace

#: Degree up to which sampled moments are kept.
SAMPLED_DEGREE = 6
MAX_SAMPLED_INDICES = 500
#: Moments kept of each class of labels.
MAX_CLASS_INDICES = 20_000


@dataclass(frozen=True)
class Resolution:
    """How finely labels are sampled: lines and nodes by number of axes, cells, replicas."""

    lines: tuple[int, int, int]
    nodes: tuple[int, int, int]
    cells: tuple[int, int, int]
    replicas: int
    degree: int

    def of(self, axes: int) -> dict[str, int]:
        """The numbers for a function on R^axes."""
        which = min(max(axes - 2, 0), 2)
        return {
            "lines": self.lines[which],
            "nodes": self.nodes[which],
            "cells": self.cells[which],
            "replicas": self.replicas,
        }


#: Many moments on few cells, to find directions.
BROAD = Resolution((800, 1000, 4000), (200, 150, 120), (100, 80, 64), 2, SAMPLED_DEGREE)
#: Few moments on many cells, for thresholds: a first look, and a closer one.
FINE = Resolution((500, 400, 1500), (500, 500, 200), (400, 300, 200), 6, 2)
FINER = Resolution((1200, 2000, 8000), (500, 300, 200), (400, 300, 200), 6, 2)


@functools.lru_cache(maxsize=64)
def label_moments(
    target: Target,
    noise: float = 0.0,
    degree: int = 8,
    resolution: Resolution = BROAD,
    seed: int = 0,
) -> LabelMoments:
    """The moments of h on cells of the label y = g(h, z) + sqrt(noise) xi.

    Their ``frame`` says in which coordinates: those of the used subspace, unless exact sums are
    as easy in all of them.

    Classes of labels by exact sums; one direction by preimages, or by grids if there is noise;
    everything else by random lines (Monte Carlo in independent replicas).

    >>> label_moments(Target("He4(h1)")).method
    'preimages'
    """
    if noise == 0:
        target = label_core(target)
    exact = _exact_moments(target, float(noise), degree)
    if exact is not None:
        return exact
    view = _used_view(target)
    degree = min(degree, resolution.degree)
    while degree > 2 and math.comb(view.latent + degree, degree) > MAX_SAMPLED_INDICES:
        degree -= 1
    problem = view if noise == 0 else _with_noise(view, noise)
    found = sliced_moments(problem, degree, seed=seed, **resolution.of(problem.axes))
    return replace(found, frame=used_subspace(target))


@functools.lru_cache(maxsize=64)
def _exact_moments(target: Target, noise: float, degree: int) -> LabelMoments | None:
    view = _used_view(target)
    single = view.axes == 1
    if target.discrete_values is not None and not (single and noise == 0):
        return _class_moments(target, noise, degree)
    if not single:
        return None
    if noise > 0:
        coarse = noisy_moments(_on_line(view), view.kinks[0], noise, degree, LABEL_ORDER - 2)
        found = noisy_moments(_on_line(view), view.kinks[0], noise, degree)
    else:
        coarse = preimage_moments(_on_line(view), view.kinks[0], degree, NODES // 4)
        found = preimage_moments(_on_line(view), view.kinks[0], degree)
    if found is None:
        return None
    used = used_subspace(target)
    return replace(found, frame=used, coarse=coarse and replace(coarse, frame=used))


def _used_view(target: Target) -> Slicing:
    """The target as a function of coordinates in its used subspace, then of its noises."""
    block, used = block_of(target), used_subspace(target)
    axes = len(used) + target.noises
    frame = np.zeros((axes, len(block.names)))
    frame[: len(used), : target.rank] = used
    frame[len(used) :, target.rank :] = np.eye(target.noises)
    if np.array_equal(frame, np.eye(len(block.names))):
        return Slicing(block, block.latent, block.kinks, () if block.aligned else block.surfaces)
    surfaces = tuple(rotated(surface, frame) for surface in block.surfaces)
    function = rotated(block, frame)
    if axes > 1:
        return Slicing(function, len(used), ((),) * axes, surfaces)
    cuts = line_crossings([_positive(surface) for surface in surfaces], np.zeros((1, 0)), surfaces)
    return Slicing(function, 1, (tuple(sorted(set(cuts[0].tolist()))),))


def _positive(surface: Function) -> Function:
    return lambda points: surface(points) > 0


def _on_line(view: Slicing) -> Function:
    return lambda h: view.function(h[..., None])


def _with_noise(view: Slicing, noise: float) -> Slicing:
    """Label noise as one more noise inside the label."""
    deviation = math.sqrt(noise)

    def noisy(points: np.ndarray) -> np.ndarray:
        return view.function(points[..., :-1]) + deviation * points[..., -1]

    surfaces = tuple(_first_axes(surface) for surface in view.surfaces)
    return Slicing(noisy, view.latent, (*view.kinks, ()), surfaces)


def _first_axes(surface: Function) -> Function:
    return lambda points: surface(points[..., :-1])


def _class_moments(target: Target, noise: float, degree: int) -> LabelMoments | None:
    values = target.discrete_values
    assert values is not None
    while math.comb(target.rank + degree, degree) > MAX_CLASS_INDICES:
        degree -= 1
    indices = multi_indices(target.rank, degree)
    if len(values) == 2:
        moments = _two_classes(target, values, indices)
    elif integrable(block_of(target)):
        moments = _classes_by_quadrature(block_of(target), values, indices)
    else:
        return None
    if noise > 0:
        return smeared_classes(values, indices, moments, noise)
    kept = moments[:, 0] > 1e-12
    return LabelMoments(indices, moments[kept, 0], moments[None, kept], "exact sums over classes")


def _two_classes(
    target: Target, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> Float[np.ndarray, "classes indices"]:
    """Indicators of two classes are linear functions of the label itself."""
    low, high = values
    found = expansion(target, sum(indices[-1]))
    of_label = np.array([found.coefficients.get(j, 0.0) for j in indices])
    of_one = np.array([float(not any(j)) for j in indices])
    return np.stack([high * of_one - of_label, of_label - low * of_one]) / (high - low)


def _classes_by_quadrature(
    block: Block, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> Float[np.ndarray, "classes indices"]:
    rank, degree = block.latent, sum(indices[-1])
    degrees = [degree] * rank + [0] * (len(block.names) - rank)
    norms = np.sqrt([factorial(j) for j in indices])
    where = tuple(np.array(indices).T)

    def numbers(grid: GaussianGrid, labels: np.ndarray) -> np.ndarray:
        rows = []
        for value in values:
            table = grid.contract(1.0 * (np.abs(labels - value) < 1e-9), degrees)
            rows.append(table.reshape([degree + 1] * rank)[where] / norms)
        return np.stack(rows)

    return integrate(block, numbers)[0] * norms
