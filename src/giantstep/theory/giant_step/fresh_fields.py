"""What the neurons see on a fresh batch, sampled from overlaps and Gram matrices.

Samples run along the last axis of every array.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.linear_algebra import matrix_square_root, mean_product
from giantstep.theory.giant_step.modes import BetweenCopies, MeanOverCopies, Mode
from giantstep.theory.giant_step.neuron_kinds import NeuronKinds

#: Variance of the latent variables that are drawn. Labels grow with them, so that large ones
#: matter most: for h1*He2(h2) the sampling error of fluctuations is seven times smaller than with
#: variance 1, and for a bounded label it is not larger.
LATENT_VARIANCE = 1.5


class FreshLayer(NamedTuple):
    """The first layer as far as it matters.

    ``overlaps`` with the directions, one row for each kind of neuron, and for each mode the Gram
    matrix of what is orthogonal to the directions.
    """

    overlaps: Float[np.ndarray, "kinds r"]
    grams: tuple[np.ndarray, ...]


class Sample(NamedTuple):
    """Samples of a batch, neuron by neuron.

    ``fields`` h + b; ``slopes`` eta a sigma'(h + b); ``moves`` D, the slopes times the
    ``residual`` y - f; ``normals`` behind the fields, for each mode; ``weights`` of mean 1.
    """

    weights: Float[np.ndarray, " n"]

    latent: Float[np.ndarray, "r n"]
    inner: Float[np.ndarray, "z n"]
    normals: list[np.ndarray]
    fields: Float[np.ndarray, "neurons n"]
    residual: Float[np.ndarray, " n"]
    slopes: Float[np.ndarray, "neurons n"]
    moves: Float[np.ndarray, "neurons n"]


class FreshFields:
    """The law of the fields on a fresh batch, and what a step does with it.

    ``basis`` spans the directions that the target really depends on; ``latent`` and ``overlaps``
    are coordinates in it.
    """

    def __init__(
        self,
        problem: Problem,
        activation: Activation,
        kinds: NeuronKinds,
        basis: Float[np.ndarray, "used r"],
        step_size: float,
        loss: str,
    ) -> None:
        self.problem = problem
        self.activation = activation
        self.kinds = kinds
        self.modes: list[Mode] = [MeanOverCopies(kinds), *BetweenCopies.of_families(kinds)]
        #: That of the step to come.
        self.step_size = step_size
        self.has_output = loss == "square"
        self.rank = len(basis)
        self._basis = basis
        self._parts = [self.rank, problem.target.noises, *[mode.normals for mode in self.modes]]
        #: Standard normals that one sample takes.
        self.axes = sum(self._parts)
        self.biases = kinds.biases[kinds.of_neuron]
        self._readout = kinds.readout[kinds.of_neuron]

    def start(self) -> FreshLayer:
        """Random rows, which have no overlap with the directions."""
        overlaps = np.zeros((len(self.kinds.family), self.rank))
        return FreshLayer(overlaps, tuple(mode.start for mode in self.modes))

    def squared_norms(self, layer: FreshLayer) -> Float[np.ndarray, " kinds"]:
        """|w_j|^2 of each kind."""
        total = np.sum(layer.overlaps**2, axis=1)
        for mode, gram in zip(self.modes, layer.grams, strict=True):
            total[mode.kinds] += mode.share * np.diag(gram)
        return total

    def sample(self, layer: FreshLayer, points: Float[np.ndarray, "axes n"]) -> Sample:
        """Fields and moves at standard normal points."""
        latent, inner, *rest = np.split(points, np.cumsum(self._parts)[:-1])
        latent, weights = self.widened(latent)
        fields = layer.overlaps[self.kinds.of_neuron] @ latent + self.biases[:, None]
        normals = [mode.drawn(part) for mode, part in zip(self.modes, rest, strict=True)]
        for mode, gram, drawn in zip(self.modes, layer.grams, normals, strict=True):
            mode.add_to(fields, matrix_square_root(gram) @ drawn)
        residual = self.residual(self.labels(latent, inner), fields)
        slopes = self.slopes(fields)
        return Sample(weights, latent, inner, normals, fields, residual, slopes, residual * slopes)

    @staticmethod
    def widened(
        latent: Float[np.ndarray, "r n"],
    ) -> tuple[Float[np.ndarray, "r n"], Float[np.ndarray, " n"]]:
        """Standard normal latent variables made wider, and weights of mean 1 that undo it."""
        weights = np.exp((1 - LATENT_VARIANCE) / 2 * np.sum(latent**2, axis=0))
        return np.sqrt(LATENT_VARIANCE) * latent, weights / weights.mean()

    def labels(
        self, latent: Float[np.ndarray, "r n"], inner: Float[np.ndarray, "z n"]
    ) -> Float[np.ndarray, " n"]:
        """y without label noise."""
        labels = self.problem.target.numpy((self._basis.T @ latent).T, inner.T)
        return np.broadcast_to(labels, latent.shape[1:])

    def output(self, fields: Float[np.ndarray, "neurons n"]) -> Float[np.ndarray, " n"]:
        """f, the output of the network."""
        return self._readout @ self.activation.numpy(fields) / self.kinds.width

    def residual(
        self, labels: Float[np.ndarray, " n"], fields: Float[np.ndarray, "neurons n"]
    ) -> Float[np.ndarray, " n"]:
        """y - f; y alone with the correlation loss."""
        return labels - self.output(fields) if self.has_output else labels

    def slopes(self, fields: Float[np.ndarray, "neurons n"]) -> Float[np.ndarray, "neurons n"]:
        """eta a sigma'(h + b): the moves are these times the residual."""
        derivative = self.activation.numpy_derivative(fields)
        return self.step_size * self._readout[:, None] * derivative

    def after_step(self, layer: FreshLayer, sample: Sample, samples_ratio: float) -> FreshLayer:
        """The recursion: the mean move, and the noise of a batch outside what was spanned."""
        mean_moves = self.modes[0].of(sample.moves)
        overlaps = layer.overlaps + mean_product(mean_moves, sample.latent, sample.weights)
        grams = []
        for mode, gram, normals in zip(self.modes, layer.grams, sample.normals, strict=True):
            moves, weights = mode.of(sample.moves), mode.each_row(sample.weights)
            inside = matrix_square_root(gram) + mean_product(moves, normals, weights)
            power = mean_product(moves, moves, weights)
            if self.problem.noise:
                # A label noise of variance V adds V to (y - f)^2, and nothing to the means.
                slopes = mode.of(sample.slopes)
                power = power + self.problem.noise * mean_product(slopes, slopes, weights)
            grams.append(inside @ inside.T + power / samples_ratio)
        return FreshLayer(overlaps, tuple(grams))

    def scaled(self, layer: FreshLayer, lengths: Float[np.ndarray, " kinds"]) -> FreshLayer:
        """Every row divided by the length of its kind."""
        grams = tuple(
            gram / np.outer(lengths[mode.kinds], lengths[mode.kinds])
            for mode, gram in zip(self.modes, layer.grams, strict=True)
        )
        return FreshLayer(layer.overlaps / lengths[:, None], grams)
