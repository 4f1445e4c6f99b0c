"""Where the top principal component of spiked inputs points: the transition of Baik et al."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.inputs import Gaussian, Spiked, check_covered
from giantstep.numerics.hermite import hermite_values
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.pca import Pca
from giantstep.settings.ratios import ratio_to_dim
from giantstep.targets import Target
from giantstep.targets.hermite import energies, moments

REFERENCES = cite("baik-2005", "ba-2023")
#: Nodes on the projection and on the rest of h1, for averages that are weighted by 1/n.
_NODES = 80


class Component(NamedTuple):
    """The top eigenvalue of the sample covariance, its vector's squared cosine with the spike."""

    eigenvalue: float
    overlap_squared: float


def principal_component(theta: float, samples_ratio: float) -> Component:
    r"""Eigenvalue and overlap of the top component of n samples of N(0, I + theta mu mu^T).

    .. math:: \lambda = (1+\theta)\Big(1 + \frac{\gamma}{\theta}\Big), \qquad
        \langle v, \mu\rangle^2 = \frac{1 - \gamma/\theta^2}{1 + \gamma/\theta}
        \qquad \text{for } \theta > \sqrt\gamma

    and (1 + sqrt(gamma))^2 and 0 below the threshold.

    Symbols: gamma = d/n is one over ``samples_ratio``.
    Assumes: d and n large at a fixed ratio; theta fixed.
    Status: theorem.
    References: Baik et al. 2005, Annals of Probability 33.

    >>> principal_component(2.0, 4.0)
    Component(eigenvalue=3.375, overlap_squared=0.8333333333333334)
    >>> principal_component(0.4, 4.0)
    Component(eigenvalue=2.25, overlap_squared=0.0)
    """
    gamma = 1 / samples_ratio
    if theta <= math.sqrt(gamma):
        return Component((1 + math.sqrt(gamma)) ** 2, 0.0)
    return Component(
        (1 + theta) * (1 + gamma / theta), (1 - gamma / theta**2) / (1 + gamma / theta)
    )


def correlation_with_target(theta: float, cosine: float, overlap_squared: float) -> float:
    r"""Squared correlation of the projection on the component with what the label reads.

    .. math:: \omega^2 = \frac{a^2 c^2 (1+\theta)^2}{(1 + \theta a^2)(1 + \theta c^2)}

    Symbols: a^2 is ``overlap_squared`` with the spike, c the ``cosine`` of spike and target.
    Assumes: large d, so that what is beside the spike points nowhere in particular.
    Status: theorem.
    References: Baik et al. 2005, Annals of Probability 33.

    >>> correlation_with_target(3.0, 1.0, 1.0)
    1.0
    """
    seen = overlap_squared * cosine**2 * (1 + theta) ** 2
    return seen / ((1 + theta * overlap_squared) * (1 + theta * cosine**2))


class FitCosts(NamedTuple):
    """What a fit on n samples adds to the risk, times n: coefficients, and unit of length."""

    coefficients: float
    length: float


def fit_costs(target: Target, omega: float, degree: int, noise: float) -> FitCosts:
    r"""The first order in 1/n of the risk of a polynomial fitted along a projection z.

    .. math:: C = \sum_{k \le D} E\big[(y - f(z))^2 \, \mathrm{he}_k(z)^2\big], \qquad
        L = \tfrac12 E\big[(z f'(z))^2\big], \qquad
        f = \sum_{k \le D} \omega^k \, E[g\, \mathrm{he}_k] \, \mathrm{he}_k

    C/n is the price of the D + 1 coefficients. Projections are divided by their own root mean
    square, which fluctuates by 1/sqrt(2n): stretching f so costs L/n.

    Symbols: D ``degree``, he_k the orthonormal Hermite polynomials, omega the correlation of z
    with h1, y = g(h1) + noise.
    Assumes: least squares, n so large that rare large z are among the samples.
    Status: heuristic, as the component was fitted to the same samples.
    References: Baik et al. 2005, Annals of Probability 33.

    >>> [round(cost, 8) for cost in fit_costs(Target("h1"), 1.0, 2, 0.5)]
    [1.5, 0.5]
    """
    nodes, weights = gauss_hermite(_NODES)
    z, rest = (grid.ravel() for grid in np.meshgrid(nodes, nodes, indexing="ij"))
    both = np.outer(weights, weights).ravel()
    g = target((omega * z + math.sqrt(max(1 - omega**2, 0.0)) * rest)[:, None])
    roots = np.sqrt([math.factorial(k) for k in range(degree + 1)])[:, None]
    columns = hermite_values(z, degree) / roots
    coefficients = columns @ (both * g)
    squares = both * ((g - coefficients @ columns) ** 2 + noise)
    # he_k' = sqrt(k) he_{k-1}.
    slope = (coefficients[1:] * np.sqrt(np.arange(1, degree + 1))) @ columns[:-1]
    return FitCosts(
        round(float((columns**2 @ squares).sum()), 12),
        round(float(both @ (z * slope) ** 2) / 2, 12),
    )


