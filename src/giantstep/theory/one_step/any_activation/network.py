"""A network before and after its giant step, as the theory of any activation sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.activations.activation import Activation
from giantstep.problem import Problem
from giantstep.theory.learnability.learned_direction import learned_direction
from giantstep.theory.one_step.any_activation.equations import SteppedNetwork
from giantstep.theory.one_step.any_activation.features import features
from giantstep.theory.one_step.any_activation.gradient_labels import gradient_labels
from giantstep.theory.one_step.any_activation.slope_moments import slope_moments
from giantstep.theory.one_step.any_activation.stepped_rows import stepped_rows
from giantstep.theory.spiked_features.conditional_labels import Latents
from giantstep.theory.spiked_features.risk import Prepared


class Start(NamedTuple):
    """The network before the step, in blocks of neurons with equal readout and bias.

    ``readout``, ``biases`` and ``fractions`` of the neurons, one entry a block; ``twins[a, b]``:
    the neurons of blocks a and b come in pairs with equal first rows; ``gaussian``: first rows
    are N(0, I/d), not on the sphere; ``normalise``: rows go back to the sphere after the step;
    ``output``: the constant that the network starts from, which the step's residuals lack.
    """

    readout: Float[np.ndarray, " k"]
    fractions: Float[np.ndarray, " k"]
    biases: Float[np.ndarray, " k"]
    twins: Bool[np.ndarray, "k k"]
    gaussian: bool = False
    normalise: bool = False
    output: float = 0.0

    @classmethod
    def of(
        cls,
        readout: Sequence[float] | np.ndarray,
        fractions: Sequence[float] | np.ndarray | None = None,
        *,
        biases: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray] = ((0,), (1,)),
        paired: bool = False,
        gaussian: bool = False,
        normalise: bool = False,
        output: float = 0.0,
    ) -> Start:
        """Every readout value with every bias; ``biases`` are values and their fractions.

        ``paired``: each first row serves all readout values at once, one neuron each.

        >>> start = Start.of([1, -1], biases=([-0.5, 0.5], [0.5, 0.5]), paired=True)
        >>> start.readout.tolist(), start.biases.tolist(), start.twins[0].tolist()
        ([1.0, 1.0, -1.0, -1.0], [-0.5, 0.5, -0.5, 0.5], [True, False, True, False])
        """
        values, bias = np.asarray(readout, dtype=float), np.asarray(biases[0], dtype=float)
        shares = np.ones(len(values)) if fractions is None else np.asarray(fractions, dtype=float)
        weights = np.asarray(biases[1], dtype=float)
        spread = np.outer(shares / shares.sum(), weights / weights.sum()).ravel()
        among = np.ones((len(values), len(values))) if paired else np.eye(len(values))
        twins = np.kron(among, np.eye(len(bias))) > 0
        return cls(
            np.repeat(values, len(bias)),
            spread,
            np.tile(bias, len(values)),
            twins,
            gaussian,
            normalise,
            float(output),
        )


def network_after_step(
    problem: Problem,
    sigma: Activation,
    start: Start,
    *,
    step_size: float,
    samples_ratio: float,
    coarse: bool = False,
) -> SteppedNetwork:
    r"""Rows, features and labels after one giant step: all but the sizes of the readout fit.

    .. math:: w_j = w^0_j + \eta a_j\frac1{n_0}\sum_i(y_i - f_0)\,
        \sigma'(\langle w^0_j, x_i\rangle + b_j)\,x_i

    Symbols: eta ``step_size``, n_0/d ``samples_ratio``, a_j, b_j, f_0 ``start``; ``coarse``: fewer
    nodes for the labels of the step, to see the error of their quadrature.

    Assumes: Gaussian inputs; a continuous activation; blocks of neurons with equal readout and
    bias; a constant start output f_0.
    Status: heuristic (leave-one-out), checked against real steps.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> network = network_after_step(
    ...     Problem.of("relu(h1)"), activation("relu"), Start.of([1.0]), step_size=4,
    ...     samples_ratio=1)
    >>> round(float(network.rows.spikes[0]), 6), round(network.rows.alignment, 6)
    (1.732051, 0.57735)
    """
    direction, _ = learned_direction(problem.target)
    frame = Latents.of(problem.target, direction).basis()[0]
    batch = gradient_labels(problem.target, problem.noise, frame, coarse=coarse)
    batch = batch.shifted(start.output)
    slopes = [slope_moments(sigma.shifted(float(bias))) for bias in start.biases]
    rows = stepped_rows(
        batch, slopes, step_size * start.readout, start.twins, samples_ratio=samples_ratio
    )
    prepared = Prepared.of(
        sigma,
        problem.target,
        alignment=rows.alignment,
        spikes=rows.spikes,
        bulks=np.diag(rows.bulks),
    )
    kappa, labels = prepared.grid.kappa, prepared.labels
    return SteppedNetwork(
        rows=rows,
        batch=batch,
        features=features(sigma, rows, start.biases, kappa, normalise=start.normalise),
        labels=labels,
        power=labels.power + problem.noise,
        weights=prepared.grid.weights,
        fractions=start.fractions,
        norm_spread=2.0 if start.gaussian else 0.0,
    )
