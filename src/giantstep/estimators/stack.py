"""Experts weighted by how well they predict rows that they have not seen."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.optimize import nnls

from giantstep.estimators.experts import (
    Experts,
    FixedFeatures,
    StackSizes,
    expert_columns,
    expert_names,
    fit_experts,
    weights_without_fold,
)
from giantstep.estimators.index_model import IndexModel
from giantstep.estimators.index_path import path_with_found_directions
from giantstep.estimators.tails import LabelScale, TailScaler
from giantstep.numerics.ridge.scaled import Roots

#: The weights are a priori those of the best expert alone, to within this standard deviation.
LOOSE = 0.5
#: Standard errors by which the best expert must be better than the linear one to be that.
CLEARLY_BETTER = 2.0
#: Draws of the rows, with replacement, over which weights are averaged.
DRAWS = 20
#: Numbers that are sorted at a time for intervals.
INTERVAL_NUMBERS = 2_000_000


class Stack(NamedTuple):
    """Experts with their weights; what is missing to 1 goes to the mean."""

    experts: Experts
    weights: Float[np.ndarray, " experts"]
    sizes: StackSizes

    def predict(self, inputs: Float[np.ndarray, "n d"]) -> Float[np.ndarray, " n"]:
        """The weighted sum, asking only the experts that have a weight."""
        weighted = zip(expert_names(self.sizes), self.weights, strict=True)
        asked = {name for name, weight in weighted if weight > 0}
        asked.add(f"index-{len(self.experts.path)}")
        table = expert_columns(self.experts.predict(inputs, asked), self.sizes, len(inputs))
        return table @ self.weights


class CrossFitted(NamedTuple):
    """A stack of all rows, one without each fold, and what these say of the rows left out.

    ``held_out`` are the experts' predictions on the scale of ``scale``; ``errors`` those of the
    stacks, in units of the label. The weights for a fold come from the other folds: weights fitted
    to the very predictions that they are scored on promise too much.
    """

    whole: Stack
    folds: list[Stack]
    fold_of: Int[np.ndarray, " n"]
    held_out: Float[np.ndarray, "n experts"]
    errors: Float[np.ndarray, " n"]
    scale: LabelScale

    def interval(
        self, inputs: Float[np.ndarray, "m d"], coverage: float
    ) -> Float[np.ndarray, "m 2"]:
        """Bounds that hold a new label with this probability: cross-conformal ones."""
        # The n + 1 gaps between errors are equally likely for a new one.
        count = len(self.errors)
        rank = int(np.floor((count + 1) * (1 - coverage) / 2))
        if rank < 1:
            return np.tile([-np.inf, np.inf], (len(inputs), 1))
        means = np.stack([self.scale.invert(stack.predict(inputs)) for stack in self.folds])
        found = np.empty((len(inputs), 2))
        size = max(1, INTERVAL_NUMBERS // count)
        for start in range(0, len(inputs), size):
            part = slice(start, start + size)
            values = np.sort(means[self.fold_of, part] + self.errors[:, None], axis=0)
            found[part] = values[[rank - 1, count - rank]].T
        return found


def fit_stack(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    scale: LabelScale,
    scaler: TailScaler,
    sizes: StackSizes,
    folds: int,
    generator: np.random.Generator,
    tell: Callable[[float], None],
    roots: Roots = 1.0,
) -> CrossFitted:
    """Fit the whole procedure to all rows, and to the rows without each fold in turn.

    ``roots`` are those of the weights of rows.
    """
    values = scale.apply(labels)
    rows = np.arange(len(labels))
    fixed = FixedFeatures.of(inputs, values, sizes, generator, roots)
    blocks = shuffled_folds(len(labels), folds, generator)
    seeds = generator.spawn(len(blocks) + 1)
    held_out = np.zeros((len(labels), len(list(expert_names(sizes)))))
    whole = fit_experts(inputs, values, sizes, seeds[0], fixed.whole, scaler, None, roots)
    parts = []
    for number, (block, seed) in enumerate(zip(blocks, seeds[1:], strict=True), 1):
        rest = np.setdiff1d(rows, block)
        experts = fit_experts(
            inputs[rest],
            values[rest],
            sizes,
            seed,
            fixed.without(block),
            scaler,
            whole,
            weights_without_fold(roots, block),
        )
        # A column that is constant without the block says nothing about the block.
        constant = np.all(inputs[rest] == inputs[rest[0]], axis=0)
        left = np.where(constant, inputs[rest[0]], inputs[block])
        held_out[block] = expert_columns(experts.predict(left), sizes, len(block))
        parts.append(experts)
        tell((number + 1) / (len(blocks) + 1))
    found = min((experts.path for experts in parts), key=_least_score)
    path = path_with_found_directions(
        whole.path, found, inputs, values, units=sizes.neurons, generator=seeds[0], roots=roots
    )
    whole = whole.with_path(path)
    stacks, fold_of, predictions = [], np.zeros(len(labels), dtype=int), np.zeros(len(labels))
    for number, (block, experts) in enumerate(zip(blocks, parts, strict=True)):
        rest = np.setdiff1d(rows, block)
        weights = _steady_weights(held_out[rest], values[rest], weights_without_fold(roots, block))
        stacks.append(Stack(experts, weights, sizes))
        fold_of[block] = number
        predictions[block] = held_out[block] @ stacks[-1].weights
    return CrossFitted(
        Stack(whole, _steady_weights(held_out, values, roots), sizes),
        stacks,
        fold_of,
        held_out,
        labels - scale.invert(predictions),
        scale,
    )


def _least_score(path: list[IndexModel]) -> float:
    return min((model.score for model in path), default=np.inf)


def stack_error_from_part(
    fitted: CrossFitted,
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    part: Int[np.ndarray, " m"],
    rest: Int[np.ndarray, " k"],
    sizes: StackSizes,
    scaler: TailScaler,
) -> float:
    """The mean squared error on the rest of the rows, of a stack whose experts know a part.

    Weights for one half of the rest come from the other one, which spares the folds.
    """
    generator = np.random.default_rng(len(part))
    values = fitted.scale.apply(labels)
    fixed = FixedFeatures.of(inputs[part], values[part], sizes, generator).whole
    before = fitted.whole.experts
    experts = fit_experts(inputs[part], values[part], sizes, generator, fixed, scaler, before)
    said = expert_columns(experts.predict(inputs[rest]), sizes, len(rest))
    errors = []
    for half in (slice(0, None, 2), slice(1, None, 2)):
        other = np.delete(np.arange(len(rest)), half)
        weights = _steady_weights(said[other], values[rest[other]])
        errors.append(labels[rest[half]] - fitted.scale.invert(said[half] @ weights))
    return float(np.mean(np.concatenate(errors) ** 2))


def stack_simplex_weights(
    predictions: Float[np.ndarray, "n experts"], labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " experts"]:
    r"""Weights w of least squared error with :math:`w \ge 0`, :math:`\sum w \le 1`.

    Labels and predictions are centred on the mean predictor, which takes the rest of the weight.
    Scaling unconstrained weights down to a sum of one is not the same: an expert with tiny
    predictions would take a huge weight and drown the others.

    >>> x = np.arange(6.0) - 2.5
    >>> stack_simplex_weights(np.column_stack([x, -x]), x).round(6).tolist()
    [1.0, 0.0]
    """
    free = nnls(predictions, labels)[0]
    if free.sum() <= 1:
        return free
    # On the face sum w = 1 the last weight is one minus the others; a heavy row imposes it.
    heavy = 1e4 * max(float(np.linalg.norm(predictions)), float(np.linalg.norm(labels)), 1e-300)
    stacked = np.vstack([predictions, np.full(predictions.shape[1], heavy)])
    bound = nnls(stacked, np.append(labels, heavy))[0]
    return bound / bound.sum()


def _steady_weights(
    predictions: Float[np.ndarray, "n experts"],
    labels: Float[np.ndarray, " n"],
    roots: Roots = 1.0,
) -> Float[np.ndarray, " experts"]:
    """The mean over draws of the rows of simplex weights that are drawn towards one expert.

    A dozen weights are too many for a hundred rows, and a few of these decide: other draws of them
    give other weights, whose mean is steadier than each.

    >>> x = np.arange(6.0) - 2.5
    >>> _steady_weights(np.column_stack([x, -x]), x).round(6).tolist()
    [1.0, 0.0]
    """
    weights = np.broadcast_to(roots, labels.shape)[:, None]
    predictions, labels = weights * predictions, roots * labels
    draws = np.random.default_rng(0).integers(len(labels), size=(DRAWS, len(labels)))
    return np.mean([_pulled_weights(predictions[rows], labels[rows]) for rows in draws], axis=0)


def _pulled_weights(
    predictions: Float[np.ndarray, "n experts"], labels: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " experts"]:
    """Simplex weights drawn towards the best expert alone, or towards the first, the linear one.

    The best of a dozen experts is often the luckiest: it must be clearly better than the linear
    one.
    """
    sizes = np.abs(predictions - labels[:, None])
    errors = np.mean(sizes**2, axis=0)
    best = int(np.argmin(errors))
    # Differences of squares would be those of the few largest labels.
    gains = sizes[:, 0] - sizes[:, best]
    if gains.mean() < CLEARLY_BETTER * gains.std() / np.sqrt(len(labels)):
        best = 0
    pull = float(np.sqrt(errors[best])) / LOOSE * np.eye(len(errors))
    return stack_simplex_weights(np.vstack([predictions, pull]), np.append(labels, pull[best]))


def held_out_score(
    errors: Float[np.ndarray, " n"], labels: Float[np.ndarray, " n"], roots: Roots = 1.0
) -> tuple[float, float]:
    r"""R^2 of held-out predictions, and its standard error by the delta method.

    The ratio of means :math:`\overline{e^2}/\overline{t^2}` moves by
    :math:`(e_i^2 - (1 - R^2)\,t_i^2)/(n\,\overline{t^2})` with each row.

    >>> x = np.arange(6.0) - 2.5
    >>> held_out_score(np.zeros(6), x)
    (1.0, 0.0)
    """
    mean = np.mean(roots**2 * labels)
    squares, around = (roots * errors) ** 2, (roots * (labels - mean)) ** 2
    power = float(around.mean()) or 1.0
    lost = float(squares.mean()) / power
    spread = float(np.std((squares - lost * around) / power))
    return 1 - lost, spread / len(labels) ** 0.5


def squared_slopes_by_column(
    predict: Callable[[np.ndarray], np.ndarray], rows: Float[np.ndarray, "n d"]
) -> Float[np.ndarray, " d"]:
    """Mean squared change of a prediction along each column, by symmetric differences."""
    squares = np.empty(rows.shape[1])
    for column in range(rows.shape[1]):
        high, low = rows.copy(), rows.copy()
        high[:, column] += 0.1
        low[:, column] -= 0.1
        squares[column] = np.mean((predict(high) - predict(low)) ** 2)
    return squares


def shuffled_folds(
    rows: int, folds: int, generator: np.random.Generator
) -> list[Int[np.ndarray, " rows"]]:
    """Row numbers of each fold, sizes equal to within one."""
    order = generator.permutation(rows)
    return [np.sort(part) for part in np.array_split(order, min(folds, rows))]
