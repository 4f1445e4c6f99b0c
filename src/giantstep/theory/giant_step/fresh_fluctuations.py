r"""How overlaps fluctuate at finite d over several steps with fresh batches.

The fluctuation :math:`\delta M` of the overlaps, of order :math:`d^{-1/2}`, takes part in the next
step: the mean move responds to it, and the batch adds noise,

.. math::
    \delta M' = (I + J)\,\delta M + \xi,\qquad
    J_{jk,lm} = E\big[h_{*k} h_{*m}\,\partial D_j/\partial h_l\big],\qquad
    \mathrm{Cov}(\xi_{jk}, \xi_{lm}) = \tfrac1n E[D_j D_l h_{*k} h_{*m}],

.. math::
    J_{jk,lm} = -\frac{\eta}{p} a_j a_l E[\sigma'(h_j)\sigma'(h_l) h_{*k} h_{*m}]
    + \delta_{jl}\,\eta a_j E[(y-f)\,\sigma''(h_j) h_{*k} h_{*m}],

to first order in :math:`\delta M` and exactly for directions that have not been learned. The first
term is there for the square loss only: the output of the network carries the fluctuation already,
and the residual pushes it back.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag

from giantstep.numerics.linear_algebra import mean_product
from giantstep.theory.giant_step.fresh_fields import FreshFields, FreshLayer, Sample

#: Fields evaluated for the point masses of sigma'' at kinks.
KINK_FIELDS = 1 << 21
FEWEST_PAIRS = 1 << 9


class Fluctuation:
    """Covariance of the overlaps' fluctuations: for each mode a matrix over (kind, direction)."""

    def __init__(self, fields: FreshFields, dim: float) -> None:
        directions = np.eye(fields.rank) / dim
        self.fields = fields
        self.covariances = [np.kron(mode.start, directions) for mode in fields.modes]

    def step(self, layer: FreshLayer, sample: Sample, samples: float) -> None:
        """C <- (I + J) C (I + J)^T + E[D D h h]/n."""
        fields = self.fields
        curvature = _mean_curvature(fields, layer, sample)
        known = (sample.latent, sample.weights)
        for number, mode in enumerate(fields.modes):
            slopes = mode.fourth_moments(mode.of(sample.slopes), *known)
            noise = mode.fourth_moments(mode.of(sample.moves), *known)
            response = block_diag(*curvature[mode.kinds])
            if fields.has_output:
                coupling = np.broadcast_to(mode.coupling, len(curvature[mode.kinds]))
                response -= slopes * np.repeat(coupling, fields.rank) / fields.step_size
            moved = np.eye(len(response)) + response
            noise += fields.problem.noise * slopes
            self.covariances[number] = moved @ self.covariances[number] @ moved.T + noise / samples

    def scale(self, lengths: Float[np.ndarray, " kinds"]) -> None:
        """Divide every row of weights by the length of its kind."""
        for number, mode in enumerate(self.fields.modes):
            each = np.repeat(lengths[mode.kinds], self.fields.rank)
            self.covariances[number] = self.covariances[number] / np.outer(each, each)

    def of_kinds(self) -> Float[np.ndarray, "kinds r r"]:
        """Covariance of the overlaps of one neuron of each kind."""
        rank = self.fields.rank
        total = np.zeros((len(self.fields.kinds.family), rank, rank))
        for mode, covariance in zip(self.fields.modes, self.covariances, strict=True):
            size = len(covariance) // rank
            blocks = covariance.reshape(size, rank, size, rank)
            total[mode.kinds] += mode.share * np.einsum("ikim->ikm", blocks)
        return total


def _mean_curvature(
    fields: FreshFields, layer: FreshLayer, sample: Sample
) -> Float[np.ndarray, "kinds r r"]:
    """eta a_i E[(y - f) sigma''(h_i) h_k h_m] for each kind i; kinks count as point masses."""
    rank = fields.rank
    found = np.zeros((len(fields.kinds.family), rank, rank))
    if fields.activation.level_slopes is None:
        second = fields.activation.numpy_second_derivative(sample.fields)
        mean = fields.modes[0].of(sample.residual * second)
        pairs = (sample.latent[:, None] * sample.latent).reshape(rank**2, -1)
        found += mean_product(mean, pairs, sample.weights).reshape(found.shape)
    for kind in range(len(found)):
        for kink, jump in fields.activation.slope_jumps:
            found[kind] += jump * _fluctuation_at_field(fields, layer, sample, kind, kink)
    return fields.step_size * fields.kinds.readout[:, None, None] * found


def _fluctuation_at_field(
    fields: FreshFields, layer: FreshLayer, sample: Sample, kind: int, value: float
) -> Float[np.ndarray, "r r"]:
    """E[(y - f) delta(h_i + b_i - value) h_k h_m], for the first neuron of a kind.

    Every Gaussian variable v loses Cov(v, h_i)/Var(h_i) times the distance of h_i from the value,
    which makes it a sample of the law given the value.
    """
    kinds = fields.kinds
    overlap = layer.overlaps[kind]
    with_fields = (layer.overlaps @ overlap)[kinds.of_neuron]
    for mode, gram in zip(fields.modes, layer.grams, strict=True):
        with_fields = with_fields + mode.covariance_with(kind, gram)
    neuron = int(np.argmax(kinds.of_neuron == kind))
    variance = with_fields[neuron]
    # The samples that can be afforded, pairs x, -x together: they are half the samples apart.
    half, each = sample.latent.shape[1] // 2, 2 * kinds.width * len(kinds.family)
    pairs = np.arange(min(half, max(KINK_FIELDS // each, FEWEST_PAIRS)))
    kept = np.concatenate([pairs, pairs + half])
    distance = (sample.fields[neuron, kept] - value) / variance
    latent = sample.latent[:, kept] - overlap[:, None] * distance
    seen = sample.fields[:, kept]
    if fields.has_output:
        seen = seen - with_fields[:, None] * distance
    residual = fields.residual(fields.labels(latent, sample.inner[:, kept]), seen)
    offset = value - kinds.biases[kind]
    density = np.exp(-(offset**2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    return density * mean_product(residual * latent, latent, sample.weights[kept])
