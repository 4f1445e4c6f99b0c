"""Laws of readouts and biases at the start: kinds of neurons that stand for them, and averages."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Complex, Float

from giantstep.errors import NoTheory
from giantstep.numerics.quadrature import gauss_hermite, gauss_legendre, split_gaussian
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.first_layer import Neurons

Law = tuple[Float[np.ndarray, " values"], Float[np.ndarray, " values"]]
#: Blocks that stand for a Gaussian readout.
CELLS = 16
#: Below this ratio of the outer coefficients the poles are so far that Gauss-Hermite is exact.
FAR_POLES = 1e-4
#: Length of the panels for averages of smooth functions, and nodes of each.
PANEL_LENGTH, PANEL_ORDER, CUTOFF = 1.5, 8, 6.0


#: Nodes of a law of biases, for one readout value and for several.
BIAS_NODES_ALONE, BIAS_NODES = 16, 8
#: Kinds of neurons that can be computed after one step and after several: more take minutes.
MOST_KINDS, MOST_KINDS_OF_SEVERAL = 32, 8


def limit_start_law(settings: GiantStep, *, coarse: bool = False) -> Neurons:
    """The network before its steps, in kinds of equal readout and bias.

    A Gaussian readout becomes the means of cells, a law of biases the nodes of its Gauss rule;
    with ``coarse`` there are fewer of both. Readouts and biases are independent of each other and
    of the first rows. Raises :class:`NoTheory` where there are too many kinds.

    >>> start = limit_start_law(GiantStep(biases="uniform"))
    >>> len(start.readout), int(start.twins.sum())
    (16, 32)
    """
    several = settings.steps > 1
    cells = MOST_KINDS_OF_SEVERAL if several else CELLS
    # After several steps errors fall as 1/k, not 1/k^2: half the cells change the risk by as much
    # as they miss.
    values, fractions = readout_blocks(settings, cells // 2 if coarse else cells)
    nodes = BIAS_NODES_ALONE if len(values) == 1 else BIAS_NODES
    nodes = MOST_KINDS_OF_SEVERAL if several else nodes
    biases = bias_law(settings.biases, nodes // 2 if coarse else nodes)
    kinds, most = len(values) * len(biases[0]), MOST_KINDS_OF_SEVERAL if several else MOST_KINDS
    if kinds > most:
        biased = settings.biases != "none"
        raise NoTheory(
            f"readout = {str(settings.readout)[:60]}"
            + (f" with biases = {settings.biases}" if biased else "")
            + f" makes {kinds} kinds of neurons: the risk after {settings.steps} "
            f"{'steps' if several else 'step'} is computed for at most {most}; "
            f"use fewer readout values{', or biases = none' if biased else ''}"
        )
    return Neurons.of(
        values,
        fractions,
        biases=biases,
        paired=settings.readout == "symmetric-sign",
        gaussian=settings.start == "gaussian",
        normalise=settings.normalise,
    )


def bias_law(name: str, nodes: int) -> Law:
    """Values of a bias with their probabilities: none, N(0, 1), or uniform on [-1, 1].

    The ``nodes`` values are those of the law's Gauss rule (Golub, Welsch 1969).

    >>> values, weights = bias_law("uniform", 5)
    >>> round(float(weights @ values**2), 9)
    0.333333333
    """
    if name == "none":
        return np.zeros(1), np.ones(1)
    if name == "normal":
        return gauss_hermite(nodes)
    values, weights = gauss_legendre(nodes)
    return values, weights / 2


def bias_nodes(settings: GiantStep, fine: bool = True) -> list[tuple[float, float]]:
    """Values and weights to average smooth functions of the bias; fewer, to tell the error."""
    values, weights = bias_law(settings.biases, 20 if fine else 14)
    return list(zip(values.tolist(), weights.tolist(), strict=True))


def limit_gaussian_readouts(cells: int = CELLS) -> Law:
    r"""Blocks that stand for a Gaussian readout: the means of cells, and their probabilities.

    .. math::
        a_b \propto E[a \,|\, e_{b-1} < a < e_b], \quad \pi_b = P(e_{b-1} < a < e_b), \quad
        e_b = \sqrt3\,\Phi^{-1}(b/k), \quad \sum_b\pi_ba_b^2 = 1, \qquad a \sim N(0, 1) .

    Such cells are crowded as the cube root of the density, which leaves the least mean square
    between readouts and blocks. The means themselves lack that mean square, 4 % for eight cells,
    and would take too weak steps. The risk needs both the bulk, where steep features change within
    a fraction of a standard deviation, and the tails, whose neurons have the strongest spikes:
    nodes of Gauss and Hermite miss the first, cells of equal mass the second.

    Symbols: k ``cells``.

    Assumes: averages that are smooth over a cell; errors fall as 1/k^2.
    Status: heuristic.
    References: Moniri et al. 2023, arXiv:2310.07891 for Gaussian readouts.

    >>> values, fractions = limit_gaussian_readouts(16)
    >>> round(float(fractions @ values**2), 4), round(float(values[-1]), 4)
    (1.0, 2.9811)
    """
    from scipy.special import ndtr, ndtri

    edges = math.sqrt(3) * ndtri(np.arange(cells + 1) / cells)
    fractions = np.diff(ndtr(edges))
    density = np.exp(-(edges**2) / 2) / math.sqrt(2 * math.pi)
    means = -np.diff(density) / fractions
    return means / np.sqrt(fractions @ means**2), fractions


def readout_blocks(settings: GiantStep, cells: int = CELLS) -> Law:
    """Values of the readout and fractions of the neurons: its support, or cells of a Gaussian."""
    support = settings.readout_support()
    if support is None:
        return limit_gaussian_readouts(cells)
    values, fractions = (np.array(part, dtype=float) for part in support)
    return values, fractions / fractions.sum()


def limit_readout_moments(settings: GiantStep, nodes: int = 9) -> Law:
    """Blocks with the exact moments of the readout, up to degree ``2 * nodes - 1``, for spectra."""
    support = settings.readout_support()
    return readout_blocks(settings) if support is not None else gauss_hermite(nodes)


def readout_nodes(settings: GiantStep, fine: bool = True) -> list[tuple[float, float]]:
    """Values and weights to average smooth functions of the readout; coarser, to tell the error."""
    support = settings.readout_support()
    if support is None:
        length = PANEL_LENGTH if fine else 2 * PANEL_LENGTH
        support = split_gaussian((), PANEL_ORDER, CUTOFF, length)  # type: ignore[assignment]
    return list(zip(map(float, support[0]), map(float, support[1]), strict=True))  # type: ignore[index]


def expected_readout_ratio(
    numerator: Float[np.ndarray, "3 *points"], denominator: Float[np.ndarray, "3 *points"]
) -> Float[np.ndarray, "*points"]:
    r"""The mean of a ratio of quadratics over a Gaussian readout, in closed form.

    .. math::
        E\frac{n_0 + n_1a + n_2a^2}{q_0 + q_1a + q_2a^2} = \frac{n_2}{q_2}
            + 2\,\mathrm{Re}\Big[\frac{l_0 + l_1z}{q_2(z-\bar z)}\,i\sqrt{\frac\pi2}\,
            w\Big(\frac z{\sqrt2}\Big)\Big], \qquad l_i = n_i - \frac{n_2}{q_2}q_i,

    where z is the root of the denominator in the upper half plane and w Faddeeva's function:
    :math:`E[1/(a-z)] = i\sqrt{\pi/2}\,w(z/\sqrt2)`.

    Symbols: n ``numerator``, q ``denominator``, constant coefficients first.

    Assumes: a denominator without real zeros.
    Status: theorem.
    References: Abramowitz, Stegun 1964, section 7.1.

    >>> square, shifted = np.array([[0.0], [0.0], [1.0]]), np.array([[1.0], [0.0], [1.0]])
    >>> round(float(expected_readout_ratio(square, shifted)[0]), 6)
    0.34432
    """
    from scipy.special import wofz

    n0, n1, n2 = numerator
    q0, q1, q2 = denominator
    nodes, weights = gauss_hermite(20)
    grid = nodes.reshape(-1, *[1] * q0.ndim)
    regular = np.tensordot(
        weights, (n0 + grid * (n1 + grid * n2)) / (q0 + grid * (q1 + grid * q2)), axes=1
    )
    near = q2 > FAR_POLES * q0
    safe = np.where(near, q2, 1.0)
    z: Complex[np.ndarray, "*points"] = (
        -q1 + 1j * np.sqrt(np.maximum(4 * q0 * safe - q1**2, 0.0))
    ) / (2 * safe)
    z = np.where(near, z, 1j)
    whole = n2 / safe
    remainder = (n0 - whole * q0) + (n1 - whole * q1) * z
    pole = 1j * math.sqrt(math.pi / 2) * wofz(z / math.sqrt(2))
    exact = whole + 2 * np.real(remainder / (safe * 2j * z.imag) * pole)
    return np.where(near, exact, regular)
