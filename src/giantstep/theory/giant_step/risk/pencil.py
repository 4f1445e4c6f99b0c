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
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from giantstep.numerics.solve import STEP
from giantstep.theory.giant_step.risk.first_layer import FirstLayer, ReturnToSphere
from giantstep.theory.giant_step.risk.sample_terms import SampleTerms

#: Radius, relative to 1/Gamma, and points of the circle on which moments are read off.
CIRCLE, CIRCLE_POINTS = 0.02, 8
#: Iterations of the batches' self-energies at a small coupling.
MOST_ITERATIONS = 50


class State(NamedTuple):
    """The unknowns: the bound B = D + H of the readout, the self-energy of each batch, and C.

    Of one fit, or of many, along axes before those of the matrices.
    """

    bound: Any
    energies: tuple[Any, ...]
    coupling: Any

    @classmethod
    def of(cls, matrices: Iterable[Any]) -> State:
        """The state of these matrices, one after the other."""
        bound, *energies, coupling = matrices
        return cls(bound, tuple(energies), coupling)

    @property
    def matrices(self) -> tuple[Any, ...]:
        """All of them."""
        return self.bound, *self.energies, self.coupling

    def members(self, which: Any) -> State:
        """Some of many states."""
        return State.of(part[..., which, :, :] for part in self.matrices)


