"""What the samples of one gradient batch do to the bulk of the rows, averaged over them."""

from __future__ import annotations

import abc
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.theory.giant_step.risk.first_layer import GradientBatch

#: Matrices of more kinds than this are inverted one by one.
MOST_PIVOTS = 4
#: Entries of matrices at nodes that are held at once, unless those of one fit are more.
AT_ONCE = 20_000


class SampleTerms(abc.ABC):
    """What the samples of a batch do to the bulk: M = [[X o B^-1, Y], [-Y, 0]] at every node.

    ``scattered`` X = t_a t_b phi R^2 nu_ab, ``turned`` Y = t_a R w_1; ``held``: X with the nodes'
    weights. G is the batch's own blocks, of one fit or of many; ``entries``: numbers of each that
    are held at a node.
    """

    @classmethod
    def of(cls, batch: GradientBatch) -> SampleTerms:
        """Those of one kind of neurons have closed forms."""
        return (OneKind if len(batch.steps) == 1 else ManyKinds)(batch)

    def __init__(self, batch: GradientBatch) -> None:
        weights, r, t = batch.samples.weights, batch.residuals, batch.steps
        self.batch, self.crowding, self.weights = batch, batch.crowding, weights
        self.scattered = np.outer(t, t)[..., None] * (batch.scatters * (batch.crowding * r**2))
        self.turned, self.held = t[:, None] * batch.bends * r, self.scattered * weights
        self.frame, self.vectors = batch.frame, batch.vectors
        #: What the blocks (p, q) are probed with: kicks and leans.
        self.charges = np.concatenate([batch.kicks, batch.leans])
        self.entries = 1 if len(t) == 1 else 4 * len(t) ** 2

    @functools.cached_property
    def measures(self) -> tuple[list[Any], Any, Any]:
        """By which averages make forms: e e^T - 1, v e, v v^T, and flat; and e, v and charges."""
        samples, one = self.batch.samples, np.eye(self.frame.shape[1])
        heavy = self.vectors * self.weights
        out = samples.second - one[..., None] * self.weights
        found = [out, self.vectors[:, None] * samples.first, self.vectors[:, None] * heavy]
        flat = np.concatenate([each.reshape(-1, each.shape[-1]) for each in found])
        sides = np.concatenate([samples.first, heavy, self.charges * self.weights])
        return found, flat.T, sides.T

    @abc.abstractmethod
    def averaged(self, own: Any, spread: Any) -> tuple[Any, ...]:
        """The batch's self-energy E[M (1 + phi G M)^-1], and its part of H."""

    @abc.abstractmethod
    def slopes(self, own: Any, spread: Any) -> tuple[Any, Any, Any]:
        r"""The averages, and derivatives of Sigma and of H in G and in B^-1.

        With :math:`D = (1+\phi GM)^{-1}`, :math:`L = (1+\phi MG)^{-1}`,

        .. math:: d(MD) = L\,dM\,D - \phi\,MD\,dG\,MD,\qquad
            d(DG) = D\,dG\,L - \phi\,DG\,dM\,DG .
        """

    @abc.abstractmethod
    def measured(self, own: Any, spread: Any) -> tuple[Any, ...]:
        """Averages by the measures of forms, on the last axis, and by sides."""

    def __call__(self, own: Any, spread: Any) -> tuple[Any, Any]:
        """The batch's self-energy E[M (1 + phi G M)^-1], and its part of H."""
        return self._in_turn(self.averaged, own, spread)

    def _in_turn(self, of: Callable[[Any, Any], tuple[Any, ...]], own: Any, spread: Any) -> Any:
        """Averages for many fits, of a few at a time: nodes of all would not fit into the cache."""
        many, k = own.shape[:-2], len(self.turned)
        spread = np.broadcast_to(spread, (*many, k, k)).reshape(-1, k, k)
        flat = own.reshape(-1, 2 * k, 2 * k)
        few = 1 + AT_ONCE // (self.entries * len(self.weights))
        parts = [of(flat[i : i + few], spread[i : i + few]) for i in range(0, len(flat), few)]
        found = [np.concatenate(each) for each in zip(*parts, strict=True)]
        return tuple(each.reshape(*many, *each.shape[1:]) for each in found)

    def in_forms(self, own: Any, spread: Any) -> list[Any]:
        """Averages of M (1 + phi G M)^-1 by e e^T - 1, v e and v v^T, v the batch's vectors.

        On the axes before the last two, which are those of M. Last, those of (1 + phi G M)^-1,
        each row times its charge, by e, v and the charges.
        """
        measures, _, _ = self.measures
        whole, charged = self._in_turn(self.measured, own, spread)
        ends = np.cumsum([each[..., 0].size for each in measures])[:-1]
        found = [
            np.moveaxis(part.reshape(*own.shape, *by.shape[:-1]), (-2, -1), (-4, -3))
            for part, by in zip(np.split(whole, ends, axis=-1), measures, strict=True)
        ]
        return [*found, np.moveaxis(charged, -1, -3)]

    def tangent(self, own: Any, spread: Any) -> Callable[[Any, Any], tuple[Any, Any]]:
        """Both to first order around G and B^-1."""
        k = len(self.turned)
        energy, held, slopes = self._in_turn(self.slopes, own, spread)
        a, b = self.scattering

        def near(new: Any, wider: Any) -> tuple[Any, Any]:
            moved = (new - own).reshape(*new.shape[:-2], 4 * k * k)
            change = applied(slopes, np.concatenate([moved, (wider - spread)[..., a, b]], axis=-1))
            taken = np.zeros((*new.shape[:-2], k, k), change.dtype) + held
            taken[..., b, a] += change[..., 4 * k * k :]
            return energy + change[..., : 4 * k * k].reshape(new.shape), taken

        return near

    @functools.cached_property
    def scattering(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of kinds between which samples scatter rows."""
        a, b = np.nonzero(np.any(self.scattered != 0, axis=-1))
        return a, b


class ManyKinds(SampleTerms):
    """Matrices at every node."""

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

    def averaged(self, own: Any, spread: Any) -> tuple[Any, ...]:
        return self._means(own, *self.seen(own, spread))

    def _means(self, own: Any, seen: Any, dressed: Any) -> tuple[Any, Any]:
        k = len(self.turned)
        above = dressed[..., :k, :, :].swapaxes(-1, -2)
        pulled = bulk_by_parts(lambda each: self.held @ each, above)
        held = np.einsum("...abc,...cb->...ab", pulled, own[..., :k])
        return bulk_by_parts(lambda each: each @ self.weights, seen), held

    def slopes(self, own: Any, spread: Any) -> tuple[Any, Any, Any]:
        k, phi, (seen, dressed) = len(self.turned), self.crowding, self.seen(own, spread)
        flat = seen.reshape(*seen.shape[:-3], -1, seen.shape[-1])
        squares = -phi * ((flat * self.weights) @ flat.swapaxes(-1, -2))
        columns = own[..., :k].swapaxes(-1, -2)[..., None, :, :]
        left = np.eye(2 * k)[:, :k, None] - phi * (columns @ seen)
        bulk = columns @ dressed[..., :k, :, :]
        a, b = self.scattering
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
        return *self._means(own, seen, dressed), slopes

    def measured(self, own: Any, spread: Any) -> tuple[Any, ...]:
        seen, dressed = self.seen(own, spread)
        _, flat, sides = self.measures
        charged = dressed * self.charges[:, None]
        return (
            bulk_by_parts(lambda each: each @ flat, seen),
            bulk_by_parts(lambda each: each @ sides, charged),
        )


class OneKind(SampleTerms):
    r"""Polynomials in X and Y at every node, over one determinant.

    .. math:: \delta = 1 + \phi G_{11}\frac XB + 2\phi G_{21}Y + \phi^2\det G\,Y^2,\qquad
        \delta M(1+\phi GM)^{-1} = \frac XB\begin{pmatrix}1&0\\0&0\end{pmatrix}
            + Y\begin{pmatrix}0&1\\-1&0\end{pmatrix}
            + \phi Y^2\begin{pmatrix}G_{22}&-G_{12}\\-G_{21}&G_{11}\end{pmatrix},

    and :math:`(1+\phi GM)^{-1}` has the first row :math:`(1+\phi G_{21}Y, -\phi G_{11}Y)/\delta`.
    """

    @functools.cached_property
    def _powers(self) -> tuple[Any, Any, Any]:
        """1, X, Y and Y^2 at every node; weighed, one by one and in products."""
        x, y = self.scattered[0, 0], self.turned[0]
        powers = np.stack([np.ones_like(y), x, y, y * y])
        weighed = powers * self.weights
        return powers, weighed.T, (powers[:, None] * weighed).reshape(16, -1).T

    @functools.cached_property
    def _measured(self) -> tuple[Any, Any]:
        """X, Y and Y^2 by the measures, and by the products of charges and sides; these alone."""
        _, flat, sides = self.measures
        charged = self.charges[:, None] * sides.T
        by = np.concatenate([flat.T, charged.reshape(-1, len(sides))])
        by = self._powers[0][1:, None] * by
        return by.reshape(-1, len(sides)).T, charged.sum(-1)[:, None]

    def _shares(self, own: Any, spread: Any) -> Any:
        """1/delta."""
        phi = self.crowding
        terms = [np.ones_like(own[..., 0, 0]), phi * own[..., 0, 0] * spread[..., 0, 0]]
        terms += [2 * phi * own[..., 1, 0], phi**2 * np.linalg.det(own)]
        return 1 / bulk_by_parts(lambda each: each @ self._powers[0], np.stack(terms, axis=-1))

    def _numerators(self, own: Any, spread: Any) -> Any:
        """Matrices that X, Y and Y^2 have in M (1 + phi G M)^-1."""
        found = np.zeros((*own.shape[:-2], 3, 2, 2), np.result_type(own, spread))
        found[..., 0, 0, 0] = spread[..., 0, 0]
        found[..., 1, :, :] = [[0.0, 1.0], [-1.0, 0.0]]
        turned = own[..., ::-1, ::-1].swapaxes(-1, -2) * [[1.0, -1.0], [-1.0, 1.0]]
        found[..., 2, :, :] = self.crowding * turned
        return found

    def averaged(self, own: Any, spread: Any) -> tuple[Any, ...]:
        return self._means(own, self._numerators(own, spread), self._shares(own, spread))

    def _means(self, own: Any, numerators: Any, shares: Any) -> tuple[Any, Any]:
        found = bulk_by_parts(lambda each: each @ self._powers[1], shares)
        energy = np.einsum("fj,fjab->fab", found[:, 1:], numerators)
        return energy, (found[:, 1] * own[:, 0, 0])[:, None, None]

    def slopes(self, own: Any, spread: Any) -> tuple[Any, Any, Any]:
        shares, numerators = self._shares(own, spread), self._numerators(own, spread)
        phi, count = self.crowding, len(self.scattering[0])
        found = (shares**2 @ self._powers[2]).reshape(-1, 4, 4)
        # delta D_1 = 1 and Y times these; delta L_1 the same with the signs of G^T = J G J.
        row = np.zeros((len(own), 2, 2))
        row[:, 0, 0], row[:, 1] = 1.0, phi * own[:, [1, 0], 0] * [1.0, -1.0]
        column = row * [1.0, -1.0]
        slopes = np.zeros((len(own), 4 + count, 4 + count))
        slopes[:, :4, :4] = -phi * np.einsum(
            "fjl,fjab,flcd->fadbc", found[:, 1:, 1:], numerators, numerators
        ).reshape(-1, 4, 4)
        if count:
            # X, X Y and X Y^2.
            by = np.stack([found[:, 0, 1], found[:, 1, 2], found[:, 1, 3]], axis=1)
            by = by[:, np.add.outer(np.arange(2), np.arange(2))]
            mixed = np.einsum("fjl,fja,flb->fab", by, column, row)
            slopes[:, :4, 4] = mixed.reshape(-1, 4)
            slopes[:, 4, :4] = mixed.swapaxes(-1, -2).reshape(-1, 4)
            slopes[:, 4, 4] = -phi * found[:, 1, 1] * own[:, 0, 0] ** 2
        return *self._means(own, numerators, shares), slopes

    def measured(self, own: Any, spread: Any) -> tuple[Any, ...]:
        shares, numerators = self._shares(own, spread), self._numerators(own, spread)
        by, plain = self._measured
        found = bulk_by_parts(lambda each: each @ by, shares).reshape(len(own), 3, -1)
        found = np.einsum("fjm,fjab->fabm", found, numerators)
        out, charged = np.split(found, [-plain.size], axis=-1)
        charged = np.einsum("fca,fabcs->fcbs", own, charged.reshape(*own.shape, 2, -1))
        return out, np.eye(2)[..., None] * plain - self.crowding * charged


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
        column = matrices[..., pair, :].copy()
        row = _product(pivot, matrices[..., pair, :, :])
        matrices -= _product(column, row)
        matrices[..., pair, :] = -_product(column, pivot)
        row[..., pair, :] = pivot
        matrices[..., pair, :, :] = row
    return matrices
