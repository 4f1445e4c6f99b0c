"""Data that an algorithm reuses at every iteration: inputs, directions and labels, kept whole."""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Float, Shaped

from giantstep.channels import Channel, Likelihood, posteriors
from giantstep.channels.committees.core import Committees
from giantstep.errors import SettingsError
from giantstep.inputs import Gaussian, Sphere, check_covered
from giantstep.numerics.float64 import float64
from giantstep.problem import Problem

#: Labels that are evaluated at a time: a power of two between these, so that few sizes compile.
_FEWEST, _MOST = 512, 4096


class Data(NamedTuple):
    """Inputs x as rows, the true directions as columns of variance one, and the labels."""

    inputs: Shaped[np.ndarray, "n d"]
    truth: Float[np.ndarray, "d r"]
    labels: Float[np.ndarray, " n"]


def draw_data(
    problem: Problem,
    dim: int,
    samples: int,
    noise: float,
    rng: np.random.Generator,
    dtype: str = "float64",
) -> Data:
    """A data set with labels y = g(h) + sqrt(noise) xi, h = W* x."""
    what = "message passing and spectral methods are simulated"
    check_covered(
        problem.inputs,
        (Gaussian, Sphere),
        what,
        SettingsError,
        "their corrections assume input entries that are alike and independent",
    )
    rank, noises = problem.target.rank, problem.target.noises
    if rank > dim:
        raise SettingsError(f"dim = {dim} is below the {rank} directions of the target")
    directions = np.linalg.qr(rng.normal(size=(dim, rank)))[0]
    x = rng.standard_normal((samples, dim), dtype=np.dtype(dtype).type)
    if isinstance(problem.inputs, Sphere):
        x *= (np.sqrt(dim) / np.linalg.norm(x, axis=1, keepdims=True)).astype(dtype)
    # The field that the labels see is the one that products in this precision see.
    h = (x @ directions.astype(dtype)).astype(np.float64)
    y = problem.target.numpy(h, rng.normal(size=(samples, noises)))
    y = y + np.sqrt(noise) * rng.normal(size=samples) if noise > 0 else y
    return Data(x, np.sqrt(dim) * directions, np.asarray(y, dtype=np.float64))


class Posteriors(NamedTuple):
    """g_out = grad log Z and its derivative in omega, for every label."""

    gradient: Float[np.ndarray, "n r"]
    hessian: Float[np.ndarray, "n r r"]


class Labels:
    """Labels as their channel sees them: what each tells about its own field."""

    def __init__(self, channel: Channel, y: Float[np.ndarray, " n"]) -> None:
        self._channel, self._count = channel, len(y)
        self._committee: Committees | None = None
        core = channel.likelihood.core
        if isinstance(core, Committees):
            self._committee, self._labels = core, channel.labels(y)
            return
        size = 2 ** int(np.ceil(np.log2(len(y))))
        self._block = min(max(size, _FEWEST), _MOST)
        self._parts = [
            _padded(channel.labels(y[first : first + self._block]), self._block)
            for first in range(0, len(y), self._block)
        ]

    def posteriors(
        self, omega: Float[np.ndarray, "n r"], cov: Float[np.ndarray, "r r"]
    ) -> Posteriors:
        """What every label says when its field is N(omega, cov)."""
        if self._committee is not None:
            return Posteriors(*self._committee.posteriors(self._labels, omega, cov))
        blocks = np.split(_padded(omega, len(self._parts) * self._block), len(self._parts))
        with float64():
            found = [
                _posteriors(self._channel.likelihood, part, rows, cov)
                for part, rows in zip(self._parts, blocks, strict=True)
            ]
        joined = (np.concatenate(parts)[: self._count] for parts in zip(*found, strict=True))
        return Posteriors(*joined)

    def curvatures(self) -> Float[np.ndarray, "n r r"]:
        """G(y) = E[h h^T | y] - I for every label, when nothing else is known."""
        rank = self._channel.rank
        found = self.posteriors(np.zeros((self._count, rank)), np.eye(rank))
        return found.hessian + found.gradient[:, :, None] * found.gradient[:, None, :]


def _padded(tree: Any, size: int) -> Any:
    """Every array with its last row repeated until there are ``size`` rows."""
    return jax.tree.map(
        lambda rows: np.concatenate([rows, np.repeat(rows[-1:], size - len(rows), axis=0)]), tree
    )


@functools.partial(jax.jit, static_argnums=0)
def _posteriors(
    likelihood: Likelihood, labels: Any, omega: Float[Array, "n r"], cov: Float[Array, "r r"]
) -> tuple[Float[Array, "n r"], Float[Array, "n r r"]]:
    found = posteriors(likelihood, labels, omega, cov)
    return found.gradient, found.hessian
