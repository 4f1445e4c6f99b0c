"""What the samples of one gradient batch do to the bulk of the rows, averaged over them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.theory.giant_step.risk.first_layer import GradientBatch

#: Matrices of more kinds than this are inverted one by one.
MOST_PIVOTS = 4


class SampleTerms:
    """What the samples of a batch do to the bulk: M = [[X o B^-1, Y], [-Y, 0]] at every node.

    ``scattered`` X = t_a t_b phi R^2 nu_ab, ``turned`` Y = t_a R w_1; ``held``: X with the nodes'
    weights.
    """

    def __init__(self, batch: GradientBatch) -> None:
        weights, r, t = batch.samples.weights, batch.residuals, batch.steps
        self.batch, self.crowding, self.weights = batch, batch.crowding, weights
        self.scattered = np.outer(t, t)[..., None] * (batch.scatters * (batch.crowding * r**2))
        self.turned, self.held = t[:, None] * batch.bends * r, self.scattered * weights
        self.frame, self.vectors, self.drifts = batch.frame, batch.vectors, batch.drifts

    @functools.cached_property
    def measures(self) -> tuple[Any, Any, Any]:
        """By which averages make forms: e e^T - 1, v e, and v v^T of the batch's vectors."""
        samples, one = self.batch.samples, np.eye(self.frame.shape[1])
        charged = self.vectors[:, None] * samples.first
        pairs = self.vectors[:, None] * self.vectors * self.weights
        return samples.second - one[..., None] * self.weights, charged, pairs

    def seen(self, own: Any, spread: Any) -> tuple[Any, Any]:
        """M (1 + phi G M)^-1 and (1 + phi G M)^-1 at every node, G the batch's own blocks."""
        k, turned = len(self.turned), self.turned[:, None]
        scattered = self.scattered * spread[..., None]
        dressed = np.empty((2 * k, 2 * k, len(self.weights)), np.result_type(own, spread))
        dressed[:, :k] = np.tensordot(own[:, :k], scattered, 1) - own[:, k:, None] * self.turned
        dressed[:, k:] = own[:, :k, None] * self.turned
        dressed *= self.crowding
        dressed[np.arange(2 * k), np.arange(2 * k)] += 1.0
        dressed = _inverse(dressed)
        seen = np.empty_like(dressed)
        seen[:k] = np.einsum("abn,bcn->acn", scattered, dressed[:k]) + turned * dressed[k:]
        seen[k:] = -turned * dressed[:k]
        return seen, dressed

    def __call__(self, own: Any, spread: Any) -> tuple[Any, Any]:
        """The batch's self-energy E[M (1 + phi G M)^-1], and its part of H."""
        k, (seen, dressed) = len(self.turned), self.seen(own, spread)
        held = np.einsum("abn,acn,cb->ab", self.held, dressed[:k], own[:, :k])
        return averages(self.weights, seen), held

    def tangent(self, own: Any, spread: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        r"""Both to first order around G and B^-1.

        With :math:`D = (1+\phi GM)^{-1}`, :math:`L = (1+\phi MG)^{-1}`,

        .. math:: d(MD) = L\,dM\,D - \phi\,MD\,dG\,MD,\qquad
            d(DG) = D\,dG\,L - \phi\,DG\,dM\,DG .
        """
        k, phi, (seen, dressed) = len(self.turned), self.crowding, self.seen(own, spread)
        energy, held = self(own, spread)
        flat = seen.reshape(-1, seen.shape[-1])
        squares = -phi * ((flat * self.weights) @ flat.T).reshape(seen.shape[:2] * 2)
        left = np.eye(2 * k)[:, :k, None] - phi * np.einsum("abn,bc->acn", seen, own[:, :k])
        bulk = np.einsum("acn,cb->abn", dressed[:k], own[:, :k])
        a, b = np.nonzero(np.any(self.scattered != 0, axis=-1))
        masses, pairs = self.held[a, b], self.scattered[a, b]
        mixed = np.einsum("pn,ipn,pjn->pij", masses, left[:, a], dressed[b], optimize=True)
        own_pairs = bulk[a][:, a] * bulk[b][:, b].swapaxes(0, 1)
        twice = -phi * np.einsum("pn,qn,pqn->pq", masses, pairs, own_pairs)

        def near(new: Any, wider: Any) -> tuple[Any, Any]:
            moved, spread_out = new - own, (wider - spread)[a, b]
            taken = np.zeros(held.shape, np.result_type(new, wider))
            taken[b, a] = np.einsum("pij,ji->p", mixed, moved) + twice.T @ spread_out
            change = np.einsum("icdj,cd->ij", squares, moved)
            return energy + change + np.einsum("pij,p->ij", mixed, spread_out), held + taken

        return near


def by_parts(linear: Callable[[Any], Any], values: Any) -> Any:
    """A real linear map of values, of complex ones in two real parts, which is faster."""
    if np.iscomplexobj(values):
        return linear(values.real) + 1j * linear(values.imag)
    return linear(values)


def averages(measures: Any, values: Any) -> Any:
    """Averages of values over nodes, the last axis of both, by each measure."""
    if np.iscomplexobj(measures):
        return by_parts(lambda each: averages(each, values), measures)
    flat = measures.reshape(-1, measures.shape[-1])
    found = by_parts(lambda each: flat @ each.reshape(-1, each.shape[-1]).T, values)
    return found.reshape(*measures.shape[:-1], *values.shape[:-1])


def _inverse(matrices: Any) -> Any:
    """Inverses of many small matrices, nodes last, whose blocks (p_a, q_a) can serve as pivots."""
    k = len(matrices) // 2
    if k > MOST_PIVOTS:
        return np.linalg.inv(matrices.transpose(2, 0, 1)).transpose(1, 2, 0)
    for a in range(k):
        pair = slice(a, None, k)
        (p, q), (r, s) = matrices[pair, pair]
        pivot = np.array([[s, -q], [-r, p]]) / (p * s - q * r)
        if k == 1:
            return pivot
        column = matrices[:, pair].copy()
        row = np.einsum("abn,bcn->acn", pivot, matrices[pair])
        matrices -= np.einsum("abn,bcn->acn", column, row)
        matrices[:, pair] = -np.einsum("abn,bcn->acn", column, pivot)
        row[:, pair] = pivot
        matrices[pair] = row
    return matrices
