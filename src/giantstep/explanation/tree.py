"""`explain` on a tree: effective dimensions, samples for each layer, what each network can fit."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, NamedTuple

from giantstep.answer.plain import json_value
from giantstep.bibliography import cite
from giantstep.errors import NoTheory, whole_or_error
from giantstep.language.inputs import Gaussian, checked_input_law, read_inputs
from giantstep.language.problem import GivenInputs
from giantstep.language.targets import TreeTarget
from giantstep.theory.three_layer.floors import TreeMoments, tree_moments
from giantstep.theory.three_layer.inner_parts import (
    InnerParts,
    expected_inner_parts,
    gap_of_the_theorem,
)
from giantstep.theory.three_layer.moment_span import samples_for_span
from giantstep.theory.three_layer.samples import (
    first_layer_threshold,
    random_layer_degree,
    sample_exponents,
)

REFERENCES = cite("2502.13961")
#: The dimension at which sizes are counted unless another is given: that of the authors' figures.
USUAL_DIM = 64
#: Shares of the leaves that the first layer is asked to hold.
SPANS = (0.5, 0.9)


class Scenario(NamedTuple):
    """What a network fits of a tree, from how many samples; ``degree`` None is any function."""

    name: str
    samples: str
    fits: str
    degree: int | None
    status: str


@dataclass(frozen=True, eq=False)
class TreeExplanation:
    """Everything that ``explain`` says about a tree, with sizes counted at ``dim``.

    ``moments`` has the variance of a branch's labels and their energy by degree in the leaves,
    ``inner`` the parts of the inner function.
    """

    target: TreeTarget
    noise: float
    dim: int
    moments: TreeMoments
    inner: InnerParts

    @property
    def sizes(self) -> tuple[int, int]:
        """Branches and leaves at this dimension."""
        return self.target.sizes(self.dim)

    @property
    def gap(self) -> str:
        """Why the theorem says nothing about this tree; empty if it does."""
        return gap_of_the_theorem(self.target, self.inner)

    @property
    def threshold(self) -> float | None:
        """Samples beyond which the first layer sees the leaves; None without a part along He2."""
        share = self.inner.quadratic_share
        if not share:
            return None
        branches, leaves = self.sizes
        seen = self.moments.correlation_squared.value
        return first_layer_threshold(self.dim, leaves, branches, share, seen)

    @functools.cached_property
    def span_samples(self) -> dict[float, float] | None:
        """Samples at which the moment matrix holds these shares of the leaves; None if unknown."""
        try:
            leaves = self.sizes[1]
            return {s: samples_for_span(self.target, leaves, self.dim, s) for s in SPANS}
        except NoTheory:
            return None

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """What lazy, two-layer-trained and three-layer-trained networks fit."""
        lazy = Scenario("lazy", "d^2", "polynomials of degree 2 in x", 2, "theorem")
        if self.gap or self.inner.degree is None:
            return (lazy,)
        epsilon = self.target.leaves.power
        needed = sample_exponents(epsilon, self.inner.degree)
        degree = random_layer_degree(needed[0], epsilon)
        first, both = (f"d^{power:g}" for power in (needed[0], max(needed)))
        fits = f"polynomials of degree {degree} in the leaves"
        return (
            lazy,
            Scenario("first-layer", first, fits, degree, "conjecture"),
            Scenario("second-layer", both, "any function of a branch", None, "conjecture"),
        )

    def to_json(self) -> dict[str, Any]:
        """The object that ``explain --json`` prints."""
        branches, leaves = self.sizes
        found, threshold = self.moments, self.threshold
        return json_value(
            {
                "target": self.target.text,
                "noise": self.noise,
                "dim": self.dim,
                "effective_dimensions": [self.dim, leaves, branches],
                "variance": found.variance.value,
                "correlation_squared": found.correlation_squared.value,
                "inner_shares": list(self.inner.shares[:5]),
                "floors": [floor.value for floor in found.floors[1:]],
                "floor_errors": [floor.error for floor in found.floors[1:]],
                "first_layer_threshold": threshold,
                "first_layer_kappa": None
                if threshold is None
                else math.log(threshold) / math.log(self.dim),
                "span_samples": None
                if self.span_samples is None
                else {f"{span:g}": n for span, n in self.span_samples.items() if n < math.inf},
                "scenarios": [
                    {**scenario._asdict(), "floor": self.floor(scenario)}
                    for scenario in self.scenarios
                ],
                "not_covered": self.gap or None,
                "references": list(REFERENCES),
            }
        )

    def floor(self, scenario: Scenario) -> float | None:
        """Share of the variance that is left over; None for degrees beyond those computed."""
        if scenario.degree is None:
            return 0.0
        floors = self.moments.floors
        return floors[scenario.degree].value if scenario.degree < len(floors) else None

    def report(self, verbose: bool = False) -> str:
        """The same in words; ``verbose`` adds how the numbers were computed."""
        (branches, leaves), found = self.sizes, self.moments
        lines = [
            f"Target  {self.target.text}",
            f"At d = {self.dim}: {branches} {_explained_plural(branches, 'branch', 'branches')} of "
            f"{leaves} {_explained_plural(leaves, 'leaf', 'leaves')}, variance of a label "
            f"{found.variance.value:.4g}",
            f"Effective dimensions  d = {self.dim} -> leaves = {branches * leaves} -> branches = "
            f"{branches}",
            "",
            "Share of the variance beyond the best polynomial in the true leaves (theorem)",
            f"  degree  {'   '.join(f'{k:>5}' for k in range(1, len(found.floors)))}",
            f"  floor   {'   '.join(f'{floor.value:5.3f}' for floor in found.floors[1:])}",
            "",
            "What a network fits, from how many samples (powers: theorem), and what is left",
        ]
        for scenario in self.scenarios:
            floor = self.floor(scenario)
            left = f"less than {found.floors[-1].value:.3f}" if floor is None else f"{floor:.3f}"
            lines.append(
                f"  {scenario.name:<13} n ~ {scenario.samples:<7} {scenario.fits}: {left} "
                f"({scenario.status})"
            )
        if self.gap:
            lines.append(f"  trained layers: no theorem, {self.gap}")
        lines += ["", *self._first_layer_lines(), "", f"Papers  {'; '.join(REFERENCES)}"]
        if verbose:
            error = max(floor.error for floor in found.floors)
            lines.append(f"Floors by {found.variance.method}, to {max(error, 1e-15):.0e}")
        return "\n".join(lines)

    def _first_layer_lines(self) -> list[str]:
        threshold = self.threshold
        if threshold is None:
            return ["The first layer: no part along He2, so the moment matrix shows no leaf"]
        lines = [
            f"The first layer sees leaves beyond n = {self._power(threshold)} (heuristic), little",
            "by little: at such d there is no sharp threshold at the power of the theorem",
        ]
        for span, samples in (self.span_samples or {}).items():
            if samples < math.inf:
                lines.append(
                    f"  it holds {span:.0%} of them at n = {self._power(samples)} (heuristic)"
                )
        return lines

    def _power(self, samples: float) -> str:
        return f"{samples:.0f} = d^{math.log(samples) / math.log(self.dim):.2f}"


def explain_tree(
    tree: TreeTarget,
    *,
    noise: float | None = None,
    inputs: GivenInputs | None = None,
    dim: int | None = None,
) -> TreeExplanation:
    """What can be learned of a tree, with sizes counted at ``dim``; Gaussian inputs alone."""
    law = read_inputs("gaussian" if inputs is None else inputs)
    checked_input_law(law, (Gaussian,), "a tree is explained", NoTheory)
    size = whole_or_error("dim", USUAL_DIM if dim is None else dim, 2)
    moments = tree_moments(tree, tree.sizes(size)[1])
    return TreeExplanation(tree, noise or 0.0, size, moments, expected_inner_parts(tree))


def _explained_plural(number: int, one: str, many: str) -> str:
    return one if number == 1 else many
