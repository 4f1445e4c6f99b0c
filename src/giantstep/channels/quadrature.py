"""Any target of at most three fields under label noise, by quadrature with an error estimate."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from giantstep.channels.cells import LabelCells, interval_posteriors
from giantstep.channels.posterior import (
    Matrix,
    Posterior,
    Vector,
    mixed_posterior,
    posterior_with_rest,
)
from giantstep.channels.signs import posterior_legendre
from giantstep.channels.structure import ChannelForm
from giantstep.language.expressions.evaluate import JAX
from giantstep.numerics.float64 import in_float64
from giantstep.numerics.quadrature import CUTOFF, gauss_hermite
from giantstep.numerics.solve import halved_brackets

#: Up to here Gauss-Hermite, exact for polynomials, is the better rule; beyond, evenly spaced nodes.
_FEW = 40
#: Points at which a line is searched for jumps, and halvings of the brackets they are in.
_LINE, _HALVINGS = 33, 22


@functools.lru_cache(maxsize=64)
def posterior_rule(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and logarithms of weights for a smooth function of one Gaussian variable."""
    if count <= _FEW:
        nodes, weights = gauss_hermite(count)
        return np.array(nodes), np.log(weights)
    nodes = np.linspace(-CUTOFF, CUTOFF, count)
    logs = -(nodes**2) / 2
    return nodes, logs - np.log(np.exp(logs).sum())


