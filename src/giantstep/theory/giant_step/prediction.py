"""The prediction for the learner `giant-step`: which theory covers which settings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from giantstep.activations.activation import Activation, activation
from giantstep.errors import NoTheory
from giantstep.inputs import Gaussian
from giantstep.numerics.quadrature import gauss_hermite
from giantstep.problem import Problem
from giantstep.results import Prediction, Status
from giantstep.settings.giant_step import GiantStep
from giantstep.targets import Target
from giantstep.theory.giant_step.fresh_batches import giant_step_overlaps
from giantstep.theory.giant_step.one_step_overlap import one_step_overlap
from giantstep.theory.giant_step.reused_batch import reused_batch_two_steps
from giantstep.theory.learnability.staircase import learned_subspaces

REFERENCES = ("Dandi et al. 2023, arXiv:2305.18270", "Dandi et al. 2024, arXiv:2402.03220")
#: Where a size is so large that every correction in 1/d is below float64's resolution.
LIMIT_DIM = 1e18
#: Highest Hermite degree in which directions are looked for.
DEGREE = 8


def predict(problem: Problem, settings: GiantStep, *, optimise: Sequence[str] = ()) -> Prediction:
    """Overlaps after every step, and the risk after one step where a ridge is given.

    With ``optimise`` the step size, the ridge or both are first replaced by those of least risk,
    and reported with what they gain over random features and over linear methods; one that has no
    optimum inside the range of the search is NaN, and a note says at which end the risk is least.

    Assumes: isotropic Gaussian inputs; see the function that each case calls.
    Status: theorem, in the limit d to infinity.
    References: Dandi et al. 2023, arXiv:2305.18270; Cui et al. 2024, arXiv:2402.04980.

    >>> law = predict(Problem.of("h1"), GiantStep(samples="4d", step_size=2))
    >>> [round(float(cosine), 4) for cosine in law.metrics["overlap"][:, 0]]
    [0.0, 0.6325]
    """
    if not isinstance(problem.inputs, Gaussian):
        raise NoTheory("giant steps are predicted for isotropic Gaussian inputs: drop the spike")
    optimum: dict[str, Any] = {}
    edges: list[str] = []
    if optimise:
        from giantstep.theory.one_step.curves import best_sizes

        best = best_sizes(problem, settings, optimise)
        settings = settings.replace(step_size=best.step_size, ridge=best.ridge)
        optimum, edges = best.metrics(), best.notes()
    sigma = activation(settings.activation)
    _, hidden = predicted_subspaces(problem, settings)
    overlap, notes = _overlaps(problem, settings, sigma)
    notes = [*edges, *hidden, *notes]
    metrics: dict[str, Any] = {"overlap": overlap}
    statuses: dict[str, Status] = {"overlap": "theorem"}
    references: tuple[str, ...] = REFERENCES
    if settings.ridge is not None:
        from giantstep.theory.one_step.prediction import predict as predict_risk

        risk = predict_risk(problem, settings)
        metrics |= {**risk.metrics, **optimum}
        statuses |= {**risk.statuses, **dict.fromkeys(optimum, risk.status)}
        notes = [*notes, *risk.notes]
        references = (*references, *risk.references)
    return Prediction(
        settings.learner, settings.to_json(), metrics, statuses, references, tuple(notes)
    )


def predicted_subspaces(
    problem: Problem, settings: GiantStep
) -> tuple[tuple[np.ndarray, ...], list[str]]:
    """The subspaces learned after 0..T steps, and a remark where the activation hides one.

    Step t+1 learns a direction only if the activation sees the degree at which it enters: relu
    without biases has no Hermite coefficient of odd degree above one, so a direction whose
    coefficient is even in what is known stays invisible to it.

    Assumes: see :func:`giantstep.theory.learnability.staircase.learned_subspaces`.
    Status: conjecture beyond the first step.
    References: Dandi et al. 2023, arXiv:2305.18270.

    >>> spaces, notes = predicted_subspaces(Problem.of("h1 + He2(h1)*h2"), GiantStep(steps=2))
    >>> [len(space) for space in spaces], len(notes)
    ([0, 1, 1], 1)
    """
    leap = max(1, min(int(settings.samples.power), 1 + int(2 * settings.step_size.power)))
    mu = activation(settings.activation).hermite(DEGREE)

    def usable(k: int) -> bool:
        return settings.biases != "none" or bool(abs(mu[k]) > 1e-9)

    target, steps = problem.target, settings.steps
    seen = learned_subspaces(target, steps, leap, usable, DEGREE)
    there = learned_subspaces(target, steps, leap, None, DEGREE)
    if len(seen[-1]) == len(there[-1]):
        return seen, []
    note = (
        f"{settings.activation} without biases cannot see {len(there[-1]) - len(seen[-1])} of the "
        f"{len(there[-1])} directions that {steps} steps could learn: its Hermite coefficients of "
        "their degree vanish; add --biases normal"
    )
    return seen, [note]


def _overlaps(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[np.ndarray, list[str]]:
    rank = problem.target.rank
    if settings.detrend:
        raise NoTheory("there is no prediction with detrend: use simulate, or drop --detrend")
    if settings.steps == 0:
        return np.full((1, rank), _start_overlap(settings)), []
    if settings.batches == "reused" and settings.steps > 1:
        return _reused(problem, settings, sigma)
    silent_start = settings.loss == "correlation" or settings.readout == "symmetric-sign"
    # A wide network's output at the start is a constant, up to O(p^-1/2).
    if settings.steps == 1 and (silent_start or settings.width.power > 0):
        constant = 0.0 if silent_start else _mean_output(settings, sigma)
        return _one_step(_shifted(problem, constant), settings, sigma)
    return _many_steps(problem, settings, sigma)


def _start_overlap(settings: GiantStep) -> float:
    """A random unit vector has a cosine of rms d^-1/2 with any direction; 0 in the limit."""
    return 0.0 if settings.dim is None else settings.dim**-0.5


def _mean_output(settings: GiantStep, sigma: Activation) -> float:
    """E[a] E[sigma(z + b)], what every sample sees before the first step."""
    mean_readout = sum(a * weight for a, weight in _readout_law(settings))
    return mean_readout * sum(
        weight * float(sigma.shifted(bias).hermite(0)[0]) for bias, weight in _bias_law(settings)
    )


def _shifted(problem: Problem, constant: float) -> Problem:
    """The problem whose labels are residuals of a constant output."""
    if abs(constant) < 1e-12:
        return problem
    return Problem(Target(f"{problem.target.text} - ({constant!r})"), problem.noise, problem.inputs)


def _one_step(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[np.ndarray, list[str]]:
    dim = settings.dim or LIMIT_DIM
    cosine = one_step_overlap(
        problem,
        sigma,
        step_size=settings.step_size.at(dim),
        samples=settings.samples.at(dim),
        dim=dim,
        readout=_readout_law(settings),
        biases=_bias_law(settings),
    )
    start = np.full(problem.target.rank, _start_overlap(settings))
    where = f"d = {settings.dim}" if settings.dim else "the limit of large d"
    return np.stack([start, cosine]), [f"overlap: the law of one step, at {where}"]


def _reused(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[np.ndarray, list[str]]:
    alone = settings.loss == "correlation" or _width(settings) == 1
    if settings.steps != 2 or not alone or settings.biases != "none":
        raise NoTheory(
            "reused batches are predicted for 2 steps of one neuron without bias "
            "(--steps 2 --width 1), or of any width with --loss correlation"
        )
    squared = np.zeros((2, problem.target.rank))
    for a, weight in _readout_law(settings):
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
    note = "overlap: two steps on one batch, in the limit of large d at fixed n/d"
    return np.concatenate([start, np.sqrt(squared)]), [note]


def _many_steps(
    problem: Problem, settings: GiantStep, sigma: Activation
) -> tuple[np.ndarray, list[str]]:
    if settings.step_size.power != 0:
        raise NoTheory(
            f"step_size = {settings.step_size}: several steps are predicted at fixed step size; "
            "give a plain number, or one step from a symmetric start"
        )
    width = _width(settings)
    readout, gram = _start_of_neurons(settings, width)
    quantiles = np.random.default_rng(0).permutation(_quantiles(width))
    biases = {"none": np.zeros(width), "normal": _normal(quantiles), "uniform": 2 * quantiles - 1}
    path = giant_step_overlaps(
        problem,
        sigma,
        steps=settings.steps,
        step_size=settings.step_size.at(1),
        samples_ratio=settings.samples.ratio("samples"),
        readout=readout,
        gram=gram,
        biases=biases[settings.biases],
        loss=settings.loss,
        normalise=settings.normalise,
        dim=settings.dim or np.inf,
    )
    note = (
        "overlap: the limit of large d at fixed n/d, sampled to within "
        f"{np.max(path.error):.1g}"
        + (f", with the fluctuations of d = {settings.dim}" if settings.dim else "")
    )
    return path.cosines, [note]


def _width(settings: GiantStep) -> int:
    if settings.width.power == 0:
        return settings.width.count(1, "width")
    if settings.dim is None:
        raise NoTheory(f"width = {settings.width}: give a number of neurons, or --dim")
    return settings.width.count(settings.dim, "width")


def _start_of_neurons(settings: GiantStep, width: int) -> tuple[np.ndarray, np.ndarray]:
    """Readout entries that represent their law, and the Gram matrix of the rows at the start."""
    quantiles, gram = _quantiles(width), np.eye(width)
    if settings.readout == "symmetric-sign":
        half = width // 2
        gram[:half, half : 2 * half] = gram[half : 2 * half, :half] = np.eye(half)
        return np.where(np.arange(width) < half, 1.0, -1.0), gram
    support = settings.readout_support()
    if support is None:
        return _normal(quantiles), gram
    values, weights = support
    return np.asarray(values)[np.searchsorted(np.cumsum(weights)[:-1], quantiles)], gram


def _quantiles(width: int) -> np.ndarray:
    return (np.arange(width) + 0.5) / width


def _normal(quantiles: np.ndarray) -> np.ndarray:
    from scipy.special import ndtri

    return ndtri(quantiles)


def _readout_law(settings: GiantStep) -> list[tuple[float, float]]:
    """Values of a readout entry with their probabilities; a Gaussian by quadrature."""
    support = settings.readout_support()
    values, weights = gauss_hermite(20) if support is None else support
    return list(zip(map(float, values), map(float, weights), strict=True))


def _bias_law(settings: GiantStep) -> list[tuple[float, float]]:
    """Values of a bias with their probabilities: none, N(0,1), or uniform on [-1, 1]."""
    if settings.biases == "none":
        return [(0.0, 1.0)]
    if settings.biases == "normal":
        nodes, weights = gauss_hermite(20)
    else:
        nodes, weights = np.polynomial.legendre.leggauss(12)
        weights = weights / 2
    return list(zip(map(float, nodes), map(float, weights), strict=True))
