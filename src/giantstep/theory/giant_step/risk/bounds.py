"""What no fit of the readout can undercut, and what the network does without one."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.theory.giant_step.risk.readout import Readout


def functional_bounds(readout: Readout) -> dict[str, float]:
    r"""Upper and lower bound on the excess risk at the best ridge, and a floor below both.

    .. math:: \inf_b E\big[(g - b\cdot m)^2\big] \;\ge\; \inf_\lambda R \;\ge\;
        \inf_b E\big[(g - b\cdot f)^2\big] \;\ge\;
        E\,g^2 - E\big[E[g|\kappa]^2\big] - \sum_iE\big[E[z_ig|\kappa]^2\big]

    Symbols: f all functions that single directions among the neurons let the network fit, and m
    the means among them, ``readout.functions``; z_i the target's directions across kappa.

    Assumes: d infinite, n and p proportional to d.
    Status: theorem for one block of isotropic rows and a single direction; replica for other
        isotropic rows; heuristic for those of real steps (from the exact risk).
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("h1"), activation("identity")
    >>> *_, layer = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0], samples_ratios=[1.0])
    >>> found = functional_bounds(Readout(problem, sigma, layer))
    >>> [abs(round(value, 6)) for value in found.values()]
    [0.5, 0.0, 0.0]
    """
    seen, noise = readout.learned, readout.problem.noise
    power = float(seen.power @ seen.weights) - noise
    fitted = sum(
        risk_projection_energy(label, functions, seen.weights)
        for label, functions in zip(seen.labels, readout.functions, strict=False)
    )
    known = float(np.sum(seen.labels**2 @ seen.weights))
    return {
        "bound_upper": power - risk_projection_energy(seen.labels[0], readout.means, seen.weights),
        "bound_lower": power - fitted,
        "subspace_floor": max(power - known, 0.0),
    }


def risk_projection_energy(
    function: Float[np.ndarray, " points"],
    basis: Float[np.ndarray, "functions points"],
    weights: Float[np.ndarray, " points"],
) -> float:
    r"""Energy of the projection of a function on the span of others.

    .. math:: E[f^2] - \inf_b E\big[(f - \textstyle\sum_a b_a\psi_a)^2\big]

    Symbols: f ``function``, psi_a ``basis``, on points of these ``weights``.

    Assumes: square-integrable functions; nearly dependent ones count once.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for the bounds that it serves.

    >>> half = np.full(2, 0.5)
    >>> round(risk_projection_energy(np.array([1.0, 3.0]), np.ones((1, 2)), half), 9)
    4.0
    """
    half = np.sqrt(weights)
    fit = np.linalg.lstsq((basis * half).T, function * half, rcond=1e-12)[0]
    return float(np.sum((fit @ basis * half) ** 2))


def network_error(readout: Readout) -> float:
    r"""Excess risk of the network itself, with the readout that it started with.

    .. math:: E\big(g - F\big)^2, \qquad F = \sum_a\pi_aa\,
        E\,\sigma(\langle m_a, x\rangle + \sqrt{c_a}z)

    Symbols: m, c, a, pi ``readout.layer``; F is a function of what the rows have learned, of which
    ``readout.learned`` knows the labels' first two moments.

    Assumes: p proportional to d, so that the output is that of infinitely many neurons.
    Status: theorem, given the layer.
    References: Dandi et al. 2023, arXiv:2305.18270, for the means.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("h1"), activation("identity")
    >>> layers = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[1.0], samples_ratios=[4.0])
    >>> [round(network_error(Readout(problem, sigma, layer)), 6) for layer in layers]
    [1.0, 0.25]
    """
    seen, neurons = readout.learned, readout.layer.neurons
    output = (neurons.fractions * neurons.readout) @ readout.means
    square = seen.power - 2 * seen.labels[0] * output + output**2
    return float(seen.weights @ square) - readout.problem.noise
