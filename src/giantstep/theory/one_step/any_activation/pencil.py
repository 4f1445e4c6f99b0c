"""The gradient batch averaged out: the resolvent of the rows as a small matrix equation.

The bulk of the rows enters the risk through

    N = (Xi^-1 + C x 1)^-1,   Xi = A (chi x 1) A + kbar chi kbar x T,   A = 1 + abar x S,

a matrix of size k d, where S and T are the random d x d matrices of the gradient batch. It is the
first block of the inverse of

        [ C   -1               0      ]
    P = [ 1   kbar chi kbar T  A      ] ,
        [ 0   -A               chi^-1 ]

which is linear in S and T, so that leave-one-out over the batch closes on 3k x 3k matrices. Its
symmetric part is positive, as is that of the average G = E tr_d P^-1 / d. That singles out the
solution: G = (K + Sigma)^-1, Sigma = E[M (1 + phi G M)^-1] maps matrices of positive symmetric
part into themselves and has one fixed point there. Other arrangements of the blocks have the same
solution and others besides.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.theory.one_step.any_activation.gradient_labels import GradientLabels
from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows


class Averages(NamedTuple):
    """What one evaluation of the equation gives.

    ``resolvent`` G; ``energy`` the image of Sigma; ``bulk`` N = tr_d N / d; ``held`` H, what a
    row of unit readout is held by: H_ab = tr[(C - C N C)_ab Gamma_ab] / d.
    """

    resolvent: Any
    energy: Any
    bulk: Any
    held: Any


def pencil(chi: Any, coupling: Any) -> Any:
    r"""The constant part K of the pencil P.

    .. math:: K = \begin{pmatrix} C & -1 & 0\\ 1 & 0 & 1\\ 0 & -1 & \chi^{-1}\end{pmatrix}

    Symbols: chi ``chi``, C ``coupling``.

    Assumes: chi invertible.
    Status: theorem (an identity).
    References: Helton et al. 2007, arXiv:math/0703510, for equations of this kind.

    >>> pencil(np.full((1, 1), 2.0), np.full((1, 1), 0.7)).tolist()
    [[0.7, -1.0, 0.0], [1.0, 0.0, 1.0], [0.0, -1.0, 0.5]]
    """
    one, zero = np.eye(len(chi)), np.zeros_like(chi)
    return np.block([[coupling, -one, zero], [one, zero, one], [zero, -one, np.linalg.inv(chi)]])


def batch_terms(chi: Any, rows: SteppedRows, labels: GradientLabels) -> Any:
    r"""The part M(y) of the pencil that a sample with label y adds, without its empty first row.

    .. math:: M(y) = \begin{pmatrix} \bar k\chi\bar k\,y^2 & \bar a y\\ -\bar a y & 0\end{pmatrix}

    Assumes: as :func:`pencil`.
    Status: theorem (an identity).
    References: as :func:`pencil`.

    >>> from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
    >>> one = np.ones(1)
    >>> rows = SteppedRows(one, 2 * one, 3 * one, *[one] * 6, 1.0, 1.0, 1.0)
    >>> labels = GradientLabels(2 * one, one, one, one)
    >>> batch_terms(np.ones((1, 1)), rows, labels)[0].tolist()
    [[36.0, 4.0], [-4.0, 0.0]]
    """
    k, y = len(chi), labels.values
    terms = np.zeros((len(y), 2 * k, 2 * k), np.asarray(chi).dtype)
    turn = y[:, None, None] * np.diag(rows.turns)
    terms[:, :k, :k] = (y**2)[:, None, None] * (np.outer(rows.scatters, rows.scatters) * chi)
    terms[:, :k, k:], terms[:, k:, :k] = turn, -turn
    return terms


def averages(
    chi: Any, energy: Any, coupling: Any, rows: SteppedRows, labels: GradientLabels
) -> Averages:
    r"""G, N and H at a given self-energy, and the self-energy that they imply.

    .. math::
        G = (K + \Sigma)^{-1},\qquad \Sigma' = E_y[M(1+\phi GM)^{-1}],\qquad N = G_{11},\qquad
        H = \chi^{-1} - \chi^{-1}G_{33}\chi^{-1}
            + \bar k\,E_y\big[y^2\big((1+\phi GM)^{-1}G\big)_{22}\big]\bar k

    Symbols: Sigma ``energy`` (its rows and columns 2 and 3), chi, C ``coupling``, the rest
    ``rows`` and ``labels``.

    Assumes: n_0 proportional to d.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: Helton et al. 2007, arXiv:math/0703510.

    >>> from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
    >>> one, still = np.ones(1), np.zeros(1)
    >>> rows = SteppedRows(one, still, still, *[one] * 6, 1.0, 1.0, 1.0)
    >>> labels = GradientLabels(2 * one, one, one, one)
    >>> found = averages(np.ones((1, 1)), np.zeros((2, 2)), np.full((1, 1), 3.0), rows, labels)
    >>> found.bulk.round(6).tolist(), found.held.round(6).tolist()
    ([[0.25]], [[0.75]])
    """
    k = len(chi)
    full = pencil(chi, coupling)
    full[k:, k:] = full[k:, k:] + energy
    resolvent = np.linalg.inv(full)
    lower = resolvent[k:, k:]
    terms = batch_terms(chi, rows, labels)
    dressed = np.linalg.inv(np.eye(2 * k) + rows.crowding * (lower @ terms))
    image = np.tensordot(labels.weights, terms @ dressed, 1)
    seen = np.tensordot(labels.weights * labels.values**2, dressed[:, :k] @ lower[:, :k], 1)
    stiff = np.linalg.inv(chi)
    held = stiff - stiff @ lower[k:, k:] @ stiff + np.outer(rows.scatters, rows.scatters) * seen
    return Averages(resolvent, image, resolvent[:k, :k], held)


def probe_overlaps(
    chi: Any, energy: Any, coupling: Any, rows: SteppedRows, labels: GradientLabels, across: int
) -> Any:
    r"""Quadratic forms of the rows' resolvent between the directions that the risk singles out.

    The directions, each for every block: v, the learned one; t_i, the target's directions across
    it; and c, the part :math:`\langle\ell, w^0\rangle` of the squared length. As vectors in the
    space of the pencil they are :math:`\sum_i q(y_i)x_i/n_0 + \theta e`, with

    .. math::
        v:\ \tfrac{y}{|b|}e_1,\qquad
        t_1:\ \tfrac{1}{\sqrt{1-\gamma^2}}\big(\theta_1 e_1 - \gamma\tfrac{y}{|b|}e_1\big),\qquad
        t_i:\ \theta_ie_1,\qquad c:\ -(l_1y + l_2y^2)e_3,

    and with :math:`I(y) = (1+\phi MG)^{-1}`, :math:`G_\theta = (K + E[IM\,hh^T])^{-1}`,

    .. math:: N_{ij} = L_i^TG_\theta R_j + \phi E[q_i^TG\,I q_j],\qquad
        R_j = E[h\,Iq_j] + e_j,\quad L_i = E[h\,(1+\phi GM)^{-T}q_i] + e_i .

    The independent part of the squared length adds :math:`\chi_{ab}\Upsilon_{ab}` between the c.
    Last, the coupling of v and t to the bulk is taken out:
    :math:`K = (N^{-1} - C_{vt})^{-1} = N(1 - C_{vt}N)^{-1}`.

    Symbols: as :func:`averages`; ``across``: how many of the t are used, the last ones.

    Assumes: as :func:`averages`.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: as :func:`averages`.

    >>> from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
    >>> one, still, none = np.ones(1), np.zeros(1), np.zeros((2, 1))
    >>> rows = SteppedRows(one, still, still, one, one, none, *[one] * 3, 1.0, 0.6, 0.64)
    >>> labels = GradientLabels(one, one, 0.6 * one[None], one[None, None])
    >>> probe_overlaps(
    ...     2 * np.ones((1, 1)), np.zeros((2, 2)), np.ones((1, 1)), rows, labels, 1
    ... ).round(6).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    """
    k, rank, phi = len(chi), len(labels.first), rows.crowding
    dtype = np.result_type(chi, energy, coupling, float)
    constant = pencil(chi, coupling).astype(dtype)
    full = constant.copy()
    full[k:, k:] = full[k:, k:] + energy
    resolvent = np.linalg.inv(full)
    terms = np.zeros((len(labels.values), 3 * k, 3 * k), dtype)
    terms[:, k:, k:] = batch_terms(chi, rows, labels)
    right = np.linalg.inv(np.eye(3 * k) + phi * (terms @ resolvent))
    seen = np.einsum("stn,nij->sitj", labels.second, right @ terms)
    at_target = np.einsum("st,ij->sitj", np.eye(rank), constant) + seen
    on_target = np.linalg.inv(at_target.reshape(3 * k * rank, -1))

    charges, sources = _probes(rows, labels, across)
    size = sources.shape[-1]
    moved = right @ charges
    # (1 + phi G M)^-1 = 1 - phi G (1 + phi M G)^-1 M
    left = np.eye(3 * k) - phi * (resolvent @ right @ terms)
    ends = np.einsum("sn,nip->sip", labels.first, moved)
    begins = np.einsum("sn,nji,njp->sip", labels.first, left, charges)
    itself = np.einsum("n,nip,nij,njq->pq", labels.weights, charges, resolvent @ right, charges)
    target = (begins + sources).reshape(-1, size).T @ on_target
    overlaps = target @ (ends + sources).reshape(-1, size) + phi * itself
    overlaps[-k:, -k:] += chi * rows.lengths
    coupled = np.kron(np.diag([*[1.0] * (1 + across), 0.0]), coupling)
    freed = overlaps @ np.linalg.inv(np.eye(size) - coupled @ overlaps)
    return (freed + freed.T) / 2


def _probes(
    rows: SteppedRows, labels: GradientLabels, across: int
) -> tuple[Float[np.ndarray, "labels 3k probes"], Float[np.ndarray, "r 3k probes"]]:
    """The charges q(y) on the samples and the sources e on the target's directions."""
    k, rank, y = len(rows.spikes), len(labels.first), labels.values
    count = 2 + across
    charges = np.zeros((len(y), 3 * k, count, k))
    sources = np.zeros((rank, 3 * k, count, k))
    block = np.arange(k)
    learned = (y / rows.gradient)[:, None]
    charges[:, block, 0, block] = learned
    for number, direction in enumerate(range(rank - across, rank)):
        sine = 1.0 if direction else np.sqrt(1 - rows.alignment**2)
        sources[direction, block, 1 + number, block] = 1 / sine
        if direction == 0:
            charges[:, block, 1 + number, block] = -rows.alignment / sine * learned
    lean = y[:, None] * rows.leans[0] + (y**2)[:, None] * rows.leans[1]
    charges[:, 2 * k + block, count - 1, block] = -lean
    return charges.reshape(len(y), 3 * k, -1), sources.reshape(rank, 3 * k, -1)
