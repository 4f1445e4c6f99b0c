"""A weighted sum over very many points of a line, rewritten as one over a few dozen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

#: Panels of this length in arcsinh(y / scale): short where the mass is, growing with y beyond.
PANEL_LENGTH = 0.5
#: Panels of less mass than this get two nodes.
NEGLIGIBLE = 1e-9


class CompressedRule(NamedTuple):
    """Nodes, and for each measure its weights on them."""

    nodes: Float[np.ndarray, " nodes"]
    weights: Float[np.ndarray, "measures nodes"]


def compressed_rule(
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
    >>> rule = compressed_rule(z, measures)
    >>> smooth = lambda y: (1 + y) / (1 + y**2)
    >>> gap = rule.weights @ smooth(rule.nodes) - measures @ smooth(z)
    >>> bool(np.max(np.abs(gap)) < 1e-8), len(rule.nodes) < 90
    (True, True)
    """
    total = float(masses[0].sum())
    scale = float(np.sqrt(masses[0] @ points**2 / total)) or 1.0
    panel = np.floor(np.arcsinh(points / scale) / PANEL_LENGTH).astype(int)
    nodes, weights = [], []
    for at in np.unique(panel):
        here = masses[:, panel == at]
        enough = order if here[0].sum() > NEGLIGIBLE * total else 2
        found = _gauss(points[panel == at], here, enough)
        nodes.append(found[0])
        weights.append(found[1])
    return CompressedRule(np.concatenate(nodes), np.concatenate(weights, axis=1))


def _gauss(points: np.ndarray, masses: np.ndarray, order: int) -> tuple[np.ndarray, np.ndarray]:
    """The Gauss rule of a discrete measure on one panel, by Stieltjes' recurrence."""
    low, high = float(np.min(points)), float(np.max(points))
    centre, half = (low + high) / 2, (high - low) / 2
    if half <= 1e-12 * max(1.0, abs(centre)):
        return np.array([centre]), masses.sum(axis=1, keepdims=True)
    x, mass = (points - centre) / half, masses[0] / masses[0].sum()
    diagonal: list[float] = []
    off_diagonal: list[float] = []
    polynomials = [np.ones_like(x)]
    while True:
        current = polynomials[-1]
        diagonal.append(float(mass @ (x * current**2)))
        following = (x - diagonal[-1]) * current
        if off_diagonal:
            following -= off_diagonal[-1] * polynomials[-2]
        norm = float(np.sqrt(mass @ following**2))
        # A measure on few points has no more polynomials: its rule is then those points.
        if len(diagonal) == order or norm < 1e-7:
            break
        off_diagonal.append(norm)
        polynomials.append(following / norm)
    jacobi = np.diag(diagonal) + np.diag(off_diagonal, 1) + np.diag(off_diagonal, -1)
    nodes, vectors = np.linalg.eigh(jacobi)
    # Entry k of an eigenvector over entry 0 is polynomial k at that node; entry 0 squared, its
    # weight.
    coefficients = masses @ np.array(polynomials).T
    return centre + half * nodes, coefficients @ (vectors * vectors[0])
