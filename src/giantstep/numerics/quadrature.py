"""Rules for Gaussian integrals: Gauss-Hermite, and Gauss-Legendre panels split at kinks."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.errors import GiantstepError

#: Beyond 9 standard deviations the Gaussian weighs 2e-19: below float64's resolution.
CUTOFF = 9.0
#: Panels of at most this length with 16 nodes integrate degree-8 Hermite moments to 1e-14.
PANEL_LENGTH = 3.0
PANEL_ORDER = 16


@dataclass(frozen=True, eq=False)
class Rule:
    """Nodes and weights such that ``weights @ f(nodes)`` approximates E[f(h)], h ~ N(0, I_r)."""

    nodes: Float[np.ndarray, "points r"]
    weights: Float[np.ndarray, " points"]
    method: str

    def expectation(self, values: Float[np.ndarray, "... points"]) -> Float[np.ndarray, " ..."]:
        """E[f], the values of f at the nodes running along the last axis."""
        return np.asarray(values @ self.weights)


@functools.lru_cache(maxsize=64)
def _gauss_hermite(order: int) -> tuple[np.ndarray, np.ndarray]:
    from scipy.linalg import eigh_tridiagonal

    if order < 1:
        raise GiantstepError(f"quadrature order must be at least 1, got {order}")
    nodes, vectors = eigh_tridiagonal(np.zeros(order), np.sqrt(np.arange(1.0, order)))
    weights = vectors[0] ** 2
    # The rule is symmetric; eigh is only nearly so.
    nodes = (nodes - nodes[::-1]) / 2
    weights = (weights + weights[::-1]) / 2
    weights /= weights.sum()
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def gauss_hermite(order: int) -> tuple[Float[np.ndarray, " order"], Float[np.ndarray, " order"]]:
    """Nodes and weights for E[f(z)], z ~ N(0,1), exact for polynomials below degree 2*order.

    By Golub and Welsch (eigenvalues of the Jacobi matrix, off-diagonal sqrt(k)):
    ``numpy.polynomial.hermite_e.hermegauss`` returns NaN from order 380 on.

    >>> nodes, weights = gauss_hermite(500)
    >>> round(float(weights @ nodes**4), 10)
    3.0
    """
    return _gauss_hermite(int(order))


def split_gaussian(
    kinks: Sequence[float] = (),
    panel_order: int = PANEL_ORDER,
    cutoff: float = CUTOFF,
    panel_length: float = PANEL_LENGTH,
) -> tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]:
    """Composite Gauss-Legendre for E[f(z)], with panel edges at the kinks and jumps of f.

    >>> nodes, weights = split_gaussian(kinks=[0.0])
    >>> round(float(weights @ abs(nodes)), 12) == round((2 / np.pi) ** 0.5, 12)
    True
    """
    inside = sorted({float(k) for k in kinks if -cutoff < k < cutoff})
    corners = [-cutoff, *inside, cutoff]
    edges = [
        np.linspace(low, high, math.ceil((high - low) / panel_length) + 1)[:-1]
        for low, high in itertools.pairwise(corners)
    ]
    left = np.concatenate([*edges, [cutoff]])
    unit, mass = np.polynomial.legendre.leggauss(panel_order)
    half = np.diff(left)[:, None] / 2
    nodes = (left[:-1, None] + half * (unit + 1)).ravel()
    weights = (half * mass).ravel() * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return nodes, weights / weights.sum()


def tensor_rule(
    axes: Sequence[tuple[np.ndarray, np.ndarray]], method: str = "tensor product"
) -> Rule:
    """The product rule on R^r from one (nodes, weights) pair for each axis."""
    grids = np.meshgrid(*[nodes for nodes, _ in axes], indexing="ij")
    masses = np.meshgrid(*[weights for _, weights in axes], indexing="ij")
    nodes = np.stack([g.ravel() for g in grids], axis=1)
    weights = np.prod(np.stack([m.ravel() for m in masses]), axis=0)
    return Rule(nodes, weights, method)
