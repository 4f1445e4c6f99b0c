"""What a spike in the inputs changes: for kernels, one giant step, principal components, a flow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from giantstep.answer import Status
from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.language.inputs import Spiked
from giantstep.language.problem import Problem
from giantstep.theory.gradient_flow.link_series import flow_moments, information_exponent
from giantstep.theory.gradient_flow.random_start import flow_sample_exponent, start_exponent
from giantstep.theory.gradient_flow.spiked_samples import (
    kernel_degree,
    kernel_sample_exponent,
    one_step_conjectured_exponent,
    one_step_strength_exponent,
)
from giantstep.theory.pca import principal_component

REFERENCES = cite("ba-2023", "2309.03843", "2104.04244", "baik-2005")


@dataclass(frozen=True)
class SpikedExplanation:
    """Exponents of d for a link of degree p and information exponent k under a spike.

    ``alignment_exponent`` is gamma_1 of c = d^-gamma_1, ``strength_exponent`` gamma_2 of
    theta = d^gamma_2. ``component`` has eigenvalue and overlap of the top principal component at
    n = d, for a spike of fixed strength.
    """

    inputs: Spiked
    information_exponent: int
    degree: int

    @property
    def alignment_exponent(self) -> float:
        """gamma_1."""
        return -self.inputs.alignment.power

    @property
    def strength_exponent(self) -> float:
        """gamma_2."""
        return self.inputs.strength.power

    @property
    def shows_target(self) -> bool:
        """Whether the label follows the spike up to a vanishing part: theta c^2 grows, or c = 1."""
        return self.inputs.is_aligned or self.strength_exponent > 2 * self.alignment_exponent

    @property
    def hides_target(self) -> bool:
        """Whether a spike beside the target is too weak for the label to follow it."""
        return self.alignment_exponent > 0 and not self.shows_target

    @property
    def kernel_degrees(self) -> float:
        """The degrees that a kernel learns at n ~ d: one, unless the label follows the spike."""
        return kernel_degree(self.strength_exponent) if self.shows_target else 1

    @property
    def kernel_status(self) -> Status:
        """The theorem is about a spike along the target."""
        return "theorem" if self.inputs.is_aligned else "heuristic"

    @property
    def component_threshold(self) -> float:
        """The n/d beyond which principal components see the spike: theta > sqrt(d/n)."""
        if self.strength_exponent > 0:
            return 0.0
        return (
            self.inputs.strength.coefficient**-2 if self.inputs.strength.coefficient else math.inf
        )

    def to_json(self) -> dict[str, Any]:
        """Exponents and thresholds with the status of each."""
        k, p = self.information_exponent, self.degree
        gamma1, gamma2 = self.alignment_exponent, self.strength_exponent
        found: dict[str, Any] = {
            "alignment_exponent": gamma1,
            "strength_exponent": gamma2,
            "information_exponent": k,
            "degree": p,
            "flow": {
                "start_exponent": start_exponent(gamma1, gamma2),
                "sample_exponent": flow_sample_exponent(k, gamma1, gamma2),
                "status": "theorem",
            },
            "kernel_lower_bound": {
                "sample_exponent": kernel_sample_exponent(p, gamma2),
                "status": "theorem",
                "note": "up to a constant factor in the exponent",
            },
            "principal_component": {"samples_over_dim": self.component_threshold}
            | self._component()
            | {"status": "theorem", "finds_the_target": self.shows_target},
            "kernel": {
                "degrees_at_n_of_order_d": self.kernel_degrees,
                "status": self.kernel_status,
            },
            "references": list(REFERENCES),
        }
        if not self.hides_target:
            found["one_step"] = {
                "sufficient_strength_exponent": one_step_strength_exponent(k),
                "is_enough": gamma2 > one_step_strength_exponent(k),
                "status": self.kernel_status,
                "conjectured_strength_exponent": one_step_conjectured_exponent(k),
                "conjectured_status": "conjecture",
            }
        return found

    def _component(self) -> dict[str, float]:
        if self.strength_exponent > 0:
            return {"overlap_squared": 1.0}
        found = principal_component(self.inputs.strength.coefficient, 1.0)
        return {
            "eigenvalue_at_n_equal_d": found.eigenvalue,
            "overlap_squared": found.overlap_squared,
        }

    def report(self) -> str:
        """The same in words."""
        k, p = self.information_exponent, self.degree
        gamma1, gamma2 = self.alignment_exponent, self.strength_exponent
        lines = [
            "All of the above is for isotropic inputs.",
            f"Under the spike ({self.inputs}), for degree {p} and information exponent {k}:",
        ]
        degree, status = self.kernel_degrees, self.kernel_status
        learned = "every degree" if degree == math.inf else f"degrees up to {degree}"
        lines.append(f"  a kernel learns {learned} from n ~ d samples ({status})")
        if not self.hides_target:
            sufficient = _power_words(one_step_strength_exponent(k))
            conjectured = _power_words(one_step_conjectured_exponent(k))
            enough = gamma2 > one_step_strength_exponent(k)
            lines += [
                f"  one giant step learns the link from n ~ d if theta >> {sufficient} ({status}, "
                f"sufficient){': so it is here' if enough else ''}",
                f"  theta >> {conjectured} should already do (conjecture)",
            ]
        else:
            seen = _power_words(gamma2 / 2 - gamma1)
            lines.append(
                f"  the spike shows a part of the target, with a correlation of order {seen}: for "
                "one giant step it is a warm start, no more"
            )
        lines.append(f"  {self._component_line()}")
        flow = flow_sample_exponent(k, gamma1, gamma2)
        lines += [
            f"  a preconditioned gradient flow learns it from n >> {_power_words(flow)} (theorem); "
            f"a random neuron begins at omega ~ {_power_words(-start_exponent(gamma1, gamma2))}",
            f"  a rotation-invariant kernel needs at least n ~ d^(const * "
            f"{kernel_sample_exponent(p, gamma2):.3g}) (theorem)",
        ]
        return "\n".join(lines)

    def _component_line(self) -> str:
        beside = "" if self.shows_target else ", which is not the target"
        if self.strength_exponent > 0:
            return (
                f"the top principal component finds the spike from n ~ d{beside}: theta > "
                "sqrt(d/n), an eigenvalue near theta, an overlap that tends to 1 (theorem)"
            )
        ratio = self.component_threshold
        if ratio == math.inf:
            return "there is no spike for principal components to find"
        found = principal_component(self.inputs.strength.coefficient, 1.0)
        at_d = (
            f"at n = d its eigenvalue is {found.eigenvalue:.4g}, its squared overlap "
            f"{found.overlap_squared:.4g}"
        )
        return (
            f"the top principal component sees the spike beyond n = {ratio:.4g} d{beside}; "
            f"{at_d} (theorem)"
        )


def explain_spike(problem: Problem, law: Spiked) -> SpikedExplanation:
    """What the spike changes for a polynomial link of h1; one line for what is not covered."""
    gamma1, gamma2 = -law.alignment.power, law.strength.power
    if not (0 <= gamma1 <= 0.5 and 0 <= gamma2 <= 1):
        raise NoTheory(
            f"inputs = {law}: a spike is explained for a strength of d^0 to d^1 and an alignment "
            "of d^0 to d^-0.5"
        )
    if problem.target.rank != 1 or problem.target.is_random:
        raise NoTheory(
            f"target = {problem.target.text!r} under {law}: a spike is explained for polynomials "
            "of h1 alone; leave --inputs out"
        )
    try:
        order, degree = information_exponent(problem.target), len(flow_moments(problem.target)) - 1
    except NoTheory:
        raise NoTheory(
            f"target = {problem.target.text!r} under {law}: a spike is explained for polynomials "
            "of h1 alone; leave --inputs out"
        ) from None
    return SpikedExplanation(law, order, degree)


def _power_words(exponent: float) -> str:
    if exponent == 0:
        return "1"
    return "d" if exponent == 1 else f"d^{exponent:.3g}"
