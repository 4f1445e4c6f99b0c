"""Prediction of the risk after one giant step for any activation, pairs of rows, and biases."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import fixed_width
from giantstep.theory.giant_step.risk.finite_size import NONE
from giantstep.theory.giant_step.risk.prediction import functional_bounds
from giantstep.theory.learnability.staircase import learned_direction
from giantstep.theory.one_step.any_activation.over_sizes import Errors, RiskOverSizes
from giantstep.theory.spiked_random_features.finite_size import VERSION_NOTES

REFERENCES = (
    "Ba et al. 2022, arXiv:2205.01445",
    "Cui et al. 2024, arXiv:2402.04980",
    "Dandi et al. 2024, arXiv:2410.18938",
)


def predict_any_activation(problem: Problem, settings: GiantStep) -> Prediction:
    r"""Exact risk after one giant step where rows are anisotropic, paired, or have biases.

    Metrics: as :func:`giantstep.theory.one_step.prediction.predict`; ``spike_strength`` and
    ``bulk_variance`` have one entry for each block of equal readout and bias.

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x + b)\Big)^2

    In the limit of large d, or at ``settings.dim``: with spikes of finite strength, and for
    independent rows without biases times the ratio by which corrections of order 1/d change the
    isotropic theory, and times what components of the rows that the step has amplified change.
    Errors are what fewer nodes and blocks would change, and what is not known of such components.

    Assumes: Gaussian inputs; a continuous activation; one step; a readout fitted to fresh samples.
    Status: heuristic (leave-one-out), verified by simulation, unpublished; theorem for the linear
        floor, and in the limit for the rows themselves and, without biases, for random features.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980, and Dandi et
        al. 2024, arXiv:2410.18938, for isotropic rows.

    >>> settings = GiantStep(
    ...     activation="relu", samples="2d", step_size=1.5, width="1d", readout_samples="2d",
    ...     ridge=0.05)
    >>> round(predict_any_activation(Problem.of("relu(h1)"), settings).metrics["test_error"], 5)
    0.23938
    """
    fine = RiskOverSizes(problem, settings)
    sizes, network = fine.sizes, fine.network(fine.sizes)
    risk = fine.at(sizes)
    spikes, alignment = spikes_of(network.layer.means, problem.target)
    variances = network.layer.variances
    if settings.normalise:
        length = np.sqrt(spikes**2 + variances)
        spikes, variances = spikes / length, variances / length**2
    # A fixed number of neurons meets infinitely many samples: no ridge matters, none is best.
    few = fixed_width(settings)
    names = ("bound_upper", "bound_lower")
    bounds = dict.fromkeys(names, risk.test) if few else functional_bounds(network)
    metrics = {
        "test_error": risk.test,
        "test_error_noisy": risk.test + problem.noise,
        "train_error": risk.train,
        "spike_strength": _one_or_list(spikes),
        "bulk_variance": _one_or_list(variances),
        "alignment": alignment,
        **{name: bounds[name] for name in names},
        "linear_floor": tail_energy(problem.target, 1).value,
        "random_features_error": fine.without_step(sizes),
    }
    errors = _quadrature_errors(problem, settings, risk) if risk.converged else {}
    return Prediction.of(
        settings,
        metrics,
        _statuses(fine, metrics),
        REFERENCES,
        _notes(fine, settings, risk),
        errors=errors,
    )


def spikes_of(
    means: Float[np.ndarray, "k vectors"], target: Target
) -> tuple[Float[np.ndarray, " k"], float]:
    """Lengths of parallel means along their direction, and its cosine with the mean gradient.

    >>> spikes, alignment = spikes_of(np.array([[3.0, 4.0], [-3.0, -4.0]]), Target("h1"))
    >>> spikes.round(9).tolist(), round(alignment, 9)
    ([5.0, -5.0], 0.6)
    """
    unit = np.linalg.svd(means, full_matrices=False)[2][0]
    gradient, _ = learned_direction(target)
    # Without a linear part the cosine is zero, but for rounding.
    cosine = float(np.round(unit[: len(gradient)] @ gradient, 14))
    return means @ unit * (1.0 if cosine >= 0 else -1.0), abs(cosine)


def _statuses(fine: RiskOverSizes, metrics: dict[str, Any]) -> dict[str, Status]:
    """What each metric may claim: errors no theorem, the rows in the limit and floors one."""
    statuses: dict[str, Status] = dict.fromkeys(metrics, "heuristic")
    limit = fine.settings.dim is None
    if limit:
        statuses |= dict.fromkeys(("spike_strength", "bulk_variance", "alignment"), "theorem")
    if limit and fine.settings.biases == "none":
        statuses["random_features_error"] = "theorem"
    return {**statuses, "linear_floor": "theorem"}


def _quadrature_errors(problem: Problem, settings: GiantStep, risk: Errors) -> dict[str, float]:
    """What fewer nodes for the labels, and fewer blocks for a law, would change."""
    coarse = RiskOverSizes(problem, settings, coarse=True)
    found = coarse.at(coarse.sizes, corrected=False)
    if not found.converged:
        return {}
    factor, amplified = risk.correction or NONE, risk.amplified
    test = abs(found.test * factor.test * amplified.test - risk.test)
    train = abs(found.train * factor.train * amplified.train - risk.train)
    test += risk.unknown * abs(risk.test * (1 / amplified.test - 1))
    train += risk.unknown * abs(risk.train * (1 / amplified.train - 1))
    return {"test_error": test, "test_error_noisy": test, "train_error": train}


def _notes(fine: RiskOverSizes, settings: GiantStep, risk: Errors) -> list[str]:
    """What the reader of a prediction must know."""
    notes = ["rows as a real step leaves them, not isotropic", _size_note(fine, risk)]
    notes += _target_notes(fine.problem.target)
    if fine.paired:
        notes.append("pairs of neurons with equal first rows and opposite readouts")
    if settings.readout == "normal" or settings.biases != "none":
        notes.append(f"laws of readouts and biases: {len(fine.start.readout)} blocks of neurons")
    if not risk.converged:
        notes.append("the equations did not converge: no error is given")
    return notes


def _size_note(fine: RiskOverSizes, risk: Errors) -> str:
    """How finite d is treated."""
    version, strength = fine.step.version, "finite d: spikes of finite strength"
    if fixed_width(fine.settings):
        return f"the limit of large d at a fixed width of {fine.settings.width} neurons"
    if version == "limit":
        return VERSION_NOTES[version]
    if not fine.plain:
        return f"{strength}; other corrections of order 1/d are not known for pairs and biases"
    if not fine.corrected:
        return strength
    if risk.correction is None:
        return f"{strength}; other corrections of order 1/d are too large here to be trusted"
    return (
        f"{strength}, times {risk.correction.test:.4f}, by which version {version} changes the "
        "error of isotropic rows"
    )


def _one_or_list(values: Float[np.ndarray, " blocks"]) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]


def _target_notes(target: Target) -> list[str]:
    """Which direction one step learns of a target, where that is worth saying."""
    direction, weight = learned_direction(target)
    if weight == 0:
        return ["the target has no linear part: one step learns none of its directions"]
    if target.rank == 1:
        return []
    shown = ", ".join(f"{x:.3g}" for x in direction)
    notes = [
        f"one step learns one direction, ({shown}) in h; the others are fitted as linear "
        "functions times functions of the learned one, which the theory covers exactly"
    ]
    if any(target.kinks) and not np.isclose(np.max(np.abs(direction)), 1):
        notes.append("kinks of the target across the learned direction: good to about 1e-4")
    return notes
