"""How long a neuron takes to leave the place where it knows nothing of its target."""

from __future__ import annotations

import numpy as np

from giantstep.theory.online_sgd.one_neuron import OneNeuron


def exit_time(neuron: OneNeuron, step_size: float, start: float, stop: float) -> float:
    r"""Samples/d until the overlap with a target of one direction grows from start to stop.

    .. math:: \frac nd = \int_{m_0}^{m_1} \frac{dm}{\gamma_0\,\beta(m) - \gamma_0^2\, m\,V(m)/2},
        \qquad \beta = E[D(h_* - m h)],\quad V = E[D^2]

    Symbols: gamma_0 ``step_size``, m_0 ``start``, m_1 ``stop``. Infinite where the overlap stops
    growing on the way.

    Assumes: the deterministic limit; the noise of the first moves is not counted.
    Status: heuristic where the start depends on d.
    References: Ben-Arous et al. 2020, arXiv:2003.10409.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> neuron = OneNeuron(Problem.of("h1"), activation("identity"))
    >>> round(exit_time(neuron, 0.5, 0.0, 0.5), 4)
    1.1919
    """
    from scipy.integrate import quad

    sign = np.sign(stop - start)

    def speed(overlap: float) -> float:
        return float(sign * neuron.velocity(np.array([overlap]), step_size)[0])

    if start == stop:
        return 0.0
    grid = np.linspace(start, stop, 50)
    if min(speed(overlap) for overlap in grid) <= 0:
        return np.inf
    if start * stop <= 0:
        return abs(quad(lambda m: 1 / speed(m), start, stop, epsrel=1e-8, limit=50)[0])
    # Near a start at d^-1/2 time runs with the logarithm of the overlap.
    low, high = np.log(abs(start)), np.log(abs(stop))
    side = np.sign(start)
    found = quad(lambda u: np.exp(u) / speed(side * np.exp(u)), low, high, epsrel=1e-8, limit=50)[0]
    return abs(float(found))


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
