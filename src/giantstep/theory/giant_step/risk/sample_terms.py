"""What the samples of one gradient batch do to the bulk of the rows, averaged over them."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.theory.giant_step.risk.first_layer import GradientBatch

#: Matrices of more kinds than this are inverted one by one.
MOST_PIVOTS = 4
#: Entries of matrices at nodes that are held at once, unless those of one fit are more.
AT_ONCE = 20_000


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
        self.frame, self.vectors = batch.frame, batch.vectors
        #: What the blocks (p, q) are probed with: kicks and leans.
        self.charges = np.concatenate([batch.kicks, batch.leans])

    @functools.cached_property
    def _measures(self) -> tuple[Any, Any, Any, Any]:
        """By which averages make forms: e e^T - 1, v e, v v^T; and e, v and the charges."""
        samples, one = self.batch.samples, np.eye(self.frame.shape[1])
        charged = self.vectors[:, None] * samples.first
        heavy = self.vectors * self.weights
        sides = np.concatenate([samples.first, heavy, self.charges * self.weights])
        out = samples.second - one[..., None] * self.weights
        return out, charged, self.vectors[:, None] * heavy, sides

    def seen(self, own: Any, spread: Any) -> tuple[Any, Any]:
        """M (1 + phi G M)^-1 and (1 + phi G M)^-1 at every node, G the batch's own blocks."""
        k, turned = len(self.turned), self.turned[:, None]
        scattered = self.scattered * spread[..., None]
        dressed = np.empty((*own.shape, len(self.weights)), np.result_type(own, spread))
        flat = scattered.reshape(*scattered.shape[:-2], -1)
        dressed[..., :k, :] = (own[..., :k] @ flat).reshape(*own.shape[:-1], k, -1)
        dressed[..., :k, :] -= own[..., k:, None] * self.turned
        dressed[..., k:, :] = own[..., :k, None] * self.turned
        dressed *= self.crowding
        dressed[..., np.arange(2 * k), np.arange(2 * k), :] += 1.0
        dressed = _bulk_inverses(dressed)
        seen = np.empty_like(dressed)
        above, below = dressed[..., :k, :, :], dressed[..., k:, :, :]
        seen[..., :k, :, :] = _product(scattered, above) + turned * below
        seen[..., k:, :, :] = -turned * above
        return seen, dressed

    def __call__(self, own: Any, spread: Any) -> tuple[Any, Any]:
        """The batch's self-energy E[M (1 + phi G M)^-1], and its part of H."""
        return self._in_turn(
            lambda own, spread: self._averaged(own, *self.seen(own, spread)), own, spread
        )

    def _in_turn(self, of: Callable[[Any, Any], tuple[Any, ...]], own: Any, spread: Any) -> Any:
        """Averages for many fits, of a few at a time: nodes of all would not fit into the cache."""
        many, k = own.shape[:-2], len(self.turned)
        spread = np.broadcast_to(spread, (*many, k, k)).reshape(-1, k, k)
        flat, few = own.reshape(-1, 2 * k, 2 * k), 1 + AT_ONCE // (4 * k * k * len(self.weights))
        parts = [of(flat[i : i + few], spread[i : i + few]) for i in range(0, len(flat), few)]
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return tuple(each.reshape(*many, *each.shape[1:]) for each in found)

    def _averaged(self, own: Any, seen: Any, dressed: Any) -> tuple[Any, Any]:
        k = len(self.turned)
        above = dressed[..., :k, :, :].swapaxes(-1, -2)
        pulled = bulk_by_parts(lambda each: self.held @ each, above)
        held = np.einsum("...abc,...cb->...ab", pulled, own[..., :k])
        return bulk_by_parts(lambda each: each @ self.weights, seen), held

    def in_forms(self, own: Any, spread: Any) -> list[Any]:
        """Averages of M (1 + phi G M)^-1 by e e^T - 1, v e and v v^T, v the batch's vectors.

        On the axes before the last two, which are those of M. Last, those of (1 + phi G M)^-1,
        each row times its charge, by e, v and the charges.
        """
        *measures, sides = self._measures
        flat = np.concatenate([each.reshape(-1, each.shape[-1]) for each in measures]).T

        def averaged(own: Any, spread: Any) -> tuple[Any, Any]:
            seen, dressed = self.seen(own, spread)
            charged = dressed * self.charges[:, None]
            return (
                bulk_by_parts(lambda each: each @ flat, seen),
                bulk_by_parts(lambda each: each @ sides.T, charged),
            )

        whole, charged = self._in_turn(averaged, own, spread)
        ends = np.cumsum([each[..., 0].size for each in measures])[:-1]
        found = [
            np.moveaxis(part.reshape(*own.shape, *by.shape[:-1]), (-2, -1), (-4, -3))
            for part, by in zip(np.split(whole, ends, axis=-1), measures, strict=True)
        ]
        return [*found, np.moveaxis(charged, -1, -3)]

    def tangent(self, own: Any, spread: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Both to first order around G and B^-1."""
        k = len(self.turned)
        energy, held, slopes = self._in_turn(self._slopes, own, spread)
        a, b = self._scattering

        def near(new: Any, wider: Any) -> tuple[Any, Any]:
            moved = (new - own).reshape(*new.shape[:-2], 4 * k * k)
            change = applied(slopes, np.concatenate([moved, (wider - spread)[..., a, b]], axis=-1))
            taken = np.zeros((*new.shape[:-2], k, k), change.dtype) + held
            taken[..., b, a] += change[..., 4 * k * k :]
            return energy + change[..., : 4 * k * k].reshape(new.shape), taken

        return near

    def _slopes(self, own: Any, spread: Any) -> tuple[Any, Any, Any]:
        r"""The averages, and derivatives of Sigma and of H in G and in B^-1.

        With :math:`D = (1+\phi GM)^{-1}`, :math:`L = (1+\phi MG)^{-1}`,

        .. math:: d(MD) = L\,dM\,D - \phi\,MD\,dG\,MD,\qquad
            d(DG) = D\,dG\,L - \phi\,DG\,dM\,DG .
        """
        k, phi, (seen, dressed) = len(self.turned), self.crowding, self.seen(own, spread)
        flat = seen.reshape(*seen.shape[:-3], -1, seen.shape[-1])
        squares = -phi * ((flat * self.weights) @ flat.swapaxes(-1, -2))
        columns = own[..., :k].swapaxes(-1, -2)[..., None, :, :]
        left = np.eye(2 * k)[:, :k, None] - phi * (columns @ seen)
        bulk = columns @ dressed[..., :k, :, :]
        a, b = self._scattering
        masses, pairs = self.held[a, b], self.scattered[a, b]
        outer = left[..., a, :].swapaxes(-2, -3) * masses[:, None]
        mixed = outer @ dressed[..., b, :, :].swapaxes(-1, -2)
        own_pairs = bulk[..., a[:, None], a, :] * bulk[..., b, b[:, None], :]
        twice = np.sum(own_pairs * masses[:, None] * pairs, axis=-1)
        many, size = own.shape[:-2], 4 * k * k
        slopes = np.empty((*many, size + len(a), size + len(a)))
        squares = np.moveaxis(squares.reshape(*own.shape, *own.shape[-2:]), -1, -3)
        slopes[..., :size, :size] = squares.reshape(*many, size, size)
        slopes[..., :size, size:] = mixed.reshape(*many, -1, size).swapaxes(-1, -2)
        slopes[..., size:, :size] = mixed.swapaxes(-1, -2).reshape(*many, -1, size)
        slopes[..., size:, size:] = -phi * twice.swapaxes(-1, -2)
        return *self._averaged(own, seen, dressed), slopes

    @functools.cached_property
    def _scattering(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of kinds between which samples scatter rows."""
        a, b = np.nonzero(np.any(self.scattered != 0, axis=-1))
        return a, b


def applied(slopes: Any, vectors: Any) -> Any:
    """Real matrices, one for each fit, times vectors; of many per fit these come first."""
    if vectors.ndim == slopes.ndim:
        vectors = np.moveaxis(vectors, 0, -1)
        return np.moveaxis(bulk_by_parts(lambda each: slopes @ each, vectors), -1, 0)
    return bulk_by_parts(lambda each: (slopes @ each[..., None])[..., 0], vectors)


def bulk_by_parts(linear: Callable[[Any], Any], values: Any) -> Any:
    """A real linear map of values, of complex ones in two real parts, which is faster."""
    if np.iscomplexobj(values):
        return linear(values.real) + 1j * linear(values.imag)
    return linear(values)


def bulk_means(measures: Any, values: Any) -> Any:
    """Averages of values over nodes, the last axis of both, by each measure."""
    if np.iscomplexobj(measures):
        return bulk_by_parts(lambda each: bulk_means(each, values), measures)
    flat = measures.reshape(-1, measures.shape[-1])
    found = bulk_by_parts(lambda each: flat @ each.reshape(-1, each.shape[-1]).T, values)
    return found.reshape(*measures.shape[:-1], *values.shape[:-1])


def _product(left: Any, right: Any) -> Any:
    """Products of small matrices, nodes last."""
    return np.einsum("...abn,...bcn->...acn", left, right)


def _bulk_inverses(matrices: Any) -> Any:
    """Inverses of many small matrices, nodes last, whose blocks (p_a, q_a) can serve as pivots."""
    k = matrices.shape[-2] // 2
    if k > MOST_PIVOTS:
        return np.moveaxis(np.linalg.inv(np.moveaxis(matrices, -1, -3)), -3, -1)
    for a in range(k):
        pair = slice(a, None, k)
        block = matrices[..., pair, pair, :]
        p, q, r, s = (block[..., i, j, :] for i in range(2) for j in range(2))
        pivot = np.stack([s, -q, -r, p], axis=-2) / (p * s - q * r)[..., None, :]
        pivot = pivot.reshape(block.shape)
        if k == 1:
            return pivot
        column = matrices[..., pair, :].copy()
        row = _product(pivot, matrices[..., pair, :, :])
        matrices -= _product(column, row)
        matrices[..., pair, :] = -_product(column, pivot)
        row[..., pair, :] = pivot
        matrices[..., pair, :, :] = row
    return matrices
