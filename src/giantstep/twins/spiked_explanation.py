"""What a spike in the inputs changes: for kernels, one giant step, principal components, a flow."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from giantstep.bibliography import cite
from giantstep.errors import NoTheory
from giantstep.inputs import Spiked
from giantstep.problem import Problem
from giantstep.theory.structured.link_series import information_exponent, link_moments
from giantstep.theory.structured.principal_component import principal_component
from giantstep.theory.structured.random_start import flow_sample_exponent, start_exponent
from giantstep.theory.structured.spiked_samples import (
    kernel_degree,
    kernel_sample_exponent,
    one_step_conjectured_exponent,
    one_step_strength_exponent,
)

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
    def is_aligned(self) -> bool:
        """Whether the spike has a cosine of order one with the target."""
        return self.alignment_exponent == 0

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
            | {"status": "theorem", "finds_the_target": self.is_aligned},
            "references": list(REFERENCES),
        }
        if self.is_aligned:
            found["kernel"] = {
                "degrees_at_n_of_order_d": kernel_degree(gamma2),
                "status": "theorem",
            }
            found["one_step"] = {
                "sufficient_strength_exponent": one_step_strength_exponent(k),
                "is_enough": gamma2 > one_step_strength_exponent(k),
                "status": "theorem",
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
        if self.is_aligned:
            degree = kernel_degree(gamma2)
            learned = "every degree" if degree == math.inf else f"degrees up to {degree}"
            sufficient = _power(one_step_strength_exponent(k))
            conjectured = _power(one_step_conjectured_exponent(k))
            enough = gamma2 > one_step_strength_exponent(k)
            lines += [
                f"  a kernel learns {learned} from n ~ d samples (theorem)",
                f"  one giant step learns the link from n ~ d if theta >> {sufficient} (theorem, "
                f"sufficient){': so it is here' if enough else ''}",
                f"  theta >> {conjectured} should already do (conjecture)",
            ]
        else:
            lines.append(
                "  one giant step finds the spike, not the target: a warm start for later steps"
            )
        lines.append(f"  {self._component_line()}")
        flow = flow_sample_exponent(k, gamma1, gamma2)
        lines += [
            f"  a preconditioned gradient flow learns it from n >> {_power(flow)} (theorem); "
            f"a random neuron begins at omega ~ {_power(-start_exponent(gamma1, gamma2))}",
            f"  a rotation-invariant kernel needs at least n ~ d^(const * "
            f"{kernel_sample_exponent(p, gamma2):.3g}) (theorem)",
        ]
        return "\n".join(lines)

    def _component_line(self) -> str:
        beside = "" if self.is_aligned else ", which is not the target"
        if self.strength_exponent > 0:
            return f"the top principal component finds the spike from n ~ d{beside} (theorem)"
        ratio = self.component_threshold
        if ratio == math.inf:
            return "there is no spike for principal components to find"
        return (
            f"the top principal component sees the spike beyond n = {ratio:.4g} d{beside} (theorem)"
        )


def explain_spike(problem: Problem) -> SpikedExplanation:
    """What the spike changes for a polynomial link of h1; one line for what is not covered."""
    law = problem.inputs
    assert isinstance(law, Spiked)
    gamma1, gamma2 = -law.alignment.power, law.strength.power
    if not (0 <= gamma1 <= 0.5 and 0 <= gamma2 <= 1):
        raise NoTheory(
            f"inputs = {law}: a spike is explained for a strength of d^0 to d^1 and an alignment "
            "of d^0 to d^-0.5"
        )
    if problem.target.rank != 1 or problem.target.is_random:
        raise NoTheory(
            f"inputs = {law}: a spike is explained for polynomials of h1 alone, and target = "
            f"{problem.target.text!r}"
        )
    try:
        order, degree = information_exponent(problem.target), len(link_moments(problem.target)) - 1
    except NoTheory:
        raise NoTheory(
            f"inputs = {law}: a spike is explained for polynomials of h1 alone, and target = "
            f"{problem.target.text!r}"
        ) from None
    return SpikedExplanation(law, order, degree)


def _power(exponent: float) -> str:
    if exponent == 0:
        return "1"
    return "d" if exponent == 1 else f"d^{exponent:.3g}"
