"""A fit whose every number is a sum over chunks of rows.

The experts are the linear fit, one random network and the index path. A fifth of the rows is held
out to count directions and to weigh experts; readouts are then fitted to all rows, along the same
directions.
"""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.experts import Expert, Experts, StackSizes
from giantstep.estimators.index_model import (
    IndexModel,
    Link,
    draw_link_units,
    uncorrelated_directions,
)
from giantstep.estimators.index_path import GAIN
from giantstep.estimators.moments import Whitening
from giantstep.estimators.random_network import LINEAR_WEIGHT, RandomNetwork, draw_expert_layer
from giantstep.estimators.stack import stack_simplex_weights
from giantstep.estimators.streaming import passes
from giantstep.estimators.streaming.passes import Scales
from giantstep.estimators.streaming.rows import Rows
from giantstep.estimators.streaming.search import streamed_candidates
from giantstep.estimators.tails import TailScaler, column_deviation, column_fences
from giantstep.numerics.ridge.large import ridge_on_krylov_space
from giantstep.numerics.ridge.path import NormalEquations

#: Rows kept in memory: for quantiles of residuals, pictures and importances.
SAMPLE = 2000
#: Giant steps after a direction was added, and the share by which the held-out error must fall for
#: another one.
STEPS, WORTH = 3, 0.002
#: Most products in the solution of one step, and the share of the right side that may be left.
PRODUCTS, TOLERANCE = 8, 0.05


class Streamed(NamedTuple):
    """The fitted stack: scales, experts, weights, held-out R^2, and a sample of scaled rows."""

    scales: Scales
    experts: Experts
    weights: Float[np.ndarray, " experts"]
    score: float
    sample: tuple[Float[np.ndarray, "m d"], Float[np.ndarray, " m"]]


def fit_streamed(
    rows: Rows, sizes: StackSizes, clip: float, generator: np.random.Generator
) -> Streamed:
    """Fit the stack by passes over the rows."""
    scales, sample, low, high = _scales(rows, clip)
    layer = draw_expert_layer(sample[0], np.eye(rows.shape[1]), sizes.width, generator)
    *sums, fourth = rows.total(
        partial(passes.streamed_network_sums, scales=scales, layer=layer)
    ).sums
    half = len(sums) // 2
    learn, rest = NormalEquations(*sums[:half]), NormalEquations(*sums[half:])
    spectrum = StreamedSpectrum.of(learn, rest, rows.shape[1], float(fourth))
    path = _Fitter(rows, scales, sizes, sample, spectrum, generator).path()
    models = _fixed_experts(learn, layer)
    models |= {f"index-{rank}": trial.model for rank, trial in enumerate(path, 1)}
    work = partial(
        passes.streamed_expert_products,
        scales=scales,
        experts=Experts(models, low, high),
        sizes=sizes,
    )
    (products,) = rows.total(work).sums
    weights, score = _weigh(products)
    models = _fixed_experts(learn.and_also(rest), layer)
    models |= {f"index-{rank}": trial.fitted_to_all() for rank, trial in enumerate(path, 1)}
    return Streamed(scales, Experts(models, low, high), weights, score, sample)


def _fixed_experts(
    sums: NormalEquations, layer: tuple[np.ndarray, np.ndarray]
) -> dict[str, Expert]:
    """The linear fit and the random network, whose sums hold those of the linear fit."""
    width, columns = layer[0].shape
    linear = sums.part(slice(width, None)).fit()
    slope = LINEAR_WEIGHT / np.sqrt(columns)
    return {
        "ridge": linear._replace(coefficients=slope * linear.coefficients),
        "network-0": RandomNetwork(*layer, sums.fit()),
    }


class StreamedSpectrum(NamedTuple):
    """Covariances of the inputs, roots of that of the learned rows, and the labels' variance."""

    whole: Float[np.ndarray, "d d"]
    learned: Float[np.ndarray, "d d"]
    whitening: Whitening
    variance: float

    @classmethod
    def of(
        cls, learn: NormalEquations, rest: NormalEquations, columns: int, fourth: float
    ) -> StreamedSpectrum:
        """From the linear part of a network's sums, and the sum of fourth powers of lengths."""
        number = float(learn.number)
        scale = columns / LINEAR_WEIGHT**2
        one, other = (scale * sums.products[-columns:, -columns:] for sums in (learn, rest))
        learned = one / max(number, 1.0)
        share = _shrinkage(learned, fourth / max(number, 1.0), number)
        whole = (one + other) / (number + float(rest.number))
        roots = Whitening.from_covariance(learned, share)
        return cls(whole, learned, roots, float(rest.squares) / max(float(rest.number), 1.0))


