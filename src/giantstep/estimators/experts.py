"""The experts of the stack: fitted together on some rows, then asked for any rows.

``ridge`` is linear; ``network-t`` a random network after t updates of its metric; ``index-r`` a
function of r learned directions; ``axes`` a function of a few columns; ``trees`` extremely
randomised trees; ``kernel-t`` a Laplace kernel in the metric of ``network-t``, for the first and
the last t.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np
from jaxtyping import Float, Int

from giantstep.estimators.axes import fit_axis_model
from giantstep.estimators.index_model import IndexModel
from giantstep.estimators.index_path import fit_index_path, index_path_with_tails
from giantstep.estimators.laplace import LaplaceKernel, fit_laplace
from giantstep.estimators.random_network import (
    RandomNetwork,
    draw_expert_layer,
    expert_layer_features,
    expert_metric,
)
from giantstep.estimators.tails import TailScaler
from giantstep.estimators.trees import fit_random_trees
from giantstep.numerics.ridge.path import PathFit
from giantstep.numerics.ridge.scaled import FixedRidge, Roots, ScaledRidge, Tridiagonal, ridge

#: Predictions stay within the range of the labels, widened by this share on both sides; those of a
#: link, which knows how to go on, by the ratio of the variance that it explains to the rest, up to
#: the second number.
MARGIN, LINK_MARGIN = 0.1, 5.0


class Expert(Protocol):
    """Anything fitted that predicts."""

    def predict(self, inputs: np.ndarray, /) -> np.ndarray:
        """Values at these rows."""


class StackSizes(NamedTuple):
    """How large the experts are."""

    directions: int
    neurons: int
    width: int
    updates: int
    kernel: bool


class Experts(NamedTuple):
    """The fitted experts by name, range and variance of labels, chance levels of the index path."""

    models: dict[str, Expert]
    low: float
    high: float
    chances: dict[int, tuple[float, ...]] | None = None
    variance: float = 1.0

    def predict(
        self, inputs: Float[np.ndarray, "n d"], asked: Collection[str] | None = None
    ) -> dict[str, Float[np.ndarray, " n"]]:
        """What each expert (each of those ``asked``) says.

        All but the linear one stay near the range of the labels.
        """
        found = {}
        for name, model in self.models.items():
            if asked is None or name in asked:
                values = model.predict(inputs)
                share = MARGIN
                if isinstance(model, IndexModel):
                    explained = self.variance / max(model.score, 1e-300) - 1
                    share = float(np.clip(explained, MARGIN, LINK_MARGIN))
                margin = np.inf if name == "ridge" else share * (self.high - self.low)
                found[name] = np.clip(values, self.low - margin, self.high + margin)
        return found

    @property
    def path(self) -> list[IndexModel]:
        """The index models, one for each number of directions."""
        return [model for model in self.models.values() if isinstance(model, IndexModel)]

    def with_path(self, path: list[IndexModel]) -> Experts:
        """The experts with these index models."""
        found: dict[str, Expert] = {f"index-{rank}": model for rank, model in enumerate(path, 1)}
        return self._replace(models=self.models | found)

    @property
    def networks(self) -> list[RandomNetwork]:
        """The random networks, one for each metric."""
        return [model for model in self.models.values() if isinstance(model, RandomNetwork)]


class FixedExperts(NamedTuple):
    """Those whose features ignore the labels: linear, the first network, and the first kernel."""

    linear: PathFit
    network: RandomNetwork
    kernel: LaplaceKernel | None


class FixedFeatures(NamedTuple):
    """What gives the fixed experts without any block of rows, at the ridges of the whole."""

    inputs: Float[np.ndarray, "n d"]
    labels: Float[np.ndarray, " n"]
    whole: FixedExperts
    linear: FixedRidge
    network: FixedRidge

    @classmethod
    def of(
        cls,
        inputs: np.ndarray,
        labels: np.ndarray,
        sizes: StackSizes,
        generator: np.random.Generator,
        roots: Roots = 1.0,
    ) -> FixedFeatures:
        """Fit them on these rows."""
        same = np.eye(inputs.shape[1])
        layer = draw_expert_layer(inputs, same, sizes.width, generator)
        linear, line = _expert_at_best_ridge(inputs, labels, roots)
        network, fit = _expert_at_best_ridge(expert_layer_features(inputs, *layer), labels, roots)
        kernel = fit_laplace(inputs, labels, same, roots=roots) if sizes.kernel else None
        whole = FixedExperts(line, RandomNetwork(*layer, fit), kernel)
        return cls(inputs, labels, whole, linear, network)

    def without(self, block: Int[np.ndarray, " s"]) -> FixedExperts:
        """All of them without a block of rows; ridges and the kernel's bandwidth stay."""
        _, network, kernel = self.whole
        if kernel is not None:
            inputs, labels = (np.delete(part, block, axis=0) for part in (self.inputs, self.labels))
            roots = weights_without_fold(self.linear.scaled.roots, block)
            kernel = fit_laplace(inputs, labels, kernel.metric, choice=kernel.choice, roots=roots)
        return FixedExperts(
            self.linear.without(block, self.labels),
            network._replace(fit=self.network.without(block, self.labels)),
            kernel,
        )


