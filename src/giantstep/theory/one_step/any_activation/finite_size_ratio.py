"""Finite dimension: what the isotropic theory knows of order 1/d, carried over by ratios."""

from __future__ import annotations

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.finite_size import TRUSTED, Ratios
from giantstep.theory.giant_step.risk.readout import Fit
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
    resolved = step.risk(step.prepared(sigma, problem, sizes), sizes)
    reference = _isotropic(problem, sigma, step, sizes)
    if reference is None or not resolved.converged:
        return None
    ratios = (
        (float(resolved.test) - step.noise) / reference[0],
        float(resolved.train) / reference[1],
    )
    return Ratios(*ratios) if _trusted(ratios) else None


def fit_of(sizes: Sizes, dim: float) -> Fit:
    """The fit of the readout at these sizes: its penalty is ridge p/d, for features over sqrt(p).

    >>> sizes = Sizes(
    ...     step_size=1.0, ridge=0.1, samples_ratio=4.0, readout_samples_ratio=2.0, width_ratio=0.5)
    >>> fit_of(sizes, 1e12).penalty
    0.05
    """
    penalty = sizes.ridge * sizes.width_ratio
    return Fit(sizes.readout_samples_ratio, sizes.width_ratio, penalty, dim)


def _isotropic(
    problem: Problem, sigma: Activation, step: OneStep, sizes: Sizes
) -> tuple[float, float] | None:
    """Excess test and train error of isotropic rows with spikes of finite strength."""
    plain = step._replace(version="spike-strength", tilted=True)
    found = plain.risk(plain.prepared(sigma, problem, sizes), sizes)
    if not found.converged or not found.train > 0:
        return None
    return float(found.test) - step.noise, float(found.train)


def _trusted(ratios: tuple[float, float]) -> bool:
    low, high = TRUSTED
    return low < ratios[0] < high and ratios[1] > 0
