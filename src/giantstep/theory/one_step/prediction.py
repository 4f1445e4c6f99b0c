"""Prediction of the risk after one giant step and a fit of the readout on fresh samples."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation, activation
from giantstep.problem import Problem
from giantstep.results import Prediction
from giantstep.settings.giant_step import GiantStep
from giantstep.targets.hermite import tail_energy
from giantstep.theory.learnability.learned_direction import learned_direction
from giantstep.theory.one_step.any_activation.over_sizes import needs_any_activation
from giantstep.theory.one_step.any_activation.prediction import predict_any_activation
from giantstep.theory.one_step.small_step import LinearFeatures, small_step_risk
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.spiked_features.finite_size import VERSION_NOTES, Version
from giantstep.theory.spiked_features.risk import Prepared
from giantstep.theory.spiked_features.risk_bounds import risk_bounds

REFERENCES = (
    "Ba et al. 2022, arXiv:2205.01445",
    "Moniri et al. 2023, arXiv:2310.07891",
    "Cui et al. 2024, arXiv:2402.04980",
    "Dandi et al. 2024, arXiv:2410.18938",
)
#: A relative change of the risk that is worth a note.
NOTEWORTHY = 0.005


def predict(problem: Problem, settings: GiantStep, *, version: Version | None = None) -> Prediction:
    r"""Exact risk after one giant step, and what it is made of.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy``, ``train_error``,
    ``spike_strength`` and ``bulk_variance`` (a number, or one a block), ``alignment``,
    ``bound_upper`` and ``bound_lower`` on the best risk over the ridge, ``linear_floor`` (the
    energy beyond degree one), ``random_features_error`` (the same fit without the step).

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    A step size in :math:`d^{-1/2}` without a dimension has the closed form of small steps; at a
    given dimension every step size is covered, by the finite-size version that the notes name.

    Activations with :math:`\mu_2 \ne 0`, pairs of equal first rows and biases go to
    :func:`~giantstep.theory.one_step.any_activation.prediction.predict_any_activation`.

    Assumes: Gaussian inputs; for the others rows isotropic across the learned direction, which a
    real step leaves so up to a few per cent in the risk.
    Status: replica in the limit, heuristic at finite d, theorem for small steps.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980;
        Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> round(predict(Problem.of("sin(h1)"), settings).metrics["test_error"], 6)
    0.037311
    """
    if settings.dim is None and settings.step_size.power == -0.5:
        return _small_step_prediction(problem, settings)
    sigma = activation(settings.activation)
    if needs_any_activation(sigma, settings):
        return predict_any_activation(problem, settings, version=version)
    step, sizes = one_step(problem, settings, version)
    prepared = step.prepared(sigma, problem, sizes)
    risk = step.risk(prepared, sizes)
    if step.version != "limit":
        prepared = step.prepared(sigma, problem, sizes, "limit")
    blocks = step.blocks(sizes)
    bounds = risk_bounds(prepared, blocks)
    converged = bool(risk.converged)
    test = float(risk.test) - problem.noise if converged else math.nan
    metrics = {
        "test_error": test,
        "test_error_noisy": test + problem.noise,
        "train_error": float(risk.train) if converged else math.nan,
        "spike_strength": _one_or_list(blocks.spikes),
        "bulk_variance": _one_or_list(blocks.bulks),
        "alignment": float(step.alignment(sizes)),
        "bound_upper": bounds.upper,
        "bound_lower": bounds.lower,
        **_baselines(problem, sigma, sizes),
    }
    notes = _notes(problem, settings, step.version)
    if not converged:
        notes.append("the equations did not converge: no error is given")
    elif step.version == "limit" and not step.normalise:
        notes += _tilt_notes(step, prepared, sizes, test)
    status = "replica" if step.version == "limit" else "heuristic"
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, status),
        REFERENCES,
        tuple(notes),
    )


def _notes(problem: Problem, settings: GiantStep, version: Version) -> list[str]:
    """What the reader of a prediction must know."""
    target = problem.target
    notes = [VERSION_NOTES[version]]
    direction, weight = learned_direction(target)
    if weight == 0:
        notes.append("the target has no linear part: one step learns none of its directions")
    if target.rank > 1 and weight > 0:
        shown = ", ".join(f"{x:.3g}" for x in direction)
        notes.append(
            f"one step learns one direction, ({shown}) in h; the others are fitted as linear "
            "functions times functions of the learned one, which the theory covers exactly"
        )
        if any(target.kinks) and not np.isclose(np.max(np.abs(direction)), 1):
            notes.append("kinks of the target across the learned direction: good to about 1e-4")
    if settings.readout == "normal":
        notes.append("Gaussian readout: 9 Gauss-Hermite blocks")
    return notes


def _tilt_notes(step: OneStep, prepared: Prepared, sizes: Sizes, test: float) -> list[str]:
    """What the isotropic limit leaves out of a real step, where it is worth saying."""
    real = step._replace(tilted=True).risk(prepared, sizes)
    tilted = float(real.test) - step.noise
    if not real.converged or abs(tilted - test) < NOTEWORTHY * abs(test):
        return []
    return [
        "isotropic rows: a real step also stretches neurons along the learned direction (mu_3); "
        f"with that, the error {tilted:.5g}; predictions with --dim include it"
    ]


def _baselines(problem: Problem, sigma: Activation, sizes: Sizes) -> dict[str, float]:
    """The risk of the same fit without the step, and the energy beyond degree one."""
    features = small_step_risk(
        LinearFeatures.of(problem, sigma),
        samples_ratio=sizes.readout_samples_ratio,
        width_ratio=sizes.width_ratio,
        ridge=sizes.ridge,
    )
    return {
        "linear_floor": tail_energy(problem.target, 1).value,
        "random_features_error": float(features.test),
    }


def _small_step_prediction(problem: Problem, settings: GiantStep) -> Prediction:
    """The closed form for a step size c d^-1/2, in the limit of large d."""
    unit = settings.replace(step_size=settings.step_size.coefficient)
    step, sizes = one_step(problem, unit)
    sigma = activation(settings.activation)
    features = LinearFeatures.of(problem, sigma)
    spikes = step.blocks(sizes).spikes
    cosine = float(step.alignment(sizes))
    risk = small_step_risk(
        features,
        samples_ratio=sizes.readout_samples_ratio,
        width_ratio=sizes.width_ratio,
        ridge=sizes.ridge,
        alignment=cosine,
        strength=float(np.sqrt(sizes.width_ratio * (step.fractions @ spikes**2))),
    )
    baselines = _baselines(problem, sigma, sizes)
    metrics = {
        "test_error": float(risk.test),
        "test_error_noisy": float(risk.test) + problem.noise,
        "train_error": float(risk.train),
        "spike_strength": 0.0,
        "bulk_variance": 1.0,
        "alignment": cosine,
        "bound_upper": features.power - problem.noise,
        "bound_lower": baselines["linear_floor"],
        **baselines,
    }
    notes = ("small step, of order d^-1/2: features stay linear; closed form, large d",)
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        dict.fromkeys(metrics, "theorem"),
        REFERENCES[:2],
        notes,
    )


def _one_or_list(values: Float[np.ndarray, " blocks"]) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]
