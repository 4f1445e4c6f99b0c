"""Prediction of the risk after one giant step and a fit of the readout on fresh samples."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation, activation
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.giant_step import GiantStep
from giantstep.targets.hermite import tail_energy
from giantstep.theory.learnability.learned_direction import learned_direction
from giantstep.theory.one_step.alignment import row_anisotropy
from giantstep.theory.one_step.any_activation.anisotropy import TRUSTED
from giantstep.theory.one_step.readout_law import CELLS, moment_blocks
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
#: Spreads of the rows' variances, and second Hermite coefficients, that count as isotropic.
ISOTROPIC, NEGLIGIBLE = 0.05, 1e-8
#: Metrics that come out of the fixed point, and those that describe the rows.
ERRORS = ("test_error", "test_error_noisy", "train_error")
ROWS = ("spike_strength", "bulk_variance", "alignment")
BOUNDS = ("bound_upper", "bound_lower")


def predict(
    problem: Problem,
    settings: GiantStep,
    *,
    version: Version | None = None,
    anisotropy: float = 1.0,
) -> Prediction:
    r"""Exact risk after one giant step, and what it is made of.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy``, ``train_error``,
    ``spike_strength`` and ``bulk_variance`` (a number, or one a block), ``alignment``,
    ``bound_upper`` and ``bound_lower`` on the best risk over the ridge, ``linear_floor`` (the
    energy beyond degree one), ``random_features_error`` (the same fit without the step).

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    A step size in :math:`d^{-1/2}` without a dimension has the closed form of small steps; at a
    given dimension every step size is covered, by the finite-size version that the notes name.
    ``anisotropy`` multiplies the excess test error: the ratio of a risk that knows the rows to be
    anisotropic to one that does not, where it is between 0.75 and 1.33.

    Assumes: Gaussian inputs; rows isotropic across the learned direction, which a real step
    leaves so up to a few per cent in the risk for odd activations, up to ten for others.
    Status: replica for errors in the limit where rows are isotropic, heuristic where they are not
        or at finite d, theorem for small steps; the rows themselves are a theorem in the limit.
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
    step, sizes = one_step(problem, settings, version)
    sigma = activation(settings.activation)
    risk = step.risk(step.prepared(sigma, problem, sizes), sizes)
    prepared = step.prepared(sigma, problem, sizes, "limit")
    blocks = step.blocks(sizes)
    bounds = risk_bounds(prepared, blocks)
    converged = bool(risk.converged)
    factor = anisotropy if TRUSTED[0] < anisotropy < TRUSTED[1] else 1.0
    test = factor * (float(risk.test) - problem.noise) if converged else math.nan
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
    approximations = _approximations(step, sizes)
    if not converged:
        notes.append("the equations did not converge: no error is given")
    elif step.version == "limit" and not step.normalise:
        approximations += _tilt_notes(step, prepared, sizes, test)
    return Prediction(
        settings.learner,
        settings.to_json(),
        metrics,
        _statuses(step, problem.target.rank, exact=not approximations and factor == 1.0),
        REFERENCES,
        (*notes, *approximations),
        _block_errors(problem, settings, version, metrics) if converged else {},
    )


def _statuses(step: OneStep, rank: int, exact: bool) -> dict[str, Status]:
    """What each metric may claim; ``exact``: the rows are those that the theory assumes."""
    limit = step.version == "limit"
    errors: Status = "replica" if limit and exact else "heuristic"
    alone = len(step.readout) == 1 and rank == 1
    return {
        **dict.fromkeys(ERRORS, errors),
        **dict.fromkeys(ROWS, "theorem" if limit else "heuristic"),
        **dict.fromkeys(BOUNDS, "theorem" if errors == "replica" and alone else errors),
        "linear_floor": "theorem",
        "random_features_error": "theorem" if limit else "heuristic",
    }


def _block_errors(
    problem: Problem, settings: GiantStep, version: Version | None, metrics: dict[str, Any]
) -> dict[str, float]:
    """What half as many blocks for a Gaussian readout change."""
    if settings.readout != "normal":
        return {}
    step, sizes = one_step(problem, settings, version, CELLS // 2)
    sigma = activation(settings.activation)
    risk = step.risk(step.prepared(sigma, problem, sizes), sizes)
    bounds = risk_bounds(step.prepared(sigma, problem, sizes, "limit"), step.blocks(sizes))
    test = abs(float(risk.test) - metrics["test_error_noisy"])
    return {
        "test_error": test,
        "test_error_noisy": test,
        "train_error": abs(float(risk.train) - metrics["train_error"]),
        "bound_upper": abs(bounds.upper - metrics["bound_upper"]),
        "bound_lower": abs(bounds.lower - metrics["bound_lower"]),
    }


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
        notes.append(f"Gaussian readout: {CELLS} blocks; half as many tell the error")
    return notes


def _approximations(step: OneStep, sizes: Sizes) -> list[str]:
    """In what the neurons of a real step differ from those that the theory assumes."""
    signal, steps = step.signal, sizes.step_size * step.readout
    uneven = float(np.max(row_anisotropy(signal, sizes.samples_ratio, steps)))
    if abs(signal.mu_2) > NEGLIGIBLE:
        return [
            f"approximate: mu_2 = {signal.mu_2:.3g} of the activation makes the rows anisotropic "
            "across the learned direction, which moved the risk of relu and gelu by 9 % (rms), "
            "by up to 25 %, in simulations with steps up to 4; corrections of order 1/d are "
            "checked on layers only there; theory.semi_analytic gives the risk of an actual layer"
        ]
    notes = []
    if uneven > ISOTROPIC:
        notes.append(
            f"approximate: the batch leaves variances across the learned direction that differ by "
            f"{uneven:.0%} (rms), which moved the risk by 2 to 6 % in simulations"
        )
    if step.normalise and not step.resolved:
        notes.append(
            "approximate: rows put back on the sphere shrink with their component along the "
            "learned direction, which predictions with --dim include"
        )
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
    readout, fractions = moment_blocks(settings)
    step = step._replace(readout=readout, fractions=fractions)
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
