"""The gradient batch averaged out: the resolvent of the rows as a small matrix equation.

The bulk of the rows enters the risk through a matrix of size k d::

    N = (Xi^-1 + C x 1)^-1,   Xi = A (chi x 1) A + kbar chi kbar x T,   A = 1 + abar x S

where S and T are the random d x d matrices of the gradient batch, and chi = r B^-1 r with
r = sqrt(p/d) of each block and B = D + H. It is the first block of the inverse of P::

        [ C   -1               0   ]
    P = [ 1   kbar chi kbar T  A r ]
        [ 0   -r A             B   ]

which is linear in S and T, so that leave-one-out over the batch closes on 3k x 3k matrices. The
symmetric part of P is positive, and so is that of the average G = E tr_d P^-1 / d. This singles out
the solution: G = (K + Sigma)^-1, Sigma = E[M (1 + phi G M)^-1] maps matrices of positive symmetric
part into themselves and has one fixed point there. Other arrangements of the blocks share this
solution, but have others besides, to which an iteration can converge.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.theory.one_step.any_activation.gradient_labels import GradientLabels
from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
from giantstep.theory.one_step.any_activation.unknowns import State


class Batch(NamedTuple):
    """What the pencil is made of beside the unknowns: rows, labels of the step, p/d of blocks."""

    rows: SteppedRows
    labels: GradientLabels
    widths: Float[np.ndarray, " k"]

    @property
    def roots(self) -> Float[np.ndarray, " k"]:
        """r, the square root of each block's p/d."""
        return np.sqrt(self.widths)


class Averages(NamedTuple):
    """What one evaluation of the equation gives.

    ``resolvent`` G; ``energy`` the image of Sigma; ``bulk`` N = tr_d N / d; ``held`` H, by which
    the bulk holds a neuron's readout: H_ab = tr[(C - C N C)_ab Gamma_ab] / d.
    """

    resolvent: Any
    energy: Any
    bulk: Any
    held: Any


def chi(state: State, batch: Batch) -> Any:
    r"""Trace of the readout's resolvent over each block of neurons, divided by d.

    .. math:: \chi = \beta\,(D + H)^{-1}

    The bound B = D + H is the unknown, not chi: it is of order one even in blocks of few neurons,
    and at n = p with a small ridge the equations are nearly quadratic in it, the wanted root
    above the other, while iterations for chi itself miss it.

    Symbols: beta: p/d of each block, ``batch.widths``; D + H ``state.bound``.

    Assumes: blocks that share their first rows have equal widths.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, for isotropic rows.

    >>> state = State(2 * np.eye(1), np.zeros((2, 2)), np.eye(1))
    >>> chi(state, Batch(None, None, np.array([4.0]))).tolist()
    [[2.0]]
    """
    return np.outer(batch.roots, batch.roots) * np.linalg.inv(state.bound)


