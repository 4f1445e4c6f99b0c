"""What a target's labels say about its directions: E[1{y in cell} He_j(h)], by the best method."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from giantstep.numerics.grids import Function, GaussianGrid
from giantstep.numerics.hermite import MultiIndex, factorial, multi_indices
from giantstep.targets.expansion import expansion
from giantstep.targets.expression import Target
from giantstep.targets.integration import Block, block_of, integrable, integrate
from giantstep.targets.label_law.branches import branches_of, single_branch
from giantstep.targets.label_law.core import label_core
from giantstep.targets.label_law.moments import LabelMoments
from giantstep.targets.label_law.noisy import LABEL_ORDER, noisy_moments, smeared_classes
from giantstep.targets.label_law.preimages import NODES, preimage_moments
from giantstep.targets.label_law.slices import Slicing, sliced_moments

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
FINE = Resolution((500, 400, 1500), (500, 500, 200), (500, 300, 200), 6, 2)
FINER = Resolution((1200, 2000, 8000), (500, 300, 200), (500, 300, 200), 6, 2)


def label_moments(
    target: Target,
    noise: float = 0.0,
    degree: int = 8,
    resolution: Resolution = BROAD,
    seed: int = 0,
) -> LabelMoments:
    """The moments of h on cells of the label y = g(h, z) + sqrt(noise) xi.

    Their ``frame`` says in which coordinates: those of a simpler target that tells the same.

    Classes of labels by exact sums; labels that move with one direction by preimages, or by grids
    if there is noise; everything else by random lines (Monte Carlo in independent replicas).

    >>> label_moments(Target("He4(h1)")).method
    'preimages'
    """
    core = label_core(target, noise=noise)
    found = _moments(core.target, float(noise), degree, resolution, seed)
    coarse = found.coarse and replace(found.coarse, frame=core.rows)
    return replace(found, frame=core.rows, coarse=coarse)


@functools.lru_cache(maxsize=64)
def _moments(
    target: Target, noise: float, degree: int, resolution: Resolution, seed: int
) -> LabelMoments:
    exact = exact_label_moments(target, degree, noise)
    if exact is not None:
        return exact
    degree = min(degree, resolution.degree)
    while degree > 2 and math.comb(target.rank + degree, degree) > MAX_SAMPLED_INDICES:
        degree -= 1
    problem = _slicing(target) if noise == 0 else _with_noise(_slicing(target), noise)
    return sliced_moments(problem, degree, seed=seed, **resolution.of(problem.axes))


@functools.lru_cache(maxsize=64)
def exact_label_moments(target: Target, degree: int, noise: float) -> LabelMoments | None:
    """The same in the target's own coordinates; None where labels would have to be sampled."""
    branches = None
    if target.rank == 1 and not target.noises:
        branches = single_branch(_on_line(block_of(target)), target.kinks[0], degree)
    elif target.discrete_values is None:
        branches = branches_of(target, _class_degree(target, degree))
    if target.discrete_values is not None and (branches is None or noise > 0):
        return _class_moments(target, noise, degree)
    if branches is None:
        return None
    if noise > 0:
        coarse = noisy_moments(branches, noise, LABEL_ORDER - 2)
        found = noisy_moments(branches, noise)
    else:
        coarse, found = preimage_moments(branches, NODES // 4), preimage_moments(branches)
    return found and replace(found, coarse=coarse)


def _class_degree(target: Target, degree: int) -> int:
    """The degree up to which all moments of a class of labels are kept."""
    while math.comb(target.rank + degree, degree) > MAX_CLASS_INDICES:
        degree -= 1
    return degree


def _slicing(target: Target) -> Slicing:
    """The target as a function of its directions, then of its noises."""
    block = block_of(target)
    return Slicing(block, block.latent, block.kinks, () if block.aligned else block.surfaces)


def _on_line(block: Block) -> Function:
    return lambda h: block(h[..., None])


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
    indices = multi_indices(target.rank, _class_degree(target, degree))
    if len(values) == 2:
        found = _two_classes(target, values, indices)
    elif integrable(block_of(target)):
        found = _classes_by_quadrature(block_of(target), values, indices)
    else:
        return None
    if found is None:
        return None
    moments, error = found
    if noise > 0:
        return smeared_classes(values, indices, moments, noise, error=error)
    kept = moments[:, 0] > 1e-12
    method = "exact sums over classes"
    return LabelMoments(indices, moments[kept, 0], moments[None, kept], method, error=error)


def _two_classes(
    target: Target, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> tuple[Float[np.ndarray, "classes indices"], float] | None:
    """Indicators of two classes are linear functions of the label itself; None if it is sampled."""
    low, high = values
    found = expansion(target, sum(indices[-1]))
    if found.sampled:
        return None
    of_label = np.array([found.coefficients.get(j, 0.0) for j in indices])
    of_one = np.array([float(not any(j)) for j in indices])
    moments = np.stack([high * of_one - of_label, of_label - low * of_one]) / (high - low)
    return moments, found.error / (high - low)


def _classes_by_quadrature(
    block: Block, values: tuple[float, ...], indices: tuple[MultiIndex, ...]
) -> tuple[Float[np.ndarray, "classes indices"], float]:
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

    found, error, _ = integrate(block, numbers)
    return found * norms, error