def _shrinkage(covariance: Float[np.ndarray, "d d"], fourth: float, rows: float) -> float:
    """Ledoit and Wolf's share of the identity, for inputs of zero mean.

    ``fourth`` is the mean of the fourth power of a row's length.

    >>> from sklearn.covariance import ledoit_wolf_shrinkage
    >>> X = np.random.default_rng(0).standard_normal((40, 7)) * np.arange(1, 8)
    >>> fourth = float(np.mean(np.sum(X**2, axis=1) ** 2))
    >>> found = _shrinkage(X.T @ X / 40, fourth, 40)
    >>> bool(np.isclose(found, ledoit_wolf_shrinkage(X, assume_centered=True)))
    True
    """
    columns = len(covariance)
    if columns == 1:
        return 0.0
    size = float(np.sum(covariance**2))
    spread = size - float(np.trace(covariance)) ** 2 / columns
    chance = min((fourth - size) / rows, spread)
    return chance / spread if chance > 0 else 0.0


class _Trial(NamedTuple):
    """An index model fitted to the learned rows, its held-out error, and the sums of its link."""

    model: IndexModel
    error: float
    learn: NormalEquations
    rest: NormalEquations

    def fitted_to_all(self) -> IndexModel:
        """The same directions and units, with a readout of all rows."""
        link = self.model.link._replace(fit=self.learn.and_also(self.rest).fit())
        return self.model._replace(link=link)


