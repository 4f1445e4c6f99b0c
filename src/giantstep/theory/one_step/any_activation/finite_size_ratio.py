"""Finite dimension: what the isotropic theory knows of order 1/d, carried over by ratios."""

from __future__ import annotations

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.finite_size import TRUSTED, Ratios
from giantstep.theory.one_step.stepped_network import OneStep, Sizes


def finite_size_ratio(
    problem: Problem, sigma: Activation, step: OneStep, sizes: Sizes
) -> Ratios | None:
    r"""By how much corrections of order 1/d change the risk of isotropic rows.

    .. math:: \frac{R_{\text{version}}(d)}{R_{\text{isotropic, tilted}}(d)}

    The risk for any activation is multiplied by it: corrections of order 1/d (the cost of fitting
    spikes, the second chaos, the network's own start output) are known for isotropic rows only.
    Seen from there, the product is the risk of the version times the ratio by which the anisotropy
    of a real step's rows changes the risk.

    Symbols: the version ``step.version``; d ``step.dim``. None where a risk is not found or the
    ratio lies outside .75 to 1.33.

    Assumes: as :mod:`giantstep.theory.spiked_random_features.finite_size`.
    Status: heuristic, checked by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938, for isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.settings.giant_step import GiantStep
    >>> from giantstep.theory.one_step.stepped_network import one_step
    >>> settings = GiantStep(
    ...     activation="relu", readout="ones", samples="4d", step_size=1, width="1d",
    ...     readout_samples="2d", ridge=0.1, dim=10**7)
    >>> problem = Problem.of("sin(h1)")
    >>> ratio = finite_size_ratio(problem, activation("relu"), *one_step(problem, settings))
    >>> round(ratio.test, 4)
    1.0
    """
    plain = step._replace(version="spike-strength", tilted=True)
    resolved, reference = (
        each.risk(each.prepared(sigma, problem, sizes), sizes) for each in (step, plain)
    )
    if not (resolved.converged and reference.converged and reference.train > 0):
        return None
    test = (float(resolved.test) - step.noise) / (float(reference.test) - step.noise)
    ratios, (low, high) = Ratios(test, float(resolved.train / reference.train)), TRUSTED
    return ratios if low < test < high and ratios.train > 0 else None
