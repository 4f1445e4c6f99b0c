"""Overlaps of the rows with the target's directions: which theory covers which settings."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.giant_step.few_neurons import (
    few_neurons_errors,
    few_neurons_ridge,
    has_few_neurons,
)
from giantstep.theory.giant_step.fresh_batches import giant_step_overlaps
from giantstep.theory.giant_step.neuron_kinds import (
    VALUES_FOR_LAWS,
    NeuronKinds,
    overlaps_by_neuron,
)
from giantstep.theory.giant_step.one_step_overlap import one_step_overlap
from giantstep.theory.giant_step.reused_batch import reused_batch_two_steps
from giantstep.theory.giant_step.risk.over_sizes import steps_of
from giantstep.theory.giant_step.risk.pencil import Pencil
from giantstep.theory.giant_step.small_batches import overlap_powers, small_batch_overlaps
from giantstep.theory.giant_step.start_law import bias_nodes, readout_blocks, readout_nodes
from giantstep.theory.learnability.staircase import predicted_subspaces

#: Where a size is so large that every correction in 1/d is below float64's resolution.
LIMIT_DIM = 1e18
#: Errors of quadrature below this are those of float64 arithmetic.
RESOLUTION = 1e-12
#: Steps that the recursion follows, at about a tenth of a second each.
MOST_STEPS = 300
#: Highest Hermite degree in which directions are looked for.
DEGREE = 8


class Overlaps(NamedTuple):
    """Metrics of the rows, how far off they may be, their status, and what a reader must know.

    ``overlap`` has the cosines before the first step and after each; beside it is what else the
    same recursion says. ``in_spaces``: whether the subspaces of fresh batches of order d hold.
    """

    metrics: dict[str, Any]
    errors: dict[str, Any]
    status: Status
    notes: list[str]
    arrays: Mapping[str, np.ndarray] = MappingProxyType({})
    in_spaces: bool = True


def _is_overlap_in_powers(settings: GiantStep) -> bool:
    """Whether batches are not in proportion to d, or steps of a fixed width not of order 1."""
    batches, sizes = settings.samples.over(settings.steps), settings.step_size.over(settings.steps)
    growing = settings.width.power == 0 and any(size.power != 0 for size in sizes)
    return growing or any(batch.power != 1 for batch in batches)


@functools.lru_cache(maxsize=4)
def predicted_overlaps(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    """The overlaps of the settings, by the theory that covers them.

    Assumes: isotropic Gaussian inputs, or for wide networks a spike along h1; see the function
        that each case calls.
    Status: theorem in the limit of large d at a given width; heuristic else.
    References: Dandi et al. 2023, arXiv:2305.18270; Dandi et al. 2024, arXiv:2402.03220.

    >>> from giantstep.language.activations.activation import activation
    >>> settings = GiantStep(samples="4d", step_size=2)
    >>> found = predicted_overlaps(Problem.of("h1"), settings, activation("relu"))
    >>> found.metrics["overlap"].round(4).tolist(), found.status
    ([[0.0], [0.6325]], 'theorem')
    """
    rank = problem.target.rank
    if settings.steps == 0:
        start = np.full((1, rank), _start_overlap(settings))
        return Overlaps({"overlap": start}, {"overlap": 0 * start}, "theorem", [])
    if is_two_steps(problem, settings):
        return _two_steps(problem, settings, sigma)
    first = None
    silent_start = settings.loss == "correlation" or settings.readout == "symmetric-sign"
    if problem.inputs.spike is None and (silent_start or settings.width.power > 0):
        residual = problem
        if not silent_start:
            # A wide network's output at the start is a constant, E[a] E[sigma(z + b)], up to
            # O(p^-1/2): labels are residuals of it.
            values, fractions = readout_blocks(settings)
            constant = float(fractions @ values) * sum(
                weight * float(sigma.shifted(bias).hermite(0)[0])
                for bias, weight in bias_nodes(settings)
            )
            if abs(constant) >= 1e-12:
                target = Target(f"{problem.target.text} - ({constant!r})")
                residual = Problem(target, problem.noise, problem.inputs)
        first = _one_step(residual, settings, sigma)
    # One neuron's law is not enough for a fit of a few, or for a mean over narrow networks.
    alone = _is_overlap_in_powers(settings) or settings.width.power > 0
    alone = alone or not (has_few_neurons(settings) or len(NeuronKinds.draws(settings)) > 1)
    if settings.steps == 1 and first is not None and alone:
        return first
    return _many_steps(problem, settings, sigma, first)


def _start_overlap(settings: GiantStep) -> float:
    """A random unit vector has a cosine of rms d^-1/2 with any direction; 0 in the limit."""
    return 0.0 if settings.dim is None else settings.dim**-0.5


def _one_step(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    dim = settings.dim or LIMIT_DIM
    (samples,), (step_size,) = settings.samples.over(1), settings.step_size.over(1)
    cosine, coarse = (
        one_step_overlap(
            problem,
            sigma,
            step_size=step_size.at(dim),
            samples=samples.at(dim),
            dim=dim,
            readout=None if settings.readout == "normal" else readout_nodes(settings),
            biases=bias_nodes(settings, fine),
            fine=fine,
        )
        for fine in (True, False)
    )
    error = np.abs(cosine - coarse)
    if settings.dim is None:
        seen = np.zeros(problem.target.rank, dtype=bool)
        for bias, _ in bias_nodes(settings):
            powers = overlap_powers(
                problem.target,
                sigma.shifted(bias),
                steps=1,
                step_power=step_size.power,
                samples_power=samples.power,
            )
            seen |= powers[1] == 0
        cosine, error = np.where(seen, cosine, 0.0), np.where(seen, error, 0.0)
    start = np.full(problem.target.rank, _start_overlap(settings))
    where = f"d = {settings.dim}" if settings.dim else "the limit of large d"
    return Overlaps(
        {"overlap": np.stack([start, cosine])},
        {"overlap": np.stack([0 * start, np.where(error > RESOLUTION, error, 0.0)])},
        "heuristic" if settings.dim else "theorem",
        [f"overlap: the law of one step, at {where}"],
    )


def is_two_steps(problem: Problem, settings: GiantStep) -> bool:
    """Whether the closed form of two steps on one batch covers the settings."""
    one_neuron = settings.width.power == 0 and settings.width.at(1) == 1
    return (
        settings.batches == "reused"
        and settings.steps == 2
        and not settings.scheduled
        and (settings.loss == "correlation" or one_neuron)
        and settings.biases == "none"
        and not settings.normalise
        and settings.ridge is None
        # Its quadrature has an axis for each direction and for the noise, and two of its own.
        and problem.target.rank + problem.target.noises + (problem.noise > 0) <= 2
    )


def _two_steps(problem: Problem, settings: GiantStep, sigma: Activation) -> Overlaps:
    def cosines(fine: bool) -> np.ndarray:
        squared = np.zeros((2, problem.target.rank))
        for a, weight in readout_nodes(settings, fine):
            law = reused_batch_two_steps(
                problem,
                sigma,
                step_size=settings.step_size.at(1),
                samples_ratio=settings.samples.ratio("samples"),
                readout=a,
                loss=settings.loss,
            )
            squared += weight * law.cosines**2
        start = np.full((1, problem.target.rank), _start_overlap(settings))
        return np.concatenate([start, np.sqrt(squared)])

    found = cosines(fine=True)
    errors = np.zeros_like(found)
    if settings.readout == "normal":
        errors = np.abs(found - cosines(fine=False))
    note = "overlap: two steps on one batch, in the limit of large d at fixed n/d"
    status: Status = "heuristic" if settings.dim else "theorem"
    return Overlaps({"overlap": found}, {"overlap": errors}, status, [note], in_spaces=False)


def _many_steps(
    problem: Problem, settings: GiantStep, sigma: Activation, first: Overlaps | None
) -> Overlaps:
    """The recursion; its first step is replaced by the law of one step where that is known."""
    if _is_overlap_in_powers(settings):
        found = small_batch_overlaps(problem, settings, sigma)
        where = f"d = {settings.dim}" if settings.dim else "the limit of large d"
        note = f"overlap: steps on batches of {settings.samples}, one after another, at {where}"
        return Overlaps(*found, "heuristic", [note], in_spaces=False)
    if settings.width.power > 0 and settings.biases == "none":
        cosines = wide_overlaps(problem, settings)
        spike = problem.inputs.spike
        status: Status = "theorem" if settings.dim is None and spike is None else "heuristic"
        notes = ["overlap: the limit of large d at fixed n/d and p/d"]
        errors = np.abs(cosines - wide_overlaps(problem, settings, coarse=True))
        if settings.dim:
            notes[0] += "; a shift of the overlaps' mean, of relative order 1/d, is not known"
            variance = spike.target_variance(settings.dim) if spike else 1.0
            errors = errors + cosines * variance / settings.dim
        return Overlaps({"overlap": cosines}, {"overlap": errors}, status, notes)
    if settings.steps > MOST_STEPS:
        raise NoTheory(
            f"steps = {settings.steps}: overlaps are followed for at most {MOST_STEPS} steps; for "
            "many small steps ask online-sgd or mean-field"
        )
    networks = NeuronKinds.draws(settings)
    drawn = len(networks) > 1
    paths = [
        giant_step_overlaps(
            problem,
            sigma,
            kinds,
            steps=settings.steps,
            step_size=[size.at(1) for size in settings.step_size.over(settings.steps)],
            samples_ratio=[size.ratio("samples") for size in settings.samples.over(settings.steps)],
            loss=settings.loss,
            normalise=settings.normalise,
            dim=settings.dim or np.inf,
            subspaces=predicted_subspaces(problem.target, settings.steps, degree=DEGREE),
            fit=few_neurons_ridge(settings, kinds.width) if has_few_neurons(settings) else None,
            fewer=2 if drawn else 1,
        )
        for kinds in networks
    ]
    # A simulation, too, has the mean over networks of their root mean squares.
    each = np.stack([path.cosines for path in paths])
    cosines = each.mean(axis=0)
    errors = np.sqrt(
        np.mean([path.errors**2 for path in paths], axis=0) + each.var(axis=0)
    ) / np.sqrt(len(paths))
    # What is known of order 1/d tells the size of the shift of the mean, which is not.
    limits = [
        np.sqrt(np.einsum("k,tkr->tr", kinds.shares, path.kind_cosines**2))
        for kinds, path in zip(networks, paths, strict=True)
    ]
    limit = np.mean(limits, axis=0)
    errors = errors + np.where(limit > cosines / 2, np.abs(cosines - limit), 0.0)
    if first is not None and not drawn:
        cosines[1], errors[1] = first.metrics["overlap"][1], first.errors["overlap"][1]
    notes = ["overlap: the limit of large d at fixed n/d"]
    if settings.dim:
        notes[0] += (
            f", with the fluctuations of d = {settings.dim} to first order; a shift of the "
            "overlaps' mean, of relative order 1/d, is not known"
        )
    if settings.width.power > 0:
        notes.append(f"width = {settings.width}: the recursion is that of a fixed width")
    random_laws = settings.biases != "none" or settings.readout_is_random
    if drawn:
        apart = float(np.max(each[:, -1].std(axis=0)))
        notes.append(
            f"overlap: a mean over {len(paths)} draws of readouts and biases, between which it "
            f"differs by {apart:.2g} (a standard deviation)"
        )
    elif random_laws:
        notes.append(VALUES_FOR_LAWS)
    exact = not (settings.dim or settings.width.power > 0 or random_laws)
    arrays = overlaps_by_neuron(settings, networks[0], paths[0].kind_cosines, paths[0].kind_norms)
    metrics, off = {"overlap": cosines}, {"overlap": errors}
    if has_few_neurons(settings):
        fitted = few_neurons_errors(problem, settings, paths)
        metrics, off = metrics | fitted[0], off | fitted[1]
        notes.append("risk: the fit of a few neurons, by integrals over their fields")
    return Overlaps(metrics, off, "theorem" if exact else "heuristic", notes, arrays)


def wide_overlaps(
    problem: Problem, settings: GiantStep, *, coarse: bool = False
) -> Float[np.ndarray, "steps1 r"]:
    r"""Root mean square cosine of the rows with each direction, when the width grows with d.

    .. math::
        \Big(\sum_a\pi_a\frac{M_{ai}^2 + (\Gamma_{a,ii} + |m_a|^2 - |M_a|^2)/d}
        {|m_a|^2 + c_a}\Big)^{1/2}

    Symbols: M, m, c of :func:`~giantstep.theory.giant_step.risk.gradient_step.limit_layers`;
    Gamma/d the covariance of the rows, whose components along the target steps amplify;
    ``coarse``: fewer nodes, to see the error of quadrature.

    Assumes: fresh batches; the output is that of infinitely many neurons.
    Status: heuristic at finite d, theorem in the limit.
    References: Dandi et al. 2023, arXiv:2305.18270, for the means.

    >>> settings = GiantStep(
    ...     activation="identity", readout="ones", samples="4d", steps=1, step_size=1, width="1d")
    >>> wide_overlaps(Problem.of("h1"), settings).round(4).tolist()
    [[0.0], [0.6667]]
    """
    rank, found = problem.target.rank, []
    for layer in steps_of(problem, settings, coarse=coarse).layers:
        lengths = np.sum(layer.means**2, axis=1) + layer.variances
        along = layer.means[:, :rank] ** 2
        if settings.dim:
            spread = layer.variances[:, None] * np.ones(rank)
            if layer.batches:
                moments, *_ = Pencil(layer).moments(np.eye(layer.means.shape[1])[:, :rank])
                spread = np.diagonal(moments[:, 0], axis1=1, axis2=2)
            # The noise of a batch that all rows share is a direction of its own in the limit only.
            shared = np.sum(layer.means[:, rank:] ** 2, axis=1, keepdims=True)
            along = along + (spread + shared) / settings.dim
        found.append(np.sqrt(layer.neurons.fractions @ (along / lengths[:, None])))
    return np.array(found)
