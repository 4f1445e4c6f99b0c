"""Prediction for a step between small and giant ones, in the limit of large d."""

from __future__ import annotations

from typing import Any

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.readout import Fit
from giantstep.theory.one_step.alignment import bulk_variance, spike_strength
from giantstep.theory.one_step.intermediate_step import limiting_gains, spike_degrees
from giantstep.theory.one_step.small_step_prediction import without_small_step
from giantstep.theory.one_step.stepped_network import one_step

REFERENCES = ("Moniri et al. 2023, arXiv:2310.07891",)
#: Degrees of spikes whose gains are a theorem.
PROVED = 1


def predict_intermediate_step(problem: Problem, settings: GiantStep) -> Prediction:
    r"""What a step :math:`c\,d^{e-1/2}` gains over random features, in the limit of large d.

    Metrics: ``gain_test``, by how much the step lowers the excess risk; ``gain_train``, by how much
    it lowers the train objective per sample, penalty included; ``spikes``, how many spikes stand
    out of the features; ``test_error`` and ``test_error_noisy`` after the step; ``alignment``,
    ``linear_floor`` and ``random_features_error`` as for other steps.

    .. math:: R = R(\theta = 0) - \Delta_{te}, \qquad \frac{l-1}{2l} < e < \frac{l}{2l+2}

    The limit does not depend on c: spikes are either absent or infinitely strong.

    Assumes: Gaussian inputs and readout, samples and width proportional to d, e at none of the
    thresholds; as :func:`giantstep.theory.one_step.intermediate_step.limiting_gains`.
    Status: theorem where l is 1, and for all but the errors and gains; heuristic for the errors
        and gains of larger l: the constant that the gradient's noise adds to the second spike is
        not in the paper.
    References: Moniri et al. 2023, arXiv:2310.07891.

    >>> settings = GiantStep(
    ...     activation="relu(z) - 1/sqrt(2*pi)", readout="normal", samples="1.5d",
    ...     step_size="2*n^0.3", width="1d", ridge=0.015)
    >>> law = predict_intermediate_step(Problem.of("h1 + He2(h1)/sqrt(2)"), settings)
    >>> [round(law.metrics[name], 4) for name in ("gain_test", "gain_train", "spikes")]
    [0.5959, 0.1173, 2]
    """
    exponent = round(settings.step_size.power + 0.5, 12)
    if settings.readout != "normal":
        raise NoTheory(
            f"readout = {settings.readout}: without a dimension steps between d^-0.5 and 1 are "
            "predicted for readout = normal; use that, or give --dim"
        )
    sigma = activation(settings.activation)
    degrees = spike_degrees(sigma, exponent)
    step, sizes = one_step(problem, settings.replace(step_size=settings.step_size.coefficient))
    alignment = float(step.alignment(sizes))
    ratio = sizes.samples_ratios[0]
    noise = float(bulk_variance(step.signal, ratio, 1.0)) - 1
    spread = noise / float(spike_strength(step.signal, ratio, 1.0)) ** 2
    fit = Fit.of(sizes.readout_samples_ratio, sizes.width_ratio, sizes.ridge)
    gains = limiting_gains(problem, sigma, fit, alignment=alignment, degrees=degrees, spread=spread)
    baselines = without_small_step(problem, sigma, fit)
    test = baselines["random_features_error"] - gains.test
    errors: dict[str, Any] = {
        "gain_test": gains.test,
        "gain_train": gains.train,
        "test_error": test,
        "test_error_noisy": test + problem.noise,
    }
    metrics = {**errors, "spikes": len(degrees), "alignment": alignment, **baselines}
    statuses: dict[str, Status] = dict.fromkeys(metrics, "theorem")
    if max(degrees, default=0) > PROVED:
        statuses |= dict.fromkeys(errors, "heuristic")
    powers = ", ".join(map(str, degrees))
    note = (
        f"a step of order n^{exponent:g} over sqrt(p): powers {powers} of the learned direction "
        "stand out of the features; the limit of large d, reached slowly: give --dim for a size"
    )
    return Prediction.of(settings, metrics, statuses, REFERENCES, (note,))
