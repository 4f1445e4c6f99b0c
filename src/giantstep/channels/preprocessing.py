"""What single labels tell about the directions: the weights of spectral methods."""

from __future__ import annotations

import re

import numpy as np
from jaxtyping import Float

from giantstep.channels.channel import Channel
from giantstep.channels.population import population_of
from giantstep.errors import SettingsError


def separating_basis(channel: Channel) -> Float[np.ndarray, "r r"] | None:
    """Orthonormal rows in which G(y) is diagonal for every label; None if there are none.

    The directions themselves where they will do.
    """
    law = population_of(channel).label_law
    rank = channel.rank
    scale = np.einsum("n,nij->", law.weights, law.curvatures**2)
    mixed = np.einsum("n,nij->ij", law.weights * np.tanh(law.values + 0.3), law.curvatures)
    mixed += np.einsum("n,nij->ij", law.weights * np.cos(2 * law.values), law.curvatures)
    for basis in (np.eye(rank), np.linalg.eigh(mixed)[1].T[::-1]):
        rotated = basis @ law.curvatures @ basis.T
        outside = rotated * (1 - np.eye(rank))
        if np.einsum("n,nij->", law.weights, outside**2) <= 1e-9 * scale:
            signs = np.sign(basis[np.arange(rank), np.abs(basis).argmax(axis=1)])
            return basis * signs[:, None]
    return None


def optimal_weights(curvature: Float[np.ndarray, " n"], clip: float) -> Float[np.ndarray, " n"]:
    """T = 1 - 1/E[h^2|y] = G/(1 + G), cut off below at -clip."""
    return np.maximum(1 - 1 / np.maximum(1 + curvature, 1 / (1 + clip)), -clip)


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
