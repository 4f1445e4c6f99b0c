"""Giant steps on fresh batches: what each does to the means, bulks and lengths of the rows.

A row is ``w_j = m_a + b_j``: neurons of one kind a (equal readout and bias) share the mean m_a, and
b_j is a bulk of squared length c_a. A step maps it to ::

    m_a <- m_a + t_a E[R w_0 e] + t_a n_a         n_a: noise of the batch, orthogonal to all before
    b_j <- A b_j + (t_a/2) delta_j q + xi_j       A = 1 + t_a X^T diag(R w_1) X / n_0

with ``t_a = eta a``, R the residuals, ``delta_j = |b_j|^2 - c_a`` of order d^(-1/2), ``q = X^T (R
w_2)/n_0`` and xi_j of covariance ``t_a^2 phi X^T diag(R^2 nu) X / (n_0 d)``, ``phi = d/n_0``.
Vectors are kept in coordinates: the target's directions first, then those that each batch adds.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.risk.batch_samples import BatchSamples
from giantstep.theory.giant_step.risk.first_layer import (
    FirstLayer,
    GradientBatch,
    Neurons,
    ReturnToSphere,
    limit_frame_of_means,
)
from giantstep.theory.giant_step.risk.neuron_averages import (
    averages_by_kind,
    neuron_averages,
    neuron_chaos,
    slope_rest,
)
from giantstep.theory.giant_step.risk.twin_products import products_of_twins

#: Noise of less weight than this, relative to the strongest, adds no direction.
NO_NOISE = 1e-8
#: Hermite degrees up to which the lengths of two neurons with one first row are compared.
CHAOS_DEGREE = 24
#: Squared lengths beyond this have overflowed for all that the theory can say.
OVERFLOW = 1e8


def limit_layers(
    problem: Problem,
    sigma: Activation,
    neurons: Neurons,
    *,
    step_sizes: Sequence[float],
    samples_ratios: Sequence[float],
    loss: str = "square",
    coarse: bool = False,
    kicks: bool = True,
) -> Iterator[FirstLayer]:
    r"""The first layer before the first step and after each.

    .. math::
        m_a &\leftarrow m_a + t_aE[R\,w_0^a e] + t_an_a,\qquad
            \langle n_a, n_b\rangle = \phi E[R^2w_0^aw_0^b],\\
        c_a &\leftarrow c_a\big(1+t_aE[R\,w_1^a]\big)^2 + t_a^2\phi
            E\big[R^2\,\mathrm{Var}\,\sigma'_a\big],\qquad
        R = y - \sum_a\pi_aa\,E\,\sigma(\langle m_a, x\rangle + \sqrt{c_a}z)

    Symbols: t_a = ``step_sizes`` times a; 1/phi ``samples_ratios``, one per step; a, pi
    ``neurons``. ``loss``: with ``correlation`` R = y. ``coarse``: fewer nodes, to see the error of
    quadrature; ``kicks``: the small terms z of the lengths, which need independent rows.

    Assumes: Gaussian inputs; a continuous activation; fresh batches; n_0 and p proportional to d.
    Status: heuristic (leave-one-out), checked against real steps.
    References: Dandi et al. 2023, arXiv:2305.18270, for the means; Ba et al. 2022,
        arXiv:2205.01445, for the first step.

    >>> from giantstep.language.activations.activation import activation
    >>> layers = limit_layers(
    ...     Problem.of("relu(h1)"), activation("relu"), Neurons.of([1.0]), step_sizes=[4.0],
    ...     samples_ratios=[1.0], loss="correlation")
    >>> layer = list(layers)[-1]
    >>> round(float(layer.variances[0]), 6), round(float(layer.batches[0].lengths[0, 0]), 6)
    (4.678524, 15.786582)
    """
    k, rank = len(neurons.readout), problem.target.rank
    layer = FirstLayer(
        neurons,
        (),
        np.zeros((k, rank)),
        np.where(neurons.twins, 1.0, 0.0),
        (),
        np.ones((1, 1, k)),
        np.eye(k),
    )
    yield layer
    for step_size, ratio in zip(step_sizes, samples_ratios, strict=True):
        path = _LimitStep(problem, sigma, layer, step_size, ratio, loss, coarse, kicks)
        layer = path.moved()
        if not np.all(np.isfinite(layer.means)) or np.max(layer.variances) > OVERFLOW:
            raise NoTheory(
                f"step_size = {step_size:g}: the squared lengths of the rows exceed {OVERFLOW:g} "
                f"after step {len(layer.batches)}; lower --step-size"
            )
        yield layer


class _LimitStep:
    """One step of :func:`limit_layers`."""

    def __init__(
        self,
        problem: Problem,
        sigma: Activation,
        layer: FirstLayer,
        step_size: float,
        ratio: float,
        loss: str,
        coarse: bool,
        kicks: bool,
    ) -> None:
        neurons, k = layer.neurons, len(layer.means)
        self.layer, self.phi, self.t = layer, 1 / ratio, step_size * neurons.readout
        self.pull = step_size if loss == "square" else 0.0
        self.kicks = kicks and not neurons.paired
        #: Whether rows are on the sphere, where their lengths follow their components.
        self.tied = neurons.normalise and bool(layer.batches)
        self.sigmas = [sigma.shifted(float(bias)) for bias in neurons.biases]
        coordinates, self.frame = limit_frame_of_means(layer.means, problem.target.rank)
        if layer.batches:
            deviations = np.sqrt(layer.variances)
            found = BatchSamples.later(problem, coordinates, deviations, coarse=coarse)
        else:
            found = BatchSamples.at_start(problem, k, coarse=coarse)
        self.samples, self.coordinates = found, coordinates
        given = self.sigmas, layer.variances, found.projections
        self.averages = averages_by_kind(neuron_averages, *given)
        self.rest = averages_by_kind(slope_rest, *given)
        output = (neurons.fractions * neurons.readout) @ self.averages.mean
        self.residuals = found.labels - (output if loss == "square" else 0.0)

    def mean(self, values: np.ndarray) -> Any:
        """The average over samples."""
        return values @ self.samples.weights

    def moved(self) -> FirstLayer:
        """The layer after the step."""
        layer, found, t, k = self.layer, self.averages, self.t, len(self.t)
        first, r = self.samples.first, self.residuals
        # The batch's own vectors: an orthonormal basis of the noise in X^T(R w_0), X^T(R w_2),
        # and on the sphere in what the pushes become.
        driving = np.concatenate([found.slope, found.twist, *self._pushed()]) * r
        drift = driving @ first.T
        power = self.phi * (driving * self.samples.weights) @ driving.T
        values, turns = np.linalg.eigh(power)
        kept = values > NO_NOISE * values[-1]
        root, inverse = (
            turns[:, kept] * np.sqrt(values[kept]),
            turns[:, kept] / np.sqrt(values[kept]),
        )
        lean, kick, growth, curves = self._lengths()
        old, added = layer.means.shape[1], int(kept.sum())

        def moved(along: np.ndarray, noise: np.ndarray) -> np.ndarray:
            """A vector X^T(R w)/n_0 in coordinates."""
            grown = np.zeros((k, old + added))
            grown[:, :old] = along @ self.frame.T
            grown[:, old:] = noise
            return grown

        covariance, scatters = self._scatters
        batch = GradientBatch(
            samples=self.samples,
            steps=t,
            crowding=self.phi,
            frame=self.frame,
            residuals=r,
            bends=found.bend,
            scatters=scatters,
            vectors=inverse.T @ driving,
            kicks=kick,
            leans=lean,
            lengths=self._independent_lengths(curves),
        )
        turn = self.mean(found.bend * r)
        before = np.pad(layer.means, [(0, 0), (0, added)])
        means = before + t[:, None] * moved(drift[:k], root[:k])
        stretched = np.outer(1 + t * turn, 1 + t * turn) * layer.bulks
        bulks = stretched + np.outer(t, t) * self.phi * self.mean(r**2 * covariance)
        pushes = [np.pad(self._turned(push, turn), [(0, 0), (0, added)]) for push in layer.pushes]
        turns = t[:, None] * moved(drift[k : 2 * k], root[k : 2 * k])
        stepped = FirstLayer(
            layer.neurons,
            (*layer.batches, batch),
            means,
            np.where(layer.neurons.twins, bulks, 0.0),
            (*pushes, turns / 2),
            self._memory(growth, lean),
            self._common(turn),
        )
        if not layer.neurons.normalise:
            return stepped
        for s, push in enumerate(pushes):
            push[:, old:] += t[:, None] * root[(2 + s) * k : (3 + s) * k]
            push -= turns * np.sum(push * before, axis=1, keepdims=True)
        if not self.tied:
            # Rows that start on the sphere have no lengths that could push them.
            pushes = [turns / 2 if layer.spread else np.zeros_like(turns)]
        leans = -2 * growth[:, None] * before
        return _on_sphere(stepped._replace(pushes=tuple(pushes)), before, turns, leans)

    def _pushed(self) -> list[np.ndarray]:
        """w_1 <push, x> of every push that rows on the sphere have had."""
        if not self.tied:
            return []
        points = self.samples.first / self.samples.weights
        return [self.averages.bend * (push @ self.frame @ points) for push in self.layer.pushes]

    def _turned(self, push: np.ndarray, turn: np.ndarray) -> np.ndarray:
        """A push after A of this step; what the batch adds to it anew is left out."""
        found = []
        for a, vector in enumerate(push):
            along = vector @ self.frame
            within = self.samples.second @ (self.averages.bend[a] * self.residuals)
            within -= turn[a] * np.eye(len(within))
            found.append(
                vector * (1 + self.t[a] * turn[a]) + self.t[a] * self.frame @ within @ along
            )
        return np.array(found)

    @functools.cached_property
    def _scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """Cov(sigma'_a, sigma'_b) of kinds with one first row, and nu, its part beyond linear."""
        layer, found = self.layer, self.averages
        slopes = [(sigma.numpy_derivative, sigma.kinks) for sigma in self.sigmas]
        products = products_of_twins(layer, slopes, self.samples.projections, found.slope_power)
        twins = layer.neurons.twins[..., None]
        covariance = np.where(twins, products - found.slope[:, None] * found.slope, 0.0)
        linear = layer.bulks[..., None] * found.bend[:, None] * found.bend[None]
        return covariance, np.where(twins, covariance - linear, 0.0)

    def _lengths(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[np.ndarray, ...]]:
        """What the squared length |b|^2 takes from the batch: see :meth:`_independent_lengths`.

        ``lean`` and ``kick``: charges of the parts linear in the rows before and in the noise of
        this step; ``growth`` of what the length was off before; f = B_1 z rho + B_2 rho^2.
        """
        found, rest, r, phi = self.averages, self.rest, self.residuals, self.phi
        t, c = self.t[:, None], self.layer.variances[:, None]
        root = np.sqrt(c)
        y = found.bend * r
        turn = self.mean(y)[:, None]
        linear = 2 * t * (1 + t * turn + t * phi * y) * r * root
        square = t**2 * phi * r**2
        lean = linear * root * found.twist + square * rest.square_slope / root
        curve = (linear * rest.product_curve + square * rest.square_curve) / c
        kick = np.zeros_like(lean)
        if self.kicks:
            bent = found.twist * c**2 * (2 * t * y * (1 + t * turn) + t**2 * y**2 * phi)
            kick = t * r * phi * (bent + linear * rest.square_slope + square * rest.cube)
        growth = ((1 + t * turn) ** 2)[:, 0] + self.t**2 * phi * self.mean(y**2) + self.mean(curve)
        return lean, kick, growth, (y, linear, square, curve)

    def _independent_lengths(self, curves: tuple[np.ndarray, ...]) -> np.ndarray:
        r"""Upsilon_ab, d times the covariance of the lengths' parts that no direction explains.

        :math:`|Ab + \xi|^2` is a quadratic form in b, with spectral covariances of S and S^2, and
        T of the second chaos of f; plus chaoses of degree three and more; plus that of xi.
        """
        y, _, _, f2 = curves
        phi, t, mean = self.phi, self.t, self.mean
        twins, bulks = self.layer.neurons.twins, self.layer.bulks
        _, scatters = self._scatters
        found = np.zeros_like(bulks)
        for i, j in np.argwhere(np.triu(twins)).tolist():
            a, b, ta, tb = y[i], y[j], t[i], t[j]
            both = mean(a * b)

            def straight(x: np.ndarray, z: np.ndarray) -> float:
                return float(phi**2 * mean(x * z * z) + 2 * phi * mean(z) * mean(x * z))

            squares = phi**3 * mean(a * a * b * b) + phi**2 * both**2
            squares += 2 * phi**2 * (mean(a) * mean(a * b * b) + mean(b) * mean(a * a * b))
            squares += 4 * phi * mean(a) * mean(b) * both
            spectral = 4 * ta * tb * phi * both + ta**2 * tb**2 * squares
            spectral += 2 * ta * tb**2 * straight(a, b) + 2 * tb * ta**2 * straight(b, a)
            spectral += 2 * phi * (ta * mean(a * f2[j]) + tb * mean(b * f2[i]))
            spectral += ta**2 * straight(f2[j], a) + tb**2 * straight(f2[i], b)
            spectral += phi * mean(f2[i] * f2[j])
            scattered = mean(self.residuals**2 * scatters[i, j])
            found[i, j] = 2 * bulks[i, j] ** 2 * spectral + phi * mean(self._chaos(i, j, curves))
            found[i, j] += 4 * ta**2 * tb**2 * phi**2 * both * bulks[i, j] * scattered
            found[i, j] += 2 * ta**2 * tb**2 * phi**2 * scattered**2
            found[j, i] = found[i, j]
        return found

    def _chaos(self, i: int, j: int, curves: tuple[np.ndarray, ...]) -> np.ndarray:
        """Products of the chaoses of degree three and more of f_i and f_j, at each sample."""
        _, linear, square, _ = curves
        rest, bulks = self.rest, self.layer.bulks
        if i == j or not self.layer.batches:
            mixed = linear[i] * square[j] + square[i] * linear[j]
            found = linear[i] * linear[j] * rest.product_product[i]
            return (
                found
                + mixed * rest.product_square[i]
                + square[i] * square[j] * rest.square_square[i]
            )
        cosine = bulks[i, j] / math.sqrt(bulks[i, i] * bulks[j, j])
        sides = []
        for a in (i, j):
            s = self.samples.projections[a]
            product, own = neuron_chaos(self.sigmas[a], float(bulks[a, a]), s, CHAOS_DEGREE)
            sides.append(linear[a] * product + square[a] * own)
        return cosine ** np.arange(3, CHAOS_DEGREE + 1) @ (sides[0] * sides[1])

    def _common(self, turn: np.ndarray) -> np.ndarray:
        """The covariance of the kinds' mean rows, which the output pulls back along itself."""
        layer, found, phi = self.layer, self.averages, self.phi
        sums = np.sqrt(layer.neurons.fractions) * layer.neurons.readout
        slopes, own = found.slope, found.slope_power - found.slope**2
        kept = np.diag(1 + self.t * turn)
        kept = kept - self.pull * np.outer(sums, sums) * self.mean(slopes[:, None] * slopes)
        left = found.power - found.mean**2 - layer.variances[:, None] * slopes**2
        spread = sums**2 @ left
        spread = spread + np.einsum("a,b,an,bn,ab->n", sums, sums, slopes, slopes, layer.common)
        noise = self.pull**2 * phi * np.outer(sums, sums)
        noise = noise * self.mean(slopes[:, None] * slopes * spread)
        fresh = self.t**2 * phi * self.mean(own * self.residuals**2)
        return kept @ layer.common @ kept.T + np.diag(fresh) + noise

    def _memory(self, growth: np.ndarray, lean: np.ndarray) -> np.ndarray:
        """The memory of lengths, one step longer."""
        layer, size = self.layer, len(self.layer.memory)
        memory = np.zeros((size + 1, size + 1, len(growth)))
        memory[:size, :size], memory[size, size] = layer.memory, 1.0
        carried = np.zeros_like(memory[0, :size]) if self.tied else growth * layer.memory[size - 1]
        for s, push in enumerate(layer.pushes):
            seen = np.sum((lean @ self.samples.first.T) * (push @ self.frame), axis=1)
            if self.tied:
                seen -= 2 * growth * np.sum(layer.means * push, axis=1)
            carried = carried + seen * layer.memory[s]
        memory[size, :size] = carried
        return memory


def _on_sphere(
    layer: FirstLayer, before: np.ndarray, turns: np.ndarray, leans: np.ndarray
) -> FirstLayer:
    """The layer with its rows back on the sphere; see :class:`ReturnToSphere`."""
    lengths = np.sqrt(np.sum(layer.means**2, axis=1) + layer.variances)
    both, each = np.outer(lengths, lengths), lengths[:, None]
    means = layer.means / each
    pushes = [
        (push - means * np.sum(means * push, axis=1, keepdims=True)) / each for push in layer.pushes
    ]
    *batches, last = layer.batches
    sphere = ReturnToSphere(lengths, means, before, turns, leans)
    return layer._replace(
        batches=(*batches, last._replace(sphere=sphere)),
        means=means,
        bulks=layer.bulks / both,
        pushes=(*pushes, -means / (2 * each**2)),
        common=layer.common / both,
    )
