"""Prediction of the risk of a readout fitted after any number of giant steps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_tail_energy
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.ratios import is_width_setting_fixed
from giantstep.theory.giant_step.risk.finite_size import NONE
from giantstep.theory.giant_step.risk.first_layer import FirstLayer
from giantstep.theory.giant_step.risk.over_sizes import RiskErrors, RiskOverSizes
from giantstep.theory.giant_step.risk.sizes import check_risk_covered
from giantstep.theory.learnability.staircase import one_step_direction
from giantstep.theory.one_step.intermediate_prediction import predict_intermediate_step
from giantstep.theory.one_step.small_step_prediction import predict_small_step
from giantstep.theory.spiked_random_features.conditional_features import LIMIT

REFERENCES = (
    "Ba et al. 2022, arXiv:2205.01445",
    "Cui et al. 2024, arXiv:2402.04980",
    "Dandi et al. 2024, arXiv:2410.18938",
)


def predict_risk(problem: Problem, settings: GiantStep, along: Sequence[float] = ()) -> Prediction:
    r"""Exact risk of the readout fitted after 0, 1, ..., T giant steps on fresh batches.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy`` and ``train_error``, one entry per
    step, or for one step the number after it; ``network_error`` (of the network itself, with the
    readout of the start), one entry per step; ``bulk_variance`` of the rows, a number, or one per
    kind of neuron; ``bound_upper`` and ``bound_lower`` on the best risk over the ridge,
    ``subspace_floor`` (of any function of what the rows have learned, and linear beyond),
    ``linear_floor`` (the energy beyond degree one) and ``random_features_error`` (the same fit
    without steps). After one step also ``spike_strength`` and ``alignment`` of what it learned.
    For one step between small and giant ones, without a dimension: ``gain_test``, ``gain_train``,
    ``spikes``.

    .. math:: R_t = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^tx)\Big)^2

    In the limit of large d, or at ``settings.dim``: with spikes of finite strength, for independent
    rows without biases times the ratio by which corrections of order 1/d change isotropic rows, and
    times what components of the rows that the steps have amplified change. Errors are what fewer
    nodes and kinds would change, what is not known of such components, and after several steps at
    a finite d as much again as is known at order 1/d. ``arrays``: signed overlaps and Gram matrix
    of the kinds' mean rows after each step. ``along``: all ridges of a curve, if this is a point of
    one: they are solved together at the first.

    Assumes: Gaussian inputs, isotropic or with a spike along h1; a continuous activation; fresh
        batches; a readout fitted to fresh samples; sizes proportional to d.
    Status: heuristic (leave-one-out) for errors and all that follows from them, verified by
        simulation, unpublished; theorem for small steps, for the linear floor and, in the limit,
        for random features without biases, the network's own error, and rows after one step.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980, and Dandi et
        al. 2024, arXiv:2410.18938, for one step and isotropic rows.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="2d", steps=2, step_size=3, width="1d",
    ...     readout_samples="2d", ridge=0.05)
    >>> found = predict_risk(Problem.of("sin(h1)"), settings)
    >>> found.metrics["test_error"].round(4).tolist()
    [0.2419, 0.1296, 0.0643]
    >>> settings = settings.replace(
    ...     activation="relu", readout="symmetric-sign", steps=1, step_size=1.5)
    >>> round(predict_risk(Problem.of("relu(h1)"), settings).metrics["test_error"], 5)
    0.23938
    """
    check_risk_covered(problem, settings)
    if settings.dim is None and settings.steps == 1 and settings.step_size.power < 0:
        small = settings.step_size.power == -0.5
        return (predict_small_step if small else predict_intermediate_step)(problem, settings)
    fine = RiskOverSizes(problem, settings, along=along)
    risks = [fine.at(fine.sizes, after) for after in range(settings.steps + 1)]
    errors = {
        "test_error": np.array([risk.test for risk in risks]),
        "test_error_noisy": np.array([risk.test for risk in risks]) + problem.noise,
        "train_error": np.array([risk.train for risk in risks]),
    }
    off = _inaccuracies(fine, risks)
    if settings.steps == 1:
        # One step has one error; that before it is the error of random features.
        off = {name: value[-1] for name, value in off.items()}
    metrics: dict[str, Any] = {
        **{name: float(e[-1]) if settings.steps == 1 else e for name, e in errors.items()},
        **_of_the_network(fine, risks[-1]),
        "linear_floor": target_tail_energy(problem.target, 1).value,
        "random_features_error": risks[0].test,
    }
    return Prediction.of(
        settings,
        metrics,
        _predicted_statuses(fine, metrics),
        REFERENCES,
        _notes(fine, risks),
        errors=off,
        arrays=limit_kind_arrays(fine.steps(fine.sizes).layers),
    )


def _of_the_network(fine: RiskOverSizes, risk: RiskErrors) -> dict[str, Any]:
    """What rows have learned, what the network does without a fit, and what no fit undercuts."""
    settings, steps = fine.settings, fine.steps(fine.sizes)
    layer, metrics = steps.layers[-1], steps.network
    if settings.steps == 1:
        spikes, cosine = spikes_of(layer.means, fine.problem.target)
        metrics = {
            "spike_strength": _predicted_number_or_list(spikes),
            "alignment": cosine,
            **metrics,
        }
    if is_width_setting_fixed(settings):
        # A fixed number of neurons meets infinitely many samples: no ridge matters, none is best.
        metrics = metrics | dict.fromkeys(("bound_upper", "bound_lower"), risk.test)
        del metrics["network_error"]
    if fine.spike:
        # Labels are known given all of h, not only what the rows have learned of it.
        del metrics["subspace_floor"]
    return {**metrics, "bulk_variance": _predicted_number_or_list(layer.variances)}


def spikes_of(
    means: Float[np.ndarray, "k vectors"], target: Target
) -> tuple[Float[np.ndarray, " k"], float]:
    """Lengths of parallel means along their direction, and its cosine with the mean gradient.

    >>> spikes, alignment = spikes_of(np.array([[3.0, 4.0], [-3.0, -4.0]]), Target("h1"))
    >>> spikes.round(9).tolist(), round(alignment, 9)
    ([5.0, -5.0], 0.6)
    """
    unit = np.linalg.svd(means, full_matrices=False)[2][0]
    gradient, _ = one_step_direction(target)
    # Without a linear part the cosine is zero, but for rounding.
    cosine = float(np.round(unit[: len(gradient)] @ gradient, 14))
    return means @ unit * (1.0 if cosine >= 0 else -1.0), abs(cosine)


def limit_kind_arrays(layers: list[FirstLayer]) -> dict[str, np.ndarray]:
    """Signed overlaps of the kinds' means with the target's directions, and their Gram matrices."""
    rank = layers[0].means.shape[1]
    return {
        "kind_readouts": layers[0].neurons.readout,
        "kind_overlaps": np.stack([layer.means[:, :rank] for layer in layers]),
        "kind_gram": np.stack([layer.means @ layer.means.T for layer in layers]),
        "kind_bulks": np.stack([layer.variances for layer in layers]),
    }


def _predicted_statuses(fine: RiskOverSizes, metrics: dict[str, Any]) -> dict[str, Status]:
    """What each metric may claim: errors no theorem, the rows in the limit and floors one."""
    settings, proved = fine.settings, ["linear_floor"]
    if settings.dim is None and not fine.spike:
        proved += ["network_error", "spike_strength", "alignment"]
        proved += ["bulk_variance"] if settings.steps == 1 else []
        if settings.biases == "none" and settings.start == "sphere":
            proved.append("random_features_error")
    return {name: "theorem" if name in proved else "heuristic" for name in metrics}


def _inaccuracies(
    fine: RiskOverSizes, risks: list[RiskErrors]
) -> dict[str, Float[np.ndarray, " steps1"]]:
    """How far errors may be off; nothing where an equation was not solved."""
    coarse = RiskOverSizes(fine.problem, fine.settings, coarse=True, along=fine.along.tolist())
    off = np.zeros((2, len(risks)))
    for after, risk in enumerate(risks):
        plain, correction = np.array(risk.plain), np.array(risk.correction or NONE)
        amplified = np.array(risk.amplified)
        if after:
            fewer = coarse.at(coarse.sizes, after, corrected=False)
            off[:, after] = np.abs(fewer.plain - plain) * correction * amplified
            off[:, after] += risk.unknown * np.abs(plain * correction * (1 - amplified))
        if fine.settings.dim is not None and (fine.settings.steps != 1 or fine.spike):
            # All that is known of order 1/d tells the size of what is not. A continuous readout
            # has spikes of all strengths, and what they hold at d is no correction of order 1/d.
            if after and fine.settings.readout == "normal" and risk.correction and fine.corrected:
                shares = np.abs(correction - 1) + np.abs(amplified - 1) + 1 / fine.dim
                off[:, after] += plain * shares
            else:
                limit = fine.at(fine.sizes, after, corrected=False, dim=LIMIT)
                off[:, after] += np.abs(plain * correction - limit.plain)
        if fine.settings.dim is not None and fine.spike:
            # The rows' own components along the spike, of which the first order alone is known.
            off[:, after] += plain * fine.spike.target_variance(fine.dim) / fine.dim
    if not np.all(np.isfinite(off)):
        return {}
    return {"test_error": off[0], "test_error_noisy": off[0], "train_error": off[1]}


def _notes(fine: RiskOverSizes, risks: list[RiskErrors]) -> list[str]:
    """What the reader of a prediction must know."""
    settings = fine.settings
    notes = ["risk: rows as real steps leave them, not isotropic", _size_note(fine, risks[-1])]
    if settings.steps == 1:
        notes += _target_notes(fine.problem.target)
    if fine.start.paired:
        notes.append("pairs of neurons with equal first rows and opposite readouts")
    if settings.readout == "normal" or settings.biases != "none":
        kinds = len(fine.start.readout)
        notes.append(f"laws of readouts and biases: {kinds} kinds of neurons; fewer tell the error")
    if not all(risk.converged for risk in risks):
        notes.append("the equations did not converge at every step: no error is given there")
    return notes


def _size_note(fine: RiskOverSizes, risk: RiskErrors) -> str:
    """How finite d is treated."""
    strength = "finite d: spikes of finite strength"
    if is_width_setting_fixed(fine.settings):
        return f"the limit of large d at a fixed width of {fine.settings.width} neurons"
    if fine.settings.dim is None:
        return "the limit of large d"
    if not fine.plain:
        return (
            f"{strength}; other corrections of order 1/d are not known for pairs, biases and spikes"
        )
    if risk.correction is None:
        return f"{strength}; other corrections of order 1/d are too large here to be trusted"
    return (
        f"{strength}, times {risk.correction.test:.4f}, by which version {fine.version} changes "
        "the error of isotropic rows"
    )


def _predicted_number_or_list(values: Float[np.ndarray, " kinds"]) -> float | list[float]:
    return float(values[0]) if len(values) == 1 else [float(value) for value in values]


def _target_notes(target: Target) -> list[str]:
    """Which direction one step learns of a target, where that is worth saying."""
    direction, weight = one_step_direction(target)
    if weight == 0:
        return ["the target has no linear part: one step learns none of its directions"]
    if target.rank == 1:
        return []
    # Rounding leaves no direction.
    shown = ", ".join(f"{x:.3g}" for x in np.round(direction, 12) + 0.0)
    notes = [
        f"one step learns one direction, ({shown}) in h; the others are fitted as linear "
        "functions times functions of the learned one, which the theory covers exactly"
    ]
    if any(target.kinks) and not np.isclose(np.max(np.abs(direction)), 1):
        notes.append("kinks of the target across the learned direction: good to about 1e-4")
    return notes
