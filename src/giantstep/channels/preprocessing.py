"""What single labels tell about the directions: the weights of spectral methods."""

from __future__ import annotations

import functools
import re
from typing import Any

import jax
import numpy as np
from jaxtyping import Float

from giantstep.channels.channel import Channel, Likelihood, posteriors
from giantstep.channels.committees.core import Committees
from giantstep.errors import SettingsError
from giantstep.numerics.float64 import in_float64
from giantstep.settings.spectral import Spectral

#: Labels that a basis must separate to be believed.
_DRAWN = 128
#: Outliers whose ratio is above this are taken for equal.
_EQUAL = 0.8
#: A direction with less than this share of the outliers' length is not shown by them.
EMPTY = 0.05


def blocks_basis(channel: Channel, settings: Spectral) -> Float[np.ndarray, "r r"] | None:
    """The rotation in which each direction has a matrix of its own; None: linearised."""
    if settings.method == "linearised":
        return None
    basis = separating_basis(channel)
    if basis is None and (settings.method == "blocks" or settings.preprocessing != "optimal"):
        raise SettingsError(
            f"method = 'blocks': no rotation separates the directions of "
            f"{channel.structure.target.text!r}; use method linearised with the optimal "
            f"preprocessing"
        )
    return basis


@functools.lru_cache(maxsize=128)
def separating_basis(channel: Channel) -> Float[np.ndarray, "r r"] | None:
    """Orthonormal rows in which G(y) is diagonal for every label; None if there are none.

    The directions themselves where they will do. A basis that separates all labels separates
    those that were drawn, whichever they are, so that no average over labels is needed.
    """
    y = _drawn_labels(channel)
    curvatures = label_curvatures(channel, y)
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
    return target.numpy(h, z) + np.sqrt(channel.noise) * random.normal(size=_DRAWN)


@in_float64
def label_curvatures(channel: Channel, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, "n r r"]:
    """G(y) = E[h h^T | y] - I for every label, when nothing else is known."""
    rank, core = channel.rank, channel.likelihood.core
    nothing = np.zeros((len(y), rank))
    if isinstance(core, Committees):
        mean, hessian = core.posteriors(channel.labels(y), nothing, np.eye(rank))
        return hessian + mean[:, :, None] * mean[:, None, :]
    return np.asarray(_curvatures(channel.likelihood, channel.labels(y), nothing, np.eye(rank)))


@functools.partial(jax.jit, static_argnums=0)
def _curvatures(likelihood: Likelihood, labels: Any, omega: Any, cov: Any) -> Any:
    found = posteriors(likelihood, labels, omega, cov)
    return found.hessian + found.gradient[:, :, None] * found.gradient[:, None, :]


def optimal_weights(curvature: Float[np.ndarray, " n"], clip: float) -> Float[np.ndarray, " n"]:
    """T = 1 - 1/E[h^2|y] = G/(1 + G), cut off below at -clip."""
    return np.maximum(1 - 1 / np.maximum(1 + curvature, 1 / (1 + clip)), -clip)


def outlier_groups(sizes: Float[np.ndarray, " k"], beyond: float = 1.0) -> list[int]:
    """How many of the largest eigenvalues of linearised message passing form the groups to use.

    ``sizes`` are alpha times the eigenvalues of M -> E[G M G]; the bulk has radius sqrt(largest),
    and outliers exceed ``beyond`` times that. Symmetry makes some equal, which samples split: those
    within a fifth of a group's largest belong to it. Counts are cumulative.

    >>> outlier_groups(np.array([-3.2, 0.1, 3.1, 3.2]))
    [2]
    >>> outlier_groups(np.array([2.2, 4.0]))
    [1, 2]
    """
    falling = np.sort(sizes)[::-1]
    outside = falling[falling > beyond * np.sqrt(max(falling[0], 1.0))]
    counts = [0]
    while counts[-1] < len(outside):
        counts.append(int(np.sum(outside >= _EQUAL * outside[counts[-1]])))
    return counts[1:]


def given_weights(preprocessing: str, y: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """T(y) of a user's expression in y."""
    from giantstep.activations.activation import activation

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
