"""Several giant steps on batches of n = d^kappa: each step amplifies the overlap it was given."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_moments, target_tensors
from giantstep.settings.giant_step import GiantStep
from giantstep.settings.neuron_readouts import readout_setting_by_neuron
from giantstep.theory.giant_step.one_step_overlap import (
    MANY,
    excess_along,
    mean_step,
    overlap_series,
    overlap_tensor_entries,
)

#: Neurons whose paths are drawn for one set, and the sets whose scatter is the error.
NEURONS, SETS = 1 << 12, 8
#: Dimensions at which prefactors are read off; their difference is what the powers leave out.
FAR, FARTHER = 1e30, 1e40
#: Hermite tensors below this share of the target are those of one without them, in float64.
VANISHING = 1e-10
#: Powers of d nearer to zero than this are zero.
NO_POWER = 1e-9


def overlap_powers(
    target: Target,
    activation: Activation,
    *,
    steps: int,
    step_power: float | Sequence[float],
    samples_power: float | Sequence[float],
    normalise: bool = True,
    degree: int = 8,
) -> Float[np.ndarray, "steps1 r"]:
    r"""Powers of d of the cosines with each direction, before the first step and after each.

    Let a row be of length :math:`d^\nu` and its cosines of orders :math:`d^{e_k}`, at first
    :math:`e_k = -1/2`. With :math:`\eta\sim d^s`, :math:`n\sim d^q` a step leaves projections and
    a length of orders

    .. math::
        P_k &= \max\{\nu + e_k,\ L + e_k,\ s - q/2,\ s + e(I) - e_k\
            [k\in I,\ \mu_{|I|}C_I\ne0]\},\\
        \nu' &= \max\{\nu,\ L,\ s + (1-q)/2,\ P_1,\dots,P_r\},\qquad e_k' = P_k - \nu',

    where :math:`e(I) = \sum_{i\in I}e_i` over the indices I of an entry of the target's Hermite
    tensors, and :math:`L = \max\{s + e(I) : \mu_{|I|+2}C_I\ne0\}` is the move along the row
    itself. A cosine stays where its power is 0.

    Symbols: s ``step_power``, q ``samples_power``, one number or one per step; with ``normalise``
    every :math:`\nu` is 0.

    Assumes: as :func:`amplified_overlaps`; terms of equal order do not cancel.
    Status: theorem for one step; heuristic for more.
    References: Dandi et al. 2023, arXiv:2305.18270 (one step).

    >>> from giantstep.language.activations.activation import activation
    >>> overlap_powers(
    ...     Target("He2(h1)"), activation("relu"), steps=3, step_power=0.25, samples_power=1.5
    ... ).ravel().tolist()
    [-0.5, -0.25, 0.0, 0.0]
    """
    degrees = activation.degrees(degree + 2)
    least = VANISHING * math.sqrt(target_moments(target).second_moment)
    entries = map(overlap_tensor_entries, target_tensors(target, degree))
    terms = [indices for indices, entry in itertools.chain(*entries) if abs(entry) > least]
    powers, length = [np.full(target.rank, -0.5)], 0.0
    schedule = (np.broadcast_to(power, steps) for power in (step_power, samples_power))
    for s, q in zip(*schedule, strict=True):
        e = powers[-1]
        sizes = {indices: s + sum(e[list(indices)]) for indices in terms}
        along = [size for indices, size in sizes.items() if len(indices) + 2 in degrees]
        kept = max([length, *along])
        projected = np.maximum(e + kept, s - q / 2)
        for indices, size in sizes.items():
            for k in set(indices if len(indices) in degrees else ()):
                projected[k] = max(projected[k], size - e[k])
        grown = max(kept, s + (1 - q) / 2, float(np.max(projected)))
        found = projected - grown
        powers.append(np.where(found > -NO_POWER, 0.0, found))
        length = 0.0 if normalise else grown
    return np.stack(powers)


def small_batch_overlaps(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Overlaps at a dimension or in the limit, and how they scale with d; errors of both."""
    _check_covered(settings, sigma)
    powers, prefactors, off = _overlap_scaling(problem, settings.replace(dim=None), sigma)
    cosines, errors = np.where(powers == 0, prefactors, 0.0), np.where(powers == 0, off, 0.0)
    if settings.dim is not None:
        cosines, errors = amplified_overlaps(problem, settings, sigma, settings.dim)
    metrics = {"overlap": cosines, "overlap_power": powers, "overlap_prefactor": prefactors}
    return metrics, {"overlap": errors, "overlap_prefactor": off}