class _Fitter(NamedTuple):
    """What the passes of the index path share."""

    rows: Rows
    scales: Scales
    sizes: StackSizes
    sample: tuple[np.ndarray, np.ndarray]
    spectrum: StreamedSpectrum
    generator: np.random.Generator

    def path(self) -> list[_Trial]:
        """Index models of 1, 2, ... directions, as long as each lowers the held-out error."""
        path: list[_Trial] = []
        before = self.spectrum.variance
        while len(path) < self.sizes.directions:
            present = path[-1].model if path else None
            found = streamed_candidates(
                self.rows,
                self.scales,
                present,
                self.sample,
                self.spectrum.learned,
                self.spectrum.whitening,
                self.generator,
            )
            if not found:
                break
            known = np.zeros((self.rows.shape[1], 0)) if present is None else present.directions
            spans = [np.column_stack([known, vector]) for vector in found]
            # Half of the units tell which candidate is the best one.
            trials = self.trials(spans, max(self.sizes.neurons // 2, 1))
            best = self._polished(min(trials, key=lambda one: one.error))
            new = best.model.directions.shape[1] > known.shape[1]
            if not new or not best.error < (1 - GAIN) * before:
                break
            path.append(best)
            before = best.error
        return path

    def trials(self, spans: list[np.ndarray], count: int) -> list[_Trial]:
        """The link of ``count`` units along each of these sets of directions."""
        whole = self.spectrum.whole
        scaled = [uncorrelated_directions(span, span.T @ whole @ span) for span in spans]
        units = [draw_link_units(s.shape[1], count, self.generator) for s in scaled]
        work = partial(passes.streamed_link_sums, scales=self.scales, trials=scaled, units=units)
        found = self.rows.total(work)
        size = len(NormalEquations._fields)
        sums = [
            NormalEquations(*found.sums[start : start + size])
            for start in range(0, len(found.sums), size)
        ]
        result = []
        for number, (directions, (rows, knots)) in enumerate(zip(scaled, units, strict=True)):
            learn, rest = sums[2 * number : 2 * number + 2]
            fit = learn.fit()
            high, low = found.most[2 * number], -found.most[2 * number + 1]
            link = Link(rows, knots, fit, low, high)
            model = IndexModel(directions, link, fit.freedom, fit.score, fit.residuals)
            result.append(_Trial(model, rest.error(fit), learn, rest))
        return result

    def _polished(self, trial: _Trial) -> _Trial:
        """The best model met in a few Gauss-Newton giant steps."""
        for _ in range(STEPS):
            (moved,) = self.trials([self._moved(trial.model)], self.sizes.neurons)
            gain = 1 - moved.error / trial.error if trial.error > 0 else 0.0
            if not gain > 0:
                break
            trial = moved
            if gain < WORTH:
                break
        return trial

    def _moved(self, model: IndexModel) -> np.ndarray:
        """The directions after one giant step.

        Solved for the move from the present directions, in coordinates in which J^T J would be
        the identity if gradients and inputs were independent: a few products are then enough.
        """
        work = partial(passes.streamed_jacobian_start, scales=self.scales, model=model)
        count, residual, total, moment, metric = self.rows.total(work).sums
        mean = total / count
        values, vectors = np.linalg.eigh(metric / count)
        values = np.maximum(values, 1e-6 * max(values[-1], 1e-300))
        left, right = (vectors / np.sqrt(values)) @ vectors.T, self.spectrum.whitening.inverse_root

        def times(vector: np.ndarray) -> np.ndarray:
            shaped = left @ vector.reshape(mean.shape) @ right
            product = partial(
                passes.streamed_jacobian_product, scales=self.scales, model=model, vector=shaped
            )
            (image,) = self.rows.total(product).sums
            image = image / count - mean * float(np.sum(mean * shaped))
            return (left @ image @ right).ravel()

        slope = left @ ((moment - mean * residual) / count) @ right
        move = ridge_on_krylov_space(times, slope.ravel(), PRODUCTS, TOLERANCE)
        return model.directions + (left @ move.reshape(mean.shape) @ right).T


def _scales(rows: Rows, clip: float) -> tuple[Scales, tuple[np.ndarray, np.ndarray], float, float]:
    """Scales of inputs and labels, a sample of scaled rows, and the range of the scaled labels."""
    columns = rows.shape[1]
    low, high = np.full(columns, -np.inf), np.full(columns, np.inf)
    # Sums of squares lose digits unless they are taken near the mean: a first pass gives it.
    shift, label_shift = np.zeros(columns), 0.0
    for number in range(2):
        work = partial(
            passes.streamed_raw_moments, low=low, high=high, shift=shift, label_shift=label_shift
        )
        found = rows.total(work)
        count, total, squares, label, label_squares, wrong = found.sums
        for name, entries in zip("Xy", wrong, strict=True):
            if entries:
                raise ValueError(f"{name} contains NaN or infinity ({int(entries)} entries)")
        mean, label_mean = total / count, float(label / count)
        deviation = np.sqrt(np.maximum(squares / count - mean**2, 0.0))
        spread = float(np.sqrt(max(label_squares / count - label_mean**2, 0.0))) or 1.0
        mean, label_mean = mean + shift, label_mean + label_shift
        shift, label_shift = mean, label_mean
        if number == 0:
            share = min(1.0, SAMPLE / rows.shape[0])
            some = rows.total(partial(passes.some_streamed_rows, share=share)).joined
            low, high = column_fences(some[0])
            shift = np.clip(shift, low, high)
    deviation = column_deviation(mean, deviation)
    plain = TailScaler(low, high, mean, deviation, clip, np.zeros(columns), np.ones(columns))
    total, squares = rows.total(partial(passes.streamed_compressed_moments, scaler=plain)).sums
    after = total / count
    deviation_after = np.sqrt(np.maximum(squares / count - after**2, 0.0))
    scaler = plain._replace(
        mean_after=after, deviation_after=column_deviation(after, deviation_after)
    )
    most, least = float(found.most[0]), -float(found.most[1])
    scales = Scales(scaler, label_mean, spread)
    sample = scales.apply(some[0], some[1])
    return scales, sample, (least - label_mean) / spread, (most - label_mean) / spread


def _weigh(products: Float[np.ndarray, "k k"]) -> tuple[Float[np.ndarray, " experts"], float]:
    """Weights of the experts and their R^2, from products of predictions and labels."""
    values, vectors = np.linalg.eigh(products)
    root = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
    weights = stack_simplex_weights(root[:, :-1], root[:, -1])
    errors = root[:, -1] - root[:, :-1] @ weights
    return weights, 1 - float(errors @ errors) / (float(products[-1, -1]) or 1.0)
