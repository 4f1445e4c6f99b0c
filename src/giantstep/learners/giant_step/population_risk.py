"""The risk of a given network on all inputs at once: Gaussian integrals instead of a test set."""

from __future__ import annotations

import functools
import math

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_moments
from giantstep.numerics.hermite import multi_indices, normalised_hermite
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian, tensor_rule

#: Terms of a Hermite series are added until what is left is this fraction of the whole.
TRUNCATION = 1e-9
MOST_TERMS = 400
#: Norms of rows at which Hermite coefficients are computed.
NORMS = 12
#: Degree of the series along directions with which all neurons have small cosines.
SMALL_DEGREE = 6
#: Cosines below this count as small: what is cut off is of their seventh power.
SMALL_COSINE = 0.5
#: Nodes per panel and length of panels: for one direction, the first of several, the others.
FINE, MIDDLE, COARSE = (24, 0.5), (24, 1.0), (12, 3.0)
#: Gauss-Hermite nodes for each noise inside the label.
NOISE_ORDER = 24


def trained_network_risk(
    problem: Problem,
    sigma: Activation,
    weights: Float[np.ndarray, "p d"],
    directions: Float[np.ndarray, "r d"],
    readout: Float[np.ndarray, " p"],
) -> float:
    r"""The excess risk :math:`E(g(W_* x) - \sum_j a_j\sigma(\langle w_j, x\rangle))^2`.

    .. math:: E g^2 - 2\sum_j a_j E[g\,\sigma_j] + \sum_{jk} a_j a_k E[\sigma_j\sigma_k]

    ``directions`` holds the orthonormal rows W_* of the target.
    """
    cross = trained_label_moments(problem, sigma, weights, directions)
    kernel = trained_feature_kernel(sigma, weights)
    power = target_moments(problem.target).second_moment
    return float(power - 2 * readout @ cross + readout @ kernel @ readout)


def trained_feature_kernel(
    sigma: Activation, weights: Float[np.ndarray, "p d"]
) -> Float[np.ndarray, "p p"]:
    r""":math:`E[\sigma(\langle w_j, x\rangle)\sigma(\langle w_k, x\rangle)]` over x ~ N(0, I_d).

    The arcsine kernel for erf2, the arc-cosine kernel for relu, otherwise the Hermite series in
    the cosine of the two rows.
    """
    norms = np.linalg.norm(weights, axis=1)
    cosines = np.clip(weights @ weights.T / np.outer(norms, norms), -1.0, 1.0)
    if sigma.name == "erf2":
        scale = norms / np.sqrt(1 + norms**2)
        return 2 / np.pi * np.arcsin(cosines * np.outer(scale, scale))
    if sigma.name == "relu":
        angles = np.sqrt(1 - cosines**2) + (np.pi - np.arccos(cosines)) * cosines
        return np.outer(norms, norms) * angles / (2 * np.pi)
    np.fill_diagonal(cosines, 0.0)
    series, powers = _trained_hermite(sigma, norms, np.max(np.abs(cosines), initial=0.0))
    kernel, power = np.zeros_like(cosines), np.ones_like(cosines)
    for coefficients in series:
        kernel += np.outer(coefficients, coefficients) * power
        power *= cosines
    np.fill_diagonal(kernel, powers)
    return kernel


def trained_label_moments(
    problem: Problem,
    sigma: Activation,
    weights: Float[np.ndarray, "p d"],
    directions: Float[np.ndarray, "r d"],
) -> Float[np.ndarray, " p"]:
    r""":math:`E[g(W_* x)\,\sigma(\langle w_j, x\rangle)]`, by the Hermite series of both.

    In a basis whose first direction is the one that most rows share, only that one needs a long
    series: with the others the cosines are of order :math:`d^{-1/2}`.
    """
    if problem.target.rank > 3:
        raise SettingsError(
            f"target has {problem.target.rank} directions: the population risk is computed for "
            "at most 3"
        )
    norms = np.linalg.norm(weights, axis=1)
    cosines = weights @ directions.T / norms[:, None]
    frame = _trained_network_frame(cosines)
    cosines = cosines @ frame.T
    series, _ = _trained_hermite(sigma, norms, np.max(np.abs(cosines[:, 0])), SMALL_DEGREE)
    rows = tuple(tuple(float(x) for x in row) for row in frame)
    labels = _trained_label_series(problem.target, rows, len(series) - 1 - SMALL_DEGREE)
    result = np.zeros(len(weights))
    for others, coefficients in labels.items():
        side = np.prod(cosines[:, 1:] ** np.asarray(others, dtype=int), axis=1)
        side /= math.sqrt(math.prod(math.factorial(k) for k in others))
        degree, power = sum(others), np.ones(len(weights))
        for k, coefficient in enumerate(coefficients):
            # sqrt((k + degree)! / k!) is what E[He_{k+degree}(z) He_k(h_1) ...] leaves.
            rising = math.sqrt(math.prod(range(k + 1, k + degree + 1)))
            result += coefficient * rising * power * side * series[k + degree]
            power = power * cosines[:, 0]
    return result