class PencilAverages(NamedTuple):
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
        #: G^T = J G J with these signs.
        self.signs = np.repeat((-1.0) ** np.arange(2 * self.steps + 1), k)
        #: Where forms have the entries of each vector, and each batch's charges; J on all of them.
        self.vectors, self.charges = [i * self.size for i in range(layer.rank)], []
        end, signs = layer.rank * self.size, [self.signs] * layer.rank
        for batch, place in zip(layer.batches, self.places, strict=True):
            ends = end + self.size * np.arange(len(batch.vectors) + 1)
            self.vectors += ends[:-1].tolist()
            self.charges.append(int(ends[-1]))
            end = self.charges[-1] + 2 * k
            signs += [*[self.signs] * len(batch.vectors), self.signs[place]]
        self.columns, self._signs = end, np.concatenate(signs)
        self._chain = self._links()
        self._samples: list[Any] = [SampleTerms.of(batch) for batch in layer.batches]

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
        parts = state.matrices
        shape = np.broadcast_shapes(*(part.shape[:-2] for part in parts))
        kernel = np.zeros((*shape, self.size, self.size), np.result_type(*parts)) + self._chain
        kernel[..., :k, :k] += state.coupling
        kernel[..., last, last] += self._start(state)
        for place, energy in zip(self.places, state.energies, strict=True):
            kernel[..., place, place] += energy
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
            samples.tangent(resolvent[..., place, place], spread)
            for samples, place in zip(self._samples, self.places, strict=True)
        ]
        return found

    def averages(self, state: State) -> PencilAverages:
        r"""G, the self-energies that it implies, N, and H by which the bulk holds the readout.

        .. math:: H = \Big\{\big[(\Sigma_{q_1p_1} - 1)G_{p_1q_1} + \Sigma_{q_1q_1}G_{q_1q_1}\big]B
            + \sum_t\phi t_at_bE\big[R^2\nu_{ab}\big((1+\phi GM)^{-1}G\big)_{p_ap_b}\big]\Big\}

        The bracket is :math:`B - BG_{q_1q_1}B` by the last row of (K + Sigma) G = 1; the
        difference would cancel digits for few neurons.
        """
        k, resolvent = self.kinds, self.resolvent(state)
        bulk = resolvent[..., :k, :k]
        if not self.steps:
            left = state.coupling - state.coupling @ bulk @ state.coupling
            return PencilAverages(resolvent, (), bulk, left * self.layer.bulks)
        spread = np.linalg.inv(state.bound)
        energies, held = [], 0.0
        for samples, place in zip(self._samples, self.places, strict=True):
            energy, taken = samples(resolvent[..., place, place], spread)
            energies.append(energy)
            held = held + taken
        first, energy = self.places[0], state.energies[0]
        own = resolvent[..., first, first]
        turned = (energy[..., k:, :k] - np.eye(k)) @ own[..., :k, k:]
        turned = turned + energy[..., k:, k:] @ own[..., k:, k:]
        return PencilAverages(resolvent, tuple(energies), bulk, turned @ state.bound + held)

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
        around, bulks = self._forms_at(small * turns[:, None, None] * one, directions)
        kinds, scales = np.arange(k), (-small) ** -np.arange(3.0)
        taken = np.fft.fft(around[:, kinds, kinds], axis=0)[:3].real / CIRCLE_POINTS
        traces = np.fft.fft(bulks[:, kinds, kinds], axis=0)[1].real / CIRCLE_POINTS
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
        at = np.add.outer(self.vectors, np.arange(k))
        forms = self.forms(state)[..., at[..., None, None], at]
        between = np.einsum("vi,...vawb,wj->...abij", directions, forms, directions, optimize=True)
        return between, found.bulk

    def forms(self, state: State) -> Any:
        r"""Quadratic forms of the resolvent between vectors, at all blocks, and charged blocks.

        On the target's directions they start as :math:`1\otimes G`. Each batch, in order, corrects
        them along the directions e of its samples, by :math:`\Delta = E[IM\otimes(ee^T-1)]`,
        :math:`I = (1+\phi MG)^{-1}`, and then adds its own vectors v, orthogonal to e:

        .. math::
            Q &\leftarrow Q - Q\Delta(1+Q\Delta)^{-1}Q,\\
            Q &\leftarrow \begin{pmatrix} Q & Q\rho\\ J\rho^TJQ & J\rho^TJQ\rho
                + \phi E[v_iv_j(1+\phi GM)^{-1}G]\end{pmatrix},\qquad
            \rho = E[e\,v\otimes I] - E[e\,v]\otimes 1 .

        A charge f is added on its own entry of the batch's blocks alone, as
        :math:`\rho = E[e f\,I_{\cdot f}]`. Since :math:`G^T = JGJ`, :math:`Q^T = JQJ`.
        """
        resolvent, rank = self.resolvent(state), self.layer.rank
        spread = np.linalg.inv(state.bound)
        one = np.eye(rank)[:, None, :, None]
        forms = one * resolvent[..., None, :, None, :]
        forms = forms.reshape(*resolvent.shape[:-2], rank * self.size, rank * self.size)
        for batch, place in zip(self._samples, self.places, strict=True):
            forms = self._grown(forms, batch, place, resolvent, spread)
            if batch.batch.sphere is not None:
                forms = self._on_sphere(forms, batch.batch.sphere, place)
        return forms

    def _grown(
        self, forms: Any, batch: SampleTerms, place: slice, resolvent: Any, spread: Any
    ) -> Any:
        phi, many, own = batch.crowding, forms.shape[:-2], resolvent[..., place, place]
        (vectors, axes), old, block = batch.frame.shape, forms.shape[-1], own.shape[-1]
        # What the samples see: the directions of the frame, at the batch's blocks.
        entries = np.arange(block)
        frame = np.zeros((old, axes, block))
        at = np.add.outer(self.vectors[:vectors], entries + place.start)
        frame[at, :, entries] = batch.frame[:, None]
        frame = frame.reshape(old, axes * block)
        out, bound, inner, charged = batch.in_forms(own, spread)
        change = out.swapaxes(-3, -2).reshape(*many, axes * block, axes * block)
        seen, signs = forms @ frame, np.tile(self.signs[place], axes)
        both = frame.T @ seen
        corrected = change @ np.linalg.inv(np.eye(len(signs)) + both @ change)
        turned = signs[:, None] * seen.swapaxes(-1, -2) * self._signs[:old]
        forms = forms - seen @ corrected @ turned
        seen, both = seen - seen @ corrected @ both, both - both @ corrected @ both

        added = len(batch.vectors)
        # rho, on vectors at all blocks and on charges.
        right = -phi * bound @ resolvent[..., None, None, place, :]
        right = np.moveaxis(right, -4, -2).reshape(*many, axes * block, added * self.size)
        charged = np.outer(self.signs[place], self.signs[place]) * charged.swapaxes(-1, -2)
        on_charges = charged[..., :axes, :, :].reshape(*many, axes * block, block)
        right = np.concatenate([right, on_charges], axis=-1)
        power = ((batch.vectors * batch.weights) @ batch.vectors.T)[..., None, None]
        inner = resolvent[..., None, None, :, place] @ inner @ resolvent[..., None, None, place, :]
        inner = (power * resolvent[..., None, None, :, :] - phi * inner).swapaxes(-3, -2)
        inner = inner.reshape(*many, added * self.size, added * self.size)
        mixed = resolvent[..., None, :, place] @ charged[..., axes : axes + added, :, :]
        mixed = mixed.reshape(*many, added * self.size, block)
        last = (own[..., None, :] @ charged[..., axes + added :, :, :])[..., 0, :]
        fresh = self._signs[old : old + right.shape[-1]]
        corner = fresh[:, None] * right.swapaxes(-1, -2) * signs @ both @ right
        corner = corner + phi * _bordered(inner, mixed, last, fresh)
        return _bordered(forms, seen @ right, corner, self._signs)

    def _on_sphere(self, forms: Any, sphere: ReturnToSphere, place: slice) -> Any:
        r"""Forms once rows are back on the sphere, by changes of rank one.

        The links l become :math:`l\,(1 - mm^T/l^2)^{-1} = l\,(1 + mm^T/c)`, and A becomes
        :math:`A - t\,qm^T` with m of before the step.
        """
        k = self.kinds
        p, kinds = place.start + np.arange(k), np.arange(k)
        means = sphere.means
        stretched = (sphere.lengths / (1 - np.sum(means**2, axis=1)))[:, None] * means
        left, right = np.zeros((2, forms.shape[-1], 4, k))
        vectors = np.array(self.vectors[: means.shape[1]])[:, None]
        changes = (
            (p - k, -stretched, p, means),
            (p, stretched, p - k, means),
            (p, -sphere.turns, p + k, sphere.before),
            (p + k, sphere.before, p, sphere.turns),
        )
        for i, (to, column, by, row) in enumerate(changes):
            left[vectors + to, i, kinds], right[vectors + by, i, kinds] = column.T, row.T
        left, right = left.reshape(-1, 4 * k), right.reshape(-1, 4 * k)
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
        kinds, count, many = np.arange(k), directions.shape[1], forms.shape[:-2]
        levels, vectors = self.levels, np.array(self.vectors)[:, None]
        probes = np.zeros((*forms.shape[:-1], count + len(levels), k), forms.dtype)
        for i, direction in enumerate(directions.T):
            probes[..., vectors + kinds, i, kinds] = direction[:, None]
        for i, s in enumerate(levels, start=count):
            for t, batch in enumerate(layer.batches[:s], start=1):
                share = (-1.0) ** (self.steps - t) * layer.memory[s, t]
                kick = self.charges[t - 1] + kinds
                probes[..., kick + k, i, kinds] -= share
                probes[..., kick, i, kinds] += share * spread[..., kinds, kinds]
                if batch.sphere is not None:
                    leans, place = batch.sphere.leans.T, self.places[t - 1].start + kinds
                    probes[..., vectors[: len(leans)] + place + k, i, kinds] -= share * leans
        entries = (count + len(levels)) * k
        probes = probes.reshape(*many, -1, entries)
        found = (self._signs[:, None] * probes).swapaxes(-1, -2) @ forms @ probes
        for i, s in enumerate(levels, start=count):
            for j, other in enumerate(levels, start=count):
                shared = np.where(layer.neurons.twins, layer.spread, 0.0) * np.outer(
                    layer.memory[s, 0], layer.memory[other, 0]
                )
                for t, batch in enumerate(layer.batches, start=1):
                    both = np.outer(layer.memory[s, t], layer.memory[other, t])
                    shared = shared + both * batch.lengths
                found[..., i * k : (i + 1) * k, j * k : (j + 1) * k] += spread * shared
        found = (found + found.swapaxes(-1, -2)) / 2
        coupled = np.zeros((*many, count + len(levels), k, count + len(levels), k), found.dtype)
        for i in range(count):
            coupled[..., i, :, i, :] = state.coupling
        coupled = coupled.reshape(found.shape)
        freed = found @ np.linalg.inv(np.eye(entries) - coupled @ found)
        return (freed + freed.swapaxes(-1, -2)) / 2

    @property
    def levels(self) -> list[int]:
        """The steps after which a length differs between neurons, the last one first."""
        first = 0 if self.layer.spread else 1
        return list(range(self.steps, first - 1, -1))


def _bordered(first: Any, beside: Any, corner: Any, signs: np.ndarray) -> Any:
    """The matrix Q of these blocks for which Q^T = J Q J, with J the signs."""
    size = first.shape[-1]
    whole = size + corner.shape[-1]
    below = signs[size:whole, None] * beside.swapaxes(-1, -2) * signs[:size]
    above = np.concatenate([first, beside], axis=-1)
    return np.concatenate([above, np.concatenate([below, corner], axis=-1)], axis=-2)
