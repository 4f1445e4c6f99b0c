"""A fit whose every number is a sum over chunks of rows.

The experts are the linear fit, one random network and the index path. A fifth of the rows is held
out to weigh them; links and the network are then fitted to all rows, along the same directions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.experts import Expert, Experts, Sizes
from giantstep.estimators.gauss_newton import PATIENCE, IndexModel
from giantstep.estimators.index_path import GAIN
from giantstep.estimators.link import Link, draw_units
from giantstep.estimators.random_network import RandomNetwork, draw_layer
from giantstep.estimators.ridge import Fit
from giantstep.estimators.stack import simplex_weights
from giantstep.estimators.streaming import passes
from giantstep.estimators.streaming.krylov import ridge_on_krylov_space
from giantstep.estimators.streaming.normal_equations import NormalEquations
from giantstep.estimators.streaming.passes import AroundModel, Linear, Scales
from giantstep.estimators.streaming.rows import Rows
from giantstep.estimators.streaming.search import candidates
from giantstep.estimators.tails import TailScaler, safe_deviation

#: Rows kept in memory: for quantiles of residuals, pictures and importances.
SAMPLE = 2000
#: Giant steps after a direction was added, and passes of each.
STEPS, PRODUCTS = 3, 10


class Streamed(NamedTuple):
    """The fitted stack: scales, experts, weights, held-out R^2, and a sample of scaled rows."""

    scales: Scales
    experts: Experts
    weights: Float[np.ndarray, " experts"]
    score: float
    sample: tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]


def fit_streamed(rows: Rows, sizes: Sizes, clip: float, generator: np.random.Generator) -> Streamed:
    """Fit the stack by passes over the rows."""
    scales, low, high = _scales(rows, clip)
    share = min(1.0, SAMPLE / rows.shape[0])
    sample: tuple[np.ndarray, np.ndarray] = rows.total(
        partial(passes.some_rows, scales=scales, share=share)
    ).joined  # type: ignore[assignment]
    fitter = _Fitter(rows, scales, sizes, sample, generator)
    layer = draw_layer(sample[0], np.eye(rows.shape[1]), sizes.width, generator)
    sums = rows.total(partial(passes.network_sums, scales=scales, layer=layer)).sums
    half = len(sums) // 2
    learn, rest = NormalEquations(*sums[:half]), NormalEquations(*sums[half:])
    models: dict[str, Expert] = {
        "ridge": fitter.linear(),
        "network-0": RandomNetwork(*layer, learn.fit()),
    }
    path = fitter.path()
    models |= {f"index-{rank}": model for rank, model in enumerate(path, 1)}
    experts = Experts(models, low, high)
    work = partial(passes.expert_products, scales=scales, experts=experts, sizes=sizes)
    (products,) = rows.total(work).sums
    weights, score = _weigh(products)
    both = NormalEquations(*(a + b for a, b in zip(learn, rest, strict=True)))
    models["network-0"] = RandomNetwork(*layer, both.fit())
    for rank, model in enumerate(fitter.models([m.directions for m in path], everything=True), 1):
        models[f"index-{rank}"] = model
    return Streamed(scales, Experts(models, low, high), weights, score, sample)


class _Fitter(NamedTuple):
    """What the passes of a fit share."""

    rows: Rows
    scales: Scales
    sizes: Sizes
    sample: tuple[np.ndarray, np.ndarray]
    generator: np.random.Generator

    def linear(self) -> Fit:
        """The linear fit with an intercept."""
        solution, centre, mean = self._solve(Linear(self.rows.shape[1]))
        coefficients = solution[0]
        intercept = mean - float(centre[0] @ coefficients)
        return Fit(coefficients, intercept, np.nan, np.nan, np.zeros(0), np.nan)

    def path(self) -> list[IndexModel]:
        """Index models of 1, 2, ... directions, as long as each lowers the GCV score."""
        path: list[IndexModel] = []
        before = 1.0
        while len(path) < self.sizes.directions:
            present = path[-1] if path else None
            found = candidates(self.rows, self.scales, present, self.sample, self.generator)
            if not found:
                break
            known = np.zeros((self.rows.shape[1], 0)) if present is None else present.directions
            trials = self.models([np.column_stack([known, vector]) for vector in found])
            model = self._polished(min(trials, key=lambda one: one.score))
            if model.directions.shape[1] <= known.shape[1] or not model.score < (1 - GAIN) * before:
                break
            path.append(model)
            before = model.score
        return path

    def models(
        self, trials: list[np.ndarray], *, everything: bool = False, spent: float = 0.0
    ) -> list[IndexModel]:
        """The link along each of these sets of directions."""
        if not trials:
            return []
        work = partial(passes.index_grams, scales=self.scales, directions=np.hstack(trials))
        (gram,) = self.rows.total(work).sums
        scaled, start = [], 0
        for directions in trials:
            part = slice(start, start + directions.shape[1])
            start = part.stop
            values, vectors = np.linalg.eigh(gram[part, part] / self.rows.shape[0])
            kept = values > 1e-10 * max(values[-1], 1e-300)
            turn = vectors[:, kept] / np.sqrt(values[kept])
            scaled.append(directions @ (turn @ vectors.T if kept.all() else turn))
        units = [draw_units(s.shape[1], self.sizes.neurons, self.generator) for s in scaled]
        found = self.rows.total(
            partial(
                passes.link_sums,
                scales=self.scales,
                trials=scaled,
                units=units,
                everything=everything,
            )
        )
        size = len(NormalEquations._fields)
        result = []
        for number, (directions, (rows, knots)) in enumerate(zip(scaled, units, strict=True)):
            sums = NormalEquations(*found.sums[number * size : (number + 1) * size])
            fit = sums.fit(spent=spent)
            high, low = found.most[2 * number], -found.most[2 * number + 1]
            link = Link(rows, knots, fit, low, high)
            result.append(IndexModel(directions, link, fit.freedom, fit.score, fit.residuals))
        return result

    def _polished(self, model: IndexModel) -> IndexModel:
        """The best model met in a few Gauss-Newton giant steps."""
        best = model
        for _ in range(STEPS):
            moved = self._solve(AroundModel(model))[0].T
            if not np.any(moved):
                break
            (model,) = self.models([moved], spent=float(min(moved.size, PRODUCTS)))
            if model.score < best.score:
                best = model
            elif model.score > PATIENCE * best.score:
                break
        return best

    def _solve(self, around: Linear | AroundModel) -> tuple[np.ndarray, np.ndarray, float]:
        """Coefficients of the working response on J, the mean of J, and that of the response."""
        work = partial(passes.jacobian_start, scales=self.scales, around=around)
        count, response, total, moment = self.rows.total(work).sums
        mean = total / count

        def times(vector: np.ndarray) -> np.ndarray:
            shaped = vector.reshape(mean.shape)
            product = partial(
                passes.jacobian_product, scales=self.scales, around=around, vector=shaped
            )
            (image,) = self.rows.total(product).sums
            return (image / count - mean * float(np.sum(mean * shaped))).ravel()

        right = (moment - mean * response) / count
        solution = ridge_on_krylov_space(times, right.ravel(), PRODUCTS)
        return solution.reshape(mean.shape), mean, float(response / count)


def _scales(rows: Rows, clip: float) -> tuple[Scales, float, float]:
    """Scales of inputs and labels, and the range of the scaled labels."""
    columns = rows.shape[1]
    # Sums of squares lose digits unless they are taken near the mean: a first pass gives it.
    shift, label_shift = np.zeros(columns), 0.0
    for _ in range(2):
        found = rows.total(partial(passes.raw_moments, shift=shift, label_shift=label_shift))
        count, total, squares, label, label_squares, wrong = found.sums
        for name, number in zip("Xy", wrong, strict=True):
            if number:
                raise ValueError(f"{name} contains NaN or infinity ({int(number)} entries)")
        mean, label_mean = total / count, float(label / count)
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        spread = float(np.sqrt(max(label_squares / count - label_mean**2, 0.0))) or 1.0
        mean, label_mean = mean + shift, label_mean + label_shift
        shift, label_shift = mean, label_mean
    deviation = safe_deviation(mean, deviation)
    work = partial(passes.compressed_moments, mean=mean, deviation=deviation, clip=clip)
    total, squares = rows.total(work).sums
    after = total / count
    deviation_after = np.sqrt(np.maximum(squares / count - after**2, 0.0))
    scaler = TailScaler(mean, deviation, clip, after, safe_deviation(after, deviation_after))
    most, least = float(found.most[0]), -float(found.most[1])
    scales = Scales(scaler, label_mean, spread)
    return scales, (least - label_mean) / spread, (most - label_mean) / spread


def _weigh(products: Float[np.ndarray, "k k"]) -> tuple[Float[np.ndarray, " experts"], float]:
    """Weights of the experts and their R^2, from products of predictions and labels."""
    values, vectors = np.linalg.eigh(products)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    weights = simplex_weights(root[:, :-1], root[:, -1])
    errors = root[:, -1] - root[:, :-1] @ weights
    return weights, 1 - float(errors @ errors) / (float(products[-1, -1]) or 1.0)
