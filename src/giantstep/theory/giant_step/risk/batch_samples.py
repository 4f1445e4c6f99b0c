"""The samples of a gradient batch, as a rule of nodes: labels, and moments of the directions."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.integration import (
    MAX_AXES,
    MAX_SMOOTH_AXES,
    TargetBlock,
    target_block,
    target_grid,
)
from giantstep.numerics.grids import hermite_grid
from giantstep.numerics.quadrature import (
    CompressedRule,
    compressed_nodes,
    gauss_hermite,
    tensor_rule,
)

#: Panels (length, nodes) on each axis of h by number of axes, and Gauss-Hermite nodes beyond
#: three; gathered into rules of so many nodes per panel of y. The coarse ones measure the error.
FINE_PANELS, COARSE_PANELS = (
    {1: (0.5, 16), 2: (1.67, 16), 3: (3.34, 12)},
    {1: (1.0, 12), 2: (3.34, 16), 3: (3.34, 8)},
)
FINE_HERMITE, COARSE_HERMITE = {4: 24, 5: 14}, {4: 16, 5: 10}
FINE_ORDER, COARSE_ORDER = 8, 5
#: Gauss-Hermite nodes for the label noise, at the first step and later.
NOISE_ORDER, LATER_NOISE_ORDER = 20, 5
#: Equidistant nodes on each axis where labels are smooth, by number of axes, and how far they go;
#: panels (length, nodes) where they are not. Steep features get more.
EVEN = {1: 85, 2: 35, 3: 21, 4: 17, 5: 13}
FAR = {1: 6.8, 2: 6.8, 3: 6.8, 4: 5.8, 5: 5.4}
PANELS = {1: (1.5, 10), 2: (2.0, 7), 3: (3.5, 6)}
#: Nodes of less weight than this, relative to the heaviest, are left out.
NEGLIGIBLE = 1e-11
#: Coarse rules have this share of the nodes on an axis. Labels are resolved if that changes their
#: moments by no more than this share of the power; nodes are at most about so much denser.
COARSER, RESOLVED, FINEST = 0.7, 1e-3, 5.0


class BatchSamples(NamedTuple):
    """Nodes of the law of a sample.

    ``labels`` y, noise included, with their ``weights``; ``first`` and ``second`` moments of the
    directions e on each node, which carry the weights; ``projections`` of each kind's mean row.
    """

    labels: Float[np.ndarray, " nodes"]
    weights: Float[np.ndarray, " nodes"]
    first: Float[np.ndarray, "D nodes"]
    second: Float[np.ndarray, "D D nodes"]
    projections: Float[np.ndarray, "k nodes"]

    @classmethod
    def at_start(cls, problem: Problem, kinds: int, *, coarse: bool = False) -> BatchSamples:
        """Before the first step: no sample projects on a row, so that its label is all it has."""
        rule = risk_start_labels(problem.target, problem.noise, coarse=coarse)
        rank, scales = problem.target.rank, input_scales(problem, problem.target.rank)
        return cls(
            rule.nodes,
            rule.weights[0],
            rule.weights[1 : 1 + rank] * scales[:, None],
            rule.weights[1 + rank :].reshape(rank, rank, -1)
            * np.multiply.outer(scales, scales)[..., None],
            np.zeros((kinds, len(rule.nodes))),
        )

    @classmethod
    def later(
        cls,
        problem: Problem,
        means: Float[np.ndarray, "k D"],
        deviations: Float[np.ndarray, " k"],
        *,
        coarse: bool = False,
    ) -> BatchSamples:
        """Once rows have means: coordinates of these in the frame (targets, further directions)."""
        points, labels, weights = risk_input_rule(problem, means, deviations, coarse=coarse)
        if problem.noise > 0:
            shifts, masses = gauss_hermite(LATER_NOISE_ORDER)
            labels = (labels[:, None] + math.sqrt(problem.noise) * shifts).ravel()
            weights = np.outer(weights, masses).ravel()
            points = np.repeat(points, len(shifts), axis=0)
        first = weights * points.T
        return cls(labels, weights, first, first[:, None] * points.T, means @ points.T)


def input_scales(problem: Problem, axes: int) -> Float[np.ndarray, " axes"]:
    """Standard deviations of x along the target's directions and others; a spike lies along h1.

    >>> input_scales(Problem.of("h1*h2", inputs="spiked:3"), 3).tolist()
    [2.0, 1.0, 1.0]
    """
    scales, spike = np.ones(axes), problem.inputs.spike
    if spike is not None:
        scales[0] = math.sqrt(1 + spike.strength.at(1))
    return scales


def risk_input_rule(
    problem: Problem,
    means: Float[np.ndarray, "k D"],
    deviations: Float[np.ndarray, " k"],
    *,
    coarse: bool = False,
) -> tuple[Float[np.ndarray, "nodes D"], Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Points of the inputs' coordinates in the frame, labels g(h) without noise, and weights.

    The first r coordinates are h. Axes on which a feature is steep, relative to its width, have
    more nodes.

    >>> problem = Problem.of("relu(h1)")
    >>> points, labels, weights = risk_input_rule(problem, np.ones((1, 2)), np.ones(1))
    >>> round(float(weights @ labels**2), 6), round(float(weights @ points[:, 1] ** 2), 6)
    (0.5, 1.0)
    """
    target, scales = problem.target, input_scales(problem, means.shape[1])
    block, rank = target_block(target), target.rank
    others = means.shape[1] - rank
    axes = len(block.names) + others
    if axes > max(EVEN) or (not block.smooth and len(block.names) > MAX_AXES):
        raise NoTheory(
            f"{target.rank} directions and {others} more that the neurons have learned are "
            f"{axes} axes: risks are integrated over at most {max(EVEN)}, or {MAX_AXES} of a "
            "target with kinks; use fewer steps or readout values, or a target of fewer directions"
        )
    steepness = np.maximum(1.0, np.max(np.abs(means * scales) / deviations[:, None], axis=0) / 2)
    thin = COARSER if coarse else 1.0
    finer = thin * _risk_node_refinement(target, axes)
    inner, masses = _risk_label_nodes(block, axes, finer * np.minimum(steepness[:rank], 4.0))
    kept = masses > NEGLIGIBLE * masses.max()
    inner, masses = inner[kept], masses[kept]
    extra = np.zeros((len(masses), 0))
    if others:
        more = thin * np.minimum(steepness[rank:], 4.0)
        rule = tensor_rule([_even(EVEN[axes] * float(each), FAR[axes]) for each in more])
        extra = np.tile(rule.nodes, (len(masses), 1))
        inner = np.repeat(inner, len(rule.weights), axis=0)
        masses = np.outer(masses, rule.weights).ravel()
    kept = masses > NEGLIGIBLE * masses.max()
    inner, masses, extra = inner[kept], masses[kept], extra[kept]
    points = np.concatenate([inner[:, :rank], extra], axis=1)
    return points * scales, np.array(block(inner)), masses / masses.sum()