def averages(state: State, batch: Batch) -> Averages:
    r"""G, N and H at a given state, and the self-energy that they imply.

    .. math::
        G &= (K + \Sigma)^{-1},\qquad
        K = \begin{pmatrix} C & -1 & 0\\ 1 & 0 & r\\ 0 & -r & B\end{pmatrix},\qquad
        M(y) = \begin{pmatrix} 0 & 0 & 0\\ 0 & \bar k\chi\bar k\,y^2 & \bar a r\,y\\
            0 & -\bar a r\,y & 0\end{pmatrix},\\
        \Sigma' &= E_y[M(1+\phi GM)^{-1}],\qquad N = G_{11},\qquad
        H = r^{-1}(B - BG_{33}B)r^{-1}
            + \bar k\,E_y\big[y^2\big((1+\phi GM)^{-1}G\big)_{22}\big]\bar k .

    The difference in H would cancel digits in blocks of few neurons. By the last rows of
    :math:`(K+\Sigma)G = 1` it is :math:`\{(\Sigma_{32}-r)G_{23} + \Sigma_{33}G_{33}\}B`.

    Symbols: Sigma (rows and columns 2 and 3), B, C ``state``; abar, kbar, phi, y ``batch``.

    Assumes: n_0 proportional to d.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: Helton et al. 2007, arXiv:math/0703510, for equations of this kind.

    >>> from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
    >>> one, still = np.ones(1), np.zeros(1)
    >>> rows = SteppedRows(one, still, still, *[one] * 6, 1.0, 1.0, 1.0)
    >>> batch = Batch(rows, GradientLabels(2 * one, one, one, one), one)
    >>> found = averages(State(np.eye(1), np.zeros((2, 2)), 3 * np.eye(1)), batch)
    >>> found.bulk.round(6).tolist(), found.held.round(6).tolist()
    ([[0.25]], [[0.75]])
    """
    rows, labels, energy, k = batch.rows, batch.labels, state.energy, len(state.bound)
    resolvent = np.linalg.inv(_constant(state, batch, energy))
    lower = resolvent[k:, k:]
    terms = _batch_terms(state, batch)
    dressed = np.linalg.inv(np.eye(2 * k) + rows.crowding * (lower @ terms))
    image = np.tensordot(labels.weights, terms @ dressed, 1)
    seen = np.tensordot(labels.weights * labels.values**2, dressed[:, :k] @ lower[:, :k], 1)
    turned = (energy[k:, :k] - np.diag(batch.roots)) @ lower[:k, k:]
    turned = (turned + energy[k:, k:] @ lower[k:, k:]) @ state.bound
    held = turned / np.outer(batch.roots, batch.roots)
    held = held + np.outer(rows.scatters, rows.scatters) * seen
    return Averages(resolvent, image, resolvent[:k, :k], held)


def probe_overlaps(state: State, batch: Batch, across: int) -> Any:
    r"""Quadratic forms of the rows' resolvent between the directions that the risk singles out.

    The directions, each for every block: v, the learned one; t_i, the target's directions across
    it; and c, the part :math:`\langle\ell, w^0\rangle` of the squared length. In the space of the
    pencil they are the vectors :math:`\sum_i q(y_i)x_i/n_0 + \theta e`, with

    .. math::
        v:\ \tfrac{y}{|b|}e_1,\qquad
        t_1:\ \tfrac{1}{\sqrt{1-\gamma^2}}\big(\theta_1 e_1 - \gamma\tfrac{y}{|b|}e_1\big),\qquad
        t_i:\ \theta_ie_1,\qquad c:\ -(l_1y + l_2y^2)\,r e_3,

    and with :math:`I(y) = (1+\phi MG)^{-1}`, :math:`G_\theta = (K + E[IM\,hh^T])^{-1}`,

    .. math:: N_{ij} = L_i^TG_\theta R_j + \phi E[q_i^TG\,I q_j],\qquad
        R_j = E[h\,Iq_j] + e_j,\quad L_i = E[h\,(1+\phi GM)^{-T}q_i] + e_i .

    The independent part of the squared length adds :math:`\chi_{ab}\Upsilon_{ab}` between the c.
    Last, the coupling of v and t to the bulk is taken out:
    :math:`K = (N^{-1} - C_{vt})^{-1} = N(1 - C_{vt}N)^{-1}`.

    Symbols: as :func:`averages`; ``across``: how many of the t are used, the last ones.

    Assumes: as :func:`averages`.
    Status: heuristic (leave-one-out over the batch), checked against real steps.
    References: Helton et al. 2007, arXiv:math/0703510, for equations of this kind.

    >>> from giantstep.theory.one_step.any_activation.stepped_rows import SteppedRows
    >>> one, still, none = np.ones(1), np.zeros(1), np.zeros((2, 1))
    >>> rows = SteppedRows(one, still, still, one, one, none, *[one] * 3, 1.0, 0.6, 0.64)
    >>> batch = Batch(rows, GradientLabels(one, one, 0.6 * one[None], one[None, None]), one)
    >>> state = State(0.5 * np.eye(1), np.zeros((2, 2)), np.eye(1))
    >>> probe_overlaps(state, batch, 1).round(6).tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 2.0]]
    """
    rows, labels, k = batch.rows, batch.labels, len(state.bound)
    rank, phi = len(labels.first), rows.crowding
    constant = _constant(state, batch, 0.0)
    resolvent = np.linalg.inv(_constant(state, batch, state.energy))
    terms = np.zeros((len(labels.values), 3 * k, 3 * k), resolvent.dtype)
    terms[:, k:, k:] = _batch_terms(state, batch)
    right = np.linalg.inv(np.eye(3 * k) + phi * (terms @ resolvent))
    seen = np.tensordot(labels.second, right @ terms, 1)
    at_target = np.eye(rank)[:, :, None, None] * constant + seen
    on_target = np.linalg.inv(at_target.transpose(0, 2, 1, 3).reshape(3 * k * rank, -1))

    charges, sources = _probes(batch, across)
    size = charges.shape[-1]
    moved = right @ charges
    ends = np.tensordot(labels.first, moved, 1) + sources
    # (1 + phi G M)^-1 = 1 - phi G I M, and its transpose acts on the probes to the left.
    pushed = charges - phi * (resolvent @ right @ terms).transpose(0, 2, 1) @ charges
    begins = np.tensordot(labels.first, pushed, 1) + sources
    itself = (labels.weights[:, None, None] * charges).reshape(-1, size).T @ (
        resolvent @ moved
    ).reshape(-1, size)
    overlaps = begins.reshape(-1, size).T @ on_target @ ends.reshape(-1, size) + phi * itself
    overlaps[-k:, -k:] += chi(state, batch) * rows.lengths
    coupled = np.kron(np.diag([*[1.0] * (1 + across), 0.0]), state.coupling)
    freed = overlaps @ np.linalg.inv(np.eye(size) - coupled @ overlaps)
    return (freed + freed.T) / 2


