"""Laws of readouts and biases as blocks of neurons, and how many blocks a law needs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation
from giantstep.errors import NoTheory
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.one_step.any_activation.network import Start

#: Blocks that stand for a Gaussian readout, and nodes that stand for a law of biases; the coarse
#: ones measure the error.
READOUT_CELLS, COARSE_READOUT_CELLS = 16, 12
BIAS_NODES, COARSE_BIAS_NODES = 8, 6
#: More blocks than this take minutes.
MOST_BLOCKS = 32

Law = tuple[Float[np.ndarray, " values"], Float[np.ndarray, " values"]]


def start_of(settings: GiantStep, sigma: Activation, *, coarse: bool = False) -> Start:
    r"""The network before its step, in blocks of equal readout and bias.

    A Gaussian readout becomes the means of cells of equal mass, a law of biases the nodes of its
    Gauss rule. The step's residuals lack the constant

    .. math:: f_0 = E[a]\,E_b\,E_z[\sigma(z + b)]

    that the network starts from; it is zero for the correlation loss and for pairs.

    Symbols: a, b ``settings.readout``, ``settings.biases``; ``coarse``: fewer blocks.

    Assumes: readouts and biases independent of each other and of the first rows.
    Status: theorem (bookkeeping); laws with a density converge with the number of blocks.
    References: Golub, Welsch 1969, for the nodes of the biases.

    >>> from giantstep.activations.activation import activation
    >>> start = start_of(GiantStep(biases="uniform"), activation("relu"))
    >>> len(start.readout), int(start.twins.sum()), start.output
    (16, 32, 0.0)
    """
    support = settings.readout_support()
    cells = COARSE_READOUT_CELLS if coarse else READOUT_CELLS
    values, fractions = gaussian_cells(cells) if support is None else support
    biases = bias_law(settings.biases, COARSE_BIAS_NODES if coarse else BIAS_NODES)
    if len(values) * len(biases[0]) > MOST_BLOCKS:
        raise NoTheory(
            f"readout = {settings.readout} with biases = {settings.biases} makes "
            f"{len(values) * len(biases[0])} blocks of neurons: the exact risk is computed for at "
            f"most {MOST_BLOCKS}; use fewer readout values, or biases = none"
        )
    output = 0.0
    if settings.loss == "square":
        means = [float(sigma.shifted(float(bias)).hermite(0)[0]) for bias in biases[0]]
        output = float(np.dot(values, fractions) * np.dot(means, biases[1]))
    return Start.of(
        np.asarray(values, dtype=float),
        np.asarray(fractions, dtype=float),
        biases=biases,
        paired=settings.readout == "symmetric-sign",
        gaussian=settings.start == "gaussian",
        normalise=settings.normalise,
        output=output,
    )


def gaussian_cells(count: int) -> Law:
    r"""Cells of equal mass of a standard normal law, by their means.

    .. math:: a_b = \frac{\varphi(q_{b-1}) - \varphi(q_b)}{1/K}, \qquad \Phi(q_b) = b/K

    The risk is a rational function of a with poles near the real axis, which cells follow and
    Gauss-Hermite nodes do not.

    Symbols: K ``count``.

    Assumes: a risk that changes little within a cell; the error falls as K^-2.
    Status: theorem (bookkeeping).
    References: Moniri et al. 2023, arXiv:2310.07891, for the Gaussian readout.

    >>> values, fractions = gaussian_cells(2)
    >>> values.round(6).tolist(), fractions.tolist()
    ([-0.797885, 0.797885], [0.5, 0.5])
    """
    from scipy.special import ndtri

    edges = ndtri(np.arange(count + 1) / count)
    density = np.exp(-(edges**2) / 2) / np.sqrt(2 * np.pi)
    return -np.diff(density) * count, np.full(count, 1 / count)


def bias_law(name: str, nodes: int) -> Law:
    r"""Values of a bias with their probabilities: none, N(0, 1), or uniform on [-1, 1].

    .. math:: E f(b) \approx \sum_i \pi_i f(b_i)

    Symbols: number of values ``nodes``.

    Assumes: f smooth on the scale of the law.
    Status: theorem (a Gauss rule).
    References: Golub, Welsch 1969.

    >>> values, weights = bias_law("uniform", 5)
    >>> round(float(weights @ values**2), 9)
    0.333333333
    """
    if name == "none":
        return np.zeros(1), np.ones(1)
    if name == "normal":
        return gauss_hermite(nodes)
    values, weights = np.polynomial.legendre.leggauss(nodes)
    return values, weights / 2
