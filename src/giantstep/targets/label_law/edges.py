"""Where to cut labels into cells: finely where their law is rich, exactly where it is singular."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

#: A critical or constant value on this share of the lines is a singular point of the law of y.
SHARED = 0.02
MAX_SINGULAR = 8
#: Edges crowd geometrically towards singular points and into the tails.
GRADES = 0.5 ** np.arange(2, 26)


def label_edges(
    at: Float[np.ndarray, "lines nodes"],
    values: Float[np.ndarray, "lines nodes"],
    weights: Float[np.ndarray, " lines"],
    cells: int,
) -> Float[np.ndarray, " edges"]:
    """Edges of about ``cells`` cells of y = g, given g at positions along lines with weights.

    With density p, edges spaced like p^(-1/3) make the sum of p_b Var_b smallest for a slowly
    varying function of y. Atoms get a cell of their own; values at which g turns or breaks off on
    many lines get an edge, and smaller and smaller cells around it.
    """
    from scipy.special import ndtr

    mass = (weights[:, None] * np.diff(ndtr(at), axis=1)).ravel()
    middle = ((values[:, 1:] + values[:, :-1]) / 2).ravel()
    order = np.argsort(middle)
    labels, share = middle[order], np.cumsum(mass[order])
    share /= share[-1]
    tails = GRADES[:20] / cells
    quantiles = np.sort(np.concatenate([np.arange(1, 4 * cells) / (4 * cells), tails, 1 - tails]))
    fine = np.unique(np.interp(quantiles, share, labels))
    singular, atoms = _singular_values(at, values, weights), _atoms(at, values, weights)
    if len(fine) < 2:
        return _around(atoms if len(atoms) else fine)
    weight = np.maximum(np.diff(np.interp(fine, labels, share)), 0) ** (1 / 3)
    travelled = np.concatenate([[0.0], np.cumsum(weight * np.diff(fine) ** (2 / 3))])
    edges = np.interp(np.linspace(0, travelled[-1], cells + 1), travelled, fine)
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
