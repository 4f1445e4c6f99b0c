"""Prediction of the risk after one giant step that leaves its rows isotropic."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import activation
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.alignment import ISOTROPIC, NEGLIGIBLE, row_anisotropy
from giantstep.theory.one_step.readout_law import CELLS
from giantstep.theory.one_step.small_step_prediction import without_step
from giantstep.theory.one_step.stepped_network import OneStep, Sizes, one_step
from giantstep.theory.one_step.target_notes import target_notes
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
#: Metrics that come out of the fixed point, and those that describe the rows.
ERRORS = ("test_error", "test_error_noisy", "train_error")
ROWS = ("spike_strength", "bulk_variance", "alignment")
BOUNDS = ("bound_upper", "bound_lower")


def predict_isotropic(
    problem: Problem, settings: GiantStep, *, version: Version | None = None
) -> Prediction:
    r"""Exact risk after one giant step, rows taken as isotropic across the learned direction.

    Metrics: as :func:`giantstep.theory.one_step.prediction.predict`. At a given dimension every
    step size is covered, by the finite-size ``version`` that the notes name.

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    Assumes: Gaussian inputs; rows isotropic across the learned direction, as a real step leaves
    them up to a few per cent in the risk for odd activations and batches that are not too small.
    Status: replica for errors in the limit where rows are isotropic; heuristic for errors where
        they are not, and for all but the linear floor at finite d; theorem for the linear floor,
        and in the limit for the rows themselves and for random features.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980;
        Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> round(predict_isotropic(Problem.of("sin(h1)"), settings).metrics["test_error"], 6)
    0.037311
    """
    step, sizes = one_step(problem, settings, version)
    sigma = activation(settings.activation)
    risk = step.risk(step.prepared(sigma, problem, sizes), sizes)
    prepared = step.prepared(sigma, problem, sizes, "limit")
    blocks = step.blocks(sizes)
    bounds = risk_bounds(prepared, blocks)
    converged = bool(risk.converged)
    test = float(risk.test) - problem.noise if converged else math.nan
    metrics = {
        "test_error": test,
        "test_error_noisy": test + problem.noise,
        "train_error": float(risk.train) if converged else math.nan,
        "spike_strength": _one_or_list(np.asarray(blocks.spikes)),
        "bulk_variance": _one_or_list(np.asarray(blocks.bulks)),
        "alignment": float(step.alignment(sizes)),
        "bound_upper": bounds.upper,
        "bound_lower": bounds.lower,
        **without_step(problem, sigma, sizes),
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
        _statuses(step, problem.target.rank, exact=not approximations),
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
    notes = [VERSION_NOTES[version], *target_notes(problem.target)]
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
            "checked on layers only there; `layer-risk` gives the risk of actual layers"
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


def _one_or_list(values: Float[np.ndarray, " blocks"]) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]
