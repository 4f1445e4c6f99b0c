"""Where to cut labels into cells: finely where their law is rich, exactly where it is singular."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

#: A critical or constant value on this share of the lines is a singular point of the law of y.
SHARED = 0.02
MAX_SINGULAR = 8
GOLDEN = (math.sqrt(5) - 1) / 2
#: With this variance of steps the sum of p_b Var_b over cells b is smallest for a function that is
#: linear in Phi^-1(rank).
SPREAD = 3.0
#: Edges crowd geometrically towards singular points.
GRADES = 0.5 ** np.arange(2, 26)


def label_edges(
    at: Float[np.ndarray, "lines nodes"],
    values: Float[np.ndarray, "lines nodes"],
    weights: Float[np.ndarray, " lines"],
    cells: int,
) -> Float[np.ndarray, " edges"]:
    """Edges of about ``cells`` cells of y = g, given g at positions along lines with weights.

    What a label tells depends on its rank only, not on the scale it is written in, so cells are
    chosen by rank: they are as likely as equal steps of a Gaussian of variance ``SPREAD`` are
    under a standard one, few and likely in the middle, many and rare in the tails. Atoms get a
    cell of their own; values at which g turns or breaks off on many lines get an edge, and smaller
    and smaller cells around it.
    """
    from scipy.special import ndtr, ndtri

    mass = (weights[:, None] * np.diff(ndtr(at), axis=1)).ravel()
    # Another place in the cells of each line: on lines that are alike, labels are not to coincide.
    place = (np.arange(len(values)) * GOLDEN % 1)[:, None]
    labels = (values[:, :-1] + place * np.diff(values, axis=1)).ravel()
    order = np.argsort(labels)
    labels, share = labels[order], np.cumsum(mass[order])
    share /= share[-1]
    ranks = ndtr(math.sqrt(SPREAD) * ndtri(np.arange(1, cells) / cells))
    edges = np.unique(np.interp(ranks, share, labels))
    singular, atoms = _singular_values(at, values, weights), _atoms(at, values, weights)
    if len(edges) < 2:
        return _around(atoms if len(atoms) else edges)
    inside = singular[(singular > edges[0]) & (singular < edges[-1])]
    scale = np.quantile(edges, 0.75) - np.quantile(edges, 0.25)
    graded = (inside[:, None] + scale * np.concatenate([-GRADES, [0.0], GRADES])).ravel()
    edges = np.unique(np.concatenate([edges, graded]))
    for atom in atoms:
        edges = edges[np.abs(edges - atom) > 1e-8 * (1 + abs(atom))]
    return np.unique(np.concatenate([edges, _around(atoms)]))


def _around(atoms: np.ndarray) -> np.ndarray:
    gap = 1e-9 * (1 + np.abs(atoms))
    return np.unique(np.concatenate([atoms - gap, atoms + gap]))


def _atoms(at: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Values that g takes on stretches of many lines."""
    line, cell = np.nonzero((np.diff(values, axis=1) == 0) & (np.diff(at, axis=1) > 1e-6))
    pairs = np.unique(np.stack([np.round(values[line, cell], 10), line], axis=1), axis=0)
    distinct, which = np.unique(pairs[:, 0], return_inverse=True)
    total = np.bincount(which, weights[pairs[:, 1].astype(int)], minlength=len(distinct))
    return distinct[total > SHARED * weights.sum()]


def _singular_values(at: np.ndarray, values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    step, length = np.diff(values, axis=1), np.diff(at, axis=1)
    line, node = np.nonzero((step[:, 1:] * step[:, :-1] < 0) & (length[:, 1:] > 1e-6))
    left, here, right = values[line, node], values[line, node + 1], values[line, node + 2]
    even = np.abs(length[line, node + 1] / length[line, node] - 1) < 0.1
    with np.errstate(divide="ignore", invalid="ignore"):
        vertex = here - (right - left) ** 2 / (8 * (left - 2 * here + right))
    turning = np.where(even & np.isfinite(vertex), vertex, here)
    jump_line, jump = np.nonzero(length < 1e-6)
    sides = [values[jump_line, jump], values[jump_line, jump + 1]]
    found = np.concatenate([turning, *sides])
    weight = weights[np.concatenate([line, jump_line, jump_line])]
    unit = 1e-6 * (np.quantile(values, 0.9) - np.quantile(values, 0.1)) + 1e-300
    _, which = np.unique(np.round(found / unit), return_inverse=True)
    total = np.bincount(which, weights=weight)
    mean = np.bincount(which, weights=weight * found) / np.maximum(total, 1e-300)
    strongest = np.argsort(-total)[:MAX_SINGULAR]
    return mean[strongest][total[strongest] > SHARED * weights.sum()]
