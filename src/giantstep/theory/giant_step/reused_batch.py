"""Two full-batch steps of one neuron on the same samples: the exact high-dimensional law."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets.integration import target_block
from giantstep.numerics.quadrature import (
    gauss_hermite,
    legendre_panels,
    split_gaussian,
    tensor_rule,
)

#: Nodes of each Gauss-Legendre segment in the direction of the fresh noise.
NOISE_ORDER = 40


class TwoSteps(NamedTuple):
    """Overlaps with each target direction after one and two steps, and the squared norms."""

    cosines: np.ndarray
    squared_norms: np.ndarray


def reused_batch_two_steps(
    problem: Problem,
    activation: Activation,
    *,
    step_size: float,
    samples_ratio: float,
    readout: float = 1.0,
    loss: str = "square",
) -> TwoSteps:
    r"""Cosines of one neuron with the target directions after two steps on one batch.

    .. math::
        h_1 = h_0 + \eta\Big(\frac{D_0}{\alpha} + E[D_0 h_*]\cdot h_* + E[D_0 h_0]\,h_0
              + \sqrt{v/\alpha}\,\xi\Big), \qquad
        m_1 = \eta E[D_0 h_*], \quad m_2 = m_1 + \eta E[D_1 h_*],

    with :math:`D_t = a (y - f_t)\sigma'(h_t)`, :math:`v = E[D_0^2]`, and
    :math:`h_0, h_*, \xi` independent standard normals. The term :math:`D_0/\alpha` is what reuse
    adds: it puts the label inside the activation. The norm after the second step is

    .. math::
        q_2 = |m_2|^2 + (1 + \eta E[D_0 h_0] + \eta E[D_1 h_0])^2
        + \eta^2\big(\sqrt{v/\alpha} + E[D_1\xi] + E[D_1D_0]/\sqrt{v\alpha}\big)^2
        + \eta^2 (E[D_1^2] - E[D_1D_0]^2/v)/\alpha .

    Symbols: eta ``step_size``, alpha ``samples_ratio``, a ``readout``, sigma ``activation``.

    Assumes: d to infinity at fixed n/d, one neuron (or the correlation loss, in which neurons do
    not see one another), unit-norm start, isotropic Gaussian inputs, at most two directions.
    Status: theorem.
    References: Dandi et al. 2024, arXiv:2402.03220; Bolthausen conditioning.

    >>> from giantstep.language.activations.activation import activation
    >>> law = reused_batch_two_steps(
    ...     Problem.of("He3(h1)"), activation("tanh"), step_size=1.0, samples_ratio=3.0)
    >>> round(float(law.cosines[1, 0]), 4)
    -0.1752
    """
    target, eta, alpha = problem.target, step_size, samples_ratio
    axes = [split_gaussian(k) for k in (activation.kinks, *target_block(target).kinks)]
    if len(axes) > 3:
        raise NoTheory(
            "the two-step law of a reused batch covers targets of at most two directions, "
            f"and this one has {len(axes) - 1} variables: use simulate --batches reused instead"
        )
    rule = tensor_rule(axes)
    h0, hidden = rule.nodes[:, 0], rule.nodes[:, 1:]
    directions = hidden[:, : target.rank]
    y = target.numpy(directions, hidden[:, target.rank :])

    def residual(field: np.ndarray, labels: np.ndarray) -> np.ndarray:
        output = readout * activation.numpy(field) if loss == "square" else 0.0
        return readout * (labels - output) * activation.numpy_derivative(field)

    d0 = residual(h0, y)
    slope = activation.numpy_derivative(h0)
    # Label noise adds its own share to v: D is linear in y.
    v = rule.expectation(d0**2) + problem.noise * readout**2 * rule.expectation(slope**2)
    m1 = eta * rule.expectation(d0 * directions.T)
    radial = rule.expectation(d0 * h0)
    spread = float(eta * np.sqrt(v / alpha))
    q1 = m1 @ m1 + (1 + eta * radial) ** 2 + spread**2
    base = h0 * (1 + eta * radial) + eta * d0 / alpha + directions @ m1
    noise_scale = eta * readout * slope * np.sqrt(problem.noise) / alpha
    # One axis after the other: fresh noise between the kinks, label noise, (h0, h*).
    noise, noise_weights = gauss_hermite(16 if problem.noise else 1)
    noise = noise[:, None]
    shifted = base + noise * noise_scale
    corners = (np.array([-np.inf, *activation.kinks, np.inf]) - shifted[..., None]) / spread
    fresh, masses = legendre_panels(np.sort(np.clip(corners, -9.0, 9.0)), NOISE_ORDER)
    fresh, masses = np.moveaxis(fresh, -1, 0), np.moveaxis(masses, -1, 0)
    masses = masses * np.exp(-(fresh**2) / 2) / np.sqrt(2 * np.pi)
    field = shifted + spread * fresh
    weights = rule.weights * noise_weights[:, None] * masses
    labels = y + np.sqrt(problem.noise) * noise
    d0_noisy = d0 + readout * slope * np.sqrt(problem.noise) * noise
    d1 = residual(field, labels)
    weighted = weights * d1
    m2 = m1 + eta * np.einsum("abi,ik->k", weighted, directions)
    along = 1 + eta * radial + eta * np.einsum("abi,i->", weighted, h0)
    with_noise = np.sum(weighted * fresh)
    with_first = np.sum(weighted * d0_noisy)
    power = np.sum(weighted * d1)
    q2 = (
        m2 @ m2
        + along**2
        + eta**2 * (np.sqrt(v / alpha) + with_noise + with_first / np.sqrt(v * alpha)) ** 2
        + eta**2 * (power - with_first**2 / v) / alpha
    )
    norms = np.array([q1, q2])
    return TwoSteps(np.stack([m1, m2]) / np.sqrt(norms)[:, None], norms)
