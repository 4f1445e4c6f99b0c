"""Laws of readouts and biases as blocks of neurons, and how many blocks a law needs."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.risk.first_layer import Neurons
from giantstep.theory.one_step.readout_law import CELLS, readout_blocks

#: Nodes that stand for a law of biases, for one readout value and for several; half as many
#: measure the error.
BIAS_NODES_ALONE, BIAS_NODES = 16, 8
#: More blocks than this take minutes.
MOST_BLOCKS = 32

Law = tuple[Float[np.ndarray, " values"], Float[np.ndarray, " values"]]


def start_of(settings: GiantStep, *, coarse: bool = False) -> Neurons:
    """The network before its step, in blocks of equal readout and bias.

    A Gaussian readout becomes the means of cells, a law of biases the nodes of its Gauss rule;
    with ``coarse`` there are fewer of both. Readouts and biases are independent of each other and
    of the first rows.

    >>> start = start_of(GiantStep(biases="uniform"))
    >>> len(start.readout), int(start.twins.sum())
    (16, 32)
    """
    values, fractions = readout_blocks(settings, CELLS // 2 if coarse else CELLS)
    nodes = BIAS_NODES_ALONE if len(values) == 1 else BIAS_NODES
    biases = bias_law(settings.biases, nodes // 2 if coarse else nodes)
    if len(values) * len(biases[0]) > MOST_BLOCKS:
        other = "" if settings.biases == "none" else ", or biases = none"
        raise NoTheory(
            f"readout = {str(settings.readout)[:60]} with biases = {settings.biases} makes "
            f"{len(values) * len(biases[0])} blocks of neurons: the exact risk is computed for at "
            f"most {MOST_BLOCKS}; use fewer readout values{other}"
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
    values, weights = np.polynomial.legendre.leggauss(nodes)
    return values, weights / 2
