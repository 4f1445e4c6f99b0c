"""What the network's own output at the start, of order p^-1/2, leaves in the rows after a step."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from giantstep.theory.giant_step.risk.sizes import RiskSizes
from giantstep.theory.one_step.alignment import StepSignal


def neuron_correlation(
    signal: StepSignal,
    sizes: RiskSizes,
    readout: Float[np.ndarray, " blocks"],
    fractions: Float[np.ndarray, " blocks"],
    bulks: Float[np.ndarray, " blocks"],
    output: float,
) -> Float[np.ndarray, "blocks blocks"]:
    r"""p times the mean cosine of two neurons' bulks after a step, by their readouts.

    A step on the residuals :math:`y - f_0(x)` pulls every neuron back along the neurons' mean
    :math:`\bar w = \frac1p\sum_k a_kw_k`, the linear part of :math:`f_0`. It does so by
    :math:`p^{-1/2}` only, but along the one direction of neuron space that carries the spike:

    .. math::
        p\,E\langle\hat w_j, \hat w_k\rangle = \frac{a_ja_k}{\sqrt{c_jc_k}}\Big\{
            -\eta\mu_1^2\Big[2 + (\alpha_j+\alpha_k)\Big(1+\frac d{n_0}\Big)\Big]
            + \eta^2\mu_1^4E[a^2] + \eta^2\frac{d}{n_0}\Big(\mu_1^2E[a^2]\,\mathrm{Var}\,\sigma
            + \frac{p}{2d}E\big[(\mu_3 r - \mu_1\mu_2E[a])^2\big]\Big)\Big\},

    :math:`\alpha_j = \eta a_j\mu_2E[r]`, r the residual of the mean output. The terms in
    :math:`d/n_0` are noise of the batch that neurons share: that of :math:`f_0`, and that of
    :math:`|x|^2`, with which all slopes :math:`\sigma'` grow. For the correlation loss there is no
    :math:`f_0`, and what is left is :math:`\eta^2\mu_3^2E[y^2]\,p/(2n_0)`.

    Symbols: eta, n_0/d and p/d ``sizes``; a ``readout``, with ``fractions`` of the neurons; c
    ``bulks``; mu and the moments of r ``signal``; ``output`` is 1 where the step follows y - f_0,
    0 where it follows y.

    Assumes: rows that start independent on the sphere, n_0 and p proportional to d.
    Status: heuristic, checked on layers of real steps with tanh, erf, relu and softplus.
    References: Ba et al. 2022, arXiv:2205.01445 for the rank-one structure of the step.

    >>> one = np.ones(1)
    >>> signal = StepSignal(0.606531, 0.0, 0.432332, 0.605706, 0.0, 0.0975237, -0.363595,
    ...     output_variance=0.394294)
    >>> sizes = RiskSizes((1.0,), (20.0,), 2.0, 1.0, 0.1)
    >>> found = neuron_correlation(signal, sizes, one, one, 1.0021 * one, 1.0)
    >>> round(float(found[0, 0]), 4)
    -0.5893
    """
    step_size, samples_ratio = sizes.step_sizes[0], sizes.samples_ratios[0]
    mean, square = fractions @ readout, fractions @ readout**2
    mu_1, mu_2, mu_3 = signal.mu_1, signal.mu_2, signal.mu_3
    drift = step_size * readout * mu_2 * signal.mean
    pulled = 2 + (drift[:, None] + drift[None, :]) * (1 + 1 / samples_ratio)
    common = output * mu_1 * mu_2 * mean
    lengths = mu_3**2 * signal.power - 2 * mu_3 * common * signal.mean + common**2
    noise = output * mu_1**2 * square * signal.output_variance + sizes.width_ratio / 2 * lengths
    pull = output * step_size * mu_1**2
    braces = -pull * pulled + pull**2 * square + step_size**2 / samples_ratio * noise
    scaled = readout / bulks**0.5
    return scaled[:, None] * scaled[None, :] * braces


def own_bulk_shrinkage(
    signal: StepSignal, sizes: RiskSizes, readout: Float[np.ndarray, " blocks"], dim: float
) -> Float[np.ndarray, " blocks"]:
    r"""What a neuron's own part of the start output takes from its bulk variance, for y - f_0.

    .. math:: c_j \to c_j - \frac{2\eta a_j^2}{p}
        \Big(E[(\sigma-\mu_0)\sigma' z] - \mu_1^2\Big)

    The last term is in :func:`neuron_correlation` already, which counts pairs of a neuron with
    itself.

    Symbols: eta and p/d ``sizes``; d ``dim``; a ``readout``; the moments ``signal``.

    Assumes: mu_2 = 0; otherwise there is more of order 1/d.
    Status: heuristic, checked by simulation.
    References: Ba et al. 2022, arXiv:2205.01445 for the step.

    >>> signal = StepSignal(0.606531, 0.0, 0.432332, 0.605706, 0.0, 0.0975237,
    ...     output_growth=0.232)
    >>> sizes = RiskSizes((2.0,), (20.0,), 2.0, 1.0, 0.1)
    >>> found = own_bulk_shrinkage(signal, sizes, np.ones(1), 100.0)
    >>> round(float(found[0]), 5)
    -0.0054
    """
    own = signal.output_growth - signal.mu_1**2
    return 2 * sizes.step_sizes[0] * readout**2 / (sizes.width_ratio * dim) * own
