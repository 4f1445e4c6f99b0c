"""Gaussian integrals: Gauss-Hermite, panels split at kinks, compressed rules, Sobol points."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import GiantstepError

NodesAndWeights = tuple[Float[np.ndarray, " points"], Float[np.ndarray, " points"]]
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

    def expectation(self, values: Float[np.ndarray, "... points"]) -> Float[np.ndarray, " ..."]:
        """E[f], the values of f at the nodes running along the last axis."""
        return np.asarray(values @ self.weights)

    def without_rare(self, least: float) -> Rule:
        """The nodes that weigh more than this, their weights adding up to 1."""
        kept = self.weights > least
        return Rule(self.nodes[kept], self.weights[kept] / self.weights[kept].sum())


@functools.lru_cache(maxsize=64)
def _gauss_hermite(order: int) -> NodesAndWeights:
    from scipy.special import roots_hermitenorm

    if order < 1:
        raise GiantstepError(f"quadrature order must be at least 1, got {order}")
    nodes, weights = roots_hermitenorm(order)
    weights /= weights.sum()
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def gauss_hermite(order: int) -> NodesAndWeights:
    """Nodes and weights for E[f(z)], z ~ N(0,1), exact for polynomials below degree 2*order.

    SciPy's: ``numpy.polynomial.hermite_e.hermegauss`` returns NaN from order 380 on.

    >>> nodes, weights = gauss_hermite(500)
    >>> round(float(weights @ nodes**4), 10)
    3.0
    """
    return _gauss_hermite(int(order))


@functools.lru_cache(maxsize=64)
def gauss_legendre(order: int) -> NodesAndWeights:
    """Gauss-Legendre nodes on [-1, 1] and their weights, of sum 2.

    >>> nodes, weights = gauss_legendre(4)
    >>> round(float(weights @ nodes**6), 12) == round(2 / 7, 12)
    True
    """
    from scipy.special import roots_legendre

    # numpy's work grows with the third power of the order.
    rule = np.polynomial.legendre.leggauss if order <= 100 else roots_legendre
    nodes, weights = rule(order)
    nodes.setflags(write=False)
    weights.setflags(write=False)
    return nodes, weights


def legendre_panels(
    edges: Float[np.ndarray, "... edges"], order: int, square_roots: bool = False
) -> tuple[Float[np.ndarray, "... nodes"], Float[np.ndarray, "... nodes"]]:
    """Gauss-Legendre nodes between neighbouring edges, with the lengths that they stand for.

    With ``square_roots``, in the variable t of h = edge + length (1 - cos t)/2, which makes
    square-root behaviour at the edges smooth.

    >>> nodes, lengths = legendre_panels(np.array([0.0, 1.0, 3.0]), 4)
    >>> round(float(lengths @ nodes**2), 12)
    9.0
    """
    unit, mass = gauss_legendre(order)
    if square_roots:
        angle = np.pi * (unit + 1) / 2
        unit, mass = -np.cos(angle), (np.pi / 2) * mass * np.sin(angle)
    half = np.diff(edges)[..., None] / 2
    nodes, shape = edges[..., :-1, None] + half * (unit + 1), (*edges.shape[:-1], -1)
    return nodes.reshape(shape), (half * mass).reshape(shape)


def panels_at_cuts(
    cuts: Float[np.ndarray, "... cuts"], order: int, panels: int, cutoff: float = CUTOFF
) -> tuple[Float[np.ndarray, "... nodes"], Float[np.ndarray, "... nodes"]]:
    """Gauss-Legendre nodes and lengths on even panels that every row of cuts divides further.

    >>> nodes, lengths = panels_at_cuts(np.array([[0.3], [20.0]]), 2, 3)
    >>> nodes.shape, lengths.sum(axis=1).tolist(), lengths[1, -1].item()
    ((2, 8), [18.0, 18.0], 0.0)
    """
    even = np.linspace(-cutoff, cutoff, panels + 1)
    even = np.broadcast_to(even, (*cuts.shape[:-1], panels + 1))
    edges = np.concatenate([even, np.clip(cuts, -cutoff, cutoff)], axis=-1)
    return legendre_panels(np.sort(edges, axis=-1), order)


def split_gaussian(
    kinks: Sequence[float] = (),
    panel_order: int = PANEL_ORDER,
    cutoff: float = CUTOFF,
    panel_length: float = PANEL_LENGTH,
) -> NodesAndWeights:
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
    nodes, lengths = legendre_panels(np.concatenate([*edges, [cutoff]]), panel_order)
    weights = lengths * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)
    return nodes, weights / weights.sum()


def tensor_rule(axes: Sequence[tuple[np.ndarray, np.ndarray]]) -> Rule:
    """The product rule on R^r from nodes and weights for each axis; one point for none."""
    nodes, weights = np.zeros((1, 0)), np.ones(1)
    for places, masses in axes:
        grown = np.repeat(nodes, len(places), axis=0)
        nodes = np.column_stack([grown, np.tile(places, len(nodes))])
        weights = np.outer(weights, masses).ravel()
    return Rule(nodes, weights)


#: Panels of this length in arcsinh(y / scale): short where the mass is, growing with y beyond.
COMPRESSED_PANEL = 0.5
#: Panels of less mass than this get two nodes.
NEGLIGIBLE = 1e-9


class CompressedRule(NamedTuple):
    """Nodes, and for each measure its weights on them."""

    nodes: Float[np.ndarray, " nodes"]
    weights: Float[np.ndarray, "measures nodes"]


def compressed_nodes(
    points: Float[np.ndarray, " points"],
    masses: Float[np.ndarray, "measures points"],
    order: int = 8,
) -> CompressedRule:
    """Few nodes that integrate smooth functions against several measures on the same points.

    The first measure must be positive. On each panel the nodes are those of its Gauss rule, exact
    for polynomials below degree ``2*order``; the other measures, of any sign, get the weights
    that integrate polynomials below degree ``order`` exactly.

    >>> z = np.linspace(-8, 8, 4001)
    >>> density = np.exp(-z**2 / 2)
    >>> measures = np.stack([density, z * density]) / density.sum()
    >>> rule = compressed_nodes(z, measures)
    >>> smooth = lambda y: (1 + y) / (1 + y**2)
    >>> gap = rule.weights @ smooth(rule.nodes) - measures @ smooth(z)
    >>> bool(np.max(np.abs(gap)) < 1e-8), len(rule.nodes) < 90
    (True, True)
    """
    total = float(masses[0].sum())
    scale = float(np.sqrt(masses[0] @ points**2 / total)) or 1.0
    panel = np.floor(np.arcsinh(points / scale) / COMPRESSED_PANEL).astype(int)
    nodes, weights = [], []
    for at in np.unique(panel):
        here = masses[:, panel == at]
        enough = order if here[0].sum() > NEGLIGIBLE * total else 2
        found = _gauss(points[panel == at], here, enough)
        nodes.append(found[0])
        weights.append(found[1])
    return CompressedRule(np.concatenate(nodes), np.concatenate(weights, axis=1))


def _gauss(points: np.ndarray, masses: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss rule of a discrete measure on one panel, from its orthonormal polynomials."""
    low, high = float(np.min(points)), float(np.max(points))
    centre, half = (low + high) / 2, (high - low) / 2
    if half <= 1e-12 * max(1.0, abs(centre)):
        return np.array([centre]), masses.sum(axis=1, keepdims=True)
    x, mass = (points - centre) / half, masses[0] / masses[0].sum()
    powers = np.polynomial.legendre.legvander(x, order - 1)
    _, triangle = np.linalg.qr(np.sqrt(mass)[:, None] * powers)
    # A measure on few points has no more polynomials: its rule is then those points.
    count = int(np.logical_and.accumulate(np.abs(np.diag(triangle)) > 1e-7).sum())
    polynomials = np.linalg.solve(triangle[:count, :count].T, powers[:, :count].T)
    nodes, vectors = np.linalg.eigh(polynomials * (mass * x) @ polynomials.T)
    # Entry k of an eigenvector over entry 0 is polynomial k at that node over the first one, which
    # is 1 or -1; entry 0 squared, its weight.
    coefficients = masses @ polynomials.T * polynomials[0, 0]
    return centre + half * nodes, coefficients @ (vectors * vectors[0])


#: Sobol numbers closer to 0 or 1 than this would become infinite normals.
EDGE = 1e-12
#: Axes for which direction numbers are tabulated.
MOST_AXES = 21_201


def normal_points(
    count: int, axes: int, rng: np.random.Generator
) -> Float[np.ndarray, "count axes"]:
    """Scrambled Sobol points as standard normals; a power of two of them keeps the balance.

    >>> points = normal_points(1024, 3, np.random.default_rng(0))
    >>> bool(np.all(np.abs(points.T @ points / 1024 - np.eye(3)) < 0.02))
    True
    """
    from scipy.special import ndtri
    from scipy.stats import qmc

    uniform = qmc.Sobol(axes, scramble=True, rng=rng).random(count)
    return ndtri(np.clip(uniform, EDGE, 1 - EDGE))


def antithetic_points(
    count: int, axes: int, rng: np.random.Generator
) -> Float[np.ndarray, "count axes"]:
    """Sobol normals and their negatives, which removes the sampling noise of odd moments.

    >>> points = antithetic_points(8, 2, np.random.default_rng(0))
    >>> bool(np.all(points[:4] == -points[4:]))
    True
    """
    half = normal_points(count // 2, axes, rng)
    return np.concatenate([half, -half])
