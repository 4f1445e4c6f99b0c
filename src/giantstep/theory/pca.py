"""Where the top principal component of spiked inputs points: the transition of Baik et al."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.language.inputs import Gaussian, Spiked, checked_input_law
from giantstep.language.problem import Problem
from giantstep.language.targets.hermite import target_energies, target_moments
from giantstep.numerics.hermite import normalised_hermite
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian
from giantstep.numerics.ridge.path import GCV, NormalEquations, RidgePath
from giantstep.settings.pca import Pca
from giantstep.settings.ratios import setting_over_dim

REFERENCES = cite("baik-2005", "ba-2023")
#: Nodes on the projection and on the rest of h1.
_NODES = 80
#: Samples of one fit at most, fits that are drawn, and ridges in units of n that gcv chooses from.
_MOST_DRAWN, _FEWEST_FITS, _MOST_FITS = 20_000, 16, 200
_GCV_RIDGES = np.logspace(-8, 3, 56)


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


def predicted_fit_error(
    problem: Problem,
    omega: float,
    degree: int,
    samples: int,
    ridge: float | str = 0.0,
    test_samples: float = 1e6,
) -> tuple[float, float]:
    r"""The mean risk of a polynomial fitted along a projection z, and how far off it may be.

    .. math:: R = E[g^2] - |c|^2 + E[(f-\hat f)^2;\,|z|<z_t] + \frac{L}{n_t}, \qquad
        L = \tfrac12 E\big[(z f'(z))^2\big], \qquad f = \sum_{k \le D} c_k\,\mathrm{he}_k(z),
        \quad c_k = E[g\,\mathrm{he}_k(z)],

    with :math:`\hat f` fitted to n draws of (z, y), z divided by its own root mean square. An
    expansion in 1/n would not do: its first order is dominated by values of z that n samples do
    not contain. What lies beyond :math:`z_t`, of which a test set holds one value in the mean, is
    a rare large error: it is counted in the second number, with the standard error. The test set
    has a root mean square of its own, which fluctuates by :math:`1/\sqrt{2n_t}`.

    Symbols: D ``degree``, he_k the orthonormal Hermite polynomials, ``omega`` the correlation of z
    with h1, y = g(h1) + noise, n ``samples`` (from 20,000 on what the fit costs falls as 1/n),
    :math:`n_t` ``test_samples``, ``ridge`` a penalty or ``gcv``.
    Assumes: draws of (z, y) that are independent, though the component was fitted to them.
    Status: heuristic.
    References: Baik et al. 2005, Annals of Probability 33.

    >>> risk, error = predicted_fit_error(Problem("h1", 0.5), 1.0, 1, 200)
    >>> round(risk, 2), error < 0.001
    (0.01, True)
    """
    from scipy.special import ndtri

    rng = np.random.default_rng(0)
    nodes, weights = gauss_hermite(_NODES)
    rest_share = math.sqrt(max(1 - omega**2, 0.0))
    g = problem.target((omega * nodes[:, None] + rest_share * nodes)[..., None])
    curve = normalised_hermite(nodes, degree).T
    best = curve.T @ (weights * (g @ weights))
    # he_k' = sqrt(k) he_{k-1}.
    slope = curve[:, :-1] @ (best[1:] * np.sqrt(np.arange(1, degree + 1)))
    length = float(weights @ (nodes * slope) ** 2) / 2
    inner, masses = split_gaussian(cutoff=float(-ndtri(1 / (2 * max(test_samples, 3.0)))))
    among = normalised_hermite(inner, degree)
    common = (among * masses) @ among.T
    drawn = min(samples, _MOST_DRAWN)
    count = max(_FEWEST_FITS, min(_MOST_FITS, _MOST_DRAWN * 10 // drawn))
    missed = np.empty((count, degree + 1))
    for fit in range(count):
        z, rest, noise = rng.standard_normal((3, drawn))
        y = problem.target((omega * z + rest_share * rest)[:, None])
        y = y + math.sqrt(problem.noise) * noise
        columns = normalised_hermite(z / np.sqrt(np.mean(z**2)), degree).T
        path = RidgePath.solve(NormalEquations.of(columns, y))
        ridges = (drawn * _GCV_RIDGES).tolist() if ridge == GCV else [float(ridge)]
        chosen = ridges[int(np.argmin(path.gcv(ridges)))]
        missed[fit] = path.coefficients(chosen)[0] - best
    share = drawn / samples
    costs = share * np.einsum("ij,jk,ik->i", missed, common, missed)
    beyond = share * float(np.mean(np.sum(missed**2, axis=1))) - float(costs.mean())
    error = float(costs.std(ddof=1)) / math.sqrt(count) + max(beyond, 0.0)
    floor = target_moments(problem.target).second_moment - float(best @ best)
    return max(floor, 0.0) + float(costs.mean()) + length / test_samples, error


def predict(problem: Problem, settings: Pca) -> Prediction:
    """Eigenvalue, overlaps and test error of the top principal component.

    Metrics: ``overlap_squared`` with the spike, ``target_overlap_squared`` with h1, ``eigenvalue``,
    ``test_error`` and ``test_error_noisy``. The test error is that of the best polynomial of the
    given degree in the projection, ``sum_k |P_k g|^2 (1 - omega^(2k))``; where ``dim`` is given,
    with what fitting it costs.

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
    checked_input_law(law, (Gaussian, Spiked), "principal components are predicted", NoTheory)
    theta, cosine = 0.0, 1.0
    if law.spike is not None:
        if settings.dim is None and law.spike.depends_on_dim:
            raise NoTheory(f"dim is missing: inputs = {law} depend on d, give --dim")
        theta, cosine = law.spike.numbers(settings.dim or 1.0)
    component = principal_component(theta, setting_over_dim(settings, "samples"))
    omega2 = correlation_with_target(theta, cosine, component.overlap_squared)
    metrics = {
        "overlap_squared": component.overlap_squared,
        "target_overlap_squared": component.overlap_squared * cosine**2,
        "eigenvalue": component.eigenvalue,
    }
    statuses: dict[str, Status] = dict.fromkeys(metrics, "theorem")
    notes: list[str] = []
    errors: dict[str, float] = {}
    if problem.target.rank == 1:
        parts = target_energies(problem.target, settings.degree)
        learned = float(parts @ omega2 ** np.arange(len(parts)))
        metrics["test_error"] = max(target_moments(problem.target).second_moment - learned, 0.0)
        if settings.dim is not None and omega2 > 0:
            n = settings.samples.count(settings.dim, "samples")
            fit = math.sqrt(omega2), settings.degree, n, settings.ridge, settings.test_samples
            metrics["test_error"], error = predicted_fit_error(problem, *fit)
            errors = dict.fromkeys(("test_error", "test_error_noisy"), error)
        metrics["test_error_noisy"] = metrics["test_error"] + problem.noise
        statuses |= dict.fromkeys(("test_error", "test_error_noisy"), "heuristic")
    else:
        notes.append("no test error: it is predicted for targets of h1 alone")
    if component.overlap_squared == 0:
        notes.append("below the threshold theta = sqrt(d/n): the component is blind to the spike")
    return Prediction.of(settings, metrics, statuses, REFERENCES, notes, errors=errors)
