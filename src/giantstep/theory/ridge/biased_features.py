"""Random features with biases: neurons of each bias are a block of their own."""

from __future__ import annotations

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, checked_input_law
from giantstep.language.problem import Problem
from giantstep.settings.random_features import RandomFeatures
from giantstep.settings.ratios import setting_over_dim
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.giant_step.risk.gradient_step import limit_layers
from giantstep.theory.giant_step.risk.readout import Fit, Readout
from giantstep.theory.giant_step.risk.solution import readout_risk
from giantstep.theory.giant_step.start_law import bias_law

#: Nodes that stand for a law of biases; half as many measure the error.
NODES = 16


def biased_features(
    problem: Problem, settings: RandomFeatures, nodes: int = NODES
) -> dict[str, float]:
    r"""Errors, norm and degrees of freedom of ridge regression on sigma(<w, x> + b).

    The equations of the risk after giant steps, without a step: neurons of the bias b
    have the mean, slope and noise

    .. math:: \mu_0(b) = E\,\sigma(z+b),\quad \mu_1(b) = E\,\sigma'(z+b),\quad
        \mu_*^2(b) = \mathrm{Var}\,\sigma(z+b) - \mu_1^2(b),

    and b runs over the ``nodes`` of the Gauss rule of its law.

    Assumes: Gaussian inputs, samples and width proportional to d; at finite d the constant is
    fitted at the price of the ridge, and other corrections of order 1/d are left out.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Mei, Montanari 2019, arXiv:1908.05355, without biases.

    >>> settings = RandomFeatures(activation="relu", biases="uniform", ridge=0.1)
    >>> found = biased_features(Problem.of("h1"), settings)
    >>> round(found["test_error"], 4), round(found["degrees_of_freedom"], 4)
    (0.6523, 0.3549)
    """
    checked_input_law(problem.inputs, (Gaussian,), "biases are predicted", NoTheory)
    start = Neurons.of(
        [1.0], biases=bias_law(settings.biases, nodes), gaussian=settings.start == "gaussian"
    )
    sigma = activation(settings.activation)
    (layer,) = limit_layers(problem, sigma, start, step_sizes=(), samples_ratios=())
    samples, width = setting_over_dim(settings, "samples"), setting_over_dim(settings, "width")
    fit = Fit.of(samples, width, settings.ridge, settings.dim)
    risk = readout_risk(Readout(problem, sigma, layer), fit)
    if not risk.converged:
        raise NoTheory(
            f"biases = {settings.biases} with ridge = {settings.ridge:g}: the equations did not "
            "converge; a larger ridge may be covered"
        )
    return {
        "test_error": risk.test - problem.noise,
        "test_error_noisy": risk.test,
        "train_error": risk.train,
        "norm": risk.norm * width / samples,
        "degrees_of_freedom": risk.freedom,
    }
