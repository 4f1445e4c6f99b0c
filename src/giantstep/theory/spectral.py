"""Spectral methods: outlier, overlap and transition of a matrix weighted by the labels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status, weakest_status
from giantstep.channels.channel import channel_of_problem
from giantstep.channels.preprocessing import (
    EMPTY,
    channel_basis,
    channel_outlier_groups,
    given_channel_weights,
    optimal_channel_weights,
)
from giantstep.errors import NoTheory
from giantstep.language.problem import Problem
from giantstep.numerics.solve import bracketed_root
from giantstep.settings.ratios import setting_over_dim
from giantstep.settings.spectral import Spectral
from giantstep.theory.amp.averages.overlaps import overlap_gap
from giantstep.theory.amp.averages.population import (
    Population,
    check_exchangeable,
    population_of,
)

REFERENCES = (
    "Lu, Li 2017, arXiv:1702.06435",
    "Mondelli, Montanari 2017, arXiv:1708.05932",
    "Defilippis et al. 2025, arXiv:2502.02545",
)


Block = tuple[np.ndarray, np.ndarray, np.ndarray]


class SpectralOutlier(NamedTuple):
    """The top eigenvalue, the edge of the bulk, and the squared cosine with the direction."""

    eigenvalue: float
    edge: float
    overlap_squared: float


def spectral_outlier(
    weights: Float[np.ndarray, " n"],
    preprocessed: Float[np.ndarray, " n"],
    squares: Float[np.ndarray, " n"],
    alpha: float,
) -> SpectralOutlier:
    r"""Top eigenvalue and overlap of D = (1/n) sum_i T(y_i) x_i x_i^T, for one direction.

    .. math::
        \psi(l) = l\,(1/\alpha + E[T/(l-T)]), \quad \phi(l) = l\, E[T h^2/(l-T)], \quad
        \psi'(\bar l) = 0, \quad \psi(\max(l^*, \bar l)) = \phi(l^*).

    If l* > lbar the top eigenvalue psi(l*) leaves the bulk, whose edge is psi(lbar), and
    cos^2 = psi'(l*)/(psi'(l*) - phi'(l*)); otherwise the overlap is 0.

    Symbols: the law of y as ``weights`` of nodes, T ``preprocessed``, E[h^2|y] ``squares``,
    n/d ``alpha``.

    Assumes: isotropic Gaussian inputs, T bounded above with sup T > 0, n = alpha d, d to infinity.
    Status: theorem.
    References: Lu, Li 2017, arXiv:1702.06435; Mondelli, Montanari 2017, arXiv:1708.05932.

    >>> half = np.array([0.5, 0.5])  # labels sign(h1 h2), seen along (h1 + h2)/sqrt(2)
    >>> c = np.array([1, -1]) * 2 / np.pi
    >>> round(spectral_outlier(half, c / (1 + c), 1 + c, 4.0).overlap_squared, 6)
    0.429204
    """
    used = preprocessed[weights > 0]
    top = float(used.max())
    if np.abs(used).max() < 1e-9:
        return SpectralOutlier(0.0, 0.0, 0.0)
    if top <= 0:
        raise NoTheory("the preprocessing T(y) is never positive: nothing can leave the bulk")

    def psi(x: float) -> float:
        return float(x * (1 / alpha + weights @ (preprocessed / (x - preprocessed))))

    def psi_slope(x: float) -> float:
        return float(1 / alpha - weights @ (preprocessed**2 / (x - preprocessed) ** 2))

    def phi(x: float) -> float:
        return float(x * (weights @ (preprocessed * squares / (x - preprocessed))))

    low, high = top * (1 + 1e-12), 2 * top
    while psi_slope(high) < 0:
        high *= 2
    bar = low
    if psi_slope(low) < 0:
        bar = bracketed_root(psi_slope, low, high, absolute=1e-15).value
    edge = psi(bar)
    if phi(bar) <= edge:
        return SpectralOutlier(edge, edge, 0.0)
    high = 2 * bar
    while phi(high) > psi(high):
        high *= 2
    star = bracketed_root(lambda x: phi(x) - psi(x), bar, high, absolute=1e-15).value
    phi_slope = -(weights @ (squares * preprocessed**2 / (star - preprocessed) ** 2))
    slope = psi_slope(star)
    return SpectralOutlier(psi(star), edge, float(slope / (slope - phi_slope)))


def linearised_outlier(
    problem: Problem, samples_ratio: float, population: Population | None = None
) -> tuple[float, Float[np.ndarray, " r"]]:
    r"""Eigenvalue and squared cosines of message passing linearised around zero.

    The map F: M -> E[G M G], G = E[hh^T|y] - I, on r x r matrices has eigenvalues kappa_k/alpha
    and eigen-matrices m_k, the largest being 1/alpha_c. Those with kappa_k > sqrt(kappa_1) are
    outliers of L = (X X^T/d - diag) G; the estimate of each is W_k = X^T G v_k, with

    .. math::
        W_k^\top W^*/d = m_k, \qquad
        \kappa_k \kappa_l q_{kl} = \kappa_k \kappa_l m_k m_l^\top + \alpha E[G q_{kl} G]
        + \alpha E[G m_k G m_l^\top G], \quad q_{kl} = W_k^\top W_l/d.

    The squared cosines are those between the true directions and the span of the W_k of the largest
    outliers, cut to the r directions that hold most of them, with smaller outliers where these
    leave directions empty; 0 for kappa_1 < 1. For r = 1 this is (kappa - 1)/(kappa + alpha_c
    E[G^3]).

    Symbols: alpha = n/d ``samples_ratio``; averages by ``population`` where it is given.

    Assumes: isotropic Gaussian inputs, E[h|y] = 0, G with a finite third moment.
    Status: heuristic (state evolution of the linearised algorithm).
    References: Maillard et al. 2020, arXiv:2012.04524; Defilippis et al. 2025, arXiv:2502.02545.

    >>> eigenvalue, overlap = linearised_outlier(Problem.of("sign(h1*h2)"), 6.0)
    >>> round(eigenvalue, 4), overlap.round(4).tolist()
    (2.4317, [0.5888, 0.5888])
    """
    population = population or population_of(problem)
    if not population.is_blind:
        raise NoTheory("linearised message passing needs E[h|y] = 0: this target is trivial")
    law = population.label_law
    alpha, g = samples_ratio, law.curvatures
    rank = g.shape[1]
    table = np.einsum("n,nij,nkl->ikjl", law.weights, g, g, optimize=True).reshape(rank**2, -1)
    values, vectors = np.linalg.eigh((table + table.T) / 2)
    kappas = alpha * values[::-1]
    if kappas[0] <= 1:
        return float(kappas[0]), np.zeros(rank)
    groups = channel_outlier_groups(kappas, 1 + 1e-9)
    count = groups[-1]
    modes = vectors.T[::-1][:count].reshape(count, rank, rank)
    pulled = np.einsum("nij,kjl->nkil", g, modes)
    cubes = np.einsum("n,nkip,npq,nljq->klij", law.weights, pulled, g, pulled, optimize=True)
    norms = np.empty((count, count, rank, rank))
    for k, j in np.ndindex(count, count):
        product = kappas[k] * kappas[j]
        source = product * modes[k] @ modes[j].T + alpha * cubes[k, j]
        size = product * np.eye(rank**2) - alpha * table
        norms[k, j] = np.linalg.solve(size, source.ravel()).reshape(rank, rank)
    return float(kappas[0]), _predicted_span_cosines(modes, norms, groups)


def _predicted_span_cosines(
    modes: Float[np.ndarray, "k r r"], norms: Float[np.ndarray, "k k r r"], groups: list[int]
) -> Float[np.ndarray, " r"]:
    """Squared cosines of the true directions with the span of the W_k, group after group."""
    count, rank, _ = modes.shape
    products = norms.transpose(0, 2, 1, 3).reshape(count * rank, -1)
    span = np.zeros((count * rank, 0))
    for number in groups:
        # Whitening makes the W_k orthonormal, as matrices: which basis of them is given drops out.
        sizes, turns = np.linalg.eigh(np.einsum("klii->kl", norms[:number, :number]))
        white = np.kron((turns / np.sqrt(sizes)) @ turns.T, np.eye(rank))
        new = np.pad(white, ((0, (count - number) * rank), (0, 0)))
        new = new - span @ (span.T @ products @ new)
        weights, turns = np.linalg.eigh(new.T @ products @ new)
        kept = np.flatnonzero(weights > EMPTY**2)[::-1][: rank - span.shape[1]]
        span = np.concatenate([span, new @ turns[:, kept] / np.sqrt(weights[kept])], axis=1)
    cosines = np.linalg.svd(span.T @ modes.reshape(-1, rank), compute_uv=False)
    found = np.zeros(rank)
    found[: len(cosines)] = np.clip(cosines**2, 0.0, 1.0)
    return found


def spectral_transition(
    problem: Problem, settings: Spectral, population: Population | None = None
) -> Float[np.ndarray, " r"]:
    r"""The alpha = n/d from which each direction has an outlier.

    .. math:: \alpha_c = 1/E_y[(E[h^2|y] - 1)^2]

    for the optimal T; for a given one, where l* = lbar in :func:`spectral_outlier`.

    Symbols: T in ``settings.preprocessing``; averages by ``population`` where it is given.

    Assumes: as :func:`spectral_outlier`; infinite where no number of samples is enough.
    Status: theorem for blocks; heuristic for the linearised method.
    References: Lu, Li 2017, arXiv:1702.06435; Mondelli, Montanari 2017, arXiv:1708.05932.

    >>> spectral_transition(Problem.of("abs(h1)"), Spectral()).round(4).tolist()
    [0.5]
    """
    from scipy.optimize import bisect

    if channel_basis(channel_of_problem(problem), settings) is None:
        kappa, _ = linearised_outlier(problem, 1.0, population)
        return np.full(problem.target.rank, 1 / kappa if kappa > 1e-6 else np.inf)
    found = []
    for block in _blocks(problem, settings, population):

        def side(log_alpha: float, block: Block = block) -> float:
            found = spectral_outlier(*block, float(np.exp(log_alpha)))
            return 1.0 if found.overlap_squared > 0 else -1.0

        low, high = np.log(1e-4), np.log(1e6)
        found.append(np.exp(bisect(side, low, high, xtol=1e-12)) if side(high) > 0 else np.inf)
    return np.array(found)


def predict(problem: Problem, settings: Spectral) -> Prediction:
    """Outlier, edge of the bulk and overlap, for each direction; or, on request, the transitions.

    Metrics: ``overlap_squared``, ``eigenvalue`` (the outlier) and, with one matrix per direction,
    ``edge`` of the bulk, each (r,); with ``phases`` only ``transitions`` (r,) in n/d. Directions
    that no rotation separates are predicted by :func:`linearised_outlier`. Errors are what a
    coarser rule of integration over the labels changes; with a dimension, that of the overlap also
    has what finite size adds next to a transition.

    Assumes: as :func:`spectral_outlier` and :func:`linearised_outlier`.
    Status: theorem for blocks; heuristic for the linearised method, and for labels that got noise
    which the problem does not have.
    References: Lu, Li 2017, arXiv:1702.06435; Defilippis et al. 2025, arXiv:2502.02545.

    >>> law = predict(Problem.of("abs(h1)"), Spectral(samples="1.5d"))
    >>> round(float(law.metrics["overlap_squared"]), 3)
    0.457
    """
    check_exchangeable(problem, "spectral methods are predicted")
    channel = channel_of_problem(problem)
    population = population_of(problem)
    metrics = _theory_metrics(problem, settings, population)
    errors: dict[str, Any] = {}
    if population.coarse is not None:
        others = _theory_metrics(problem, settings, population.coarse)
        errors = {name: overlap_gap(value, others[name]) for name, value in metrics.items()}
    if settings.dim is not None and not settings.phases:
        numerical = errors.get("overlap_squared", 0.0)
        errors["overlap_squared"] = numerical + _rounding(problem, settings, metrics, population)
    separable = channel_basis(channel, settings) is not None
    exact: Status = "theorem" if separable else "heuristic"
    status = weakest_status([exact, "heuristic" if channel.altered else "theorem"])
    known = {"recorded": channel.settings, "errors": errors}
    return Prediction.of(settings, metrics, status, REFERENCES, channel.notes, **known)


def _theory_metrics(problem: Problem, settings: Spectral, population: Population) -> dict[str, Any]:
    """What is integrated over labels, by the rule of the given population."""
    if settings.phases:
        return {"transitions": spectral_transition(problem, settings, population)}
    alpha = setting_over_dim(settings, "samples")
    if channel_basis(channel_of_problem(problem), settings) is None:
        eigenvalue, overlap = linearised_outlier(problem, alpha, population)
        return {"eigenvalue": eigenvalue, "overlap_squared": _squeezed(overlap)}
    outliers = [spectral_outlier(*block, alpha) for block in _blocks(problem, settings, population)]
    names = ("eigenvalue", "edge", "overlap_squared")
    return {name: _squeezed([getattr(o, name) for o in outliers]) for name in names}


def _rounding(
    problem: Problem, settings: Spectral, metrics: dict[str, Any], population: Population
) -> Any:
    """How far the mean overlap at this dimension may be from its limit, mostly above it.

    A top eigenvector that barely leaves the bulk, or does not, mixes with that of the edge over a
    window of relative width d^(-1/3) around the transition alpha_c. What runs show is at most about
    the limit at 1 + w times the samples, w = 2 d^(-1/3), and this fades as w over the distance
    |alpha/alpha_c - 1|; a random direction has 1/d.
    """
    dim, alpha = float(settings.dim or np.inf), setting_over_dim(settings, "samples")
    window = 2 * dim ** (-1 / 3)
    given = settings.replace(dim=None)
    critical = spectral_transition(problem, given, population)
    ahead = []
    for ratio in np.where(np.isfinite(critical), np.maximum(alpha, critical), alpha):
        more = given.replace(samples=f"{float(ratio * (1 + window))!r}d")
        ahead.append(np.atleast_1d(_theory_metrics(problem, more, population)["overlap_squared"]))
    shift = np.diagonal(ahead) - np.atleast_1d(metrics["overlap_squared"])
    fading = 1 + np.abs(alpha / critical - 1) / window
    return _squeezed(np.maximum(shift, 0.0) / fading + 1 / dim)


def _squeezed(values: Any) -> Any:
    return float(values[0]) if len(values) == 1 else np.array(values)


def _blocks(
    problem: Problem, settings: Spectral, population: Population | None = None
) -> list[Block]:
    """The law of y, T(y) and E[h^2|y] for every direction of the separating basis."""
    law = (population or population_of(problem)).label_law
    basis = channel_basis(channel_of_problem(problem), settings)
    found = []
    for row in basis if basis is not None else ():
        curvature = np.einsum("i,nij,j->n", row, law.curvatures, row)
        if settings.preprocessing == "optimal":
            preprocessed = optimal_channel_weights(curvature, settings.clip)
        else:
            preprocessed = given_channel_weights(settings.preprocessing, law.values)
        found.append((law.weights, preprocessed, 1 + curvature))
    return found
