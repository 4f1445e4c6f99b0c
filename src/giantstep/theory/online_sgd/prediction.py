"""The prediction for the learner `online-sgd`: equations of motion in the limit of large d."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from giantstep.answer import Prediction, Status
from giantstep.errors import NoTheory
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.numerics.cost import Cost
from giantstep.numerics.ode import ode_trajectory
from giantstep.settings.online_sgd import OnlineSgd
from giantstep.theory.online_sgd.committee import (
    ErrorFunctions,
    Layer,
    Sampled,
    velocity,
)
from giantstep.theory.online_sgd.latent_rule import check_isotropic
from giantstep.theory.online_sgd.one_neuron import OneNeuron, wrong_sign

REFERENCES = (
    "Saad, Solla 1995, Physical Review E 52",
    "Ben-Arous et al. 2020, arXiv:2003.10409",
    "Arnaboldi et al. 2024, arXiv:2405.15459",
)
#: Where a start such as d^-0.5 has become zero.
LIMIT_DIM = 1e18
#: Independent sets of points, whose difference is the error, and the points of each.
SETS, POINTS = 2, 1 << 14
#: A layer that is followed by sampling needs points for every neuron.
MOST_NEURONS = 64
#: Evaluations after which equations are given up, of means by quadrature and by sampling: where a
#: solution blows up, steps become ever smaller.
MOST_CALLS, MOST_SAMPLED_CALLS = 30_000, 3000
#: Closed forms hold so many arrays over four neurons each, and take so many multiplications for
#: each entry along a short path.
ARRAYS, PATH_OPERATIONS = 6, 6000


def predict(problem: Problem, settings: OnlineSgd) -> Prediction:
    """Overlaps, norms and the risk along time, from the equations of motion.

    Metrics: ``overlap`` (times, r), signed for one neuron and the root mean square over several;
    ``norm`` and ``test_error`` at each time; with ``until`` the ``exit_time`` of the equations,
    infinite where it lies beyond the last time, and for a target of one direction and one neuron
    of unit length ``wrong_sign``, the share of runs that leave with the other sign. ``arrays`` has
    the signed ``cosines`` (times, p, r) and the ``norms`` (times, p) of all neurons.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed width, step size and time.
    Status: theorem in the limit, heuristic where a dimension is given.
    References: Saad, Solla 1995, Physical Review E 52; Ben-Arous et al. 2020, arXiv:2003.10409;
        Arnaboldi et al. 2024, arXiv:2405.15459.

    >>> settings = OnlineSgd(activation="tanh", step_size=2, times="1,8", start_overlap="0")
    >>> law = predict(Problem.of("tanh(h1)"), settings)
    >>> [round(float(cosine), 3) for cosine in law.metrics["overlap"][:, 0]]
    [0.54, 0.993]
    """
    check_isotropic(problem, "online SGD is predicted")
    sigma = activation(settings.activation)
    if settings.step_size.power != 0 and settings.dim is None:
        raise NoTheory(
            f"step_size = {settings.step_size}: in the limit of large d a plain number is needed; "
            "give --dim to evaluate the equations there"
        )
    if settings.width.power != 0 and settings.dim is None:
        raise NoTheory(f"width = {settings.width}: equations hold at a fixed width; give a number")
    width = settings.width.count(settings.dim or 1, "width")
    start, notes = _motion_start(problem, settings, width)
    ways = _ways(problem, settings, sigma, width)
    paths = [_motion(settings, start, way) for way in ways]
    metrics, errors = _averaged_motion([path for path, _ in paths], [way.weight for way in ways])
    arrays = {name: metrics.pop(name) for name in ("cosines", "norms")}
    if notes and settings.dim is not None and width > 1:
        # Rows that begin at random bring a mean square of 1/d of their own.
        beyond = np.hypot(metrics["overlap"], settings.dim**-0.5) - metrics["overlap"]
        errors["overlap"] = errors["overlap"] + beyond
    if settings.dim is not None and width <= MOST_NEURONS:
        # Steps that are noisier along what the neurons see move them, and their risk, more.
        noise = _sampled_motion(problem, settings, sigma, width).noise_ratio(start)
        share = max(noise - 1, 0.0) / settings.dim
        errors["test_error"] = errors["test_error"] + share * metrics["test_error"]
    if settings.until is not None:
        metrics["exit_time"] = paths[0][1]
    if settings.until is not None and width == 1 and settings.geometry == "sphere":
        metrics |= _wrong_signs(problem, settings, sigma, float(start.overlaps[0, 0]))
    if settings.until is not None and not np.isfinite(metrics["exit_time"]):
        last = settings.time_list[-1]
        notes.append(
            f"exit_time: the overlap is still below {settings.until:g} at the last time {last:g}; "
            f"follow it longer, as with --times 0:{10 * last:g}:11"
        )
    status: Status = "heuristic" if settings.dim else "theorem"
    where = "the limit of large d at fixed step size and time"
    notes = [f"equations of motion: {where}, in which |x|^2 = d", *notes]
    return Prediction.of(
        settings,
        metrics,
        status,
        REFERENCES,
        notes,
        errors={
            name: errors[name] for name in errors.keys() & metrics.keys() if errors[name].any()
        },
        arrays=arrays,
    )


def cost(problem: Problem, settings: OnlineSgd) -> Cost:
    """Means over four neurons at a time, where they have a closed form."""
    width = settings.width.count(settings.dim or 1, "width")
    if width > MOST_NEURONS and _closed_teacher(problem, settings) is None:
        raise NoTheory(f"width = {width}: equations are solved for at most {MOST_NEURONS} neurons")
    entries = float(width) ** 2 * (width + problem.target.rank) ** 2
    sizes = f"width = {width}"
    return Cost(8 * ARRAYS * entries, PATH_OPERATIONS * entries, sizes, "lower --width")


def _closed_teacher(problem: Problem, settings: OnlineSgd) -> np.ndarray | None:
    """The weights of a target for which every mean has a closed form; None for any other."""
    closed = activation(settings.activation).name == "erf2" and settings.loss == "square"
    return ErrorFunctions.teacher_of(problem) if closed else None


def _motion_start(problem: Problem, settings: OnlineSgd, width: int) -> tuple[Layer, list[str]]:
    """The first layer: unit rows, whose parts outside the directions are orthogonal."""
    rank, notes = problem.target.rank, []
    given = settings.start_overlaps(rank, width, settings.dim or LIMIT_DIM)
    if given is None:
        given = [[0.0] * rank for _ in range(width)]
        notes.append(
            "overlap: from a random start the equations begin at 0, and stay there unless a force "
            "pushes them away; --start-overlap d^-0.5 shows how small overlaps grow"
        )
    overlaps = np.array(given)
    gram = overlaps @ overlaps.T + np.diag(1 - np.sum(overlaps**2, axis=1))
    if settings.readout == "symmetric-sign":
        # The second half of the rows are twins of the first.
        half = width // 2
        overlaps = np.tile(overlaps[:half], (2, 1))
        gram = np.tile(gram[:half, :half], (2, 2))
    return Layer(overlaps, gram), notes


class _Way(NamedTuple):
    """How the layer moves, and what its risk is; with its tolerance and weight."""

    velocity: Callable[[Layer], Layer]
    risk: Callable[[Layer], float]
    tolerance: float
    weight: float = 1.0


def _ways(problem: Problem, settings: OnlineSgd, sigma: Activation, width: int) -> list[_Way]:
    """A fine and a coarse way, two alike, or one where every mean has a closed form."""
    readout = np.array(settings.readouts(width))
    step_size = settings.step_size.at(settings.dim or 1)
    teacher = _closed_teacher(problem, settings)
    if teacher is not None:
        closed = ErrorFunctions(readout, teacher, problem.noise)
        return [_committee_motion(closed, step_size, settings.geometry, 1e-8)]
    axes = problem.target.rank + problem.target.noises + bool(problem.noise)
    known = settings.loss == "correlation" or not sigma.kinks
    if width == 1 and settings.geometry == "sphere" and known and axes <= 3:
        tolerance = 1e-8 if axes < 3 else 1e-6
        return [
            _neuron_motion(
                _motion_neuron(problem, settings, sigma, fine=fine), step_size, tolerance, fine
            )
            for fine in (True, False)
        ]
    sampled = [_sampled_motion(problem, settings, sigma, width, seed) for seed in range(SETS)]
    return [_committee_motion(each, step_size, settings.geometry, 1e-5) for each in sampled]


def _sampled_motion(
    problem: Problem, settings: OnlineSgd, sigma: Activation, width: int, seed: int = 0
) -> Sampled:
    return Sampled(
        problem,
        sigma,
        np.array(settings.readouts(width)),
        loss=settings.loss,
        lookahead=settings.lookahead,
        points=POINTS,
        seed=seed,
    )


def _motion_neuron(
    problem: Problem, settings: OnlineSgd, sigma: Activation, *, fine: bool = True
) -> OneNeuron:
    return OneNeuron(
        problem,
        sigma,
        loss=settings.loss,
        readout=settings.readouts(1)[0],
        lookahead=settings.lookahead,
        fine=fine,
    )


def _committee_motion(
    committee: ErrorFunctions | Sampled, step_size: float, geometry: str, tolerance: float
) -> _Way:
    return _Way(
        lambda layer: velocity(committee, layer, step_size, geometry),
        lambda layer: committee.means(layer).risk,
        tolerance,
    )


def _neuron_motion(neuron: OneNeuron, step_size: float, tolerance: float, weight: float) -> _Way:
    def moved(layer: Layer) -> Layer:
        return Layer(neuron.velocity(layer.overlaps[0], step_size)[None], np.zeros((1, 1)))

    return _Way(moved, lambda layer: neuron.risk(layer.overlaps[0]), tolerance, weight)


def _motion(settings: OnlineSgd, start: Layer, way: _Way) -> tuple[dict[str, np.ndarray], float]:
    """Metrics and arrays at the times, and the time of exit."""
    width, times = len(start.gram), settings.time_list

    def moved(numbers: np.ndarray) -> np.ndarray:
        return way.velocity(Layer.unflat(numbers, width)).flat()

    def beyond(numbers: np.ndarray) -> float:
        layer = Layer.unflat(numbers, width)
        squares = np.sum(layer.overlaps**2, axis=1) / np.diag(layer.gram)
        return float(np.sqrt(np.max(squares)) - (settings.until or np.inf))

    event = beyond if settings.until is not None else None
    found = ode_trajectory(
        moved,
        start.flat(),
        times,
        event=event,
        tolerance=way.tolerance,
        most_calls=MOST_CALLS if way.tolerance <= 1e-6 else MOST_SAMPLED_CALLS,
    )
    if not found.converged:
        raise NoTheory(
            f"step_size = {settings.step_size}: the equations of motion cannot be followed to time "
            f"{times[-1]:g} ({found.message}); lower --step-size, or shorten --times"
        )
    layers = [Layer.unflat(numbers, width) for numbers in found.values]
    norms = np.sqrt(np.stack([np.diag(layer.gram) for layer in layers]))
    cosines = np.stack([layer.overlaps for layer in layers]) / norms[..., None]
    path = {
        "overlap": cosines[:, 0] if width == 1 else np.sqrt(np.mean(cosines**2, axis=1)),
        "norm": np.sqrt(np.mean(norms**2, axis=1)),
        "test_error": np.array([way.risk(layer) for layer in layers]),
        "cosines": cosines,
        "norms": norms,
    }
    return path, found.crossing


def _averaged_motion(
    paths: list[dict[str, np.ndarray]], weights: list[float]
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The weighted mean of the paths; how far it lies from the last one is the error."""
    metrics, errors = {}, {}
    for name, last in paths[-1].items():
        metrics[name] = np.average([path[name] for path in paths], axis=0, weights=weights)
        error = np.abs(metrics[name] - last)
        errors[name] = np.where(error > 1e-9, error, 0.0)
    return metrics, errors


def _wrong_signs(
    problem: Problem, settings: OnlineSgd, sigma: Activation, start: float
) -> dict[str, float]:
    """The share of wrong signs, for one direction at a given dimension."""
    if problem.target.rank > 1 or settings.dim is None or settings.loss == "square" or not start:
        return {}
    neuron = _motion_neuron(problem, settings, sigma)
    step_size = settings.step_size.at(settings.dim)
    share = wrong_sign(neuron, step_size, start, settings.dim)
    return {} if np.isnan(share) else {"wrong_sign": share}
