"""The labels, given the input's projection on the direction that the step learned."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_moments
from giantstep.numerics.quadrature import gauss_hermite, panels_at_cuts, tensor_rule

#: Panels of the range of integration.
PANELS = 6
#: Gauss-Legendre nodes per panel, and Gauss-Hermite nodes, by the number of free directions.
PANEL_ORDERS = {0: 1, 1: 16, 2: 10, 3: 5}
SMOOTH_ORDERS = {0: 1, 1: 96, 2: 32, 3: 20, 4: 10, 5: 6}
#: Gauss-Hermite nodes for each noise inside the label.
NOISE_ORDER = 24
#: Share of E[g^2] by which the nodes may miss it; a target that oscillates too fast for them does.
RESOLVED = 0.02
#: Values of the target held in memory at once.
CHUNK = 1_000_000


class SpikedLabels(NamedTuple):
    """Moments of the labels at each grid point.

    ``mean`` E[g]; ``slope`` E[z_i g], one row per latent direction z_i orthogonal to the learned
    one; ``curve`` E[g q(z)] for orthonormal polynomials q of degree two; ``power`` E[g^2].
    """

    mean: Float[np.ndarray, " points"]
    slope: Float[np.ndarray, "directions points"]
    curve: Float[np.ndarray, "pairs points"]
    power: Float[np.ndarray, " points"]


class Latents(NamedTuple):
    """How labels depend on the latent directions h.

    ``powers(h)`` gives E[g|h] and E[g^2|h]; ``kinks`` are positions along each direction;
    ``learned`` is the unit vector, in latent space, that the step turns to.
    """

    powers: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
    kinks: Sequence[Sequence[float]]
    learned: Float[np.ndarray, " r"]

    @classmethod
    def of(cls, target: Target, learned: Float[np.ndarray, " r"]) -> Latents:
        """The labels of a target; noises z inside the label are averaged over."""
        rule = tensor_rule([gauss_hermite(NOISE_ORDER)] * target.noises) if target.noises else None

        def powers(h: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            if rule is None:
                values = target.numpy(h)
                return values, values**2
            first, second = np.zeros(h.shape[:-1]), np.zeros(h.shape[:-1])
            for z, weight in zip(rule.nodes, rule.weights, strict=True):
                values = target.numpy(h, np.broadcast_to(z, (*h.shape[:-1], target.noises)))
                first += weight * values
                second += weight * values**2
            return first, second

        return cls(powers, target.kinks, learned)

    def basis(self) -> tuple[np.ndarray, list[Sequence[float]]]:
        """Orthonormal rows, the learned direction first, and the kinks along each of them."""
        rank = len(self.learned)
        if np.count_nonzero(np.abs(self.learned) > 1e-12) > 1:
            # The learned direction is no axis: kinks would not stay along the axes.
            complement = np.linalg.svd(self.learned[None, :])[2][1:]
            return np.vstack([self.learned, complement]), [()] * rank
        first = int(np.argmax(np.abs(self.learned)))
        others = [i for i in range(rank) if i != first]
        sign = np.sign(self.learned[first])
        rows = np.eye(rank)[[first, *others]]
        rows[0] *= sign
        return rows, [sorted(sign * k for k in self.kinks[first]), *(self.kinks[i] for i in others)]


def spiked_label_moments(
    latents: Latents,
    alignment: float,
    kappa: Float[np.ndarray, " points"],
    radius: Float[np.ndarray, " points"],
    dim: float,
) -> SpikedLabels:
    r"""Moments of the labels given the learned projection.

    With :math:`\kappa = \langle v, x\rangle` the projection of x on the learned direction v, the
    latent direction that the step turned to and the other ones read

    .. math:: h_1 = \gamma\kappa + \sqrt{1-\gamma^2}\, r z_1, \qquad h_i = r z_i\ (i>1),

    where :math:`r\sqrt{d-1}` is the length of the rest of x and z its direction, uniform on the
    sphere of radius :math:`\sqrt{d-1}`.

    Symbols: gamma ``alignment``, kappa ``kappa``, r ``radius``, d ``dim``.

    Assumes: at most five free directions; kinks along the axes are resolved exactly where the
    learned direction is an axis, to about 1e-4 where it is not.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980.

    >>> latents = Latents(lambda h: (h[..., 0] ** 2, h[..., 0] ** 4), [()], np.ones(1))
    >>> moments = spiked_label_moments(latents, 0.6, np.ones(1), np.ones(1), 1e12)
    >>> round(float(moments.mean[0]), 6), round(float(moments.slope[0, 0]), 6)
    (1.0, 0.96)
    """
    rank, sine = len(latents.learned), np.sqrt(max(1 - alignment**2, 0.0))
    hidden = 0 if sine < 1e-7 else 1
    rows, kinks = latents.basis()
    free_kinks = kinks[1 - hidden :]
    if len(free_kinks) > max(SMOOTH_ORDERS):
        raise NoTheory(
            f"target depends on {rank} directions: the exact risk integrates over at most "
            f"{max(SMOOTH_ORDERS)}; use a target of fewer directions"
        )
    parts = []
    one, _ = _spiked_sphere_rule([np.zeros((1, len(ks))) for ks in free_kinks], 1, dim - 1.0)
    size = max(1, CHUNK // one.shape[1])
    for start in range(0, len(kappa), size):
        k, r = kappa[start : start + size, None], radius[start : start + size, None]
        breaks = [np.asarray(ks) / r for ks in free_kinks]
        if hidden:
            breaks[0] = (np.asarray(kinks[0]) - alignment * k) / (sine * r)
        z, density = _spiked_sphere_rule(breaks, len(k), dim - 1.0)
        h = r[..., None] * z if hidden else np.pad(r[..., None] * z, [(0, 0), (0, 0), (1, 0)])
        h[..., 0] = alignment * k + sine * h[..., 0]
        first, second = latents.powers(h @ rows)
        found = np.einsum("nz,nzp->pn", density * first, _spiked_label_polynomials(z, dim - 1.0))
        free = z.shape[-1]
        power = np.sum(density * second, axis=1)
        parts.append(SpikedLabels(found[0], found[1 : 1 + free], found[1 + free :], power))
    return SpikedLabels(*(np.concatenate(arrays, axis=-1) for arrays in zip(*parts, strict=True)))


def check_resolved(
    target: Target, weights: Float[np.ndarray, " points"], found: SpikedLabels
) -> None:
    """Raise :class:`NoTheory` where the nodes miss the power of the labels."""
    power = target_moments(target).second_moment
    if abs(weights @ found.power - power) > RESOLVED * power:
        raise NoTheory(
            f"target = {target.text}: it changes faster than the nodes of its integrals; "
            "random-features and simulate take it"
        )


def _spiked_label_polynomials(z: np.ndarray, nu: float) -> np.ndarray:
    """Orthonormal polynomials of degree 0, 1, 2 on the sphere in nu dimensions."""
    free = z.shape[-1]
    # Gram matrix of the squares: 2 (nu - 1)/(nu + 2) on the diagonal, -2/(nu + 2) elsewhere.
    along = 1 / np.sqrt(2 * (nu - free) / (nu + 2))
    across = 1 / np.sqrt(2 * nu / (nu + 2))
    whiten = across * np.eye(free) + (along - across) / max(free, 1) * np.ones((free, free))
    first, second = np.triu_indices(free, 1)
    products = np.sqrt((nu + 2) / nu) * z[..., first] * z[..., second]
    return np.concatenate([np.ones((*z.shape[:-1], 1)), z, (z**2 - 1) @ whiten, products], axis=-1)


def _spiked_sphere_rule(
    breaks: Sequence[Float[np.ndarray, "points _"]], points: int, nu: float
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and normalised density of coordinates of the nu-sphere."""
    free = len(breaks)
    if not free:
        return np.zeros((points, 1, 0)), np.ones((points, 1))
    kinked = any(b.shape[1] for b in breaks) and free in PANEL_ORDERS
    axes = [
        panels_at_cuts(each, PANEL_ORDERS[free], PANELS) if kinked else _smooth(points, free)
        for each in breaks
    ]
    shape = (points, *(nodes.shape[1] for nodes, _ in axes))
    z, mass = np.empty((*shape, free)), np.ones(shape)
    for i, (nodes, weights) in enumerate(axes):
        spread = [points, *(-1 if j == i else 1 for j in range(free))]
        z[..., i] = nodes.reshape(spread)
        mass *= weights.reshape(spread)
    z, mass = z.reshape(points, -1, free), mass.reshape(points, -1)
    inside = np.sum(z**2, axis=-1) < nu
    used = np.where(inside, np.sum(z**2, axis=-1) / nu, 0.0)
    density = np.where(inside, mass * np.exp((nu - free - 2) / 2 * np.log1p(-used)), 0.0)
    return z, density / density.sum(axis=1, keepdims=True)


def _smooth(points: int, free: int) -> tuple[np.ndarray, np.ndarray]:
    """Gauss-Hermite nodes, with weights for a density that the caller multiplies in."""
    nodes, weights = gauss_hermite(SMOOTH_ORDERS[free])
    mass = weights * np.exp(nodes**2 / 2)
    return np.broadcast_to(nodes, (points, len(nodes))), np.broadcast_to(mass, (points, len(nodes)))