def _constant(state: State, batch: Batch, energy: Any) -> Any:
    """K + Sigma, the part of the pencil that no single sample changes."""
    k = len(state.bound)
    one, zero, root = np.eye(k), np.zeros((k, k)), np.diag(batch.roots)
    full = np.block(
        [[state.coupling, -one, zero], [one, zero, root], [zero, -root, state.bound]]
    ).astype(np.result_type(*state, float))
    full[k:, k:] += energy
    return full


def _batch_terms(state: State, batch: Batch) -> Any:
    """M(y) at every label, without its empty first rows and columns."""
    rows, y, k = batch.rows, batch.labels.values, len(state.bound)
    spread = chi(state, batch)
    terms = np.zeros((len(y), 2 * k, 2 * k), spread.dtype)
    turn = y[:, None, None] * np.diag(rows.turns * batch.roots)
    terms[:, :k, :k] = (y**2)[:, None, None] * (np.outer(rows.scatters, rows.scatters) * spread)
    terms[:, :k, k:], terms[:, k:, :k] = turn, -turn
    return terms


def _probes(
    batch: Batch, across: int
) -> tuple[Float[np.ndarray, "labels entries probes"], Float[np.ndarray, "r entries probes"]]:
    """The charges q(y) on the samples and the sources e on the target's directions."""
    rows, labels = batch.rows, batch.labels
    k, rank, y = len(rows.spikes), len(labels.first), labels.values
    count, block = 2 + across, np.arange(k)
    charges = np.zeros((len(y), 3 * k, count, k))
    sources = np.zeros((rank, 3 * k, count, k))
    learned = (y / rows.gradient)[:, None]
    charges[:, block, 0, block] = learned
    for number, direction in enumerate(range(rank - across, rank)):
        sine = 1.0 if direction else np.sqrt(1 - rows.alignment**2)
        sources[direction, block, 1 + number, block] = 1 / sine
        if direction == 0:
            charges[:, block, 1 + number, block] = -rows.alignment / sine * learned
    lean = y[:, None] * rows.leans[0] + (y**2)[:, None] * rows.leans[1]
    charges[:, 2 * k + block, count - 1, block] = -lean * batch.roots
    return charges.reshape(len(y), 3 * k, -1), sources.reshape(rank, 3 * k, -1)
