"""The features after the step, given the input's projection on the learned direction."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation
from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
from giantstep.theory.one_step.any_activation.twin_products import twin_products
from giantstep.theory.spiked_features.conditional_features import (
    LIMIT,
    REACH,
    Table,
    conditional_feature_moments,
)


class Features(NamedTuple):
    """Functions of kappa, one row a block; symbols as in :func:`features`.

    ``means`` m; ``slopes`` u; ``along`` and ``stretch``: derivatives of the mean in the neuron's
    component along the learned direction and in its squared length across; ``noise`` e^2.
    """

    means: Float[np.ndarray, "k points"]
    slopes: Float[np.ndarray, "k points"]
    along: Float[np.ndarray, "k points"]
    stretch: Float[np.ndarray, "k points"]
    noise: Float[np.ndarray, "k k points"]


def features(
    sigma: Activation,
    rows: SteppedRows,
    biases: Float[np.ndarray, " k"],
    kappa: Float[np.ndarray, " points"],
    *,
    normalise: bool = False,
) -> Features:
    r"""Mean, slope and noise of the neurons of each block at every projection kappa.

    .. math::
        m = E\,\sigma(\beta + s\kappa + \sqrt c z),\quad
        u = E\,\sigma'(\cdot),\quad \tau = \tfrac12 E\,\sigma''(\cdot),\quad
        e^2_{ab} = E[\sigma_a\sigma_b] - m_am_b - \rho_{ab}u_au_b ,

    the last one between blocks that share their first rows, whose bulks have the covariance
    :math:`\rho_{ab}`. A neuron with the component :math:`s + \delta s` and the squared length
    :math:`c + \delta c` has the mean :math:`m + \kappa u\,\delta s + \tau\,\delta c`. Rows that
    are put back on the sphere have :math:`s/l, c/l^2`, :math:`l^2 = s^2 + c`, in place of s and
    c, slopes u/l, and only the ratio of the two changes moves their mean.

    Symbols: beta ``biases``; s, c, rho ``rows``.

    Assumes: kappa within nine standard deviations.
    Status: theorem.
    References: Cui et al. 2024, arXiv:2402.04980, for m, u and e.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.targets import Target
    >>> from giantstep.theory.one_step.any_activation.gradient_labels import gradient_labels
    >>> from giantstep.theory.one_step.any_activation.slope_moments import slope_moments
    >>> from giantstep.theory.one_step.any_activation.stepped_rows import stepped_rows
    >>> sigma, labels = activation("relu"), gradient_labels(Target("h1"), 0.0, np.eye(1))
    >>> rows = stepped_rows(
    ...     labels, [slope_moments(sigma)], np.zeros(1), np.eye(1, dtype=bool), samples_ratio=1.0)
    >>> found = features(sigma, rows, np.zeros(1), np.zeros(1))
    >>> [round(float(f[0, 0]), 6) for f in (found.means, found.slopes, found.stretch)]
    [0.398942, 0.5, 0.199471]
    """
    bulks = np.diag(rows.bulks)
    length = np.sqrt(rows.spikes**2 + bulks) if normalise else np.ones_like(bulks)
    spikes, deviations = rows.spikes / length, np.sqrt(bulks) / length
    shift = biases[:, None] + spikes[:, None] * kappa
    scale = np.broadcast_to(deviations[:, None], shift.shape)
    wide, narrow = float(np.max(deviations)), float(np.min(deviations))
    reach = float(np.max(np.abs(shift))) + REACH * wide
    table = Table.of(sigma.numpy, sigma.kinks, reach=reach, narrow=narrow, wide=wide)
    means, slopes, curves, powers = conditional_feature_moments(table, shift, scale, LIMIT)
    own_slopes = slopes / deviations[:, None]
    # The table's curve is E[sigma (z^2 - 1)] / sqrt 2, and E[sigma (z^2 - 1)] = c E sigma''.
    stretch = curves / (math.sqrt(2) * deviations[:, None] ** 2)
    noise = np.zeros((*rows.bulks.shape, len(kappa)))
    for a, b in zip(*np.nonzero(np.triu(rows.twins)), strict=True):
        covariance = float(rows.bulks[a, b] / (length[a] * length[b]))
        product = powers[a]
        if a != b:
            pair = deviations[[a, b]] ** 2
            product = twin_products(sigma, (shift[a], shift[b]), tuple(pair), covariance)
        left = product - means[a] * means[b] - covariance * own_slopes[a] * own_slopes[b]
        noise[a, b] = noise[b, a] = left
    along = kappa * own_slopes
    if normalise:
        turn = along - 2 * spikes[:, None] * stretch
        along = turn * ((1 - spikes**2) / length)[:, None]
        stretch = -turn * (spikes / (2 * length**2))[:, None]
    return Features(means, own_slopes / length[:, None], along, stretch, noise)
