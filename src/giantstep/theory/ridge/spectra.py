"""Eigenvalues of random features and inner-product kernels in d dimensions, and target energies."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from giantstep.language.activations.activation import Activation, activation
from giantstep.language.activations.kernels import KernelFunction
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import Expansion, target_expansion
from giantstep.numerics.gegenbauer import (
    coordinate_rule,
    even_moment_on_sphere,
    gaussian_radii,
    harmonic_dimension,
    orthonormal_gegenbauer,
)
from giantstep.numerics.hermite import MultiIndex, factorial
from giantstep.theory.ridge.deterministic_equivalent import Spectrum

#: Degrees of spherical harmonics that are resolved; the others are in the tail.
DEGREES = 24
#: Hermite degrees of targets of several directions.
HERMITE_DEGREES = 8
#: Nodes for the norm of a Gaussian vector.
RADII = 10
#: A group of more eigenvalues than this is never resolved by a sample: it belongs to the tail.
LARGEST_GROUP = 1e40
ROUNDING = 1e-24


@functools.lru_cache(maxsize=64)
def random_feature_spectrum(
    sigma: Activation, target: Target, dim: int, *, inputs: str, start: str
) -> Spectrum:
    r"""The spectrum of the features :math:`\sigma(\langle w, x\rangle)` in d dimensions.

    In :math:`x = \rho u`, :math:`w = r v` the features split into spherical harmonics of degree k,

    .. math:: \sigma(\rho r t) = \sum_k a_k(\rho r)\, p_k(t), \qquad
        a_k(s) = E_t[\sigma(s t)\, p_k(t)],

    with :math:`p_k` orthonormal Gegenbauer polynomials of t = <u, v>. The singular values of
    :math:`a_k(\rho r)` under the laws of the two norms, squared and divided by the multiplicity
    :math:`N_k`, are the eigenvalues; on the sphere there is one for each degree. The target's
    energies are the projections of :math:`E_t[g(\rho t) p_k(t)]`.

    Symbols: sigma ``sigma``, g ``target``, d ``dim``; ``inputs`` and ``start`` (the
    law of the rows) are `sphere` or `gaussian`. A target of several directions is followed up to
    its Hermite degree 8.

    Assumes: isotropic inputs and rows, at least 3 dimensions.
    Status: theorem
    References: Mei et al. 2021, arXiv:2101.10588; Defilippis et al. 2024, arXiv:2405.15699.

    >>> spectrum = random_feature_spectrum(
    ...     activation("relu"), Target("h1"), 1000, inputs="sphere", start="sphere")
    >>> round(1000 * float(spectrum.eigenvalues[1]), 6)
    0.25
    """
    radii, weights = _spectrum_norm_law(inputs, dim, math.sqrt(dim))
    row_norms, row_weights = _spectrum_norm_law(start, dim, 1.0)
    count = _resolved_degrees(dim)
    profile = np.empty((count, len(radii), len(row_norms)))
    second_moment = np.empty((len(radii), len(row_norms)))
    for i, radius in enumerate(radii):
        for j, row_norm in enumerate(row_norms):
            profile[:, i, j], second_moment[i, j] = _harmonics(
                sigma.numpy, sigma.kinks, radius * row_norm, dim, count
            )
    half_weights = np.sqrt(weights[:, None] * row_weights[None, :])
    functions, singular, _ = np.linalg.svd(profile * half_weights, full_matrices=False)
    trace = float(weights @ second_moment @ row_weights)
    return _assembled_spectrum(singular**2, functions, trace, target, dim, radii, weights)


@functools.lru_cache(maxsize=64)
def kernel_spectrum(kernel: KernelFunction, target: Target, dim: int, *, inputs: str) -> Spectrum:
    r"""The spectrum of the kernel :math:`F(\langle x, x'\rangle/d)` in d dimensions.

    For each degree k, by Rodrigues' formula, all terms positive,

    .. math:: E_t[F(\rho\rho' t/d) P_k(t)] = \sum_m F_{k+m} \frac{(k+m)!}{m!}
        \Big(\frac{\rho\rho'}{d}\Big)^{k+m} \frac{E_{d+2k}[t^m]}{d (d+2) \cdots (d+2k-2)},

    where :math:`E_{D}[t^m]` is a moment of one coordinate of a unit vector in D dimensions. On the
    sphere rho = rho' and this is the eigenvalue, of multiplicity :math:`N_k`; for Gaussian inputs
    it is diagonalised under the law of the norm.

    Symbols: F ``kernel``, g ``target``, d ``dim``; ``inputs`` is `sphere` or `gaussian`. An
    arc-cosine kernel is that of infinitely many random neurons.

    Assumes: isotropic inputs, at least 3 dimensions.
    Status: theorem
    References: Mei et al. 2021, arXiv:2101.10588; Misiakiewicz, Saeed 2024, arXiv:2403.08938
        (equivalents beyond Gaussian features).

    >>> from giantstep.language.activations.kernels import kernel
    >>> spectrum = kernel_spectrum(kernel("exp"), Target("h1"), 1000, inputs="sphere")
    >>> round(1000 * float(spectrum.eigenvalues[1]), 6)
    1.000499
    """
    if kernel.order is not None:
        neuron = activation("relu" if kernel.order else "step(z)")
        features = random_feature_spectrum(neuron, target, dim, inputs=inputs, start="sphere")
        return features._replace(
            eigenvalues=2 * features.eigenvalues, tail_trace=2 * features.tail_trace
        )
    radii, weights = _spectrum_norm_law(inputs, dim, math.sqrt(dim))
    share = radii**2 / dim
    count = _resolved_degrees(dim)
    eigenvalues = np.zeros((count, len(radii)))
    functions = np.zeros((count, len(radii), len(radii)))
    for k in range(count):
        coefficients = np.array(_spectrum_rodrigues(kernel, k, dim))
        powers = k + 2 * np.arange(len(coefficients))
        factor = np.sqrt(coefficients * weights[:, None]) * share[:, None] ** (powers / 2)
        left, singular, _ = np.linalg.svd(factor, full_matrices=len(powers) < len(radii))
        eigenvalues[k, : len(singular)] = singular[: len(radii)] ** 2
        functions[k] = left[:, : len(radii)]
    trace = float(weights @ kernel.profile(share))
    return _assembled_spectrum(eigenvalues, functions, trace, target, dim, radii, weights)


def _spectrum_rodrigues(kernel: KernelFunction, k: int, dim: float) -> list[float]:
    """N_k times the coefficients of (rho rho'/d)^(k+m), m = 0, 2, 4..., in the degree-k kernel."""
    rising = harmonic_dimension(k, dim) * math.prod((j + 1) / (dim + 2 * j) for j in range(k))
    return [
        rising * kernel.power(k + m) * math.comb(k + m, m) * even_moment_on_sphere(m, dim + 2 * k)
        for m in range(0, max(len(kernel.series) - k, 1), 2)
    ]


def _spectrum_norm_law(law: str, dim: int, typical: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for the norm of a vector whose typical norm is given."""
    if law == "sphere":
        return np.array([typical]), np.ones(1)
    radii, weights = gaussian_radii(dim, RADII)
    return radii * (typical / math.sqrt(dim)), weights


def _resolved_degrees(dim: int) -> int:
    """Degrees 0, 1, ... whose multiplicity a sample could ever resolve."""
    return sum(harmonic_dimension(k, dim) < LARGEST_GROUP for k in range(DEGREES))


def _harmonics(
    function: Callable[[Any], Any], kinks: Any, scale: float, dim: int, count: int
) -> tuple[np.ndarray, float]:
    """E_t[f(scale t) p_k(t)] for k < count, and E_t[f(scale t)^2]."""
    t, weights = coordinate_rule(dim, [kink / scale for kink in kinks])
    values = np.broadcast_to(function(scale * t), t.shape)
    polynomials = orthonormal_gegenbauer(t, count - 1, dim)
    return polynomials @ (weights * values), float(weights @ values**2)


def _assembled_spectrum(
    strengths: np.ndarray,
    functions: np.ndarray,
    trace: float,
    target: Target,
    dim: int,
    radii: np.ndarray,
    weights: np.ndarray,
) -> Spectrum:
    """Group strengths (N_k times the eigenvalue) of degree k, with the target's energy in each."""
    count, branches = strengths.shape
    # Quadrature leaves a trace of rounding errors in degrees that the features do not have.
    strengths = np.where(strengths > ROUNDING * trace, strengths, 0.0)
    multiplicity = np.array([harmonic_dimension(k, dim) for k in range(count)])
    energy, total = _target_energies(target, functions[..., :branches], dim, radii, weights)
    padding = ((0, DEGREES - count), (0, 0))
    eigenvalues = np.pad(strengths / multiplicity[:, None], padding)
    multiplicities = np.pad(np.repeat(multiplicity[:, None], branches, axis=1), padding)
    return Spectrum(
        eigenvalues.ravel(),
        multiplicities.ravel(),
        np.pad(energy, padding).ravel(),
        max(trace - float(strengths.sum()), 0.0),
        max(total - float(energy.sum()), 0.0),
    )


def _target_energies(
    target: Target, functions: np.ndarray, dim: int, radii: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, float]:
    """The target's energy on each eigenfunction, and its whole energy."""
    from scipy.special import eval_genlaguerre, gamma

    count = len(functions)
    if target.rank == 1 and not target.is_random:
        shapes = [
            _harmonics(lambda h: target.numpy(h[:, None]), target.kinks[0], radius, dim, count)
            for radius in radii
        ]
        profile = np.stack([shape for shape, _ in shapes], axis=1) * np.sqrt(weights)
        total = float(weights @ np.array([second for _, second in shapes]))
        return np.einsum("kr,krb->kb", profile, functions) ** 2, total
    found = target_expansion(target, min(count - 1, HERMITE_DEGREES))
    energy, total = np.zeros((count, functions.shape[2])), found.second_moment
    for degree, products in enumerate(_harmonic_products(found, dim)):
        # e^(-Laplacian/2) makes |x|^(2j) Y a Laguerre polynomial of |x|^2/2 times Y.
        order = np.arange(len(products))[:, None]
        laguerre = eval_genlaguerre(order, degree + dim / 2 - 1, radii**2 / 2)
        profile = (-2.0) ** order * gamma(order + 1) * laguerre * radii**degree * np.sqrt(weights)
        seen = profile @ functions[degree]
        energy[degree] = np.maximum(np.einsum("jb,ji,ib->b", seen, products, seen), 0.0)
        total += float(np.einsum("jr,ji,ir->", profile, products, profile))
        total -= found.energy(degree, degree)
    return energy, total


def _harmonic_products(found: Expansion, dim: int) -> list[np.ndarray]:
    r"""For each degree l, E_u[Y_j(u) Y_i(u)] over the unit sphere of all dimensions.

    The part of Hermite degree k is e^(-Laplacian/2) p_k with p_k = sum_j |x|^(2j) Y_j homogeneous,
    and Y_j harmonic of degree l = k - 2j. In the product p(d/dx) q the terms of that sum are
    orthogonal, for multiplication by |x|^2 is adjoint to the Laplacian. So the products of powers
    of the Laplacian on the p_k are sums over l of those of the Y_j, solved for from l = 0 on.
    """
    traces = {}
    for k in range(found.degree + 1):
        part = {index: c for index, c in found.coefficients.items() if sum(index) == k}
        for power in range(k // 2 + 1):
            traces[k - 2 * power, power] = part
            part = _laplacian(part)
    products: list[np.ndarray] = []
    for degree in range(found.degree + 1):
        orders = range((found.degree - degree) // 2 + 1)
        own = np.array(
            [[_paired(traces[degree, j], traces[degree, i]) for i in orders] for j in orders]
        )
        for low in range(degree % 2, degree, 2):
            up = (degree - low) // 2
            scale = np.array([_powers(j + up, j, low, dim) for j in orders])
            seen = products[low][up:, up:] * _powers(up, up, low, dim)
            own -= scale[:, None] * seen * scale
        scale = np.array([_powers(j, j, degree, dim) for j in orders])
        products.append(own / scale[:, None] / scale)
    moments = [math.prod(dim + 2.0 * i for i in range(degree)) for degree in range(len(products))]
    return [own / moment for own, moment in zip(products, moments, strict=True)]


def _laplacian(part: dict[MultiIndex, float]) -> dict[MultiIndex, float]:
    """The Laplacian of sum_j c_j x^j/j!, as coefficients of the same kind."""
    lower: dict[MultiIndex, float] = {}
    for index, c in part.items():
        for axis, power in enumerate(index):
            if power > 1:
                place = (*index[:axis], power - 2, *index[axis + 1 :])
                lower[place] = lower.get(place, 0.0) + c
    return lower


def _paired(one: dict[MultiIndex, float], other: dict[MultiIndex, float]) -> float:
    """p(d/dx) q for two homogeneous polynomials sum_j c_j x^j/j! of one degree."""
    return math.fsum(
        c * other[index] / factorial(index) for index, c in one.items() if index in other
    )


def _powers(j: int, times: int, degree: int, dim: int) -> float:
    """The factor by which that many Laplacians take |x|^(2j) Y to |x|^(2j - 2 times) Y."""
    return math.prod(2.0 * i * (2 * i + 2 * degree + dim - 2) for i in range(j - times + 1, j + 1))
