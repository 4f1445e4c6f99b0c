"""Standard normals given the law of the inputs: x in place, and the h that the target reads."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.inputs.laws import Hypercube, Inputs, Sphere, Spiked


def special_directions(law: Inputs, rank: int, dim: int) -> int:
    """How many of the first axes the law treats unlike the others: the target's, and the spike's.

    >>> special_directions(Spiked(4), 2, 50), special_directions(Spiked(4, 0.5), 2, 50)
    (2, 3)
    """
    if not isinstance(law, Spiked) or law.is_aligned:
        return rank
    if dim <= rank:
        raise SettingsError(
            f"inputs = {law}: a spike beside the target's {rank} directions needs a dimension "
            f"above {rank}, and dim = {dim}"
        )
    return rank + 1


def place(
    law: Inputs, normals: Float[np.ndarray, "... columns"], rank: int, dim: int
) -> Float[np.ndarray, "... r"]:
    r"""Turn standard normals into inputs x, in place, and return what the target reads of them.

    The target's directions are the first ``rank`` axes. With a spike
    :math:`x = z + (\sqrt{1+\theta} - 1)\langle\mu, z\rangle\mu`,
    :math:`\mu = c\,e_1 + \sqrt{1-c^2}\,e_{r+1}`, and :math:`h_1 = x_1/\sqrt{1 + \theta c^2}`.
    Columns beyond the special ones may stand for any directions of a Gaussian law.
    """
    x = normals
    if isinstance(law, Sphere):
        x *= np.sqrt(dim, dtype=x.dtype) / np.linalg.norm(x, axis=-1, keepdims=True)
    if isinstance(law, Hypercube):
        own, other = law.scales(dim)
        latent = np.where(x[..., :rank] < 0, -1.0, 1.0).astype(x.dtype)
        np.copysign(np.asarray(other, x.dtype), x, out=x)
        x[..., :rank] *= np.asarray(own / other, x.dtype)
        return latent
    latent = x[..., :rank]
    if isinstance(law, Spiked):
        _spike(law, x, rank, dim)
        latent = latent.copy()
        latent[..., 0] /= np.asarray(np.sqrt(law.target_variance(dim)), x.dtype)
    return latent


def _spike(law: Spiked, x: np.ndarray, rank: int, dim: int) -> None:
    theta, cosine = law.numbers(dim)
    gain = np.sqrt(1 + theta) - 1
    if special_directions(law, rank, dim) == rank:
        x[..., 0] *= np.asarray(1 + gain, x.dtype)
        return
    sine = np.sqrt(1 - cosine**2)
    along = gain * (cosine * x[..., 0] + sine * x[..., rank])
    x[..., 0] += cosine * along
    x[..., rank] += sine * along