def _trained_network_frame(cosines: np.ndarray) -> np.ndarray:
    """Orthonormal rows, the first one close to most neurons: target axes where these will do."""
    order = np.argsort(-np.sum(cosines**2, axis=0), kind="stable")
    if np.max(np.abs(cosines[:, order[1:]]), initial=0.0) < SMALL_COSINE:
        return np.eye(len(order))[order]
    return np.linalg.svd(cosines)[2]


def _trained_hermite(
    sigma: Activation, norms: np.ndarray, cosine: float, more: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """E[sigma(q z) he_k(z)] for each norm q, he_k normalised, until cosine^k hides the rest.

    Also E[sigma(q z)^2]; ``more`` terms are added at the end. Both are smooth in q: they are
    interpolated between a few norms.
    """
    low, high = float(np.min(norms)), float(np.max(norms))
    angles = np.pi * (np.arange(NORMS) + 0.5) / NORMS
    q = (low + high) / 2 + max((high - low) / 2, 1e-9 * high) * np.cos(angles)
    stretch = float(np.max(q))
    unit, mass = split_gaussian([k / stretch for k in sigma.kinks], *_trained_risk_rule(FINE))
    z = unit[None, :] * (stretch / q)[:, None]
    density = mass[None, :] * np.exp((unit[None, :] ** 2 - z**2) / 2)
    values = sigma.numpy(unit * stretch)
    weighted = density / density.sum(axis=1, keepdims=True) * values[None, :]
    powers = weighted @ values
    left, series, last = powers.copy(), [], MOST_TERMS
    previous, current = np.zeros_like(z), np.ones_like(z)
    for k in range(MOST_TERMS + more + 1):
        series.append(np.sum(weighted * current, axis=1))
        left -= series[-1] ** 2
        negligible = np.max(np.abs(left)) * cosine ** (k + 1) < TRUNCATION * np.max(powers)
        last = min(last, k if negligible else last)
        if k >= last + more:
            break
        following = (z * current - math.sqrt(k) * previous) / math.sqrt(k + 1)
        previous, current = current, following
    table = np.array([*series, powers])
    # Barycentric interpolation from the Chebyshev nodes q.
    signs = (-1.0) ** np.arange(NORMS) * np.sin(angles)
    gaps = norms[:, None] - q[None, :]
    shares = signs / np.where(np.abs(gaps) < 1e-14 * high, 1e-14 * high, gaps)
    shares /= shares.sum(axis=1, keepdims=True)
    interpolated = table @ shares.T
    return interpolated[:-1], interpolated[-1]


@functools.lru_cache(maxsize=16)
def _trained_label_series(
    target: Target, rows: tuple[tuple[float, ...], ...], degree: int
) -> dict[tuple[int, ...], np.ndarray]:
    """E[g he_k(h_1) he_others(h_2, ...)] in the frame: for each small ``others``, all k."""
    frame = np.array(rows)
    rank = len(frame)
    aligned = np.allclose(np.abs(frame).sum(axis=1), 1.0)
    kinks = [target.kinks[int(np.argmax(row))] if aligned else () for row in frame]
    axes = [split_gaussian(kinks[0], *_trained_risk_rule(FINE if rank == 1 else MIDDLE))]
    axes += [split_gaussian(k, *_trained_risk_rule(COARSE)) for k in kinks[1:]]
    grid = np.stack(np.meshgrid(*[nodes for nodes, _ in axes], indexing="ij"), axis=-1)
    values = _mean_label_of_run(target, grid @ frame)
    for axis, (nodes, weights) in enumerate(axes):
        table = normalised_hermite(nodes, SMALL_DEGREE if axis else degree) * weights
        values = np.moveaxis(np.tensordot(table, values, axes=(1, axis)), 0, axis)
    return {
        others: values[(slice(None), *others)]  # type: ignore[arg-type]
        for others in multi_indices(rank - 1, SMALL_DEGREE)
    }


def _mean_label_of_run(target: Target, h: np.ndarray) -> np.ndarray:
    """E[g | h]: noises inside the label are averaged over."""
    if not target.noises:
        return target.numpy(h)
    rule = tensor_rule([gauss_hermite(NOISE_ORDER)] * target.noises)
    shape = (*h.shape[:-1], target.noises)
    return sum(
        weight * target.numpy(h, np.broadcast_to(z, shape))
        for z, weight in zip(rule.nodes, rule.weights, strict=True)
    )


def _trained_risk_rule(shape: tuple[int, float]) -> tuple[int, float, float]:
    order, length = shape
    return order, 9.0, length