@functools.lru_cache(maxsize=32)
def _overlap_scaling(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Powers of d, what stands before them, and how far off that may be."""
    powers = overlap_powers(
        problem.target,
        sigma,
        steps=settings.steps,
        step_power=[size.power for size in settings.step_size.over(settings.steps)],
        samples_power=[size.power for size in settings.samples.over(settings.steps)],
        normalise=settings.normalise,
    )
    (far, _), (farther, scatter) = (
        amplified_overlaps(problem, settings, sigma, dim) for dim in (FAR, FARTHER)
    )
    prefactors = farther * FARTHER**-powers
    errors = scatter * FARTHER**-powers + np.abs(prefactors - far * FAR**-powers)
    return powers, prefactors, errors


def _check_covered(settings: GiantStep, sigma: Activation) -> None:
    given = f"step_size = {settings.step_size}, samples = {settings.samples}"
    probes = np.array([-1.7, -0.4, 0.6, 2.1])
    homogeneous = np.allclose(sigma.numpy(2 * probes), 2 * sigma.numpy(probes))
    needs = {
        "--loss correlation": settings.loss == "correlation",
        "--batches fresh": settings.batches == "fresh",
        "--biases none": settings.biases == "none",
        "--normalise, or relu": settings.normalise or homogeneous,
    }
    missing = ", ".join(remedy for remedy, there in needs.items() if not there)
    if missing:
        raise NoTheory(
            f"{given}: several steps on batches in powers of d are predicted with {missing}; "
            "use that, a plain step size with samples such as 8d, or simulate"
        )


def amplified_overlaps(
    problem: Problem, settings: GiantStep, sigma: Activation, dim: float
) -> tuple[Float[np.ndarray, "steps1 r"], Float[np.ndarray, "steps1 r"]]:
    r"""Root mean square over the neurons of a network of their cosines, its mean over networks.

    A neuron is known by its length :math:`\rho` and its cosines m. One step of size eta makes

    .. math::
        \rho' m' &= (\rho + \eta a\,\ell(m))\,m + \eta a\,s(m)
            + \eta a\,\sqrt{v_k(m)/n}\;\xi,\\
        \rho'^2 &= |\rho' m'|^2 + (1-|m|^2)(\rho + \eta a\,\ell(m))^2
            + \eta^2a^2\,\tfrac{d}{n}\,v(m),

    with s and l as in :func:`~giantstep.theory.giant_step.one_step_overlap.one_step_overlap`,
    :math:`v(m) = E[y^2\sigma'^2]`, of which :math:`v_k` has :math:`h_k^2` beside it, and
    :math:`\xi` normal. Beyond :math:`\eta\sqrt{d/n}\sim1` a first overlap is amplified,
    :math:`m' = A m^{l-1}` with :math:`A = l\mu_l\sqrt{n/(d\,v)}` for :math:`y = He_l`.

    Symbols: eta, n, T and the readouts a in ``settings``, d ``dim``. Returned are the mean and its
    standard error over 8 sets of 4096 neurons, drawn on the sphere.

    Assumes: isotropic Gaussian inputs, fresh batches, correlation loss, and rows put back on the
    sphere or a positively homogeneous activation; norms of the noise concentrate; noise of two
    neurons is as correlated as that of orthogonal rows; targets up to degree 8.
    Status: heuristic.
    References: Dandi et al. 2023, arXiv:2305.18270 (one step).

    >>> from giantstep.language.activations.activation import activation
    >>> settings = GiantStep(
    ...     samples="d^1.5", step_size="2d^0.25", steps=2, width=4, readout="sign",
    ...     loss="correlation", normalise=True)
    >>> mean, _ = amplified_overlaps(Problem.of("He2(h1)"), settings, activation("relu"), 1e5)
    >>> mean.ravel().round(2).tolist()
    [0.0, 0.04, 0.39]
    """
    labels = _Labels(problem, sigma)
    each = np.stack([_mean_overlaps(labels, settings, dim, number) for number in range(SETS)])
    return each.mean(axis=0), each.std(axis=0, ddof=1) / math.sqrt(SETS)


def _mean_overlaps(
    labels: _Labels, settings: GiantStep, dim: float, number: int
) -> Float[np.ndarray, "steps1 r"]:
    """Mean over the networks of one set, after each step."""
    rng = np.random.default_rng([5, number])
    rank, width = labels.rank, int(min(settings.width.at(dim), NEURONS))
    networks, copies = NEURONS // width, 2 if settings.readout == "symmetric-sign" else 1
    # Twins of a symmetric start have the same row, and at first the same noise.
    own = (networks, width // copies, rank)
    readouts = _readouts(settings, rng, (networks, width))[..., None]
    cosines = np.tile(_start_overlaps(rng.standard_normal(own), dim, rng), (1, copies, 1))
    length = np.ones((networks, width, 1))
    path = [_mean_of_roots(cosines)]
    sizes = settings.step_size.over(settings.steps), settings.samples.over(settings.steps)
    for step_size, batch in zip(*sizes, strict=True):
        step, samples = step_size.at(dim) * readouts, batch.at(dim)
        signal, along, power, power_along = labels.at(cosines)
        noise = np.tile(math.sqrt(1 - labels.common) * rng.standard_normal(own), (1, copies, 1))
        noise += math.sqrt(labels.common) * rng.standard_normal((networks, 1, rank))
        kept = length + step * along
        moved = kept * cosines + step * (signal + np.sqrt(power_along / samples) * noise)
        orthogonal = 1 - np.sum(cosines**2, axis=-1, keepdims=True)
        outside = (power * dim - np.sum(power_along, axis=-1, keepdims=True)) / samples
        squared = np.sum(moved**2, axis=-1, keepdims=True) + orthogonal * kept**2
        grown = np.sqrt(squared + step**2 * np.maximum(outside, 0.0))
        cosines, length = moved / grown, np.ones_like(grown) if settings.normalise else grown
        path.append(_mean_of_roots(cosines))
    return np.stack(path)


class _Labels:
    """What a batch pulls a neuron with, in the mean and in its noise, at any cosines."""

    def __init__(self, problem: Problem, sigma: Activation, degree: int = 8) -> None:
        target, self.rank = problem.target, problem.target.rank
        slope = Activation("", lambda z: sigma.numpy_derivative(z) ** 2, np.asarray, sigma.kinks)
        self._tensors, self._mu = target_tensors(target, degree), sigma.hermite(degree + 1)
        self._squares = target_tensors(Target(f"({target.text})**2"), degree)
        self._slopes = slope.hermite(degree)
        self._noise, self._excess = problem.noise, excess_along(target)
        #: The share of the noise that orthogonal rows have in common.
        self.common = float(self._mu[1] ** 2 / sigma.derivative_second_moment)

    def at(self, cosines: Float[np.ndarray, "networks p r"]) -> tuple[np.ndarray, ...]:
        """s, l, v and v_k; the last to leading order, since noise counts at small cosines alone."""
        m = cosines.reshape(-1, cosines.shape[-1])
        signal, along = mean_step(self._tensors, self._mu, m)
        power = overlap_series(self._squares, self._slopes, m) + self._noise * self._slopes[0]
        shape = (*cosines.shape[:2], -1)
        power = np.maximum(power, 0.0).reshape(shape)
        power_along = power + self._slopes[0] * self._excess
        return signal.reshape(shape), along.reshape(shape), power, np.maximum(power_along, 0.0)


def _readouts(settings: GiantStep, rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:
    if settings.readout == "normal":
        return rng.standard_normal(shape)
    fixed = readout_setting_by_neuron(settings.readout, shape[1])
    if fixed is not None:
        return np.broadcast_to(fixed, shape)
    values, shares = settings.readout_support() or ((1.0,), (1.0,))
    return rng.choice(values, shape, p=np.asarray(shares) / sum(shares))


def _start_overlaps(drawn: np.ndarray, dim: float, rng: np.random.Generator) -> np.ndarray:
    """Projections of uniform unit vectors on the target's directions, from normal ones."""
    if dim >= MANY:
        return drawn / math.sqrt(dim)
    others = 2 * rng.standard_gamma((dim - drawn.shape[-1]) / 2, (*drawn.shape[:2], 1))
    return drawn / np.sqrt(others + np.sum(drawn**2, axis=-1, keepdims=True))


def _mean_of_roots(cosines: np.ndarray) -> Float[np.ndarray, " r"]:
    """The root mean square over the neurons of each network, averaged over networks."""
    return np.sqrt(np.mean(cosines**2, axis=1)).mean(axis=0)
