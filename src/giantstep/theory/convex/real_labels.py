"""Labels of any value, drawn on a grid of the few Gaussian directions that they depend on."""

from __future__ import annotations

import functools
import itertools
import math
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.errors import NoTheory
from giantstep.losses import loss_of
from giantstep.numerics.quadrature import split_gaussian
from giantstep.problem import Problem
from giantstep.theory.convex.label_geometry import FieldLaw

#: Nodes of a panel of each axis, by their number, and the length of a panel.
AXES = {1: (12, 1.5), 2: (6, 2.0), 3: (3, 3.0)}
#: The least probability of a label that counts.
RARE = 1e-15


class RealLabels(NamedTuple):
    """Labels y(h) + noise on a grid, what a learner could know of each, and its probability.

    ``clean`` is the label without additive noise; ``kinks`` the outputs at which the loss of the
    label is not smooth; ``learnable`` is 0 for a coordinate that is label noise.
    """

    values: Float[Array | np.ndarray, " labels"]
    clean: Float[Array | np.ndarray, " labels"]
    latent: Float[Array | np.ndarray, "labels directions"]
    weights: Float[Array | np.ndarray, " labels"]
    kinks: Float[Array | np.ndarray, "labels kinks"]
    learnable: Float[Array | np.ndarray, " directions"]


@functools.lru_cache(maxsize=32)
def real_labels(problem: Problem, loss: str) -> RealLabels:
    """The labels of a problem, and where their loss is not smooth.

    >>> labels = real_labels(Problem.of("h1"), "abs(y-f)")
    >>> round(float(labels.weights @ labels.values**2), 12)
    1.0
    """
    target, noisy = problem.target, problem.noise > 0
    directions = target.rank + target.noises
    axes = directions + noisy
    if axes > max(AXES) or not target.aligned_kinks:
        raise NoTheory(
            f"target = {target.text!r} with loss = {loss!r}: labels other than -1 and 1 are "
            f"predicted for up to {max(AXES)} variables, noise included, and kinks at fixed values "
            "of one of them"
        )
    order, length = AXES[axes]
    kinks = [*target.kinks, *target.noise_kinks, *([()] if noisy else [])]
    rules = [split_gaussian(k, panel_order=order, panel_length=length) for k in kinks]
    points = np.array(list(itertools.product(*[nodes for nodes, _ in rules])))
    weights = np.array([math.prod(w) for w in itertools.product(*[w for _, w in rules])])
    points, weights = points[weights > RARE], weights[weights > RARE]
    inner = points[:, target.rank : directions] if target.noises else None
    clean = np.broadcast_to(target.numpy(points[:, : target.rank], inner), weights.shape)
    values = clean + math.sqrt(problem.noise) * points[:, -1] if noisy else clean
    learnable = np.array([1.0] * target.rank + [0.0] * target.noises)
    kinks_of_loss = loss_of(loss).kinks(values)
    return RealLabels(
        values, clean, points[:, :directions], weights / weights.sum(), kinks_of_loss, learnable
    )


def real_field_law(labels: RealLabels, fields: Array, q: Array, m: Array) -> FieldLaw:
    """The joint law of label and field w, with (h, w) Gaussian, E w^2 = q and E[h w] = m."""
    variance = q - m @ m
    apart = fields - (labels.latent @ m)[:, None]
    bell = jnp.exp(-(apart**2) / (2 * variance)) / jnp.sqrt(2 * jnp.pi * variance)
    density = jnp.asarray(labels.weights)[:, None] * bell
    return FieldLaw(density, density[:, :, None] * jnp.asarray(labels.latent)[:, None, :])