def predict(problem: Problem, settings: Pca) -> Prediction:
    """Eigenvalue, overlaps and test error of the top principal component.

    Metrics: ``overlap_squared`` with the spike, ``target_overlap_squared`` with h1, ``eigenvalue``,
    ``test_error`` and ``test_error_noisy``. The test error is that of the best polynomial of the
    given degree in the projection, ``sum_k |P_k g|^2 (1 - omega^(2k))``; where ``dim`` is given,
    with what fitting it costs, to first order in 1/n.

    Assumes: Gaussian inputs with one spike or none, samples proportional to d, a target of h1 for
        the test error.
    Status: theorem for the component; heuristic for the test error, as the fit reuses the samples.
    References: Baik et al. 2005, Annals of Probability 33; Ba et al. 2023,
        Advances in Neural Information Processing Systems 36.

    >>> law = predict(Problem("He2(h1)/sqrt(2)", inputs="spiked:2"), Pca(samples="4d"))
    >>> round(law.metrics["overlap_squared"], 4), round(law.metrics["test_error"], 4)
    (0.8333, 0.1211)
    """
    law = problem.inputs
    check_covered(law, (Gaussian, Spiked), "principal components are predicted", NoTheory)
    theta, cosine = 0.0, 1.0
    if isinstance(law, Spiked):
        if settings.dim is None and (law.strength.power or law.alignment.power):
            raise NoTheory(f"dim is missing: inputs = {law} depend on d, give --dim")
        theta, cosine = law.numbers(settings.dim or 1.0)
    component = principal_component(theta, ratio_to_dim(settings, "samples"))
    omega2 = correlation_with_target(theta, cosine, component.overlap_squared)
    metrics = {
        "overlap_squared": component.overlap_squared,
        "target_overlap_squared": component.overlap_squared * cosine**2,
        "eigenvalue": component.eigenvalue,
    }
    statuses: dict[str, Status] = dict.fromkeys(metrics, "theorem")
    notes = []
    if problem.target.rank == 1:
        parts = energies(problem.target, settings.degree)
        learned = float(parts @ omega2 ** np.arange(len(parts)))
        metrics["test_error"] = max(moments(problem.target).second_moment - learned, 0.0)
        if settings.dim is not None and omega2 > 0:
            costs = fit_costs(problem.target, math.sqrt(omega2), settings.degree, problem.noise)
            n = settings.samples.count(settings.dim, "samples")
            metrics["test_error"] += (costs.coefficients + costs.length) / n
            metrics["test_error"] += costs.length / settings.test_samples
        metrics["test_error_noisy"] = metrics["test_error"] + problem.noise
        statuses |= dict.fromkeys(("test_error", "test_error_noisy"), "heuristic")
    else:
        notes.append("no test error: it is predicted for targets of h1 alone")
    if component.overlap_squared == 0:
        notes.append("below the threshold theta = sqrt(d/n): the component is blind to the spike")
    return Prediction(
        *(settings.learner, settings.to_json(), metrics, statuses, REFERENCES, tuple(notes))
    )
