"""`explain`: what can be learned of a target, by which algorithm, from how many samples."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from giantstep.answer import json_value
from giantstep.errors import NoTheory, SettingsError
from giantstep.explanation.details import explained_power
from giantstep.explanation.spiked import SpikedExplanation, explain_spike
from giantstep.explanation.text import WIDTH, explanation_summary, explanation_text
from giantstep.explanation.tree import TreeExplanation, explain_tree
from giantstep.language.activations.activation import activation
from giantstep.language.inputs import Gaussian, Sphere, Spiked, checked_input_law
from giantstep.language.problem import GivenInputs, Problem
from giantstep.language.targets import Target, TreeTarget, any_target
from giantstep.language.targets.expansion import target_expansion
from giantstep.language.targets.hermite import target_energies, target_moments, target_subspace
from giantstep.numerics.estimate import Estimate
from giantstep.numerics.linear_algebra import tidy_basis
from giantstep.settings.giant_step import GiantStep
from giantstep.theory.learnability.floors import Floor, second_layer_floors
from giantstep.theory.learnability.grand_staircase import grand_staircase
from giantstep.theory.learnability.sample_complexity import Complexity, sample_complexities
from giantstep.theory.learnability.staircase import (
    Difficulty,
    Staircase,
    leap_difficulty,
    leap_staircase,
    predicted_subspaces,
)
from giantstep.theory.learnability.thresholds import Threshold, easy_thresholds
from giantstep.theory.repetition import Way, repetition_complexity, ways_to_repeat

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(frozen=True, eq=False)
class Explanation:
    """Everything that ``explain`` says about a target; numbers carry method and error.

    ``staircase`` is what correlations with the label show (gradient descent on fresh samples),
    ``grand_staircase`` what any function of the label shows (message passing, reused batches).
    ``used`` is a basis of the subspace that the target depends on. ``hermite_energy``,
    ``energy_beyond`` its highest degree and ``label_noise`` (from z1, .. inside the label) add up
    to the variance. ``unseen`` are directions of the staircase that ``activation``, the default of
    giant steps, does not see without biases. ``spike`` is what a spike in the inputs changes: all
    else is said of isotropic inputs.
    """

    target: Target
    noise: float
    mean: Estimate
    variance: Estimate
    hermite_energy: tuple[Estimate, ...]
    used: np.ndarray
    staircase: Staircase
    grand_staircase: Staircase
    thresholds: tuple[Threshold, ...]
    energy_beyond: Estimate
    label_noise: Estimate
    activation: str
    unseen: np.ndarray
    floors: tuple[Floor, ...] | None = None
    spike: SpikedExplanation | None = None

    @property
    def dimension(self) -> int:
        """Dimension of the subspace that the target really uses."""
        return len(self.used)

    @property
    def information_exponent(self) -> int | None:
        """Degree of the first Hermite tensor that is not zero."""
        return self.staircase.first_leap

    @property
    def leap(self) -> int | None:
        """Largest leap of the staircase; None if it does not reach every used direction."""
        reached = len(self.staircase.subspace) == self.dimension
        return self.staircase.largest_leap if reached else None

    @property
    def generative_exponent(self) -> int | None:
        """Order of the first conditional moment given the label that is not zero."""
        return self.grand_staircase.first_leap

    @property
    def difficulty(self) -> Difficulty:
        """The class of the hardest stair of the grand staircase; hard if a direction is missed.

        Each stair has its own: ``[stair.difficulty for stair in found.grand_staircase.stairs]``.
        """
        reached = len(self.grand_staircase.subspace) == self.dimension
        return leap_difficulty(self.grand_staircase.largest_leap if reached else None)

    @property
    def alpha_c(self) -> Estimate | None:
        """Samples over d from which the first stair is found: 0 if trivial, None if hard."""
        first = leap_difficulty(self.grand_staircase.first_leap)
        if first == "trivial":
            return Estimate(0.0, 0.0, self.grand_staircase.method)
        return self.thresholds[0].alpha if first == "easy" else None

    @property
    def complexities(self) -> dict[str, Complexity]:
        """How many samples each algorithm needs for all that it sees, with status and paper."""
        known = sample_complexities(
            self.staircase, self.grand_staircase, self.thresholds, self.dimension
        )
        best = known.pop("amp")
        repeated = repetition_complexity(self.repetition, self.dimension)
        return {**known, "repetition": repeated, "amp": best}

    @property
    def samples(self) -> dict[str, str]:
        """How the samples needed scale with d, by algorithm."""
        return {name: found.samples for name, found in self.complexities.items()}

    @functools.cached_property
    def repetition(self) -> tuple[Way, ...] | None:
        """Neurons that learn a direction from samples they see twice, best first."""
        return ways_to_repeat(Problem(self.target, self.noise))

    @functools.cached_property
    def first_steps(self) -> str:
        """The first two giant steps in numbers, in a sentence; empty where they are not known."""
        from giantstep.explanation.first_steps import explained_first_steps

        return explained_first_steps(self)

    def to_json(self) -> dict[str, Any]:
        """The object that ``explain --json`` prints; ``floors`` only if they were asked for."""
        alpha, ways = self.alpha_c, self.repetition
        result: dict[str, Any] = {
            "target": self.target.text,
            "directions": self.target.rank,
            "noise": self.noise,
            "mean": self.mean.value,
            "variance": self.variance.value,
            "hermite_energy": [energy.value for energy in self.hermite_energy],
            "energy_beyond": self.energy_beyond.value,
            "label_noise": self.label_noise.value,
            "dimension": self.dimension,
            "information_exponent": self.information_exponent,
            "staircase": _stairs_json(self.staircase),
            "leap": self.leap,
            "generative_exponent": self.generative_exponent,
            "grand_staircase": _grand_stairs_json(self.grand_staircase),
            "class": self.difficulty,
            "alpha_c": None if alpha is None else alpha.value,
            "thresholds": [_threshold_json(threshold) for threshold in self.thresholds],
            "samples": self.samples,
            "sample_statuses": {name: c.status for name, c in self.complexities.items()},
            "unseen": {"activation": self.activation, "directions": self.unseen.tolist()},
            "repetition": None if ways is None else [way.to_json() for way in ways],
        }
        if self.floors is not None:
            result["floors"] = [_floor_json(floor) for floor in self.floors]
        if self.spike is not None:
            result["spike"] = self.spike.to_json()
        return json_value(result)

    def to_frame(self) -> pandas.DataFrame:
        """One line per stair of both staircases: directions, leap, class, samples, threshold."""
        from giantstep.explanation.details import explanation_frame

        return explanation_frame(self)

    def plot(
        self, metric: Literal["staircase", "grand_staircase"] = "staircase", ax: Axes | None = None
    ) -> Axes:
        """Draw one of the staircases; ``ax`` is where to draw it."""
        # Pictures are a room below this one: the front door knows the way.
        import giantstep

        return giantstep.draw(self, metric=metric, ax=ax)

    def __repr__(self) -> str:
        return explanation_summary(self)

    def _repr_html_(self) -> str:
        from html import escape

        from giantstep.answer.page import answer_picture

        return f"<div><pre>{escape(explanation_summary(self))}</pre>{answer_picture(self)}</div>"

    def report(self, verbose: bool = False, width: int = WIDTH, numbers: bool = True) -> str:
        """The same in words, the answer first, with the staircases drawn.

        ``verbose`` adds how it was computed, learning by repetition, and bounds; lines are broken
        at ``width`` characters; ``numbers`` has :attr:`first_steps`, which take about a second.
        """
        return explanation_text(self, verbose, width, numbers)


@overload
def explain(
    given: TreeTarget,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    dim: int | None = None,
) -> TreeExplanation: ...
@overload
def explain(
    given: Problem | Target | str,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    floors: bool = False,
    degree: int = 8,
    seed: int = 0,
    dim: int | None = None,
) -> Explanation: ...
def explain(
    given: Problem | Target | TreeTarget | str,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    floors: bool = False,
    degree: int = 8,
    seed: int = 0,
    dim: int | None = None,
) -> Explanation | TreeExplanation:
    r"""What can be learned of a target: energies, staircases, thresholds, sample sizes.

    The parts are those of :func:`~giantstep.theory.learnability.staircase.leap_staircase`,
    :func:`~giantstep.theory.learnability.grand_staircase.grand_staircase`,
    :func:`~giantstep.theory.learnability.thresholds.easy_thresholds` and
    :func:`~giantstep.theory.learnability.floors.second_layer_floors`.

    .. math:: y = g(h) + \sqrt{\Delta}\,\xi, \qquad h = W^* x, \quad x \sim N(0, I_d)

    Symbols: g ``given`` (an expression, a Target or a Problem), :math:`\Delta` ``noise``, highest
    Hermite degree ``degree``; ``seed`` draws the samples where a law of labels is sampled. A tree,
    also as text, is answered by a :class:`TreeExplanation` with its sizes counted at ``dim``.

    Assumes: isotropic inputs (Gaussian, or on the sphere), d to infinity at fixed r.
    Status: theorem for the staircases, heuristic where a stair is sampled; replica for thresholds;
    conjecture for floors.
    References: Abbe et al. 2023, arXiv:2302.11055; Dandi et al. 2023, arXiv:2305.18270; Troiani et
    al. 2024, arXiv:2405.15480.

    >>> found = explain("h1*h2")
    >>> found.difficulty, round(found.alpha_c.value, 3)
    ('easy', 0.594)
    """
    if not isinstance(given, Problem):
        given = any_target(given)
    if isinstance(given, TreeTarget):
        return explain_tree(given, noise=noise, inputs=inputs, dim=dim)
    if dim is not None:
        raise SettingsError(f"dim = {dim!r}: only trees are explained at a dimension, leave it out")
    problem = Problem.of(given, noise=noise, inputs=inputs)
    why = "predict langevin gives the rates of parities on the hypercube"
    laws = (Gaussian, Sphere, Spiked)
    checked_input_law(problem.inputs, laws, "a target is explained", NoTheory, why)
    spike = explain_spike(problem, problem.inputs.spike) if problem.inputs.spike else None
    target, noise = problem.target, problem.noise
    found = target_expansion(target, degree)
    first = target_moments(target)
    spread = math.sqrt(found.second_moment)
    shares = target_energies(target, degree)
    regression = first.variance - max(found.second_moment - found.regression_moment, 0.0)
    beyond = max(regression - math.fsum(shares[1:]), 0.0)
    staircase = leap_staircase(target, degree)
    used_activation = str(GiantStep.activation)
    return Explanation(
        target=target,
        noise=noise,
        mean=Estimate(first.mean, found.error, found.method),
        variance=Estimate(first.variance, 2 * spread * found.error, found.method),
        hermite_energy=tuple(
            Estimate(float(value), 2 * math.sqrt(value) * found.error, found.method)
            for value in shares
        ),
        used=target_subspace(target),
        staircase=staircase,
        grand_staircase=grand_staircase(target, noise, degree, seed),
        thresholds=easy_thresholds(target, noise, degree, seed),
        energy_beyond=Estimate(beyond, 2 * spread * found.error, found.method),
        label_noise=Estimate(first.variance - regression, 2 * spread * found.error, found.method),
        activation=used_activation,
        unseen=_unseen(target, staircase, used_activation, degree),
        floors=second_layer_floors(target) if floors else None,
        spike=spike,
    )


def _unseen(target: Target, staircase: Staircase, name: str, degree: int) -> np.ndarray:
    """Directions of the staircase that no leap shows through the activation's coefficients."""
    seen = activation(name).degrees(degree)
    usable = seen.__contains__
    learned = predicted_subspaces(target, len(staircase.subspace), degree, usable, degree)[-1]
    rest = staircase.subspace - staircase.subspace @ learned.T @ learned
    values = np.linalg.svd(rest, compute_uv=False)
    return tidy_basis(rest, int(np.sum(values > 1e-6)))


def _stairs_json(staircase: Staircase) -> list[dict[str, Any]]:
    return [
        {"leap": stair.leap, "directions": stair.directions.tolist()} for stair in staircase.stairs
    ]


def _grand_stairs_json(staircase: Staircase) -> list[dict[str, Any]]:
    """Each stair with its class, and with the error of its directions where they are sampled."""
    return [
        line | {"class": stair.difficulty, "sampled": stair.sampled, "error": stair.error}
        for line, stair in zip(_stairs_json(staircase), staircase.stairs, strict=True)
    ]


def _threshold_json(threshold: Threshold) -> dict[str, Any]:
    directions = threshold.directions.tolist()
    if threshold.alpha is None:
        return {"directions": directions, "alpha": None, "unknown": threshold.reason}
    return {
        "directions": directions,
        "alpha": threshold.alpha.value,
        "error": threshold.alpha.error,
        "method": threshold.alpha.method,
    }


def _floor_json(floor: Floor) -> dict[str, Any]:
    return {
        "samples": explained_power(floor.sample_power),
        "width": explained_power(floor.width_power),
        "steps": floor.steps,
        "directions": floor.directions.tolist(),
        "kappa": floor.kappa,
        "fitted": floor.fitted,
        "floor": floor.floor.value,
    }