def _risk_label_nodes(
    block: TargetBlock, axes: int, finer: Float[np.ndarray, " r"]
) -> tuple[Float[np.ndarray, "nodes variables"], Float[np.ndarray, " nodes"]]:
    """Nodes on the axes of the target, ``finer`` on each of its directions, and their masses."""
    if block.smooth:
        noises = [float(np.min(finer))] * (len(block.names) - len(finer))
        rule = tensor_rule([_even(EVEN[axes] * each, FAR[axes]) for each in (*finer, *noises)])
        return rule.nodes, rule.weights
    length, order = PANELS[len(block.names)]
    grid = target_grid(block, length / min(float(np.max(finer)), 3.0), order)
    masses = grid.masses().ravel()
    return grid.points().reshape(len(masses), -1), masses


@functools.lru_cache(maxsize=64)
def _risk_node_refinement(target: Target, axes: int) -> float:
    """How much finer the nodes must be for a target that oscillates: where moments settle."""
    block = target_block(target)

    def moments(finer: float) -> np.ndarray:
        nodes, masses = _risk_label_nodes(block, axes, np.full(target.rank, finer))
        labels, shares = block(nodes), masses / masses.sum()
        power = float(shares @ labels**2)
        linear = np.array([shares @ labels, *((shares * labels) @ nodes[:, : target.rank])])
        return np.array([power, *(linear * math.sqrt(power))])

    finer, fewer, found = 1.0, moments(COARSER), moments(1.0)
    while finer < FINEST:
        if np.all(np.abs(found - fewer) <= RESOLVED * found[0]):
            return finer
        finer /= COARSER
        fewer, found = found, moments(finer)
    raise NoTheory(
        f"target = {target.text}: it changes faster than the nodes of its integrals, of {axes} "
        "axes; use simulate, or fewer steps"
    )


