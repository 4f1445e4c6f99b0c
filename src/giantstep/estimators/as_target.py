r"""From data back to theory: the fitted link as a target of this project's language.

The link :math:`f(h)` of the learned indices is expanded in Hermite polynomials,

.. math:: f(h) \approx \sum_{|k|\le K} c_k \prod_i He_{k_i}(h_i), \qquad
    c_k = E\Big[f(h)\prod_i \frac{He_{k_i}(h_i)}{k_i!}\Big],\quad h\sim N(0, I),

and coefficients below their own error are dropped. What theory then says assumes that the
whitened inputs are Gaussian, which real tables are not: it is a guide, not a promise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.estimators.link import Link
from giantstep.numerics.hermite import factorial, hermite_values, multi_indices
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.targets import Target

#: Highest degree of the expansion, and nodes of the quadrature along each index.
DEGREE, NODES = 6, 24
#: Terms with less than this share of the variance are left out of the expression.
SHARE = 0.002


class LinkTarget(NamedTuple):
    """A polynomial target that stands for a fitted link; ``captured`` is its share of variance."""

    target: Target
    captured: float


def link_target(link: Link, *, degree: int = DEGREE, share: float = SHARE) -> LinkTarget:
    """The link as a sum of products of Hermite polynomials in h1, h2, ..."""
    rank = len(link.low)
    indices, weights = _grid(rank)
    values = link.predict(indices)
    centred = values - weights @ values
    variance = float(weights @ centred**2)
    tables = [hermite_values(indices[:, axis], degree) for axis in range(rank)]
    terms: list[tuple[float, tuple[int, ...]]] = []
    for powers in multi_indices(rank, degree)[1:]:
        product = np.prod([tables[axis][power] for axis, power in enumerate(powers)], axis=0)
        coefficient = float(weights @ (centred * product)) / factorial(powers)
        if coefficient**2 * factorial(powers) > share * variance:
            terms.append((coefficient, powers))
    kept = sum(coefficient**2 * factorial(powers) for coefficient, powers in terms)
    text = " + ".join(f"({c:.4g})*{_product(powers)}" for c, powers in terms) or "0"
    return LinkTarget(Target(text), kept / variance if variance > 0 else 0.0)


def _product(powers: tuple[int, ...]) -> str:
    factors = [
        f"h{axis + 1}" if power == 1 else f"He{power}(h{axis + 1})"
        for axis, power in enumerate(powers)
        if power
    ]
    return "*".join(factors)


def _grid(rank: int) -> tuple[Float[np.ndarray, "n r"], Float[np.ndarray, " n"]]:
    nodes, weights = gauss_hermite(NODES if rank <= 3 else 10)
    axes = np.meshgrid(*[nodes] * rank, indexing="ij")
    masses = np.meshgrid(*[weights] * rank, indexing="ij")
    return np.stack([a.ravel() for a in axes], axis=1), np.prod([m.ravel() for m in masses], axis=0)
