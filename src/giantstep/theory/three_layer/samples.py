"""From how many samples each layer of a three-layer network learns its part of a tree."""

from __future__ import annotations

import math


def sample_exponents(leaf_exponent: float, degree: int) -> tuple[float, float]:
    r"""Powers of d in the samples from which the two hidden layers learn a tree, in turn.

    .. math:: l = d^\epsilon: \qquad n_1 \sim d^{1 + \epsilon}, \qquad n_2 \sim l^k = d^{k\epsilon}

    Symbols: epsilon is ``leaf_exponent``, k the ``degree`` of the inner function.
    Assumes: an inner polynomial with a part along He2 and none below; up to factors d^delta, for
    every delta > 0.
    Status: theorem.
    References: Dandi et al. 2025, arXiv:2502.13961.

    >>> sample_exponents(0.5, 3)
    (1.5, 1.5)
    """
    return 1 + leaf_exponent, degree * leaf_exponent


def random_layer_degree(sample_exponent: float, leaf_exponent: float) -> int:
    r"""Degree of the polynomials in the leaves that a random second layer fits on a learned first.

    .. math:: n = d^\kappa = l^{\kappa/\epsilon}: \qquad
        \lfloor \kappa/\epsilon \rfloor

    Symbols: kappa is ``sample_exponent``, epsilon ``leaf_exponent``.
    Assumes: kappa/epsilon no whole number, or samples beyond it by more than any power of log d;
    a wide second layer.
    Status: conjecture.
    References: Dandi et al. 2025, arXiv:2502.13961.

    >>> random_layer_degree(1.5, 0.5)
    3
    """
    return math.floor(sample_exponent / leaf_exponent + 1e-9)


def first_layer_threshold(
    dim: int, leaves: int, branches: int, quadratic_share: float, correlation_squared: float
) -> float:
    r"""Samples beyond which the moment matrix of a tree's labels shows its leaves.

    .. math:: M = \frac1n \sum_i (y_i - \bar y)\, x_i x_i^\top: \qquad
        n_0 = \frac{d\, l\, b}{2 q_2 \rho^2}

    where the eigenvalues +-rho sqrt(2 q_2/(l b)) of the leaves pass sqrt(d/n), half the edge of the
    bulk, for labels of variance 1.

    Symbols: d ``dim``, l ``leaves``, b ``branches``, q_2 is ``quadratic_share``, that of He2 in the
    inner function's variance, rho^2 ``correlation_squared`` of g(u) and u.
    Assumes: many leaves, far fewer than d; weak correlations of a leaf with the label.
    Status: heuristic.
    References: Dandi et al. 2025, arXiv:2502.13961.

    >>> round(first_layer_threshold(64, 8, 1, 1.0, 0.757))
    338
    """
    return dim * leaves * branches / (2 * quadratic_share * correlation_squared)