def _even(count: float, far: float) -> tuple[np.ndarray, np.ndarray]:
    nodes = np.linspace(-far, far, math.ceil(count))
    weights = np.exp(-(nodes**2) / 2)
    return nodes, weights / weights.sum()


def risk_start_labels(target: Target, noise: float, *, coarse: bool = False) -> CompressedRule:
    r"""The law of the labels of the first batch, as a rule with a few dozen nodes.

    .. math:: E[F(y)],\quad E[h\,F(y)],\quad E[hh^T F(y)], \qquad
        y = g(h) + \sqrt\Delta\,\xi,

    for smooth F: the integrals over h are done on a fine grid split at the target's kinks, and
    the grid's points are then gathered into Gauss rules on panels of y.

    Symbols: g ``target``, Delta ``noise``.

    Assumes: at most five variables; kinks are resolved for at most three.
    Status: theorem.
    References: Golub, Welsch 1969, for the Gauss rule of a discrete measure.

    >>> labels = risk_start_labels(Target("h1 + He2(h1)/sqrt(2)"), 0.1)
    >>> [round(float(weights @ labels.nodes ** 2), 9) for weights in labels.weights[:1]]
    [2.1]
    """
    rule = _noiseless(target, coarse)
    if noise == 0:
        return rule
    shifts, masses = gauss_hermite(NOISE_ORDER)
    spread = (rule.nodes[:, None] + noise**0.5 * shifts).ravel()
    joint = (rule.weights[:, :, None] * masses).reshape(len(rule.weights), -1)
    return compressed_nodes(spread, joint, COARSE_ORDER if coarse else FINE_ORDER)


@functools.lru_cache(maxsize=64)
def _noiseless(target: Target, coarse: bool) -> CompressedRule:
    """Nodes for g(h), and the weights of 1, h and h h^T on them."""
    block, rank = target_block(target), target.rank
    axes = len(block.names)
    if axes > MAX_SMOOTH_AXES:
        raise NoTheory(
            f"target has {axes} variables: the labels of the step are integrated for "
            f"at most {MAX_SMOOTH_AXES}"
        )
    if axes > MAX_AXES:
        grid = hermite_grid(axes, (COARSE_HERMITE if coarse else FINE_HERMITE)[axes])
    else:
        grid = target_grid(block, *(COARSE_PANELS if coarse else FINE_PANELS)[axes])
    masses = grid.masses().ravel()
    seen = masses > 1e-18
    points = grid.points().reshape(len(masses), -1)[seen]
    h = points[:, :rank].T
    squares = (h[:, None] * h[None, :]).reshape(rank**2, -1)
    measures = np.concatenate([np.ones_like(h[:1]), h, squares]) * masses[seen]
    return compressed_nodes(block(points), measures, COARSE_ORDER if coarse else FINE_ORDER)
