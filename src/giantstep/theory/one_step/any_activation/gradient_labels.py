"""The labels that drive the step: their law, and what each says of the target's directions."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.numerics.compressed_rule import compressed_rule
from giantstep.numerics.grids import GaussianGrid, hermite_grid
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.targets import Target
from giantstep.targets.integration import (
    MAX_AXES,
    MAX_SMOOTH_AXES,
    Block,
    block_of,
    integrable,
    panel_grid,
)

#: Panels (length, nodes) on each axis of h by number of axes, and Gauss-Hermite nodes beyond
#: three; gathered into rules of so many nodes a panel of y. The coarse ones measure the error.
FINE_PANELS, COARSE_PANELS = (
    {1: (0.5, 16), 2: (1.67, 16), 3: (3.34, 12)},
    {1: (1.0, 12), 2: (3.34, 16), 3: (3.34, 8)},
)
FINE_HERMITE, COARSE_HERMITE = {4: 24, 5: 14}, {4: 16, 5: 10}
FINE_ORDER, COARSE_ORDER = 8, 5
#: Gauss-Hermite nodes for the label noise.
NOISE_ORDER = 20


class GradientLabels(NamedTuple):
    """A few values y_i of the label with their weights, and moments of h on them.

    ``first`` E[h; y_i] and ``second`` E[h h^T; y_i] carry the weights: their sums over i are E[h]
    and E[h h^T].
    """

    values: Float[np.ndarray, " labels"]
    weights: Float[np.ndarray, " labels"]
    first: Float[np.ndarray, "r labels"]
    second: Float[np.ndarray, "r r labels"]

    def moment(self, power: int) -> float:
        """E[y^power]."""
        return float(self.weights @ self.values**power)

    def shifted(self, constant: float) -> GradientLabels:
        """The residuals y - constant of a network that starts from a constant output."""
        return self._replace(values=self.values - constant)


def gradient_labels(
    target: Target, noise: float, frame: Float[np.ndarray, "r r"], *, coarse: bool = False
) -> GradientLabels:
    r"""The law of the labels of the gradient batch, as a rule with a few dozen nodes.

    .. math:: E[F(y)],\quad E[h\,F(y)],\quad E[hh^T F(y)], \qquad
        y = g(h) + \sqrt\Delta\,\xi,

    for smooth F: the integrals over h are done on a fine grid split at the target's kinks, and
    the grid's points are then gathered into Gauss rules on panels of y.

    Symbols: g ``target``, Delta ``noise``; h in the coordinates of ``frame`` (orthonormal rows).

    Assumes: at most five variables, three where the target has kinks.
    Status: theorem.
    References: Golub, Welsch 1969, for the Gauss rule of a discrete measure.

    >>> labels = gradient_labels(Target("h1 + He2(h1)/sqrt(2)"), 0.1, np.eye(1))
    >>> round(labels.moment(2), 9), round(float(labels.first[0] @ labels.values), 9)
    (2.1, 1.0)
    """
    nodes, measures = _noiseless(target, coarse)
    if noise > 0:
        shifts, masses = gauss_hermite(NOISE_ORDER)
        spread = (nodes[:, None] + noise**0.5 * shifts).ravel()
        joint = (measures[:, :, None] * masses).reshape(len(measures), -1)
        nodes, measures = compressed_rule(spread, joint, COARSE_ORDER if coarse else FINE_ORDER)
    rank = target.rank
    second = measures[1 + rank :].reshape(rank, rank, -1)
    return GradientLabels(
        values=nodes,
        weights=measures[0],
        first=frame @ measures[1 : 1 + rank],
        second=np.einsum("ai,ijn,bj->abn", frame, second, frame),
    )


@functools.lru_cache(maxsize=64)
def _noiseless(target: Target, coarse: bool) -> tuple[np.ndarray, np.ndarray]:
    """Nodes for g(h), and the weights of 1, h and h h^T on them."""
    block, rank = block_of(target), target.rank
    if not integrable(block):
        raise NoTheory(
            f"target has {len(block.names)} variables: the labels of the step are integrated for "
            f"at most {MAX_SMOOTH_AXES}, or {MAX_AXES} where the target has kinks"
        )
    grid = _grid(block, coarse)
    masses = grid.masses().ravel()
    seen = masses > 1e-18
    points = grid.points().reshape(len(masses), -1)[seen]
    h = points[:, :rank].T
    squares = (h[:, None] * h[None, :]).reshape(rank**2, -1)
    measures = np.concatenate([np.ones_like(h[:1]), h, squares]) * masses[seen]
    return compressed_rule(block(points), measures, COARSE_ORDER if coarse else FINE_ORDER)


def _grid(block: Block, coarse: bool) -> GaussianGrid:
    axes = len(block.names)
    if axes > MAX_AXES:
        return hermite_grid(axes, (COARSE_HERMITE if coarse else FINE_HERMITE)[axes])
    return panel_grid(block, *(COARSE_PANELS if coarse else FINE_PANELS)[axes])
