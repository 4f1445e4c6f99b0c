"""The rows of the first layer after one giant step: a spike, and a bulk that is not isotropic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.theory.one_step.any_activation.gradient_labels import GradientLabels
from giantstep.theory.one_step.any_activation.slope_moments import SlopeMoments


class SteppedRows(NamedTuple):
    """The law of the rows, block by block; symbols as in :func:`stepped_rows`.

    ``spikes`` s; ``turns`` abar; ``scatters`` kbar; ``bulks`` tr Gamma_ab / d, whose diagonal is
    c; ``lengths`` Upsilon; ``leans`` (l_1, l_2); ``norm_spikes`` and ``norm_bulks``: the change
    of s and of c with the relative squared length of a first row. ``twins``: which blocks share
    their first rows. ``gradient`` |b|, ``alignment`` gamma, ``crowding`` phi = d/n_0.
    """

    spikes: Float[np.ndarray, " k"]
    turns: Float[np.ndarray, " k"]
    scatters: Float[np.ndarray, " k"]
    bulks: Float[np.ndarray, "k k"]
    lengths: Float[np.ndarray, "k k"]
    leans: Float[np.ndarray, "2 k"]
    norm_spikes: Float[np.ndarray, " k"]
    norm_bulks: Float[np.ndarray, " k"]
    twins: Bool[np.ndarray, "k k"]
    gradient: float
    alignment: float
    crowding: float


def stepped_rows(
    labels: GradientLabels,
    slopes: Sequence[SlopeMoments],
    steps: Float[np.ndarray, " k"],
    twins: Bool[np.ndarray, "k k"],
    *,
    samples_ratio: float,
) -> SteppedRows:
    r"""What one step makes of rows that start on the sphere.

    With :math:`t = \eta a`, :math:`\phi = d/n_0`, :math:`S = X^T\mathrm{diag}(y)X/n_0`,
    :math:`T = X^T\mathrm{diag}(y^2)X/n_0`, :math:`b = X^Ty/n_0 = |b|v`,

    .. math::
        w_j = s v + (1 + \bar a S)\,w^0_j + \xi_j, \qquad
        s = t\mu_1|b|,\quad \bar a = t\mu_2,\quad \mathrm{Cov}\,\xi_j = \bar k^2 T/d,\quad
        \bar k^2 = t^2\phi\,E r^2 ,

    so that the bulk of two blocks that share :math:`w^0` has the covariance
    :math:`\Gamma_{ab}/d`, :math:`\Gamma_{ab} = (1+\bar a_aS)(1+\bar a_bS) + \bar k_a\bar k_bT`.
    A row's squared length fluctuates around :math:`c = \mathrm{tr}\,\Gamma/d` by
    :math:`\langle\ell, w^0_j\rangle`, :math:`\ell = l_1 b + l_2 X^Ty^2/n_0`, and by an independent
    part of variance :math:`\Upsilon/d`, which counts even as d grows: it moves the mean of the
    neuron's output as much as its components along single directions do.

    Symbols: t ``steps``, n_0/d ``samples_ratio``, y ``labels`` (the residuals of the first step),
    the moments of sigma' in each block ``slopes``; ``twins[a, b]``: blocks a and b share rows.

    Assumes: Gaussian inputs; a readout of finitely many values; the residuals of the step are
    the labels, up to a constant.
    Status: heuristic (leave-one-out), checked against real steps.
    References: Dandi et al. 2024, arXiv:2410.18938, for isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.targets import Target
    >>> from giantstep.theory.one_step.any_activation.gradient_labels import gradient_labels
    >>> from giantstep.theory.one_step.any_activation.slope_moments import slope_moments
    >>> rows = stepped_rows(
    ...     gradient_labels(Target("relu(h1)"), 0.0, np.eye(1)),
    ...     [slope_moments(activation("relu"))], np.array([4.0]), np.eye(1, dtype=bool),
    ...     samples_ratio=1.0)
    >>> round(float(rows.bulks[0, 0]), 6), round(float(rows.lengths[0, 0]), 6)
    (4.678524, 15.786582)
    """
    phi, t = 1 / samples_ratio, np.asarray(steps, dtype=float)
    first, second, third, fourth = (labels.moment(k) for k in (1, 2, 3, 4))
    linear = float(labels.first[0] @ labels.values)
    gradient = float(np.sqrt(linear**2 + phi * second))
    mu_1, mu_2, mu_3, rest, curve, square_slope, square_curve = np.array(
        [moments[:-1] for moments in slopes]
    ).T
    turn, scatter = t * mu_2, t * np.sqrt(rest * phi)
    trace = first**2 + phi * second
    bulks = (
        (1 + turn * first)[:, None] * (1 + turn * first)[None, :]
        + np.outer(turn, turn) * phi * second
        + np.outer(scatter, scatter) * second
    )
    # The squared length of A w + xi is w^T (1 + p S + q S^2 + o T) w up to higher chaoses.
    held = 2 * t * curve
    forms = np.stack(
        [2 * turn + held * (1 + turn * first), turn**2, phi * (held * turn + t**2 * square_curve)]
    )
    lengths = 2 * forms.T @ _trace_covariances(labels, phi) @ forms
    lengths += phi * _chaos_products(t, turn, slopes, phi, (first, second, third, fourth))
    lengths += (
        phi
        * 2
        * np.outer(t, t)
        * phi
        * second**2
        * np.sqrt(np.outer(rest, rest))
        * (2 * np.outer(turn, turn) + np.outer(t, t) * np.sqrt(np.outer(rest, rest)))
    )
    leans = np.stack(
        [
            2 * t * mu_3 * (1 + turn * first),
            phi * (2 * t * mu_3 * turn + t**2 * square_slope),
        ]
    )
    return SteppedRows(
        spikes=t * mu_1 * gradient,
        turns=turn,
        scatters=scatter,
        bulks=bulks,
        lengths=np.where(twins, lengths, 0.0),
        leans=leans,
        norm_spikes=t * mu_3 * gradient / 2,
        norm_bulks=1 + forms.T @ np.array([first, trace, second]),
        twins=twins,
        gradient=gradient,
        alignment=linear / gradient if gradient > 0 else 0.0,
        crowding=phi,
    )


def _trace_covariances(labels: GradientLabels, phi: float) -> Float[np.ndarray, "3 3"]:
    """tr(A B)/d - tr A tr B / d^2 for A, B among S, S^2 and T."""
    first, second, third, fourth = (labels.moment(k) for k in (1, 2, 3, 4))
    k_1, k_2, k_3, k_4 = first, phi * second, phi**2 * third, phi**3 * fourth
    crossed = phi**2 * fourth + 2 * phi * first * third
    return np.array(
        [
            [k_2, k_3 + 2 * k_1 * k_2, phi * third],
            [
                k_3 + 2 * k_1 * k_2,
                k_4 + 4 * k_1 * k_3 + k_2**2 + 4 * k_1**2 * k_2,
                crossed,
            ],
            [phi * third, crossed, phi * fourth],
        ]
    )


def _chaos_products(
    t: np.ndarray,
    turn: np.ndarray,
    slopes: Sequence[SlopeMoments],
    phi: float,
    moments: tuple[float, float, float, float],
) -> Float[np.ndarray, "k k"]:
    """E over y of the degrees three and more of f_a f_b, f = 2 t (1+abar(E_1+phi y)) y z r
    + t^2 phi y^2 r^2: twins have one activation, other pairs of blocks are not used."""
    first, second, third, fourth = moments
    # f = y * linear * zr + y^2 * (quadratic * zr + square * rr)
    linear, quadratic, square = 2 * t * (1 + turn * first), 2 * t * turn * phi, t**2 * phi
    total = np.zeros((len(t), len(t)))
    zz, zr, rr = np.array([found.high for found in slopes]).T
    for left, right, power, high in (
        (linear, linear, second, zz),
        (linear, quadratic, third, 2 * zz),
        (linear, square, third, 2 * zr),
        (quadratic, quadratic, fourth, zz),
        (quadratic, square, fourth, 2 * zr),
        (square, square, fourth, rr),
    ):
        outer = np.outer(left, right)
        total += power * high[:, None] * (outer + outer.T) / 2
    return total
