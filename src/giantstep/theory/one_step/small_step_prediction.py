"""Prediction of the risk after a step of order d^-1/2, in the limit of large d."""

from __future__ import annotations

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.giant_step.start_law import limit_readout_moments
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk, usable_power
from giantstep.theory.one_step.stepped_network import one_step

REFERENCES = ("Ba et al. 2022, arXiv:2205.01445", "Moniri et al. 2023, arXiv:2310.07891")
#: Metrics that a mean output of the neurons, or pairs of them, take beyond the theorem.
ERRORS = ("test_error", "test_error_noisy", "train_error")


def predict_small_step(problem: Problem, settings: GiantStep) -> Prediction:
    r"""The closed form for a step size :math:`c\,d^{-1/2}`, in the limit of large d.

    Metrics: as :func:`giantstep.theory.giant_step.risk.prediction.predict_risk`.

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    Pairs of equal rows with opposite readouts are p/2 neurons without a step, whose differences
    are free to fit the learned direction.

    Assumes: as :func:`giantstep.theory.one_step.small_step.small_step_risk`.
    Status: theorem for independent neurons of zero mean output, and for all but the errors;
        heuristic for the errors of other neurons.
    References: Ba et al. 2022, arXiv:2205.01445; Moniri et al. 2023, arXiv:2310.07891.

    >>> settings = GiantStep(
    ...     activation="relu", readout="ones", samples="2d", step_size="2*d^-0.5", width="1d",
    ...     readout_samples="2d", ridge=0.1)
    >>> found = predict_small_step(Problem.of("relu(h1)"), settings).metrics
    >>> round(found["test_error"] / found["random_features_error"], 9)
    1.0
    """
    paired = settings.readout == "symmetric-sign"
    unit = settings.replace(step_size=settings.step_size.coefficient)
    # Pairs start silent, and all neurons move equally far.
    step, sizes = one_step(
        problem, unit.replace(readout="ones", loss="correlation") if paired else unit
    )
    readout, fractions = limit_readout_moments(settings)
    step = step._replace(readout=readout, fractions=fractions)
    sigma = activation(settings.activation)
    features = LinearFeatures.of(problem, sigma)
    spikes, cosine = np.asarray(step.blocks(sizes).spikes), float(step.alignment(sizes))
    width = sizes.width_ratio / 2 if paired else sizes.width_ratio
    fit, power = Fit.of(sizes.readout_samples_ratio, width, sizes.ridge), 0.0
    if paired:
        moved = {"pair_spike": float(abs(spikes[0]))}
    else:
        power = usable_power(sigma, spikes, fractions)
        moved = {"strength": float(np.sqrt(width * power))}
    risk = small_step_risk(features, fit, alignment=cosine, **moved)
    baselines = without_small_step(problem, sigma, fit)
    metrics = {
        "test_error": risk.test_error,
        "test_error_noisy": risk.test_error + problem.noise,
        "train_error": risk.train_error,
        "spike_strength": 0.0,
        "bulk_variance": 1.0,
        "alignment": cosine,
        "bound_upper": features.power - problem.noise,
        "bound_lower": baselines["linear_floor"],
        **baselines,
    }
    statuses: dict[str, Status] = dict.fromkeys(metrics, "theorem")
    notes = ["small step, of order d^-1/2: features stay linear; closed form, large d"]
    if paired or not features.centred:
        statuses |= dict.fromkeys(ERRORS, "heuristic")
    if not paired and power < 1e-12 * float(fractions @ spikes**2):
        notes.append(
            f"{settings.activation} has a mean, and equal readouts move all neurons alike: the "
            "neurons' common move is taken by the fit of the mean, and so small a step gains "
            "nothing; use readout = sign or normal, or larger steps"
        )
    return Prediction.of(settings, metrics, statuses, REFERENCES, notes)


def without_small_step(problem: Problem, sigma: Activation, fit: Fit) -> dict[str, float]:
    r"""The risk of the same fit without the step, and the energy beyond degree one.

    .. math:: R(\theta = 0),\qquad \sum_{k\ge2}\frac1{k!}\|C_k\|^2

    Symbols: sizes and ridge ``fit``; C_k the Hermite tensors of the target.

    Assumes: n, p, d large and proportional.
    Status: theorem.
    References: Mei, Montanari 2019, arXiv:1908.05355.

    >>> problem, fit = Problem.of("relu(h1)"), Fit.of(2.0, 1.0, 0.1)
    >>> found = without_small_step(problem, activation("tanh"), fit)
    >>> [round(value, 4) for value in found.values()]
    [0.0908, 0.4432]
    """
    features = small_step_risk(LinearFeatures.of(problem, sigma), fit)
    return {
        "linear_floor": target_tail_energy(problem.target, 1).value,
        "random_features_error": float(features.test_error),
    }
