"""Giant steps with fresh batches in the limit d to infinity: a recursion on overlaps alone."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.activations.activation import Activation
from giantstep.problem import Problem

#: Gaussian fields sampled for the expectations, all neurons counted.
FIELDS = 20_000_000
MOST_SAMPLES = 400_000


class OverlapPath(NamedTuple):
    """rms cosines (steps + 1, r) of the neurons with the directions, and their sampling error."""

    cosines: Float[np.ndarray, "steps1 r"]
    error: Float[np.ndarray, "steps1 r"]


def giant_step_overlaps(
    problem: Problem,
    activation: Activation,
    *,
    steps: int,
    step_size: float,
    samples_ratio: float,
    readout: Float[np.ndarray, " p"],
    gram: Float[np.ndarray, "p p"],
    biases: Float[np.ndarray, " p"],
    loss: str = "square",
    normalise: bool = False,
    dim: float = np.inf,
    seed: int = 0,
) -> OverlapPath:
    r"""Overlaps of p neurons with the target's directions after every step, as d goes to infinity.

    The weights matter only through :math:`M = W W_*^T` and :math:`Q = W W^T`; with fresh batches
    of :math:`n = \alpha d` samples these concentrate, and one step is

    .. math::
        M' = M + E[D h_*^T],\qquad
        Q' = Q + E[D h^T] + E[h D^T] + E[Dx^T]E[xD^T] + \tfrac1\alpha E[DD^T],

    with :math:`D_j = \eta a_j (y - f)\sigma'(h_j + b_j)` and (h_*, h) centred Gaussian fields of
    covariance [[I, M^T], [M, Q]]. The last term is the noise of a finite batch: it is what a
    neuron moves outside the space spanned so far.

    Symbols: eta ``step_size``, alpha ``samples_ratio``, a ``readout``, b ``biases``, Q at the
    start ``gram``. The start has M = 0, so that a target of leap above 1 stays unlearned. With
    a finite ``dim`` the fluctuations of M, of variance 1/d at the start and E[D_j^2 h_k^2]/n more
    at each step, are added to the squares: they are what a simulation shows for a direction that
    is not learned.

    Assumes: isotropic Gaussian inputs, fresh batches, n proportional to d, fixed width; the
    expectations are taken over 1e5 to 4e5 sampled fields, and ``error`` is half the difference
    between two halves of them.
    Status: theorem.
    References: Dandi et al. 2023, arXiv:2305.18270 (staircase); Bolthausen conditioning.

    >>> from giantstep.activations.activation import activation
    >>> path = giant_step_overlaps(
    ...     Problem.of("h1"), activation("relu"), steps=1, step_size=2.0, samples_ratio=4.0,
    ...     readout=np.array([1.0, -1.0]), gram=np.ones((2, 2)), biases=np.zeros(2))
    >>> bool(abs(path.cosines[1, 0] - 0.6325) < 0.005)
    True
    """
    arguments = (activation, steps, step_size, samples_ratio, readout, biases, loss, normalise, dim)
    halves = [
        _path(problem, gram, np.random.default_rng([seed, half]), *arguments) for half in (0, 1)
    ]
    return OverlapPath((halves[0] + halves[1]) / 2, np.abs(halves[0] - halves[1]) / 2)


def _path(
    problem: Problem,
    gram: np.ndarray,
    generator: np.random.Generator,
    activation: Activation,
    steps: int,
    step_size: float,
    samples_ratio: float,
    readout: np.ndarray,
    biases: np.ndarray,
    loss: str,
    normalise: bool,
    dim: float,
) -> np.ndarray:
    target, rank, width = problem.target, problem.target.rank, len(readout)
    count = min(MOST_SAMPLES, FIELDS // width) // 2
    frame = np.concatenate([np.zeros((width, rank)), _square_root(gram)], axis=1)
    fluctuation = np.full((width, rank), 1 / dim)
    cosines = [np.full(rank, dim**-0.5)]
    for _ in range(steps):
        half = generator.standard_normal((count // 2, frame.shape[1]))
        # Pairs x, -x remove every odd moment's sampling noise.
        fields = np.concatenate([half, -half])
        noise = generator.standard_normal((len(fields), target.noises))
        y = target.numpy(fields[:, :rank], noise)
        h = fields @ frame.T + biases
        output = activation.numpy(h) @ readout / width if loss == "square" else 0.0
        # A label noise of variance V adds V to E[(y - f)^2], and nothing to the means.
        slope = step_size * readout * activation.numpy_derivative(h)
        moves = slope * (y - output)[:, None]
        mean_move = moves.T @ fields / len(fields)
        spread = (moves.T @ moves + problem.noise * slope.T @ slope) / len(fields)
        frame = np.concatenate([frame + mean_move, _square_root(spread / samples_ratio)], axis=1)
        fluctuation += (moves**2).T @ fields[:, :rank] ** 2 / (len(fields) * samples_ratio * dim)
        squared_norms = np.sum(frame**2, axis=1, keepdims=True)
        if normalise:
            frame, fluctuation = frame / np.sqrt(squared_norms), fluctuation / squared_norms
            squared_norms = np.ones_like(squared_norms)
        overlaps, rest = frame[:, :rank], frame[:, rank:]
        cosines.append(np.sqrt(np.mean((overlaps**2 + fluctuation) / squared_norms, axis=0)))
        frame = np.concatenate([overlaps, np.asarray(np.linalg.qr(rest.T, mode="r")).T], axis=1)
    return np.stack(cosines)


def _square_root(matrix: np.ndarray) -> np.ndarray:
    """A factor L with L L^T = matrix, also where duplicated neurons make it singular."""
    values, vectors = np.linalg.eigh(matrix)
    return vectors * np.sqrt(np.clip(values, 0.0, None))
