"""Several neurons that see one sample at a time: how overlaps and Gram matrix move."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.linear_algebra import matrix_square_root
from giantstep.numerics.quadrature import normal_points
from giantstep.theory.online_sgd import error_functions


class Layer(NamedTuple):
    """Overlaps M of the neurons with the directions, and their Gram matrix Q."""

    overlaps: Float[np.ndarray, "p r"]
    gram: Float[np.ndarray, "p p"]

    def flat(self) -> Float[np.ndarray, " n"]:
        """All numbers in one row."""
        return np.concatenate([self.overlaps.ravel(), self.gram.ravel()])

    @classmethod
    def unflat(cls, numbers: Float[np.ndarray, " n"], width: int) -> Layer:
        """The layer with these numbers."""
        overlaps, gram = np.split(numbers, [len(numbers) - width**2])
        return cls(overlaps.reshape(width, -1), gram.reshape(width, width))


class Means(NamedTuple):
    """E[D h*], E[D_j h_l] and E[D_j D_l], and the excess risk E(g - f)^2."""

    with_latent: Float[np.ndarray, "p r"]
    with_fields: Float[np.ndarray, "p p"]
    products: Float[np.ndarray, "p p"]
    risk: float


def velocity(
    committee: ErrorFunctions | Sampled, layer: Layer, step_size: float, geometry: str
) -> Layer:
    r"""dM/dtau and dQ/dtau, time in samples/d, for free neurons or neurons on the sphere.

    .. math::
        \dot M_{jk} &= \eta E[D_j h^*_k], \qquad
        \dot Q_{jl} = \eta\,(E[D_j h_l] + E[D_l h_j]) + \eta^2 E[D_j D_l] \quad\text{(free)},\\
        \dot M_j &= \eta\,(E[D_j h^*] - M_j E[D_j h_j]) - \tfrac{\eta^2}2 M_j E[D_j^2]
        \quad\text{(sphere)},

    and on the sphere :math:`Q_{jl}(E[D_j h_j] + E[D_l h_l])\,\eta` and
    :math:`Q_{jl}(E[D_j^2] + E[D_l^2])\,\eta^2/2` are subtracted from the second.

    Symbols: M and Q ``layer``, eta ``step_size``.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed width and step size.
    Status: theorem.
    References: Saad, Solla 1995, Physical Review E 52; Arnaboldi et al. 2024, arXiv:2405.15459.

    >>> from giantstep.language.activations.activation import activation
    >>> one = ErrorFunctions(np.ones(1), np.ones(1), 0.0)
    >>> moved = velocity(one, Layer(np.zeros((1, 1)), np.eye(1)), 1.0, "free")
    >>> round(float(moved.overlaps[0, 0]), 6)
    0.31831
    """
    with_latent, with_fields, products, _ = committee.means(layer)
    pulled = step_size * (with_fields + with_fields.T) + step_size**2 * products
    if geometry == "free":
        return Layer(step_size * with_latent, pulled)
    along, squares = np.diag(with_fields), np.diag(products)
    shrink = step_size * along + step_size**2 / 2 * squares
    overlaps = step_size * with_latent - shrink[:, None] * layer.overlaps
    return Layer(overlaps, pulled - (shrink[:, None] + shrink[None, :]) * layer.gram)


class ErrorFunctions:
    """Neurons and target are sums of error functions: every mean in closed form.

    f = (1/p) sum_j a_j erf2(h_j), g = sum_k b_k erf2(h*_k).
    """

    def __init__(
        self,
        readout: Float[np.ndarray, " p"],
        teacher: Float[np.ndarray, " r"],
        noise: float,
    ) -> None:
        self._readout, self._noise = readout, noise
        self._signed = np.concatenate([-readout / len(readout), teacher])

    @classmethod
    def teacher_of(cls, problem: Problem) -> Float[np.ndarray, " r"] | None:
        """The weights b_k of a target sum_k b_k erf2(h_k); None where the target is not one."""
        from scipy.special import erf

        target = problem.target
        if target.noises:
            return None
        points = np.random.default_rng(0).standard_normal((64, target.rank))
        units = erf(points / np.sqrt(2))
        values = np.broadcast_to(target.numpy(points), 64)
        weights = np.linalg.lstsq(units, values, rcond=None)[0]
        exact = np.max(np.abs(units @ weights - values)) < 1e-12 * np.max(np.abs(values))
        return weights if exact else None

    def means(self, layer: Layer) -> Means:
        """The means at this layer."""
        width, rank = layer.overlaps.shape
        covariance = np.block([[layer.gram, layer.overlaps], [layer.overlaps.T, np.eye(rank)]])
        signed = self._signed
        risk = signed @ error_functions.mean_product(covariance) @ signed
        third = error_functions.mean_slope_field(covariance, width) @ signed
        fourth = signed @ error_functions.mean_two_slopes(covariance, width) @ signed
        fourth = fourth + self._noise * error_functions.mean_slopes(layer.gram)
        moved = self._readout[:, None] * third
        products = np.outer(self._readout, self._readout) * fourth
        return Means(moved[:, width:], moved[:, :width], products, float(risk))


class Sampled:
    """Any activation and target: means over one fixed set of quasi-random points."""

    def __init__(
        self,
        problem: Problem,
        sigma: Activation,
        readout: Float[np.ndarray, " p"],
        *,
        loss: str,
        lookahead: float = 0.0,
        points: int = 1 << 15,
        seed: int = 0,
    ) -> None:
        target, width = problem.target, len(readout)
        sizes = (target.rank, width, target.noises, 1)
        drawn = normal_points(points, sum(sizes), np.random.default_rng(seed))
        gaussian = drawn[:, : target.rank + width]
        gaussian = gaussian - gaussian.mean(axis=0)
        # Second moments of the points are those of the law.
        factor = np.linalg.cholesky(gaussian.T @ gaussian / points)
        gaussian = np.linalg.solve(factor, gaussian.T).T
        self._latent, self._rest = gaussian[:, : target.rank], gaussian[:, target.rank :]
        inner, label_noise = drawn[:, target.rank + width : -1], drawn[:, -1]
        clean = np.broadcast_to(target.numpy(self._latent, inner), points)
        self._clean, self._labels, self._noise = clean, clean, problem.noise
        if lookahead and problem.noise:
            self._labels = clean + np.sqrt(problem.noise) * label_noise
            self._noise = 0.0
        self._sigma, self._readout = sigma, readout
        self._loss, self._lookahead = loss, lookahead

    def means(self, layer: Layer) -> Means:
        """The means at this layer."""
        count = len(self._clean)
        fields, moves, noisy, output = self._moves(layer)
        products = moves.T @ moves + self._noise * noisy.T @ noisy
        return Means(
            moves.T @ self._latent / count,
            moves.T @ fields / count,
            products / count,
            float(np.mean((self._clean - output) ** 2)),
        )

    def noise_ratio(self, layer: Layer) -> float:
        """E[D^2 u^2]/E[D^2]: the noise of a step along what the neurons see, over that elsewhere.

        u is the direction, or the neuron's own field at unit length, for which it is the largest.
        Corrections to the motion at a finite d are of this order over d.
        """
        fields, moves, noisy, _ = self._moves(layer)
        squares = moves**2 + self._noise * noisy**2
        seen = np.column_stack([self._latent, fields / np.sqrt(np.diag(layer.gram))])
        along = squares.mean(axis=1) @ seen**2 / len(seen)
        everywhere = np.mean(squares)
        return float(np.max(along) / everywhere) if everywhere > 0 else 1.0

    def _moves(self, layer: Layer) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Fields, the moves D, those of unit label noise, and the output, at every point."""
        rest = layer.gram - layer.overlaps @ layer.overlaps.T
        fields = self._latent @ layer.overlaps.T + self._rest @ matrix_square_root(rest).T
        output = self._sigma.numpy(fields) @ self._readout / len(self._readout)
        slopes = self._sigma.numpy_derivative(fields)
        residual = self._labels - output if self._loss == "square" else self._labels
        pull = residual[:, None] * self._readout
        if self._lookahead:
            slopes = self._sigma.numpy_derivative(fields + self._lookahead * pull * slopes)
        return fields, pull * slopes, self._readout * slopes, output
