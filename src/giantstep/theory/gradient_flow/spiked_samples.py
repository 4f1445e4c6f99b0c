"""From how many samples, and from how strong a spike, kernels and networks learn a link."""

from __future__ import annotations

import math


def kernel_degree(strength_exponent: float) -> float:
    r"""The highest degree of a link along the spike that a kernel learns from n ~ d samples.

    .. math:: \max\{\ell : \gamma_2 > 1 - 1/\ell\}

    Symbols: gamma_2 is ``strength_exponent``, theta = d^gamma_2; infinite for gamma_2 = 1.
    Assumes: a spike along the target; an inner-product kernel, d and n proportional.
    Status: theorem.
    References: Ba et al. 2023, Advances in Neural Information Processing Systems 36.

    >>> [kernel_degree(g) for g in (0.0, 0.3, 0.5, 0.6, 0.8)]
    [1, 1, 1, 2, 4]
    """
    if strength_exponent >= 1:
        return math.inf
    # gamma > 1 - 1/l means l < 1/(1 - gamma); degree one is learned without any spike.
    return max(math.ceil(1 / (1 - strength_exponent) - 1e-9) - 1, 1)


def kernel_sample_exponent(degree: int, strength_exponent: float) -> float:
    r"""The power of d, up to a constant factor, below which no rotation-invariant kernel learns.

    .. math:: n \gtrsim d^{\,\Theta((1-\gamma_2)\, p)}

    Symbols: p is ``degree``, that of the link; gamma_2 is ``strength_exponent``.
    Assumes: a polynomial link of degree p; the exponent is known up to a constant factor.
    Status: theorem (a lower bound).
    References: Donhauser et al. 2021, arXiv:2104.04244.

    >>> kernel_sample_exponent(4, 0.5)
    2.0
    """
    return max(1 - strength_exponent, 0.0) * degree


def one_step_strength_exponent(order: int) -> float:
    r"""The power of d beyond which a spike lets one giant step learn from n ~ d samples.

    .. math:: \theta \gg d^{\,1 - 1/k}

    Symbols: k is ``order``, the information exponent of the link.
    Assumes: a spike along the target, a relu network with biases. Sufficient, not necessary.
    Status: theorem (a sufficient condition).
    References: Ba et al. 2023, Advances in Neural Information Processing Systems 36.

    >>> [round(one_step_strength_exponent(k), 3) for k in (1, 2, 3)]
    [0.0, 0.5, 0.667]
    """
    return 1 - 1 / order


def one_step_conjectured_exponent(order: int) -> float:
    r"""The power of d at which a spike should already do for one giant step.

    .. math:: \theta \gg d^{1/2} \quad (k \ge 2)

    The noise of the gradient is X^T(.) and is itself amplified along the spike: the spike's share
    of a pre-activation is (1 + theta)/sqrt(d) against 1 whatever k is.

    Symbols: k is ``order``, the information exponent of the link.
    Assumes: a spike along the target.
    Status: conjecture.
    References: Ba et al. 2023, Advances in Neural Information Processing Systems 36.

    >>> [one_step_conjectured_exponent(k) for k in (1, 2, 3)]
    [0.0, 0.5, 0.5]
    """
    return 0.0 if order == 1 else 0.5
