"""Repetition: which activation and which look ahead learn a target, how fast, at which step."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.answer import Prediction, Status
from giantstep.language.activations.activation import Activation, activation
from giantstep.language.problem import Problem
from giantstep.numerics.solve import STEP
from giantstep.settings.repetition import Repetition
from giantstep.theory.learnability.sample_complexity import Complexity
from giantstep.theory.online_sgd.latent_rule import check_isotropic
from giantstep.theory.online_sgd.one_neuron import OneNeuron

REFERENCES = (
    "Arnaboldi et al. 2024, arXiv:2405.15459",
    "Dandi et al. 2024, arXiv:2402.03220",
)
#: By parity alone: odd neurons, up to a constant, look the same way whatever the sign of a label,
#: so that labels of one size let no overlap grow; even ones have no first Hermite coefficient,
#: hence no force.
ODD, EVEN = ("tanh", "erf2", "erf", "sigmoid", "sin", "He3"), ("cos", "abs", "He2")
#: Neurons that `explain` tries: those of the catalogue that can gain from looking ahead. That
#: leaves out `sign` and `identity`, whose slopes are constant, and polynomials beyond degree three,
#: whose moves have tails too long to learn by.
ACTIVATIONS = ("relu", "relu(z-1)", "gelu", "softplus", *ODD, *EVEN)
#: Slopes that no complex step gives. The others come from one, so that `explain` need not wait for
#: JAX.
_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "softplus": lambda z: (1 + np.tanh(z / 2)) / 2,
    "abs": np.sign,
}
#: Looks ahead of either sign that are tried, each with a readout of either sign.
LOOKAHEADS = (0.3, -0.3, 1.0, -1.0)
#: Forces and growth rates below this share of their possible size are zero.
NOTHING = 1e-6
#: Directions that are less far apart are the same.
SAME_DIRECTION = 1e-2
#: A look ahead is longer by |x|^2/d, which is larger by this over d where He_2(h*) and the field
#: act together: E[He_2^3]/E[He_2^2] = 4 of the first and E[h^2 He_2] = 2 of the second.
LONGER = 6.0


class FirstMoves(NamedTuple):
    """Force b, growth matrix S and variance v of the first moves, in the limit |x|^2 = d."""

    force: Float[np.ndarray, " r"]
    matrix: Float[np.ndarray, "r r"]
    variance: float

    @property
    def growth(self) -> float:
        """The largest eigenvalue s of S."""
        return float(np.linalg.eigvalsh(self.matrix)[-1])

    @property
    def has_force(self) -> bool:
        """Whether b is not zero."""
        return bool(np.linalg.norm(self.force) > NOTHING * np.sqrt(self.variance))

    @property
    def grows(self) -> bool:
        """Whether S has a positive eigenvalue."""
        return bool(self.growth > NOTHING * np.sqrt(self.variance))

    @property
    def samples(self) -> str | None:
        """How many samples it takes to learn a direction; None if this is not a way to learn it."""
        return "d" if self.has_force else "d log d" if self.grows else None

    @property
    def step_size(self) -> float:
        """The best step: where a force acts, the largest that lets the overlap approach 1."""
        if self.has_force:
            return 2 * float(np.linalg.norm(self.force)) / self.variance
        return self.growth / self.variance if self.grows else float("nan")

    @property
    def rate(self) -> float:
        """At the best step: the speed of the overlap where a force acts, else its growth rate."""
        if self.has_force:
            return self.step_size * float(np.linalg.norm(self.force))
        return self.growth**2 / (2 * self.variance) if self.grows else 0.0

    @property
    def direction(self) -> Float[np.ndarray, " r"]:
        """The direction that is learned first; zeros if none is."""
        if self.has_force:
            return self.force / np.linalg.norm(self.force)
        if not self.grows:
            return np.zeros_like(self.force)
        vector = np.linalg.eigh(self.matrix)[1][:, -1]
        return vector * np.sign(vector[np.argmax(np.abs(vector))])


def expected_moves(problem: Problem, settings: Repetition, *, fine: bool = True) -> FirstMoves:
    r"""How the overlaps of one neuron begin to move when it looks ahead along each sample.

    .. math::
        \frac{dm}{d\tau} = \gamma_0\, b + \Big(\gamma_0 S - \frac{\gamma_0^2 v}{2}\Big) m, \qquad
        b = E[c_0(y) h_*],\quad S = E[c_1(y)(h_* h_*^T - I)],\quad v = E[D^2]

    near m = 0, with :math:`c_k(y) = a y\,E_z[He_k(z)\,\sigma'(z + \rho a y \sigma'(z))]`.

    Symbols: a ``readout``, rho ``lookahead``.

    Assumes: isotropic Gaussian inputs, d to infinity, correlation loss, one neuron on the sphere.
    Status: theorem for the drift near m = 0.
    References: Arnaboldi et al. 2024, arXiv:2405.15459.

    >>> moves = expected_moves(
    ...     Problem.of("He4(h1)"), Repetition(activation="relu", lookahead=0.3, readout=-1))
    >>> round(moves.growth, 4), round(moves.variance, 3), round(moves.rate, 3)
    (0.9355, 3.648, 0.12)
    """
    return _first_moves(
        OneNeuron(
            problem,
            activation(settings.activation),
            readout=settings.readout,
            lookahead=settings.lookahead,
            fine=fine,
        )
    )


def _first_moves(neuron: OneNeuron) -> FirstMoves:
    zeroth, first, square = neuron.at_start()
    latent, weights = neuron.latent, neuron.weights
    force = (weights * zeroth) @ latent
    matrix = ((weights * first)[:, None] * latent).T @ latent
    matrix = matrix - float(weights @ first) * np.eye(neuron.rank)
    return FirstMoves(force, matrix, float(weights @ square))


def predict(problem: Problem, settings: Repetition) -> Prediction:
    """Force, growth and variance of the first moves, the best step, and how fast one then learns.

    Metrics: ``force`` b and ``directions`` (what is learned first) with an entry for each
    direction; ``growth`` s, ``variance`` v, ``step_size`` (NaN where nothing is learned) and
    ``rate``. Errors are what a coarser rule changes, and with a dimension how far looks ahead
    depend on the lengths of the samples.

    Assumes: as :func:`expected_moves`.
    Status: theorem for force, growth and variance in the limit of large d; heuristic for the step
        and the rate, which are those of the linearised motion, and where a dimension is given.
    References: Arnaboldi et al. 2024, arXiv:2405.15459; Dandi et al. 2024, arXiv:2402.03220.

    >>> law = predict(Problem.of("He4(h1)"), Repetition(lookahead=0.3, readout=-1))
    >>> round(law.metrics["step_size"], 3)
    0.256
    """
    check_isotropic(problem, "first moves are predicted")
    moves, coarse = (expected_moves(problem, settings, fine=fine) for fine in (True, False))
    exact: Status = "heuristic" if settings.dim else "theorem"
    metrics: dict[str, Any] = {
        "force": np.where(moves.has_force, moves.force, 0.0),
        "growth": moves.growth if abs(moves.growth) > NOTHING else 0.0,
        "variance": moves.variance,
        "step_size": moves.step_size,
        "rate": moves.rate,
        "directions": moves.direction,
    }
    statuses: dict[str, Status] = dict.fromkeys(metrics, "heuristic")
    statuses |= dict.fromkeys(("force", "growth", "variance"), exact)
    others = [(moves, coarse)]
    if settings.dim is not None and settings.lookahead:
        longer = settings.replace(lookahead=settings.lookahead * (1 + LONGER / settings.dim))
        others.append((coarse, expected_moves(problem, longer, fine=False)))
    errors: dict[str, Any] = {
        name: sum(np.abs(getattr(one, name) - getattr(other, name)) for one, other in others)
        for name in ("force", "growth", "variance")
    }
    errors = {name: error for name, error in errors.items() if np.max(error) > 1e-9}
    return Prediction.of(settings, metrics, statuses, REFERENCES, (_verdict(moves),), errors=errors)


def _verdict(moves: FirstMoves) -> str:
    if moves.has_force:
        return "rate: a force acts on the overlap, n ~ d samples teach the direction"
    if moves.grows:
        return (
            "rate: small overlaps grow, n ~ d log d samples teach the direction: "
            f"{1 / (2 * moves.rate):.4g} d log d from an overlap of d^-1/2"
        )
    other = "the other sign of --lookahead or --readout, or an activation of another parity"
    if np.max(np.abs(moves.matrix)) > NOTHING * np.sqrt(moves.variance):
        return f"step_size: no direction is learned this way; try {other}"
    return f"step_size: neither force nor growth: a hard target, or {other}"


class Way(NamedTuple):
    """A neuron that `explain` tried, and how its overlaps begin to move."""

    activation: str
    lookahead: float
    sign: int
    moves: FirstMoves

    def to_json(self) -> dict[str, Any]:
        """The way as plain values."""
        moves = self.moves
        return {
            "activation": self.activation,
            "lookahead": self.lookahead,
            "sign": self.sign,
            "force": np.where(moves.has_force, moves.force, 0.0).tolist(),
            "growth": moves.growth if moves.grows else min(moves.growth, 0.0),
            "variance": moves.variance,
            "step_size": moves.step_size,
            "rate": moves.rate,
            "samples": moves.samples,
            "directions": [moves.direction.tolist()] if moves.samples else [],
        }


def repetition_complexity(ways: tuple[Way, ...] | None, dimension: int) -> Complexity:
    """How many samples the best way needs, and of how many directions any of the ways is first."""
    if ways is None:
        samples = "not computed for more than 3 directions and noises together"
    elif not ways:
        samples = "nothing is learned at n of order d log d"
    else:
        forced = _predicted_reach([way for way in ways if way.moves.has_force], len(ways))
        grown = _predicted_reach(ways, len(ways)) - forced
        samples = "d" if forced else "d log d"
        if (forced or grown) < dimension:
            samples += f" for {forced or grown} of {dimension} directions"
        if forced and grown:
            samples += f", d log d for {grown} more"
    # Moves from overlap zero are exact; what later ones add to several directions is not known.
    status: Status = "theorem" if ways and dimension == 1 else "heuristic"
    return Complexity("repetition (samples seen twice)", samples, status, REFERENCES[0])


def _predicted_reach(ways: Sequence[Way], count: int) -> int:
    """How many directions the ways find together; those apart by quadrature errors are one.

    ``count`` ways there are in all: with one scale for all of them, fewer never reach more.
    """
    if not ways:
        return 0
    directions = np.stack([way.moves.direction for way in ways]) / np.sqrt(count)
    return int(np.linalg.matrix_rank(directions, tol=SAME_DIRECTION))


@functools.lru_cache(maxsize=64)
def ways_to_repeat(problem: Problem) -> tuple[Way, ...] | None:
    """All neurons tried that learn something by repetition, best first.

    Forces come before growth, then the faster first. Empty where nothing is learned by any; None
    where the target has too many directions for the quadrature.
    """
    if problem.target.rank + problem.target.noises + (problem.noise > 0) > 3:
        return None
    found = []
    for name in ACTIVATIONS:
        known = activation(name)
        slope = _SLOPES.get(name, lambda z, known=known: known.numpy(z + 1j * STEP).imag / STEP)
        sigma = Activation(name, known.numpy, known.jax, known.kinks, slope)
        for lookahead in LOOKAHEADS:
            moves = _first_moves(OneNeuron(problem, sigma, lookahead=lookahead, fine=False))
            # The other readout moves as the other look ahead does, the other way.
            other = FirstMoves(-moves.force, -moves.matrix, moves.variance)
            found += [Way(name, lookahead, 1, moves), Way(name, -lookahead, -1, other)]
    found = [way for way in found if np.all(np.isfinite(way.moves.matrix))]
    useful = [way for way in found if way.moves.samples is not None]
    # Ways that are equally fast by symmetry stay in the order in which they were tried.
    useful.sort(key=lambda way: (not way.moves.has_force, -float(f"{way.moves.rate:.9g}")))
    return tuple(useful)
