"""The risk of a given first layer, averaged over the samples of the readout fit only."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.solve import iterated_fixed_point
from giantstep.theory.giant_step.risk.batch_samples import risk_input_rule
from giantstep.theory.giant_step.risk.neuron_averages import neuron_averages

#: Learned directions of less weight than this beside the target's, relatively, are none.
NO_DIRECTION = 1e-6


class SemiAnalyticRisk(NamedTuple):
    """Excess test risk and train error (noisy labels), and whether the equations were solved."""

    test: float
    train: float
    converged: bool


def semi_analytic_risk(
    problem: Problem,
    sigma: Activation,
    weights: Float[np.ndarray, "p d"],
    learned: Float[np.ndarray, "m d"],
    directions: Float[np.ndarray, "r d"],
    *,
    samples: float,
    ridge: float,
) -> SemiAnalyticRisk:
    r"""Test and train error of the readout fit on top of an actual first layer.

    Given the projections e of x on the target's and the learned directions, the features are
    Gaussian with mean :math:`m_j(e)` and covariance :math:`\mathrm{diag}(u)\,W_qW_q^T\,
    \mathrm{diag}(u) + \mathrm{diag}(\epsilon^2)`, where W_q are the rows across these directions,
    :math:`u_j = E\,\sigma'`. With :math:`\Sigma(e)` their second moment,

    .. math::
        Q &= \Big(nE\Big[\frac\Sigma{1+V}\Big]+\lambda\Big)^{-1},\quad V = \mathrm{tr}\,\Sigma Q,
            \quad \theta = nQE\Big[\frac{mg}{1+V}\Big],\\
        \rho &= E\big[(y - \theta\cdot\phi)^2|e\big]
            + n\,\mathrm{tr}\,\Sigma QE\Big[\frac{\rho\,\Sigma}{(1+V)^2}\Big]Q, \qquad
        \text{test} = E\rho,\quad \text{train} = E\Big[\frac\rho{(1+V)^2}\Big].

    No law of the rows is assumed: any activation, readout and number of steps is covered.

    Symbols: W ``weights``; ``learned``: vectors that rows have in common; W_* ``directions``
    (orthonormal rows), n ``samples``; ``ridge`` as everywhere: the features are divided by sqrt(p).

    Assumes: n and p large; at most five directions.
    Status: heuristic (deterministic equivalent), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980; Dandi et al. 2024, arXiv:2410.18938.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.standard_normal((60, 60))
    >>> rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    >>> from giantstep.language.activations.activation import activation
    >>> axes = np.eye(60)
    >>> risk = semi_analytic_risk(
    ...     Problem.of("h1"), activation("identity"), rows + axes[0], axes[:1], axes[:1],
    ...     samples=1e6, ridge=1e-6)
    >>> risk.test < 1e-4
    True
    """
    _, sizes, beyond = np.linalg.svd(learned - learned @ directions.T @ directions, False)
    frame = np.concatenate([directions, beyond[sizes > NO_DIRECTION * np.linalg.norm(learned)]])
    along = weights @ frame.T
    rest = weights - along @ frame
    gram = rest @ rest.T
    bulks = np.diag(gram)
    points, labels, masses = risk_input_rule(problem, along, np.sqrt(bulks), coarse=True)
    at = along @ points.T
    found = neuron_averages(sigma, np.repeat(bulks, at.shape[1]), at.ravel())
    mean, slope, power = (part.reshape(at.shape) for part in (found.mean, found.slope, found.power))
    noise = power - mean**2 - bulks[:, None] * slope**2

    def moment(weighted: np.ndarray) -> np.ndarray:
        """The sum of Sigma over the points."""
        linear = gram * ((slope * weighted) @ slope.T) + (mean * weighted) @ mean.T
        return linear + np.diag(noise @ weighted)

    def traces(matrix: np.ndarray) -> np.ndarray:
        """tr Sigma M at each point."""
        linear = np.sum(slope * ((gram * matrix) @ slope) + mean * (matrix @ mean), axis=0)
        return linear + np.diag(matrix) @ noise

    def resolvent(leverage: np.ndarray) -> np.ndarray:
        fitted = moment(samples * masses / (1 + leverage))
        return np.linalg.inv(fitted + ridge * len(weights) * np.eye(len(weights)))

    start = np.full(len(masses), 0.5 * min(1.0, len(weights) / samples))
    leverage = iterated_fixed_point(
        lambda at: traces(resolvent(at)), start, tolerance=1e-9, max_iterations=500, memory=5
    )
    inverse, gain = resolvent(leverage.value), 1 / (1 + leverage.value)
    readout = inverse @ (mean @ (samples * masses * gain * labels))
    turned = slope * readout[:, None]
    own = (labels - readout @ mean) ** 2 + problem.noise
    own += np.sum(turned * (gram @ turned), axis=0) + readout**2 @ noise

    def loss(before: np.ndarray) -> np.ndarray:
        return own + traces(inverse @ moment(samples * masses * gain**2 * before) @ inverse)

    losses = iterated_fixed_point(loss, own, tolerance=1e-9, max_iterations=500, memory=5)
    return SemiAnalyticRisk(
        test=float(masses @ losses.value) - problem.noise,
        train=float(masses @ (losses.value * gain**2)),
        converged=leverage.converged and losses.converged,
    )
