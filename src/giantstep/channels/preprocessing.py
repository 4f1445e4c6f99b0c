"""What single labels tell about the directions: posteriors, and the weights of spectral methods."""

from __future__ import annotations

import functools
import re
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.channel import Channel, Likelihood, label_posteriors
from giantstep.channels.committees.core import Committees
from giantstep.errors import SettingsError
from giantstep.numerics.float64 import float64
from giantstep.settings.spectral import Spectral

#: Labels that are evaluated at a time, few of them and many: two sizes at most compile.
_BLOCK, _LARGE_BLOCK = 512, 4096
#: Labels that a basis must separate to be believed.
_DRAWN = 128
#: Outliers whose ratio is above this are taken for equal.
_EQUAL = 0.8
#: A direction with less than this share of the outliers' length is not shown by them.
EMPTY = 0.05


class Labels:
    """Labels as their channel sees them: what each tells about its own field."""

    def __init__(self, channel: Channel, y: Float[np.ndarray, " n"]) -> None:
        self._channel, self._count = channel, len(y)
        self._committee: Committees | None = None
        core = channel.likelihood.core
        if isinstance(core, Committees):
            self._committee, self._labels = core, channel.labels(y)
            return
        self._block = _BLOCK if len(y) <= _LARGE_BLOCK else _LARGE_BLOCK
        self._parts = [
            _padded_labels(channel.labels(y[first : first + self._block]), self._block)
            for first in range(0, len(y), self._block)
        ]

    def posteriors(
        self, omega: Float[np.ndarray, "n r"], cov: Float[np.ndarray, "r r"]
    ) -> tuple[Float[np.ndarray, "n r"], Float[np.ndarray, "n r r"]]:
        """g_out = grad log Z of every label, and its derivative in omega, at h ~ N(omega, cov)."""
        if self._committee is not None:
            return self._committee.posteriors(self._labels, omega, cov)
        blocks = np.split(_padded_labels(omega, len(self._parts) * self._block), len(self._parts))
        with float64():
            found = [
                _posteriors(self._channel.likelihood, part, rows, cov)
                for part, rows in zip(self._parts, blocks, strict=True)
            ]
        gradient, hessian = (np.concatenate(parts) for parts in zip(*found, strict=True))
        return gradient[: self._count], hessian[: self._count]

    def moments(self) -> tuple[Float[np.ndarray, "n r"], Float[np.ndarray, "n r r"]]:
        """E[h | y] and G(y) = E[h h^T | y] - I for every label, when nothing else is known."""
        rank = self._channel.rank
        mean, hessian = self.posteriors(np.zeros((self._count, rank)), np.eye(rank))
        return mean, hessian + mean[:, :, None] * mean[:, None, :]


def _padded_labels(tree: Any, size: int) -> Any:
    """Every array with its last row repeated until there are ``size`` rows."""
    return jax.tree.map(
        lambda rows: np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), axis=0)]), tree
    )


@functools.partial(jax.jit, static_argnums=0)
def _posteriors(
    likelihood: Likelihood, labels: Any, omega: Float[Array, "n r"], cov: Float[Array, "r r"]
) -> tuple[Float[Array, "n r"], Float[Array, "n r r"]]:
    found = label_posteriors(likelihood, labels, omega, cov)
    return found.gradient, found.hessian


def channel_basis(channel: Channel, settings: Spectral) -> Float[np.ndarray, "r r"] | None:
    """The rotation in which each direction has a matrix of its own; None: linearised."""
    if settings.method == "linearised":
        return None
    basis = _channel_separating_basis(channel)
    if basis is None and (settings.method == "blocks" or settings.preprocessing != "optimal"):
        raise SettingsError(
            f"method = 'blocks': no rotation separates the directions of "
            f"{channel.structure.target.text!r}; use method linearised with the optimal "
            f"preprocessing"
        )
    return basis


@functools.lru_cache(maxsize=128)
def _channel_separating_basis(channel: Channel) -> Float[np.ndarray, "r r"] | None:
    """Orthonormal rows in which G(y) is diagonal for every label; None if there are none.

    The directions themselves where they will do. A basis that separates all labels separates
    those that were drawn, whichever they are, so that no average over labels is needed.
    """
    y = _drawn_labels(channel)
    _, curvatures = Labels(channel, y).moments()
    rank = channel.rank
    mixed = np.einsum("n,nij->ij", np.tanh(y + 0.3) + np.cos(2 * y), curvatures)
    for basis in (np.eye(rank), np.linalg.eigh(mixed)[1].T[::-1]):
        outside = (basis @ curvatures @ basis.T) * (1 - np.eye(rank))
        if np.sum(outside**2) <= 1e-9 * np.sum(curvatures**2):
            signs = np.sign(basis[np.arange(rank), np.abs(basis).argmax(axis=1)])
            return basis * signs[:, None]
    return None


def _drawn_labels(channel: Channel) -> Float[np.ndarray, " n"]:
    """A few labels of the channel's own law."""
    target, random = channel.structure.target, np.random.default_rng(7)
    h, z = (random.normal(size=(_DRAWN, count)) for count in (target.rank, target.noises))
    return target.numpy(h, z) + np.sqrt(channel.added) * random.normal(size=_DRAWN)


def optimal_channel_weights(
    curvature: Float[np.ndarray, " n"], clip: float
) -> Float[np.ndarray, " n"]:
    """T = 1 - 1/E[h^2|y] = G/(1 + G), cut off below at -clip."""
    return np.maximum(1 - 1 / np.maximum(1 + curvature, 1 / (1 + clip)), -clip)


def channel_outlier_groups(sizes: Float[np.ndarray, " k"], beyond: float = 1.0) -> list[int]:
    """How many of the largest eigenvalues of linearised message passing form the groups to use.

    ``sizes`` are alpha times the eigenvalues of M -> E[G M G]; the bulk has radius sqrt(largest),
    and outliers exceed ``beyond`` times that. Symmetry makes some equal, which samples split: those
    within a fifth of a group's largest belong to it. Counts are cumulative.

    >>> channel_outlier_groups(np.array([-3.2, 0.1, 3.1, 3.2]))
    [2]
    >>> channel_outlier_groups(np.array([2.2, 4.0]))
    [1, 2]
    """
    falling = np.sort(sizes)[::-1]
    outside = falling[falling > beyond * np.sqrt(max(falling[0], 1.0))]
    counts = [0]
    while counts[-1] < len(outside):
        counts.append(int(np.sum(outside >= _EQUAL * outside[counts[-1]])))
    return counts[1:]


def given_channel_weights(
    preprocessing: str, y: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """T(y) of a user's expression in y."""
    from giantstep.language.activations.activation import activation

    try:
        weights = activation(re.sub(r"\by\b", "z", preprocessing)).numpy(y)
    except SettingsError as error:
        raise SettingsError(
            f"preprocessing = {preprocessing[:60]!r} cannot be read: use optimal, or an expression "
            f"in y such as tanh(y) or 1 - exp(-y) ({error})"
        ) from None
    weights = np.broadcast_to(np.asarray(weights, dtype=float), y.shape)
    if not np.isfinite(weights).all():
        raise SettingsError(f"preprocessing = {preprocessing!r} is not finite on these labels")
    return weights
