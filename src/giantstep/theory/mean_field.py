"""The mean-field limit: particles, one for each kind of neuron, in the flow of the risk."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.numerics.cost import Cost
from giantstep.numerics.quadrature import normal_points, panels_at_cuts, split_gaussian
from giantstep.settings.mean_field import MeanField
from giantstep.theory.online_sgd.latent_rule import check_isotropic, motion_rule

#: Particles that are followed at most, and norms that are on their way to infinity.
MOST_PARTICLES, DIVERGED = 2000, 1e6
#: The rule for the rest of a field: its range, panels, and nodes of each.
CUTOFF, PANELS, PANEL_ORDER = 7.0, 7, 8
#: Arrays over particles, directions and rests that a step holds at once, without and with kinks,
#: and multiplications that it takes for each of their entries.
SMOOTH_ARRAYS, KINKED_ARRAYS, STEP_OPERATIONS = 9, 18, 450


class Particles(NamedTuple):
    """Overlaps m_i with the directions, the length rho_i of the rest, and readouts a_i.

    ``risk`` is E(g - f)^2 of the network that they form.
    """

    overlaps: Float[np.ndarray, "p r"]
    rests: Float[np.ndarray, " p"]
    readout: Float[np.ndarray, " p"]
    risk: float


def limit_particle_path(problem: Problem, settings: MeanField) -> list[Particles]:
    r"""The particles at each of the times, by steps of the size that the settings give.

    .. math::
        \dot m_i = a_i E\big[(y-f)\,h_*\,E_z\sigma'(m_i h_* + \rho_i z)\big],\qquad
        \dot\rho_i = a_i E\big[(y-f)\,E_z[z\,\sigma'(m_i h_* + \rho_i z)]\big],

    with :math:`f = \frac1p\sum_i a_i E_z\sigma(m_i h_* + \rho_i z)`.

    Symbols: steps of ``step`` replace the derivatives; the start is a random unit row, whose
    overlaps are N(0, 1/d), or zero without a dimension.

    Assumes: isotropic Gaussian inputs, d to infinity, then p, at most 3 directions and noises.
    Status: theorem in the limit of a wide network for a given law of the start.
    References: Mei et al. 2018, arXiv:1804.06561.

    >>> settings = MeanField(activation="erf2", times="5", step=0.5, dim=10**6)
    >>> round(limit_particle_path(Problem.of("tanh(2*h1)"), settings)[0].risk, 4)
    0.1034
    """
    sigma, target = activation(settings.activation), problem.target
    rule = _limit_rule(problem)
    latent, weights = rule.nodes[:, : target.rank], rule.weights
    labels = np.broadcast_to(target.numpy(latent, rule.nodes[:, target.rank :]), weights.shape)
    half = _particles(settings) // 2
    count = 1 << (half - 1).bit_length()
    drawn = normal_points(count, target.rank, np.random.default_rng(0))[:half]
    overlaps = drawn * (0.0 if settings.dim is None else settings.dim**-0.5)
    rests = np.sqrt(np.maximum(1 - np.sum(overlaps**2, axis=1), 0.0))
    overlaps, rests = np.tile(overlaps, (2, 1)), np.tile(rests, 2)
    readout = np.repeat([1.0, -1.0], half)
    found, done = [], 0
    for stop in settings.step_counts:
        while True:
            fields = overlaps @ latent.T
            nodes, masses = _limit_rest_rule(sigma.kinks, fields, rests)
            inside = fields[:, :, None] + rests[:, None, None] * nodes
            output = readout @ np.sum(sigma.numpy(inside) * masses, axis=2) / len(readout)
            residual = weights * (labels - output)
            if done == stop:
                risk = float(weights @ (labels - output) ** 2)
                found.append(Particles(overlaps, rests, readout, risk))
                break
            slopes = sigma.numpy_derivative(inside)
            pull = settings.step * readout[:, None] * residual
            overlaps = overlaps + (pull * np.sum(slopes * masses, axis=2)) @ latent
            rests = rests + np.sum(pull * np.sum(slopes * masses * nodes, axis=2), axis=1)
            done += 1
            if not np.max(np.abs(overlaps)) + np.max(np.abs(rests)) < DIVERGED:
                raise NoTheory(
                    f"step = {settings.step:g}: the particles diverge before time "
                    f"{done * settings.step:g}; lower --step"
                )
    return found


_limit_rule = functools.partial(motion_rule, label_signs=False, noise_axis=False, fine=True)


def _particles(settings: MeanField) -> int:
    # Without a dimension all begin at the same place: one particle of each sign will do.
    particles = settings.even_width(settings.dim) if settings.dim else 2
    if particles > MOST_PARTICLES:
        raise NoTheory(f"width = {settings.width}: at most {MOST_PARTICLES} particles are followed")
    return particles


def cost(problem: Problem, settings: MeanField) -> Cost:
    """Fields of all particles at all nodes, in every step."""
    kinks, steps = len(activation(settings.activation).kinks), settings.step_counts[-1]
    particles, nodes = _particles(settings), len(_limit_rule(problem).weights)
    entries = float(particles * nodes * (PANELS + kinks) * PANEL_ORDER)
    return Cost(
        8 * entries * (KINKED_ARRAYS if kinks else SMOOTH_ARRAYS),
        STEP_OPERATIONS * entries * max(steps, 1),
        f"width = {settings.width}, {steps} steps of {settings.step:g}",
        "lower --width, raise --step or shorten --times",
    )


def _limit_rest_rule(
    kinks: Sequence[float], fields: np.ndarray, rests: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights for z, in panels that end where m.h + rho z meets a kink."""
    if not kinks:
        return split_gaussian((), PANEL_ORDER, CUTOFF, 2 * CUTOFF / PANELS)
    lengths = np.where(np.abs(rests) > 1e-12, rests, 1e-12)[:, None, None]
    cuts = (np.asarray(kinks) - fields[:, :, None]) / lengths
    nodes, lengths = panels_at_cuts(cuts, PANEL_ORDER, PANELS, CUTOFF)
    return nodes, lengths * np.exp(-(nodes**2) / 2) / np.sqrt(2 * np.pi)


def predict(problem: Problem, settings: MeanField) -> Prediction:
    """Overlaps, norms and the risk of a wide network along the time of its flow.

    Metrics: ``overlap`` (times, r), the root mean square cosine; ``norm`` and ``test_error``.
    ``arrays`` has the signed ``cosines`` and the ``norms`` of all particles. With a dimension the
    errors are those of the gradients of a run, which are means over its samples.

    Assumes: as :func:`limit_particle_path`.
    Status: theorem in the limit, heuristic where a dimension is given.
    References: Mei et al. 2018, arXiv:1804.06561.

    >>> law = predict(Problem.of("h1"), MeanField(activation="tanh", times="0,1", width=2))
    >>> [round(float(cosine), 3) for cosine in law.metrics["overlap"][:, 0]]
    [0.0, 0.465]
    """
    check_isotropic(problem, "the mean-field limit is predicted")
    path = limit_particle_path(problem, settings)
    norms = [np.sqrt(np.sum(at.overlaps**2, axis=1) + at.rests**2) for at in path]
    cosines = [at.overlaps / norm[:, None] for at, norm in zip(path, norms, strict=True)]
    metrics = {
        "overlap": np.stack([np.sqrt(np.mean(own**2, axis=0)) for own in cosines]),
        "norm": np.array([np.sqrt(np.mean(norm**2)) for norm in norms]),
        "test_error": np.array([at.risk for at in path]),
    }
    errors: dict[str, np.ndarray] = {}
    if settings.dim:
        # A batch of n samples turns all rows alike by |v|^2 = (d/n) E[(y-f)^2] in a unit of time
        # and for a step of 1, slopes of sigma counted as 1.
        batch = settings.samples.at(settings.dim)
        passed = settings.step**2 * np.array(settings.step_counts)
        noisy = passed * settings.dim / batch * (metrics["test_error"] + problem.noise)
        errors = {
            "test_error": noisy,
            "norm": noisy,
            "overlap": metrics["overlap"] * noisy[:, None],
        }
    status: Status = "heuristic" if settings.dim else "theorem"
    note = f"the limit of a wide network in steps of {settings.step:g}, d to infinity first"
    return Prediction.of(
        settings,
        metrics,
        status,
        ("Mei et al. 2018, arXiv:1804.06561",),
        (note,),
        errors=errors,
        arrays={"cosines": np.stack(cosines), "norms": np.stack(norms)},
    )
