"""Prediction for the learner `spiked-random-features`."""

from __future__ import annotations

import math

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_tail_energy
from giantstep.settings.ratios import setting_over_dim
from giantstep.settings.spiked_random_features import SpikedRandomFeatures
from giantstep.theory.giant_step.risk.bounds import functional_bounds
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Neurons
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import ReadoutRisk, readout_risk
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk
from giantstep.theory.spiked_random_features.channel_equivalent import Risk
from giantstep.theory.spiked_random_features.conditional_features import (
    LIMIT,
    conditional_feature_moments,
)
from giantstep.theory.spiked_random_features.finite_size import (
    VERSION_NOTES,
    Blocks,
    Version,
    finite_size_version,
)
from giantstep.theory.spiked_random_features.risk import spiked_risk

REFERENCES = ("Cui et al. 2024, arXiv:2402.04980", "Dandi et al. 2024, arXiv:2410.18938")


def predict(
    problem: Problem, settings: SpikedRandomFeatures, *, version: Version | None = None
) -> Prediction:
    r"""Exact test and train error of ridge regression on spiked random features.

    Metrics: ``test_error``, ``test_error_noisy``, ``train_error``; ``bound_upper`` and
    ``bound_lower`` on the best risk over the ridge, ``linear_floor`` (the energy beyond degree
    one), ``random_features_error`` (the same fit without spikes). With ``kappa`` also mu_0, mu_1
    and mu_* of a feature given that projection: ``feature_mean``, ``_slope`` and ``_noise``.

    .. math:: \phi_j(x) = \sigma\big(s_j\langle v, x\rangle
        + \sqrt{c_j}\,\langle\hat w_j, x\rangle\big)/\sqrt p

    In the limit by :func:`~giantstep.theory.giant_step.risk.solution.readout_risk`, as after real
    steps; where ``settings.dim`` is given, with corrections of order 1/d, by
    :func:`~giantstep.theory.spiked_random_features.risk.spiked_risk`. ``version`` overrides which.

    Assumes: Gaussian inputs, at most five target directions, ridge > 0.
    Status: replica in the limit; heuristic at finite d; theorem for the linear floor and for a
        feature given a projection, and in the limit for random features and for the bounds of one
        block and a single direction.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = SpikedRandomFeatures(
    ...     activation="tanh", spike="0.9", alignment=0.7, readout_samples="2d", ridge=0.1)
    >>> round(predict(Problem.of("sin(h1)"), settings).metrics["test_error"], 5)
    0.15299
    """
    checked_input_law(
        problem.inputs,
        (Gaussian,),
        "the exact risk is known",
        NoTheory,
        "their spike is in the weights; random-features takes one in the inputs",
    )
    sigma, target = activation(settings.activation), problem.target
    spikes, bulks, fractions = (np.array(values) for values in settings.blocks())
    samples = setting_over_dim(settings, "readout_samples")
    width = setting_over_dim(settings, "width")
    dim = LIMIT if settings.dim is None else float(settings.dim)
    if version is None:
        finite = finite_size_version(samples, width, settings.ridge)
        version = "limit" if settings.dim is None else finite
    blocks, noise = Blocks(spikes, bulks, fractions), problem.noise
    sizes = {"samples_ratio": samples, "width_ratio": width, "ridge": settings.ridge}
    fit = Fit.of(samples, width, settings.ridge)
    readout = spiked_readout(problem, sigma, blocks, settings.alignment)
    risk: ReadoutRisk | Risk
    if version == "limit":
        risk = readout_risk(readout, fit)
    else:
        known = {"alignment": settings.alignment, "noise": noise, "dim": dim}
        risk = spiked_risk(sigma, target, blocks, **sizes, **known, version=version)
    bounds = functional_bounds(readout)
    features = small_step_risk(LinearFeatures.of(problem, sigma), fit)
    test = float(risk.test) - noise if risk.converged else math.nan
    notes = [VERSION_NOTES[version]]
    if not risk.converged:
        notes.append("the equations did not converge: no error is given")
    metrics = {
        "test_error": test,
        "test_error_noisy": test + noise,
        "train_error": float(risk.train) if risk.converged else math.nan,
        "bound_upper": bounds["bound_upper"],
        "bound_lower": bounds["bound_lower"],
        "linear_floor": target_tail_energy(target, 1).value,
        "random_features_error": features.test_error,
    }
    given = {} if settings.kappa is None else _features_at(settings.kappa, sigma, blocks, dim)
    in_limit = version == "limit"
    status: Status = "replica" if in_limit else "heuristic"
    alone = len(spikes) == 1 and target.rank == 1
    proved = ["linear_floor", *given, *(["random_features_error"] if in_limit else [])]
    if in_limit and alone:
        proved += ["bound_upper", "bound_lower"]
    statuses: dict[str, Status] = dict.fromkeys(metrics, status) | dict.fromkeys(proved, "theorem")
    return Prediction.of(settings, metrics | given, statuses, REFERENCES, notes)


def _features_at(kappa: float, sigma: Activation, blocks: Blocks, dim: float) -> dict[str, float]:
    """sigma(s kappa + sqrt(c) z) = mu_0 + mu_1 z + mu_* xi, for the one block there is."""
    shift, scale = blocks.spikes[:, None] * kappa, np.sqrt(blocks.bulks)[:, None]
    mean, slope, _, power = (
        float(part[0, 0]) for part in conditional_feature_moments(sigma, shift, scale, dim)
    )
    noise = math.sqrt(max(power - mean**2 - slope**2, 0.0))
    return {"feature_mean": mean, "feature_slope": slope, "feature_noise": noise}


def spiked_readout(
    problem: Problem, sigma: Activation, blocks: Blocks, alignment: float
) -> Readout:
    """Features with a given spike, as the fit of their readout sees them in the limit.

    >>> one = np.ones(1)
    >>> features = activation("tanh"), Blocks(0.9 * one, one, one)
    >>> found = spiked_readout(Problem.of("sin(h1)"), *features, 0.6).learned.directions
    >>> np.abs(found).round(3).tolist()
    [[0.6, 0.8], [0.8, 0.6]]
    """
    direction, _ = one_step_direction(problem.target)
    unit = np.append(alignment * direction, math.sqrt(max(1 - alignment**2, 0.0)))
    neurons = Neurons.of(blocks.spikes, blocks.fractions)
    layer = FirstLayer.isotropic(neurons, np.outer(blocks.spikes, unit), blocks.bulks)
    return Readout(problem, sigma, layer)
