"""Which spiked kernel regressions are predicted, at finite dimension or in the limit."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from giantstep.answer import Status
from giantstep.errors import raise_refusal
from giantstep.language.activations.kernels import KernelFunction
from giantstep.language.sizes import Size
from giantstep.language.targets import Target
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian
from giantstep.theory.ridge.degree_energies import DEGREES, check_powers, ridge_target_energies
from giantstep.theory.ridge.deterministic_equivalent import Spectrum
from giantstep.theory.ridge.optimal_ridge import RANGE
from giantstep.theory.ridge.spectral_case import SpectralCase
from giantstep.theory.ridge.spiked_kernel import spiked_kernel_risk

REFERENCES = ("Mousavi-Hosseini et al. 2023, arXiv:2309.03843",)
#: Gauss-Hermite nodes along the spike; for a target with kinks, panels of 12 nodes.
NODES, PANEL_ORDER, PANEL_LENGTH = 48, 12, 4.5
#: Relative step of differences.
STEP = 1e-3
#: An infinite series has E[F(|x|^2/d)] = inf when the spike's share of the norm reaches 1/2.
LARGEST_SHARE = 0.5


@dataclass(frozen=True, eq=False)
class SpikedCase:
    """Kernel regression at finite dimension with a spike; see :func:`spiked_kernel_risk`.

    ``shapes`` holds the kernel's series, the target on the grid, the grid and its weights.
    """

    status: ClassVar[Status] = "heuristic"
    references: ClassVar[tuple[str, ...]] = REFERENCES
    ridges: ClassVar[tuple[float, float]] = RANGE

    samples: float
    spike: float
    dim: float
    shapes: tuple[np.ndarray, ...]
    note: str

    def metrics(self, ridge: float, noise: float) -> dict[str, float]:
        """Errors, norm and degrees of freedom; NaN where the fixed point was not reached."""
        sizes = self.samples, self.dim, self.spike
        risk = spiked_kernel_risk(*sizes, ridge, noise, *self.shapes)
        names = ("test_error", "train_error", "norm", "degrees_of_freedom")
        found = {name: getattr(risk, name) for name in names}
        found["test_error_noisy"] = found["test_error"] + noise
        return found if risk.converged else dict.fromkeys(found, math.nan)

    def gradient(self, ridge: float, noise: float) -> dict[str, float]:
        """d test_error / d (samples, spike, ridge, noise), by differences of fourth order."""
        at = {"samples": self.samples, "spike": self.spike, "ridge": ridge, "noise": noise}

        def error(name: str, value: float) -> float:
            moved = {**at, name: value}
            case = replace(self, samples=moved["samples"], spike=moved["spike"])
            return case.metrics(moved["ridge"], moved["noise"])["test_error"]

        slopes = {}
        for name, value in at.items():
            step = STEP * (value or STEP)
            near, far = (
                error(name, value + k * step) - error(name, value - k * step) for k in (1, 2)
            )
            slopes[name] = (8 * near - far) / (12 * step)
        return slopes


def spiked_case(
    target: Target, samples: float, shape: KernelFunction, spike: Size, dim: int
) -> SpikedCase:
    """The equivalent at finite dimension, with the grid on which the target is known."""
    kinks = target.kinks[0]
    nodes, weights = (
        split_gaussian(kinks, panel_order=PANEL_ORDER, panel_length=PANEL_LENGTH)
        if kinks
        else gauss_hermite(NODES)
    )
    values = np.broadcast_to(target.numpy(nodes[:, None]), nodes.shape)
    note = f"the equivalent conditional on h1, at d = {dim}"
    shapes = (np.array(shape.series), values, nodes, weights)
    return SpikedCase(samples, spike.at(dim), float(dim), shapes, note)


def spike_limit(
    target: Target, samples_ratio: float, shape: KernelFunction, spike: Size
) -> SpectralCase:
    """Degree k of h1 has eigenvalue F^(k)(0) (spike/d)^k: above 1/n it is learned, below not.

    The rest of the inputs is isotropic: one eigenvalue F'(0)/d of multiplicity d, and a tail.
    """
    energy, gamma = ridge_target_energies(target), spike.power
    thresholds = [1 - 1 / k for k in range(1, DEGREES + 1)]
    learned = 1 + sum(gamma > threshold + 1e-12 for threshold in thresholds)
    critical = learned <= DEGREES and abs(gamma - thresholds[learned - 1]) <= 1e-12
    strength, partial = 0.0, 0.0
    if critical:
        growth = 1 + spike.coefficient if learned == 1 else spike.coefficient**learned
        strength = math.factorial(learned) * shape.power(learned) * growth
        partial = float(energy.by_degree[learned])
    missed = energy.total - float(energy.by_degree[:learned].sum()) - partial
    spectrum = Spectrum(
        np.array([shape.power(1), strength, 0.0]),
        np.array([1.0, 0.0, 0.0]),
        np.array([0.0, partial, 0.0]),
        shape.total_above(1),
        max(missed, 0.0),
    )
    note = "the limit of large d at a fixed ridge; a ridge that grows slowly reaches |P_>k g|^2"
    cause = f"kernel = {shape.name!r}"
    return SpectralCase(samples_ratio, math.inf, spectrum, cause, "heuristic", REFERENCES, note)


def check_spike_covered(
    target: Target, shape: KernelFunction, spike: Size, dim: int | None
) -> None:
    """Refuse targets, kernels and spikes that the prediction with a spike does not cover."""
    share = 0.0 if dim is None else (1 + spike.at(dim)) / dim
    refusals = {
        f"target = {target.text!r}: with a spike the prediction covers functions of h1 alone": (
            target.rank > 1 or target.is_random
        ),
        f"kernel = {shape.name!r} uses the norms of the inputs: with a spike the prediction covers "
        "exp and polynomials": shape.order is not None,
        f"inputs = spiked:{spike}: the limit needs a spike below d, of a power below 1": (
            dim is None and spike.power >= 1
        ),
        f"inputs = spiked:{spike} is {share:.2f} d at d = {dim}: kernel = {shape.name!r} has no "
        "finite trace above d/2; use a polynomial such as 1+t+t^2/2+t^3/6": (
            share >= LARGEST_SHARE and not shape.is_polynomial
        ),
    }
    raise_refusal(refusals)
    exponent = spike.power if dim is None else math.log(max(spike.at(dim), 1)) / math.log(dim)
    reach = DEGREES if exponent >= 1 else math.ceil(1 / (1 - exponent) - 1e-9) - 1
    check_powers(shape, target, reach, first=0)
