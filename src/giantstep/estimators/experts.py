"""The experts of the stack: fitted together on some rows, then asked for any rows.

``ridge`` is linear; ``network-t`` a random network after t updates of its metric; ``index-r`` a
function of r learned directions; ``axes`` a function of a few columns; ``kernel-t`` a Laplace
kernel in the metric of ``network-t``, for the first and the last t.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple, Protocol

import numpy as np
from jaxtyping import Float

from giantstep.estimators.axes import AXIS_WEIGHTS, AxisModel, fit_axes
from giantstep.estimators.fixed_ridge import FixedRidge
from giantstep.estimators.gauss_newton import IndexModel
from giantstep.estimators.index_path import index_path
from giantstep.estimators.laplace import LaplaceKernel, fit_laplace
from giantstep.estimators.random_network import (
    RandomNetwork,
    draw_layer,
    fit_network,
    layer_features,
    metric_of,
)
from giantstep.estimators.ridge import Fit, Scaled
from giantstep.estimators.tridiagonal import Tridiagonal

#: Predictions stay within the range of the labels, widened by this share on both sides.
MARGIN = 0.1


class Expert(Protocol):
    """Anything fitted that predicts."""

    def predict(self, inputs: np.ndarray, /) -> np.ndarray:
        """Values at these rows."""


class Sizes(NamedTuple):
    """How large the experts are."""

    directions: int
    neurons: int
    width: int
    updates: int
    kernel: bool


class Experts(NamedTuple):
    """The fitted experts by name, the range of the labels, and chance levels of the index path."""

    models: dict[str, Expert]
    low: float
    high: float
    chances: dict[int, tuple[float, ...]] | None = None

    def predict(
        self, inputs: Float[np.ndarray, "n d"], asked: Collection[str] | None = None
    ) -> dict[str, Float[np.ndarray, " n"]]:
        """What each expert (each of those ``asked``) says.

        All but the linear one stay near the range of the labels.
        """
        return {
            name: model.predict(inputs) if name == "ridge" else self._within(model.predict(inputs))
            for name, model in self.models.items()
            if asked is None or name in asked
        }

    def _within(self, values: np.ndarray) -> np.ndarray:
        margin = MARGIN * (self.high - self.low)
        return np.clip(values, self.low - margin, self.high + margin)

    @property
    def path(self) -> list[IndexModel]:
        """The index models, one for each number of directions."""
        return [model for model in self.models.values() if isinstance(model, IndexModel)]

    @property
    def networks(self) -> list[RandomNetwork]:
        """The random networks, one for each metric."""
        return [model for model in self.models.values() if isinstance(model, RandomNetwork)]

    @property
    def kernels(self) -> dict[str, LaplaceKernel]:
        """The kernel regressions by name."""
        return {name: m for name, m in self.models.items() if isinstance(m, LaplaceKernel)}


class FixedFeatures(NamedTuple):
    """What does not look at the labels: the linear fit and the first random network."""

    linear: tuple[FixedRidge, Fit]
    network: tuple[FixedRidge, RandomNetwork]

    @classmethod
    def of(
        cls, inputs: np.ndarray, labels: np.ndarray, width: int, generator: np.random.Generator
    ) -> FixedFeatures:
        """Fit both on these rows."""
        layer = draw_layer(inputs, np.eye(inputs.shape[1]), width, generator)
        linear = _at_best_ridge(inputs, labels)
        solver, fit = _at_best_ridge(layer_features(inputs, *layer), labels)
        return cls(linear, (solver, RandomNetwork(*layer, fit)))

    def without(self, block: np.ndarray, labels: np.ndarray) -> tuple[Fit, RandomNetwork]:
        """Both fits without a block of rows, at the same ridges."""
        network = self.network[1]._replace(fit=self.network[0].without(block, labels))
        return self.linear[0].without(block, labels), network


def _at_best_ridge(features: np.ndarray, labels: np.ndarray) -> tuple[FixedRidge, Fit]:
    scaled = Scaled.of(features)
    gram = scaled.gram()
    fit = Tridiagonal.of(scaled, gram.copy()).fit(labels)
    return FixedRidge.of(scaled, fit.ridge, gram), fit


def fit_experts(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    sizes: Sizes,
    generator: np.random.Generator,
    fixed: tuple[Fit, RandomNetwork],
    like: Experts | None = None,
) -> Experts:
    """All experts on these rows; ``fixed`` are the two whose features ignore the labels.

    ``like`` are experts of nearly the same rows: random networks take their ridges from there,
    kernels their bandwidths and ridges, index models their largest number and the moments of
    chance, the axis model the weight of its units. Features, metrics, directions and columns are
    always learned from these rows alone.
    """
    linear, network = fixed
    models: dict[str, Expert] = {"ridge": linear, "network-0": network}
    metrics = [np.eye(inputs.shape[1])]
    for update in range(1, sizes.updates + 1):
        metrics.append(metric_of(network.average_gradient(inputs)))
        layer = draw_layer(inputs, metrics[-1], sizes.width, generator)
        ridge = None if like is None else like.networks[update].fit.ridge_per_row
        network = fit_network(inputs, labels, layer, ridge)
        models[f"network-{update}"] = network
    steepest = np.linalg.eigh(network.average_gradient(inputs))[1][:, -1:]
    chances = {} if like is None else dict(like.chances or {})
    path = index_path(
        inputs,
        labels,
        most=sizes.directions if like is None else len(like.path),
        units=sizes.neurons,
        generator=generator,
        extra=steepest,
        chances=chances,
        pairs=True,
    )
    models |= {f"index-{rank}": model for rank, model in enumerate(path, 1)}
    known = None if like is None else like.models.get("axes")
    weights = (known.weight,) if isinstance(known, AxisModel) else AXIS_WEIGHTS
    axes = fit_axes(inputs, labels, generator, weights)
    if axes is not None:
        models["axes"] = axes
    if sizes.kernel:
        level = None
        for update in _kernel_updates(sizes):
            choice = None if like is None else like.kernels[f"kernel-{update}"].choice
            kernel = fit_laplace(inputs, labels, metrics[update], start=level, choice=choice)
            models[f"kernel-{update}"], level = kernel, kernel.choice.level
    return Experts(models, float(labels.min()), float(labels.max()), chances)


def names(sizes: Sizes) -> Iterator[str]:
    """Every expert that these sizes may give, in the order of the stack."""
    yield "ridge"
    yield from (f"network-{update}" for update in range(sizes.updates + 1))
    yield from (f"index-{rank}" for rank in range(1, sizes.directions + 1))
    yield "axes"
    if sizes.kernel:
        yield from (f"kernel-{update}" for update in _kernel_updates(sizes))


def _kernel_updates(sizes: Sizes) -> list[int]:
    """Updates of the metric after which a kernel is fitted: none, and all."""
    return sorted({0, sizes.updates})


def columns(
    predictions: dict[str, np.ndarray], sizes: Sizes, rows: int
) -> Float[np.ndarray, "n experts"]:
    """Predictions in the order of the stack.

    A path that ended early repeats its last model; an expert that found nothing predicts the mean.
    """
    found = []
    last = np.zeros(rows)
    for name in names(sizes):
        if name.startswith("index-"):
            last = predictions.get(name, last)
            found.append(last)
        else:
            found.append(predictions.get(name, np.zeros(rows)))
    return np.column_stack(found)
