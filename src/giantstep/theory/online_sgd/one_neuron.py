"""One neuron on the sphere that sees one sample at a time: its equation of motion."""

from __future__ import annotations

import functools

import numpy as np
from jaxtyping import Float

from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian
from giantstep.theory.online_sgd.latent_rule import motion_rule
from giantstep.theory.online_sgd.piecewise_linear import Jumps, Slopes

#: Panels for the field, by number of the other axes: order, length, for the fine and coarse rule.
_FIELD = {1: ((12, 1.0), (10, 1.5)), 2: ((10, 2.0), (8, 2.0)), 3: ((8, 3.0), (7, 3.0))}
#: The part of a neuron outside the target's directions is no shorter, where one divides by it.
SHORTEST = 1e-9
#: Labels beyond this number are read off a table, where a coarse answer will do.
TABULATED = 1500


class OneNeuron:
    """Means over a sample, as functions of the overlaps m of a neuron of unit length.

    The move D is that of the learner `online-sgd` with one neuron, in the limit in which |x|^2 = d.
    """

    def __init__(
        self,
        problem: Problem,
        sigma: Activation,
        *,
        loss: str = "correlation",
        readout: float = 1.0,
        lookahead: float = 0.0,
        fine: bool = True,
    ) -> None:
        self._slopes = Slopes.of(sigma) if loss == "correlation" else None
        noise_inside = bool(lookahead and problem.noise)
        rule = motion_rule(problem, label_signs=lookahead != 0, noise_axis=noise_inside, fine=fine)
        target = problem.target
        self.rank = target.rank
        self.latent, self.weights = rule.nodes[:, : self.rank], rule.weights
        inner = rule.nodes[:, self.rank : self.rank + target.noises]
        self.labels = np.broadcast_to(target.numpy(self.latent, inner), rule.weights.shape)
        self._clean = self.labels
        if noise_inside:
            self.labels = self.labels + np.sqrt(problem.noise) * rule.nodes[:, -1]
        self._noise = 0.0 if noise_inside else problem.noise
        self._sigma, self._loss, self._readout = sigma, loss, readout
        self._lookahead, self._fine = lookahead, fine
        count = min(rule.nodes.shape[1], 3)
        order, length = _FIELD[count][0 if fine else 1]
        # A label inside the slope makes it steep, and a kink needs an edge.
        steep = lookahead != 0 or bool(sigma.kinks)
        self._field = (
            split_gaussian(sigma.kinks, order, 8.0, length)
            if steep
            else gauss_hermite(48 if fine else 40)
        )

    def risk(self, overlap: Float[np.ndarray, " r"]) -> float:
        """E (g - a sigma(h))^2 at these overlaps, without label noise."""
        mean, spread = self._field_law(overlap)
        nodes, weights = self._field
        output = self._readout * self._sigma.numpy(mean[:, None] + spread * nodes)
        return float(self.weights @ ((self._clean[:, None] - output) ** 2 @ weights))

    def velocity(self, overlap: Float[np.ndarray, " r"], step_size: float) -> np.ndarray:
        r"""dm/dtau, time in samples/d, where D x is the move of the neuron on a sample.

        .. math:: \frac{dm}{d\tau} = \gamma_0\big(E[D h_*] - m\,E[D h]\big)
            - \frac{\gamma_0^2}{2}\, m\, E[D^2]
        """
        first, with_field, square = self._conditional(*self._field_law(overlap), self.labels)
        with_latent = (self.weights * first) @ self.latent
        drift = with_latent - overlap * float(self.weights @ with_field)
        return step_size * drift - step_size**2 / 2 * overlap * float(self.weights @ square)

    def at_start(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[D | h*], E[D h | h*] and E[D^2 | h*] at the nodes, for a neuron without overlap.

        They depend on the label alone, of which there may be few.
        """
        labels, where = np.unique(self.labels, return_inverse=True)
        if self._fine or len(labels) <= TABULATED:
            found = self._conditional(np.zeros(len(labels)), 1.0, labels)
            return found[0][where], found[1][where], found[2][where]
        low, high = np.arcsinh(labels[0]), np.arcsinh(labels[-1])
        table = np.unique(np.append(np.sinh(np.linspace(low, high, TABULATED)), 0.0))
        known = self._conditional(np.zeros(len(table)), 1.0, table)
        first, second, third = (np.interp(self.labels, table, values) for values in known)
        return first, second, third

    def spread_at_start(self) -> Float[np.ndarray, " r"]:
        """E[D^2 h*_k^2] of a neuron without overlap: the noise of its first moves."""
        return (self.weights * self.at_start()[2]) @ self.latent**2

    def _field_law(self, overlap: Float[np.ndarray, " r"]) -> tuple[np.ndarray, float]:
        """Mean of the field at each node, and its standard deviation."""
        spread = np.sqrt(max(1 - float(overlap @ overlap), 0.0))
        return self.latent @ overlap, max(spread, SHORTEST)

    @functools.cached_property
    def _jumps(self) -> Jumps:
        """The slopes that the labels of the rule lead to, which no overlap changes."""
        assert self._slopes is not None
        return self._slopes.ahead(self._lookahead * self._readout * self.labels)

    def _conditional(
        self, mean: Float[np.ndarray, " n"], spread: float, labels: Float[np.ndarray, " n"]
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """E[D | h*], E[D h | h*] and E[D^2 | h*]."""
        pull = self._readout * labels
        ahead = self._lookahead * pull
        if self._slopes is not None:
            jumps = self._jumps if labels is self.labels else self._slopes.ahead(ahead)
            first, with_field, square = jumps.moments(mean, spread)
            noisy = (pull**2 + self._noise * self._readout**2) * square
            return pull * first, pull * with_field, noisy
        nodes, weights = self._field
        fields = mean[:, None] + spread * nodes
        slopes = self._sigma.numpy_derivative(fields)
        if self._lookahead:
            slopes = self._sigma.numpy_derivative(fields + ahead[:, None] * slopes)
        residual = labels[:, None]
        if self._loss == "square":
            residual = residual - self._readout * self._sigma.numpy(fields)
        moves = self._readout * residual * slopes
        square = moves**2 + self._noise * self._readout**2 * slopes**2
        return moves @ weights, (moves * fields) @ weights, square @ weights


def wrong_sign(neuron: OneNeuron, step_size: float, start: float, dim: float) -> float:
    r"""The share of neurons that leave with the other sign than they began with.

    .. math:: \Phi\big(-m_0\sqrt{d/v}\big), \qquad
        v = \frac{\gamma_0^2\,E[D^2 h_*^2]_{m=0}}{2\lambda}

    with the growth rate :math:`\lambda = \partial_m \dot m` at m = 0: there the overlap is
    :math:`e^{\lambda\tau}(m_0 + N(0, v/d))`.

    Symbols: gamma_0 ``step_size``, m_0 ``start``, d ``dim``. NaN where the overlap does not grow
    by itself from m = 0.

    Assumes: a target of one direction, of leap two under this algorithm, m_0 of order d^-1/2.
    Status: heuristic.
    References: Ben-Arous et al. 2020, arXiv:2003.10409.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> neuron = OneNeuron(Problem.of("He2(h1)/sqrt(2)"), activation("He2(z)/2"))
    >>> round(wrong_sign(neuron, 0.1, 0.01, 1e4), 3)
    0.01
    """
    from scipy.special import ndtr

    near = 1e-4
    force = float(neuron.velocity(np.zeros(1), step_size)[0])
    rate = float(neuron.velocity(np.array([near]), step_size)[0] - force) / near
    if rate <= 0 or abs(force) > 1e-9 * step_size:
        return float("nan")
    variance = step_size**2 * float(neuron.spread_at_start()[0]) / (2 * rate)
    return float(ndtr(-abs(start) * np.sqrt(dim / variance)))
