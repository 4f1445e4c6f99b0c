"""Labels in closed form: linear in one field, or constant inside cells that kinks cut out."""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.posterior import Matrix, Posterior, Vector, mixed_posterior
from giantstep.channels.signs import log_normal_posterior, sign_posteriors
from giantstep.errors import TargetError

#: Stands for infinity as the edge of an interval: its density is 0, its logarithms are finite.
_FAR = 1e10


@dataclass(frozen=True)
class LabelCells:
    """A partition of the cells between the kinks of m fields into classes.

    ``kinks[i]`` are the sorted positions on field i; ``classes`` gives the class of every cell in
    row-major order. With no field at all there is one class, which is certain.
    """

    kinks: tuple[tuple[float, ...], ...]
    classes: tuple[int, ...]

    @property
    def count(self) -> int:
        """Number of classes."""
        return max(self.classes) + 1

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of intervals on each field."""
        return tuple(len(at) + 1 for at in self.kinks)

    def representatives(self) -> Float[np.ndarray, "classes m"]:
        """A point inside every class."""
        return channel_cell_centres(self.kinks)[[self.classes.index(c) for c in range(self.count)]]

    @functools.partial(jax.jit, static_argnums=0)
    def posteriors(self, mean: Vector, cov: Matrix) -> Posterior:
        """log P(class), its gradient and its Hessian in the mean, one row per class."""
        if not self.kinks:
            one = jnp.zeros(1, mean.dtype)
            return Posterior(one, jnp.zeros((1, 0), mean.dtype), jnp.zeros((1, 0, 0), mean.dtype))
        if len(self.kinks) == 1:
            return self._intervals(mean, cov)
        order = self._parity_order()
        if order is not None:
            at = jnp.asarray([positions[0] for positions in self.kinks], mean.dtype)
            return Posterior(
                *(part[jnp.asarray(order)] for part in sign_posteriors(mean - at, cov))
            )
        return self._boxes(mean, cov)

    def _intervals(self, mean: Float[Array, 1], cov: Float[Array, "1 1"]) -> Posterior:
        pieces = interval_posteriors(jnp.asarray(self.kinks[0], mean.dtype), mean, cov)
        members = (np.flatnonzero(np.equal(self.classes, c)) for c in range(self.count))
        united = [_united_posterior(pieces, which) for which in members]
        return Posterior(*(jnp.stack(parts) for parts in zip(*united, strict=True)))

    def _parity_order(self) -> list[int] | None:
        """Which of the events (product of signs -1, +1) each class is, if classes are these."""
        if self.count != 2 or any(len(at) != 1 for at in self.kinks):
            return None
        signs = [np.prod(s) for s in itertools.product((-1, 1), repeat=len(self.kinks))]
        events = np.array(signs) > 0
        for order in ([0, 1], [1, 0]):
            if np.array_equal(np.array(order)[events.astype(int)], self.classes):
                return order
        return None

    def _boxes(self, mean: Vector, cov: Matrix) -> Posterior:
        """Probabilities of unions of boxes: multilinear in the signs of z_i - kink.

        Absolute accuracy is that of the sign products, about 1e-15.
        """
        m, tables = mean.shape[0], self._sign_coefficients()
        constant = tables.reshape(self.count, -1)[:, 0]
        value = jnp.asarray(constant, mean.dtype)
        gradient = jnp.zeros((self.count, m), mean.dtype)
        second = jnp.zeros((self.count, m, m), mean.dtype)
        for size in range(1, m + 1):
            terms = [i for i in np.ndindex(self.shape) if np.count_nonzero(i) == size]
            fields = np.array([np.flatnonzero(i) for i in terms])
            at = np.array([[self.kinks[f][i[f] - 1] for f in np.flatnonzero(i)] for i in terms])
            weights = jnp.asarray([tables[(slice(None), *i)] for i in terms], mean.dtype)
            blocks = cov[fields[:, :, None], fields[:, None, :]]
            p, dp, d2p = jax.vmap(_posterior_sign_mean)(
                mean[fields] - jnp.asarray(at, mean.dtype), blocks
            )
            value += weights.T @ p
            placed = jnp.asarray(np.eye(m)[fields], mean.dtype)
            gradient += jnp.einsum("tc,ti,tim->cm", weights, dp, placed)
            second += jnp.einsum("tc,tij,tim,tjn->cmn", weights, d2p, placed, placed)
        value = jnp.maximum(value, 1e-14)
        gradient = gradient / value[:, None]
        outer = gradient[:, :, None] * gradient[:, None, :]
        return Posterior(jnp.log(value), gradient, second / value[:, None, None] - outer)

    def _sign_coefficients(self) -> Float[np.ndarray, " ..."]:
        """Coefficients of the indicators of the classes in products of 1 and sign(z_i - kink)."""
        tables = np.equal(np.arange(self.count)[:, None], np.array(self.classes)).astype(float)
        tables = tables.reshape(self.count, *self.shape)
        for axis in range(1, tables.ndim):
            first = np.take(tables, [0], axis) + np.take(tables, [-1], axis)
            tables = np.concatenate([first, np.diff(tables, axis=axis)], axis) / 2
        return tables


def channel_cell_centres(kinks: tuple[tuple[float, ...], ...]) -> Float[np.ndarray, "cells m"]:
    """A point inside every cell between the kinks, in row-major order."""
    axes = []
    for at in kinks:
        edges = np.array([at[0] - 2.0, *at, at[-1] + 2.0]) if at else np.array([-1.0, 1.0])
        axes.append((edges[1:] + edges[:-1]) / 2)
    points = list(itertools.product(*axes))
    return np.array(points).reshape(len(points), len(kinks))


def interval_posteriors(
    kinks: Float[Array, " k"], mean: Float[Array, 1], cov: Float[Array, "1 1"]
) -> Posterior:
    """The posteriors of the k + 1 intervals between the kinks, accurate far out in the tails."""
    spread = jnp.sqrt(cov[0, 0])
    far = jnp.full(1, _FAR, mean.dtype)
    x = jnp.concatenate([-far, jnp.clip((kinks - mean) / spread, -_FAR, _FAR), far])
    low, high = x[:-1], x[1:]
    # Look from the side on which both probabilities are small.
    flip = low + high > 0
    log_outer, log_inner = log_normal_posterior(
        jnp.stack([jnp.where(flip, -high, low), jnp.where(flip, -low, high)])
    )
    logs = log_inner + jnp.log1p(-jnp.exp(jnp.minimum(log_outer - log_inner, -1e-16)))

    def density_ratio(edge: Float[Array, " p"]) -> Float[Array, " p"]:
        return jnp.exp(-edge * edge / 2 - np.log(2 * np.pi) / 2 - logs) / spread

    at_low, at_high = density_ratio(low), density_ratio(high)
    gradient = at_low - at_high
    second = (low * at_low - high * at_high) / spread
    return Posterior(logs, gradient[:, None], (second - gradient**2)[:, None, None])


def _united_posterior(pieces: Posterior, members: np.ndarray) -> Posterior:
    chosen = Posterior(*(part[members] for part in pieces))
    return (
        Posterior(*(part[0] for part in chosen)) if len(members) == 1 else mixed_posterior(chosen)
    )


def _posterior_sign_mean(mean: Vector, cov: Matrix) -> tuple[Any, Any, Any]:
    """E[prod_i sign(z_i)] with its gradient and Hessian."""
    events = sign_posteriors(mean, cov)
    weights = jnp.asarray([-1.0, 1.0], mean.dtype) * jnp.exp(events.log_partition)
    second = events.hessian + events.gradient[:, :, None] * events.gradient[:, None, :]
    return weights.sum(), weights @ events.gradient, jnp.einsum("k,kij->ij", weights, second)


@dataclass(frozen=True)
class Affine:
    """y = offset + slope u + sqrt(noise) xi, for which everything is Gaussian."""

    offset: float
    slope: float

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n 2"]:
        """Each label with its noise."""
        return np.stack([y, np.full_like(y, noise)], axis=-1)

    def posterior(
        self, label: Float[Array, 2], mean: Float[Array, 1], cov: Float[Array, "1 1"]
    ) -> Posterior:
        """log N(y; offset + slope omega, slope^2 V + noise) and its derivatives."""
        variance = self.slope**2 * cov[0, 0] + label[1]
        residual = label[0] - self.offset - self.slope * mean
        log_density = -(residual[0] ** 2 / variance + jnp.log(2 * np.pi * variance)) / 2
        curvature = jnp.full((1, 1), -(self.slope**2), mean.dtype) / variance
        return Posterior(log_density, self.slope * residual / variance, curvature)

    def label_mean(self, mean: Float[Array, 1], cov: Float[Array, "1 1"]) -> Float[Array, ""]:
        """E[y]."""
        return self.offset + self.slope * mean[0]


def log_likelihoods(
    values: Float[np.ndarray, " c"], noise: float, y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, "n c"]:
    """log P(y | value) for each label and each of finitely many values."""
    gaps = y[:, None] - values
    if noise > 0:
        return -(gaps**2) / (2 * noise) - np.log(2 * np.pi * noise) / 2
    match = np.abs(gaps) <= 1e-9 * (1 + np.abs(y[:, None]))
    if not match.any(axis=1).all():
        stranger = y[~match.any(axis=1)][0]
        known = ", ".join(f"{value:.6g}" for value in values)
        raise TargetError(f"label y = {stranger:.6g} is none of this target's values: {known}")
    return np.where(match, 0.0, -np.inf)


@dataclass(frozen=True)
class Discrete:
    """y = values[class of the cell] + sqrt(noise) xi."""

    cells: LabelCells
    values: tuple[float, ...]

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n c"]:
        """The log likelihood of every class, one row per label."""
        return log_likelihoods(np.array(self.values), noise, y)

    def posterior(self, label: Float[Array, " c"], mean: Vector, cov: Matrix) -> Posterior:
        """The classes' posteriors, mixed by how well each explains the label."""
        return mixed_posterior(self.cells.posteriors(mean, cov), label)

    def label_mean(self, mean: Vector, cov: Matrix) -> Float[Array, ""]:
        """E[y]."""
        chances = jnp.exp(self.cells.posteriors(mean, cov).log_partition)
        return chances @ jnp.asarray(self.values, mean.dtype)