def posterior_nodes(
    mean: Float[Array, " q"],
    cov: Float[Array, "q q"],
    kinks: Sequence[Sequence[float]],
    counts: Sequence[int],
) -> tuple[Float[Array, "k q"], Float[Array, " k"]]:
    """Nodes x and log weights such that sum_k w_k f(mean + L x_k) is E f(z), L L^T = cov.

    A field without kinks has ``counts[i]`` nodes; a field with kinks has about as many, spread
    over its panels, whose edges are the kinks as seen from that field's conditional law.
    """
    chol = jnp.linalg.cholesky(cov)
    x = jnp.zeros((1, 0), mean.dtype)
    logs = jnp.zeros(1, mean.dtype)
    for i, (at, count) in enumerate(zip(kinks, counts, strict=True)):
        if at:
            centre = mean[i] + x @ chol[i, :i]
            positions = jnp.asarray(at, mean.dtype)[None, :]
            edges = jnp.clip((positions - centre[:, None]) / chol[i, i], -CUTOFF, CUTOFF)
            ends = jnp.full((edges.shape[0], 1), CUTOFF, mean.dtype)
            edges = jnp.concatenate([-ends, edges, ends], axis=1)
            unit, mass = posterior_legendre(max(4, -(-count // (len(at) + 1))))
            length = jnp.diff(edges, axis=1)[:, :, None]
            new = (edges[:, :-1, None] + length * unit[None, None, :]).reshape(x.shape[0], -1)
            share = np.log(mass)[None, None, :] + jnp.log(jnp.maximum(length, 1e-300))
            weight = share.reshape(new.shape) - new**2 / 2 - np.log(2 * np.pi) / 2
        else:
            nodes, masses = posterior_rule(count)
            new = jnp.broadcast_to(jnp.asarray(nodes, mean.dtype), (x.shape[0], len(nodes)))
            weight = jnp.broadcast_to(jnp.asarray(masses, mean.dtype), new.shape)
        repeated = jnp.repeat(x, new.shape[1], axis=0)
        x = jnp.concatenate([repeated, new.reshape(-1, 1)], axis=1)
        logs = (logs[:, None] + weight).reshape(-1)
    return x, logs


class LabelMixture(NamedTuple):
    """The law of y as a mixture of Gaussians; under each, g_out = pulls + rates (y - centres)."""

    logs: Float[Array, " k"]
    centres: Float[Array, " k"]
    variances: Float[Array, " k"]
    pulls: Float[Array, "k m"]
    rates: Float[Array, "k m"]


@dataclass(frozen=True)
class Quadrature:
    """y = g(u) + sqrt(noise) xi, the first ``len(counts)`` fields integrated on nodes.

    What remains is done in closed form: fields along which the target is piecewise constant (the
    groups), one field in which it is affine, or one along which it is constant between ``jumps``
    at places that depend on the other fields.
    """

    structure: ChannelForm
    counts: tuple[int, ...]
    groups: LabelCells
    affine: bool = False
    jumps: int = 0

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, "n 2"]:
        """Each label with its noise."""
        return np.stack([y, np.full_like(y, noise)], axis=-1)

    @property
    def size(self) -> int:
        """Number of nodes, over all fields."""
        return int(np.prod(self.counts)) * (self.groups.count + self.jumps)

    def _nodes(self, mean: Vector, cov: Matrix) -> tuple[Array, ...]:
        """Nodes of the integrated fields, log weights, pulls and precision; the others given them.

        Of the other fields: their slope on the integrated ones, covariance and means.
        """
        q = len(self.counts)
        x, logs = posterior_nodes(mean[:q], cov[:q, :q], self.structure.kinks[:q], self.counts)
        chol = jnp.linalg.cholesky(cov[:q, :q])
        inverse = jax.scipy.linalg.solve_triangular(chol, jnp.eye(q, dtype=mean.dtype), lower=True)
        pulls = x @ inverse
        points = mean[None, :q] + x @ chol.T
        precision = inverse.T @ inverse
        slope = cov[q:, :q] @ precision
        rest_cov = cov[q:, q:] - slope @ cov[:q, q:]
        return points, logs, pulls, precision, slope, rest_cov, mean[None, q:] + pulls @ cov[:q, q:]

    def posterior(self, label: Float[Array, 2], mean: Vector, cov: Matrix) -> Posterior:
        """The mixture over the nodes."""
        points, logs, pulls, precision, slope, rest_cov, rest_means = self._nodes(mean, cov)
        if not len(rest_cov):
            fit: Any = jax.vmap(lambda z: _log_normal(label[0] - self.structure.jax(z), label[1]))
            hessian = -precision[None]
            return mixed_posterior(Posterior(fit(points), pulls, hessian), logs)

        def part(point: Array, pull: Array, rest_mean: Array) -> Posterior:
            rest = self._rest(label, point, rest_mean, rest_cov)
            return jax.vmap(lambda event: posterior_with_rest(pull, precision, slope, event))(rest)

        parts = jax.vmap(part)(points, pulls, rest_means)
        weights = jnp.repeat(logs, parts.log_partition.shape[1])
        return mixed_posterior(Posterior(*(p.reshape(-1, *p.shape[2:]) for p in parts)), weights)

    def _rest(self, label: Array, point: Array, rest_mean: Array, rest_cov: Array) -> Posterior:
        """What the fields that are not integrated say about the label, one row per alternative."""
        if self.affine:
            offset, slope = self._line(point)
            variance = label[1] + slope**2 * rest_cov[0, 0]
            residual = label[0] - offset - slope * rest_mean[0]
            return Posterior(
                _log_normal(residual, variance)[None],
                (slope * residual / variance)[None, None],
                (-(slope**2) / variance)[None, None, None],
            )
        values, events = self._events(point, rest_mean, rest_cov)
        fit = _log_normal(label[0] - values, jnp.broadcast_to(label[1], values.shape))
        return events._replace(log_partition=events.log_partition + fit)

    def _line(self, point: Array) -> tuple[Array, Array]:
        """Offset and slope of the target in the field it is affine in."""
        ends = [jnp.concatenate([point, jnp.full(1, t, point.dtype)]) for t in (0.0, 1.0)]
        at_zero, at_one = (self.structure.jax(end) for end in ends)
        return at_zero, at_one - at_zero

    def _events(self, point: Array, rest_mean: Array, rest_cov: Array) -> tuple[Array, Posterior]:
        """The values that the target takes given the integrated fields, and where it takes them."""
        if self.jumps:
            edges = self._jump_places(point, rest_mean[0], jnp.sqrt(rest_cov[0, 0]))
            ends = jnp.concatenate([edges[:1] - 2.0, edges, edges[-1:] + 2.0])
            centres = (ends[1:, None] + ends[:-1, None]) / 2
            events = interval_posteriors(edges, rest_mean, rest_cov)
        else:
            centres = jnp.asarray(self.groups.representatives(), point.dtype)
            events = self.groups.posteriors(rest_mean, rest_cov)
        values = [self.structure.jax(jnp.concatenate([point, c])) for c in centres]
        return jnp.stack(values), events

    def _jump_places(
        self, point: Array, mean: Float[Array, ""], width: Float[Array, ""]
    ) -> Float[Array, " jumps"]:
        """Where the target jumps along the last field; beyond the end where it does not."""

        def is_above(t: Array) -> Array:
            others = jnp.broadcast_to(point, (len(t), len(point)))
            line = jnp.concatenate([others, (mean + width * t)[:, None]], axis=1)
            return self.structure.kink_surface(JAX, line) > 0

        grid = jnp.linspace(-CUTOFF, CUTOFF, _LINE, dtype=point.dtype)
        above = is_above(grid)
        changes = jnp.where(above[1:] != above[:-1], jnp.arange(_LINE - 1), _LINE)
        place = jnp.sort(changes)[: self.jumps]
        before, low = above[place], grid[place]
        halved = halved_brackets(
            lambda t: is_above(t) != before, low, low + grid[1] - grid[0], _HALVINGS
        )
        beyond = CUTOFF + jnp.arange(1, self.jumps + 1, dtype=point.dtype)
        return mean + width * jnp.where(place < _LINE, halved[1], beyond)

    def label_mixture(self, mean: Vector, cov: Matrix, noise: Float[Array, ""]) -> LabelMixture:
        """What :meth:`posterior` sums up, for all labels at once: one Gaussian per alternative."""
        points, logs, pulls, _, slope, rest_cov, rest_means = self._nodes(mean, cov)
        # What the other fields say pulls the integrated ones through the conditional mean.
        chained = jnp.concatenate([-slope, jnp.eye(len(slope), dtype=mean.dtype)], axis=1)
        pulls = jnp.pad(pulls, ((0, 0), (0, len(slope))))
        if self.affine:
            offset, steepness = jax.vmap(self._line)(points)
            variances = noise + steepness**2 * rest_cov[0, 0]
            rates = (steepness / variances)[:, None] @ chained
            return LabelMixture(
                logs, offset + steepness * rest_means[:, 0], variances, pulls, rates
            )
        centres, events = jax.vmap(lambda z, w: self._events(z, w, rest_cov))(points, rest_means)
        centres = centres.ravel()
        pulls = (pulls[:, None, :] + events.gradient @ chained).reshape(len(centres), -1)
        logs = (logs[:, None] + events.log_partition).ravel()
        return LabelMixture(
            logs, centres, jnp.full_like(centres, noise), pulls, jnp.zeros_like(pulls)
        )

    def label_mean(self, mean: Vector, cov: Matrix) -> Float[Array, ""]:
        """E[y]."""
        law = self.label_mixture(mean, cov, jnp.zeros((), mean.dtype))
        return jnp.exp(law.logs) @ law.centres


def _log_normal(residual: Array, variance: Array) -> Array:
    return -(residual**2 / variance + jnp.log(2 * np.pi * variance)) / 2


#: Nodes on each field, by the number of fields integrated: each level is about 1.5 times finer.
LEVELS = {
    1: (64, 128, 256, 512, 1024, 2048),
    2: (24, 36, 54, 80, 120, 160),
    3: (12, 18, 24, 32, 40),
}
#: Aim for the relative error of g_out.
TOLERANCE = 1e-3
#: Overlaps at which the channel is probed: of every direction, or of their sum alone.
_OVERLAPS = ((0.1, False), (0.9, False), (0.9, True))
_PROBES = 48


def resolved_posterior_rule(
    structure: ChannelForm, integrated: int, noise: float, **rest: Any
) -> tuple[Quadrature, float]:
    """The coarsest rule that agrees with the next finer one, and by how much they differ.

    ``rest`` says what is done in closed form, as fields of :class:`Quadrature`. The error is the
    root mean square difference of g_out over labels drawn from the model, at
    several overlaps, divided by the root mean square of g_out.
    """
    levels = LEVELS[integrated]
    if rest["jumps"]:
        # The events are smooth in the other fields: half as many nodes may do.
        levels = (levels[0] // 2, *levels)
    cores = [Quadrature(structure, (count,) * integrated, **rest) for count in levels]
    probes = [_labels_at_overlap(structure, *overlap, noise) for overlap in _OVERLAPS]

    def gradients(core: Quadrature) -> list[np.ndarray]:
        return [np.asarray(_label_gradients(core, *probe)) for probe in probes]

    error, finer = np.inf, gradients(cores[0])
    for coarse, fine in itertools.pairwise(cores):
        coarser, finer = finer, gradients(fine)
        error = max(
            float(np.sqrt(np.mean((a - b) ** 2) / np.mean(b**2)))
            for a, b in zip(coarser, finer, strict=True)
        )
        if error < TOLERANCE:
            return coarse, error
    return cores[-1], error


def _labels_at_overlap(
    structure: ChannelForm, overlap: float, only_sum: bool, noise: float
) -> tuple[Any, Any, Any]:
    """Labels with their noise, omegas, and the covariance of the fields, at an overlap."""
    random = np.random.default_rng(4)
    rank, dims = structure.target.rank, structure.matrix.shape[1]
    learned = np.zeros((dims, dims))
    learned[:rank, :rank] = overlap / rank if only_sum else overlap * np.eye(rank)
    eye = np.eye(dims)
    root, rest = (np.linalg.cholesky(c + 1e-12 * eye) for c in (learned, eye - learned))
    known = random.normal(size=(_PROBES, dims)) @ root.T
    v = known + random.normal(size=(_PROBES, dims)) @ rest.T
    y = structure.numpy(v @ structure.matrix.T) + np.sqrt(noise) * random.normal(size=_PROBES)
    cov = structure.matrix @ (eye - learned) @ structure.matrix.T
    return np.stack([y, np.full_like(y, noise)], axis=1), known @ structure.matrix.T, cov


@in_float64
@functools.partial(jax.jit, static_argnums=0)
def _label_gradients(core: Quadrature, labels: Array, omega: Array, cov: Array) -> Array:
    """g_out of every label."""
    block = max(1, 2**21 // core.size)
    given = (labels, omega)
    return jax.lax.map(
        lambda pair: core.posterior(pair[0], pair[1], cov).gradient, given, batch_size=block
    )
