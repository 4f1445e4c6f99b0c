"""Prediction of the risk after one giant step: which theory covers which settings."""

from __future__ import annotations

from giantstep.answer import Prediction
from giantstep.language.problem import Problem
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation.prediction import predict_any_activation
from giantstep.theory.one_step.intermediate_prediction import predict_intermediate_step
from giantstep.theory.one_step.small_step_prediction import predict_small_step


def predict(problem: Problem, settings: GiantStep) -> Prediction:
    r"""Exact risk after one giant step, and what it is made of.

    Metrics: ``test_error`` (excess risk), ``test_error_noisy``, ``train_error``,
    ``spike_strength`` and ``bulk_variance`` (a number, or one a block), ``alignment``,
    ``bound_upper`` and ``bound_lower`` on the best risk over the ridge, ``linear_floor`` (the
    energy beyond degree one), ``random_features_error`` (the same fit without the step). For steps
    between small and giant ones, without a dimension: ``gain_test``, ``gain_train``, ``spikes``.

    .. math:: R = E\Big(g(x) - \frac1{\sqrt p}\hat a\cdot\sigma(W^1x)\Big)^2

    A step size in :math:`d^{-1/2}` without a dimension has the closed form of small steps, and one
    between that and a plain number the limit of spikes infinitely strong. All others have the risk
    of rows as a real step leaves them; theories of isotropic rows give corrections of order 1/d.

    Assumes: Gaussian inputs; one step; a readout fitted to fresh samples.
    Status: heuristic for errors, and for all but the linear floor at finite d; theorem for small
        steps, for spikes of the first two degrees that are infinitely strong, for the linear
        floor, and in the limit for the rows themselves and for random features.
    References: Ba et al. 2022, arXiv:2205.01445; Cui et al. 2024, arXiv:2402.04980;
        Dandi et al. 2024, arXiv:2410.18938.

    >>> settings = GiantStep(
    ...     activation="tanh", readout="ones", samples="20d", step_size=3, width="1d",
    ...     readout_samples="1.6d", ridge=0.1)
    >>> round(predict(Problem.of("sin(h1)"), settings).metrics["test_error"], 6)
    0.036345
    >>> settings = GiantStep(
    ...     samples="2d", step_size=1.5, width="1d", readout_samples="2d", ridge=0.05)
    >>> round(predict(Problem.of("relu(h1)"), settings).metrics["test_error"], 5)
    0.23938
    """
    if settings.dim is None and settings.step_size.power == -0.5:
        return predict_small_step(problem, settings)
    if settings.dim is None and -0.5 < settings.step_size.power < 0:
        return predict_intermediate_step(problem, settings)
    return predict_any_activation(problem, settings)