def weights_without_fold(roots: Roots, block: Int[np.ndarray, " s"]) -> Roots:
    """The roots of the other rows' weights."""
    return roots if isinstance(roots, float) else np.delete(roots, block)


def _expert_at_best_ridge(
    features: np.ndarray, labels: np.ndarray, roots: Roots
) -> tuple[FixedRidge, PathFit]:
    scaled = ScaledRidge.of(features, roots)
    gram = scaled.gram()
    fit = Tridiagonal.of(scaled, gram.copy()).fit(labels)
    return FixedRidge.of(scaled, fit.ridge, gram), fit


def fit_experts(
    inputs: Float[np.ndarray, "n d"],
    labels: Float[np.ndarray, " n"],
    sizes: StackSizes,
    generator: np.random.Generator,
    fixed: FixedExperts,
    scaler: TailScaler,
    before: Experts | None = None,
    roots: Roots = 1.0,
) -> Experts:
    """All experts on these rows; ``fixed`` are those whose features ignore the labels.

    ``scaler`` is what the inputs were scaled by, for links that read columns with their tails. Of
    the experts ``before``, fitted to nearly the same rows, moments of permuted rows are taken over,
    which know nothing about which label belongs to which row, and the kernel's ridge as the place
    to begin the search for one. All else is learned and chosen on these rows, the ``roots`` of
    whose weights may be given.
    """
    network = fixed.network
    models: dict[str, Expert] = {"ridge": fixed.linear, "network-0": network}
    metric = np.eye(inputs.shape[1])
    for update in range(1, sizes.updates + 1):
        metric = expert_metric(network.average_gradient(inputs))
        layer = draw_expert_layer(inputs, metric, sizes.width, generator)
        features = expert_layer_features(inputs, *layer)
        network = RandomNetwork(*layer, ridge(features, labels, roots=roots))
        models[f"network-{update}"] = network
    steepest = np.linalg.eigh(network.average_gradient(inputs))[1][:, -1:]
    chances = dict(before.chances or {}) if before else {}
    path = fit_index_path(
        inputs,
        labels,
        most=sizes.directions,
        units=sizes.neurons,
        generator=generator,
        extra=steepest,
        chances=chances,
        roots=roots,
    )
    path = index_path_with_tails(
        path, inputs, labels, scaler, units=sizes.neurons, generator=generator, roots=roots
    )
    models |= {f"index-{rank}": model for rank, model in enumerate(path, 1)}
    axes = fit_axis_model(inputs, labels, generator, roots)
    if axes is not None:
        models["axes"] = axes
    models["trees"] = fit_random_trees(inputs, labels, generator, roots)
    if fixed.kernel is not None:
        models["kernel-0"] = fixed.kernel
        if sizes.updates:
            name = f"kernel-{sizes.updates}"
            near: Any = before.models.get(name, fixed.kernel) if before else fixed.kernel
            level = near.choice.level
            models[name] = fit_laplace(inputs, labels, metric, start=level, roots=roots)
    return Experts(models, float(labels.min()), float(labels.max()), chances, float(labels.var()))


def expert_names(sizes: StackSizes) -> Iterator[str]:
    """Every expert that these sizes may give, in the order of the stack."""
    yield "ridge"
    yield from (f"network-{update}" for update in range(sizes.updates + 1))
    yield from (f"index-{rank}" for rank in range(1, sizes.directions + 1))
    yield "axes"
    yield "trees"
    if sizes.kernel:
        yield from (f"kernel-{update}" for update in sorted({0, sizes.updates}))


def expert_columns(
    predictions: dict[str, np.ndarray], sizes: StackSizes, rows: int
) -> Float[np.ndarray, "n experts"]:
    """Predictions in the order of the stack.

    A path that ended early repeats its last model; an expert that found nothing predicts the mean.
    """
    found = []
    last = np.zeros(rows)
    for name in expert_names(sizes):
        if name.startswith("index-"):
            last = predictions.get(name, last)
            found.append(last)
        else:
            found.append(predictions.get(name, np.zeros(rows)))
    return np.column_stack(found)
