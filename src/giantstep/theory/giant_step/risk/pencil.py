"""The gradient batches averaged out: the resolvent of the rows as one small matrix equation.

The bulk of the rows enters the risk through N = (Xi^-1 + C x 1)^-1, where Xi = chi o Gamma_T is the
bulk's covariance after T steps, Gamma_t = A_t Gamma_(t-1) A_t + K_t. It is the first block of the
inverse of a matrix linear in every batch, with blocks 0; p_T, q_T; ...; p_1, q_1 of k kinds::

        [ C  -1                                ]
        [ 1  K_T   A_T                         ]
    P = [   -A_T     0    -1                   ]
        [             1  K_(T-1)   A_(T-1)     ]
        [               -A_(T-1)     0   ...   ]
        [                           ...  chi^-1]

Leave-one-out over each batch closes on matrices of size (2T+1) k. Rows and columns are scaled by
r = sqrt(p/d) of each kind (0 and q by r, p by 1/r), so that chi = r B^-1 r is replaced by B^-1, C
by r C r and N by r^-1 N r^-1: all of order one even for a few neurons. The symmetric part of P is
positive, which singles out the solution.
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np

from giantstep.numerics.solve import STEP
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, Sphere
from giantstep.theory.giant_step.risk.sample_terms import SampleTerms, averages

#: Radius, relative to 1/Gamma, and points of the circle on which moments are read off.
CIRCLE, CIRCLE_POINTS = 0.02, 8
#: Iterations of the batches' self-energies at a small coupling.
MOST_ITERATIONS = 50


class State(NamedTuple):
    """The unknowns: the bound B = D + H of the readout, the self-energy of each batch, and C."""

    bound: Any
    energies: tuple[Any, ...]
    coupling: Any


class Averages(NamedTuple):
    """What one evaluation gives: G, the images of the self-energies, N, and H."""

    resolvent: Any
    energies: tuple[Any, ...]
    bulk: Any
    held: Any


class Pencil:
    r"""Averages over the gradient batches of a layer, at a given state.

    .. math:: G = (K + \textstyle\sum_t\Sigma_t)^{-1},\qquad
        \Sigma_t = E\big[M_t(1+\phi G_{tt}M_t)^{-1}\big],\qquad
        M_t = \begin{pmatrix} t_at_b\phi R^2\nu_{ab}B^{-1}_{ab} & t_aR\,w_1^a\\
            -t_aR\,w_1^a & 0\end{pmatrix},

    the last on the blocks (p_t, q_t), at each sample of batch t.
    """

    def __init__(self, layer: FirstLayer) -> None:
        self.layer, self.kinds, self.steps = layer, len(layer.means), len(layer.batches)
        k = self.kinds
        #: Where the blocks (p_t, q_t) of each batch are.
        self.places = [
            slice((1 + 2 * (self.steps - t)) * k, (3 + 2 * (self.steps - t)) * k)
            for t in range(1, self.steps + 1)
        ]
        self.size = (2 * self.steps + 1) * k
        signs = [(-1.0) ** i for i in range(2 * self.steps + 1)]
        #: G^T = J G J with these signs.
        self.signs = np.repeat(signs, k)
        self._chain = self._links()
        self._samples: list[Any] = [SampleTerms(batch) for batch in layer.batches]

    def _links(self) -> np.ndarray:
        """The part of K that never changes."""
        k, chain, one = self.kinds, np.zeros((self.size, self.size)), np.eye(self.kinds)
        for i in range(2 * self.steps):
            sphere = self.layer.batches[self.steps - 1 - i // 2].sphere
            # Rows that a step leaves with the length l are divided by it.
            link = -one if sphere is None else -np.diag(sphere.lengths)
            here, after = slice(i * k, (i + 1) * k), slice((i + 1) * k, (i + 2) * k)
            link = one if i % 2 else link
            chain[here, after], chain[after, here] = link, -link
        return chain

    def resolvent(self, state: State) -> Any:
        """G."""
        k, last = self.kinds, slice(self.size - self.kinds, self.size)
        kernel = self._chain.astype(np.result_type(state.bound, state.coupling, *state.energies))
        kernel[:k, :k] += state.coupling
        kernel[last, last] += self._start(state)
        for place, energy in zip(self.places, state.energies, strict=True):
            kernel[place, place] += energy
        return np.linalg.inv(kernel)

    def _start(self, state: State) -> Any:
        """(B^-1 o Gamma_0)^-1; rows that take steps start with unit covariance."""
        if self.steps:
            return state.bound
        return np.linalg.inv(np.linalg.inv(state.bound) * self.layer.bulks)

    def near(self, state: State) -> Pencil:
        """The same with averages over samples to first order around a state, for derivatives."""
        found, resolvent, spread = (
            copy.copy(self),
            self.resolvent(state),
            np.linalg.inv(state.bound),
        )
        found._samples = [
            samples.tangent(resolvent[place, place], spread)
            for samples, place in zip(self._samples, self.places, strict=True)
        ]
        return found

    def averages(self, state: State) -> Averages:
        r"""G, the self-energies that it implies, N, and H by which the bulk holds the readout.

        .. math:: H = \Big\{\big[(\Sigma_{q_1p_1} - 1)G_{p_1q_1} + \Sigma_{q_1q_1}G_{q_1q_1}\big]B
            + \sum_t\phi t_at_bE\big[R^2\nu_{ab}\big((1+\phi GM)^{-1}G\big)_{p_ap_b}\big]\Big\}

        The bracket is :math:`B - BG_{q_1q_1}B` by the last row of (K + Sigma) G = 1; the
        difference would cancel digits for few neurons.
        """
        k, resolvent = self.kinds, self.resolvent(state)
        bulk = resolvent[:k, :k]
        if not self.steps:
            left = state.coupling - state.coupling @ bulk @ state.coupling
            return Averages(resolvent, (), bulk, left * self.layer.bulks)
        spread = np.linalg.inv(state.bound)
        energies, held = [], 0.0
        for samples, place in zip(self._samples, self.places, strict=True):
            energy, taken = samples(resolvent[place, place], spread)
            energies.append(energy)
            held = held + taken
        first, energy = self.places[0], state.energies[0]
        own = resolvent[first, first]
        turned = (energy[k:, :k] - np.eye(k)) @ own[:k, k:] + energy[k:, k:] @ own[k:, k:]
        return Averages(resolvent, tuple(energies), bulk, turned @ state.bound + held)

    def moments(self, directions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r"""Moments of the rows' covariances Gamma_a / d along directions F.

        :math:`F^T\Gamma_a^nF` for n = 1, 2, 3; :math:`\mathrm{tr}\,\Gamma_a^2/d`; and
        :math:`F^T\Gamma_a\Gamma_bF`. They are coefficients, in C, of the forms at chi = 1,

        .. math:: F^T(\Gamma^{-1} + C)^{-1}F = F^T(\Gamma - \Gamma C\Gamma
            + \Gamma C\Gamma C\Gamma - \dots)F ,

        read off a small circle for C = c, and off differences for a C between kinds.
        """
        k, one = self.kinds, np.eye(self.kinds)
        start, _ = self._forms_at(0.0 * one, directions)
        # Small batches give the covariance eigenvalues far above its mean, by the factor d/n_0.
        crowding = 1 + max(batch.crowding for batch in self.layer.batches)
        small = CIRCLE / (crowding * float(np.max(np.abs(start))))
        turns = np.exp(2j * np.pi * np.arange(CIRCLE_POINTS) / CIRCLE_POINTS)
        around = [self._forms_at(small * turn * one, directions) for turn in turns]
        kinds, scales = np.arange(k), (-small) ** -np.arange(3.0)
        own = np.stack([forms[kinds, kinds] for forms, _ in around])
        taken = np.fft.fft(own, axis=0)[:3].real / CIRCLE_POINTS
        traces = np.fft.fft([np.diag(bulk) for _, bulk in around], axis=0)[1].real / CIRCLE_POINTS
        between, _ = self._forms_at(1j * STEP * (1 - one), directions)
        crossed = -between.imag / STEP
        crossed[kinds, kinds] = taken[1] * scales[1]
        return (taken * scales[:, None, None, None]).swapaxes(0, 1), traces * scales[1], crossed

    def _forms_at(self, coupling: np.ndarray, directions: np.ndarray) -> tuple[Any, Any]:
        """Forms between directions, by kinds, and N at chi = 1."""
        k = self.kinds
        flat = tuple(np.zeros((2 * k, 2 * k), coupling.dtype) for _ in self.layer.batches)
        state = State(np.eye(k), flat, coupling)
        for _ in range(MOST_ITERATIONS):
            found = self.averages(state)
            pairs = zip(found.energies, state.energies, strict=True)
            change = max(float(np.max(np.abs(new - old))) for new, old in pairs)
            state = state._replace(energies=found.energies)
            if change < 1e-14 * float(np.max(np.abs(found.bulk))):
                break
        forms = self.forms(state)[:, :k, :, :k]
        return np.einsum(
            "vi,vawb,wj->abij", directions, forms, directions, optimize=True
        ), found.bulk

    def forms(self, state: State) -> Any:
        r"""Quadratic forms of the resolvent between all vectors and blocks.

        On the target's directions they start as :math:`1\otimes G`. Each batch, in order, corrects
        them along the directions e of its samples, by :math:`\Delta = E[IM\otimes(ee^T-1)]`,
        :math:`I = (1+\phi MG)^{-1}`, and then adds its own vectors:

        .. math::
            Q &\leftarrow Q - Q\Delta(1+Q\Delta)^{-1}Q,\\
            Q &\leftarrow \begin{pmatrix} Q & Q\rho\\ \lambda^TQ & \lambda^TQ\rho
                + \phi E[v_iv_j(1+\phi GM)^{-1}G]\end{pmatrix},\qquad
            \rho = E[e\,v\otimes I] - \bar v\otimes 1,\quad
            \lambda = E[e\,v\otimes(1+\phi M^TG^T)^{-1}] - \bar v\otimes 1 .
        """
        resolvent, size = self.resolvent(state), self.size
        spread = np.linalg.inv(state.bound)
        rank = self.layer.means.shape[1] - sum(len(b.vectors) for b in self.layer.batches)
        forms = np.kron(np.eye(rank), resolvent)
        for batch, place in zip(self._samples, self.places, strict=True):
            seen, _ = batch.seen(resolvent[place, place], spread)
            forms = self._grown(forms, batch, place, resolvent, seen)
            if batch.batch.sphere is not None:
                forms = self._on_sphere(forms, batch.batch.sphere, place)
        return forms.reshape(len(forms) // size, size, len(forms) // size, size)

    def _grown(
        self, forms: Any, batch: SampleTerms, place: slice, resolvent: Any, seen: Any
    ) -> Any:
        size, phi = self.size, batch.crowding
        (vectors, axes), old = batch.frame.shape, len(forms)
        # Between all vectors and the directions of the frame, too, along which all corrections are.
        columns = np.tensordot(forms.reshape(old, vectors, size), batch.frame, ((1,), (0,)))
        columns = columns.transpose(0, 2, 1).reshape(old, axes * size)
        both = np.hstack([forms, columns])
        turned = np.tensordot(batch.frame, both.reshape(vectors, -1), ((0,), (0,)))
        both = np.vstack([both, turned.reshape(axes * size, -1)])
        at = (old + size * np.arange(axes)[:, None] + np.arange(size)[place]).ravel()
        spread_out, charged, pairs = batch.measures
        change = averages(spread_out, seen).transpose(0, 2, 1, 3).reshape(len(at), len(at))
        kernel = np.eye(len(at)) + both[np.ix_(at, at)] @ change
        both = both - both[:, at] @ change @ np.linalg.solve(kernel, both[at])

        added = len(batch.vectors)
        bound = averages(charged, seen)
        plain = np.einsum("ix,ap->xaip", charged.sum(-1) - batch.drifts, np.eye(size))
        right, left = (plain.astype(seen.dtype) for _ in range(2))
        right[:, place] -= phi * np.einsum("ixab,bp->xaip", bound, resolvent[place])
        left[:, place] -= phi * np.einsum("ixab,pa->xbip", bound, resolvent[:, place])
        right, left = (side.reshape(axes * size, added * size) for side in (right, left))
        inner = averages(pairs, seen)
        itself = np.einsum("ij,pq->ipjq", pairs.sum(-1), resolvent)
        itself = itself - phi * np.einsum(
            "pa,ijab,bq->ipjq", resolvent[:, place], inner, resolvent[place], optimize=True
        )
        on_right, on_left = both[:, old:] @ right, left.T @ both[old:, :old]
        corner = phi * itself.reshape(added * size, added * size) + left.T @ on_right[old:]
        return np.block([[both[:old, :old], on_right[:old]], [on_left, corner]])

    def _on_sphere(self, forms: Any, sphere: Sphere, place: slice) -> Any:
        r"""Forms once rows are back on the sphere, by changes of rank one.

        The links l become :math:`l\,(1 - mm^T/l^2)^{-1} = l\,(1 + mm^T/c)`, and A becomes
        :math:`A - t\,qm^T` with m of before the step.
        """
        k, size = self.kinds, self.size
        p, kinds = place.start + np.arange(k), np.arange(k)
        means = sphere.means
        stretched = (sphere.lengths / (1 - np.sum(means**2, axis=1)))[:, None] * means
        left, right = np.zeros((2, len(forms) // size, size, 4, k))
        changes = (
            (p - k, -stretched, p, means),
            (p, stretched, p - k, means),
            (p, -sphere.turns, p + k, sphere.before),
            (p + k, sphere.before, p, sphere.turns),
        )
        for i, (to, column, by, row) in enumerate(changes):
            left[:, to, i, kinds], right[:, by, i, kinds] = column.T, row.T
        left, right = left.reshape(len(forms), -1), right.reshape(len(forms), -1)
        moved = forms @ left
        kernel = np.eye(4 * k) + right.T @ moved
        return forms - moved @ np.linalg.solve(kernel, right.T @ forms)

    def overlaps(self, state: State, directions: np.ndarray) -> Any:
        r"""K between directions and lengths, k entries each: forms of the bulk without them.

        The length after step s is probed by :math:`\sum_{t\le s}(-1)^{T-t}\,\text{memory}_{st}\,
        (-\ell_t\otimes e_{q_t} + B^{-1}z_t\otimes e_{p_t})`, and its independent part adds
        :math:`B^{-1}_{ab}\Upsilon_{ab}`. Last, the coupling C of the directions to the bulk is
        taken out: :math:`K = N_3(1 - C_3N_3)^{-1}`.
        """
        layer, k = self.layer, self.kinds
        forms, spread = self.forms(state), np.linalg.inv(state.bound)
        kinds, count = np.arange(k), directions.shape[1]
        levels = self.levels
        probes = np.zeros((*forms.shape[:2], count + len(levels), k), forms.dtype)
        for i, direction in enumerate(directions.T):
            probes[:, kinds, i, kinds] = direction[:, None]
        for i, s in enumerate(levels, start=count):
            for t, batch in enumerate(layer.batches[:s], start=1):
                share = (-1.0) ** (self.steps - t) * layer.memory[s, t]
                lean, place = batch.first_lean + kinds, self.places[t - 1].start + kinds
                probes[lean, place + k, i, kinds] -= share
                probes[lean + k, place, i, kinds] += share * np.diag(spread)
                if batch.sphere is not None:
                    leans = batch.sphere.leans.T
                    probes[: len(leans), place + k, i, kinds] -= share * leans
        size, entries = forms.shape[0] * forms.shape[1], (count + len(levels)) * k
        left = probes.copy()
        left[:, :, count:] *= self.signs[:, None, None]
        flat = forms.reshape(size, size) @ probes.reshape(size, entries)
        found = left.reshape(size, entries).T @ flat
        for i, s in enumerate(levels, start=count):
            for j, other in enumerate(levels, start=count):
                shared = np.where(layer.neurons.twins, layer.spread, 0.0) * np.outer(
                    layer.memory[s, 0], layer.memory[other, 0]
                )
                for t, batch in enumerate(layer.batches, start=1):
                    both = np.outer(layer.memory[s, t], layer.memory[other, t])
                    shared = shared + both * batch.lengths
                here = slice(i * k, (i + 1) * k), slice(j * k, (j + 1) * k)
                found[here] += spread * shared
        found = (found + found.T) / 2
        coupled = np.kron(np.diag([1.0] * count + [0.0] * len(levels)), state.coupling)
        freed = found @ np.linalg.inv(np.eye(entries) - coupled @ found)
        return (freed + freed.T) / 2

    @property
    def levels(self) -> list[int]:
        """The steps after which a length differs between neurons, the last one first."""
        first = 0 if self.layer.spread else 1
        return list(range(self.steps, first - 1, -1))
