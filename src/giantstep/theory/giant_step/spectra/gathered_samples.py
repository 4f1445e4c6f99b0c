"""Samples of later batches in few groups, which the bulk of a spectrum cannot tell apart.

From the second step on a batch is a rule of thousands of nodes, and a spectrum solves its equations
at hundreds of z. They see of a sample only what it does to the bulk, R w_1 and R^2 nu.
"""

from __future__ import annotations

import heapq
import itertools

import numpy as np
from jaxtyping import Float, Int

from giantstep.theory.giant_step.risk.first_layer import FirstLayer, GradientBatch

#: Groups that stand for the samples of a batch.
GROUPS = 300


def gathered_bulk_samples(layer: FirstLayer, groups: int = GROUPS) -> FirstLayer:
    """The layer with at most so many samples in each batch, for averages over the bulk alone.

    Vectors of the batches are left out: forms between single directions need all samples.
    """
    return layer._replace(batches=tuple(_gathered_bulk(batch, groups) for batch in layer.batches))


def _gathered_bulk(batch: GradientBatch, groups: int) -> GradientBatch:
    weights = batch.samples.weights
    if len(weights) <= groups:
        return batch
    turned, scattered = batch.bends * batch.residuals, batch.scatters * batch.residuals**2
    k = len(turned)
    seen = np.concatenate([turned, scattered.reshape(k * k, -1)])
    members = bulk_sample_groups(seen * np.tile(batch.steps, 1 + k)[:, None], weights, groups)
    total = np.bincount(members, weights)
    means = np.array([np.bincount(members, weights * values) / total for values in seen])
    samples = batch.samples._replace(weights=total)
    return batch._replace(
        samples=samples,
        residuals=np.ones(len(total)),
        bends=means[:k],
        scatters=means[k:].reshape(k, k, -1),
    )


def bulk_sample_groups(
    points: Float[np.ndarray, "coordinates n"], weights: Float[np.ndarray, " n"], groups: int
) -> Int[np.ndarray, " n"]:
    """The group of each point; the group that scatters most is halved until there are enough.

    >>> bulk_sample_groups(np.array([[0.0, 0.1, 5.0, 5.1]]), np.ones(4), 2).tolist()
    [0, 0, 1, 1]
    """
    members, order = np.zeros(points.shape[1], dtype=int), itertools.count()

    def entry(chosen: np.ndarray) -> tuple[float, int, np.ndarray, np.ndarray]:
        own, masses = points[:, chosen], weights[chosen]
        gaps = own - (own @ masses / masses.sum())[:, None]
        scatter = gaps**2 @ masses
        above = gaps[int(scatter.argmax())] > 0
        # Points that only rounding tells apart may all lie on one side of their mean.
        halves = above.any() and not above.all()
        return -float(scatter.max()) if halves else 0.0, next(order), chosen, above

    heap = [entry(np.arange(points.shape[1]))]
    for group in range(1, groups):
        scatter, _, chosen, above = heapq.heappop(heap)
        if scatter == 0.0:
            break
        members[chosen[above]] = group
        for part in (chosen[~above], chosen[above]):
            heapq.heappush(heap, entry(part))
    return members
