"""How much of an activation, of a kernel and of a target lies in each degree."""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError
from giantstep.language.activations.activation import Activation
from giantstep.language.activations.kernels import KernelFunction
from giantstep.language.targets import Target
from giantstep.language.targets.hermite import target_energies, target_moments

#: Degrees of a target that the limit of large d distinguishes; features need two more.
DEGREES = 8
#: Shares of the whole that quadrature leaves where there is nothing.
ROUNDING = 1e-24
TAIL_ROUNDING = 1e-13


class DegreeEnergies(NamedTuple):
    """A function's energy in each degree 0, 1, ..., and in all of them."""

    by_degree: Float[np.ndarray, " degrees"]
    total: float


@functools.lru_cache(maxsize=64)
def ridge_feature_energies(sigma: Activation) -> DegreeEnergies:
    """mu_k^2/k!, and E[sigma^2]."""
    factorials = np.array([math.factorial(k) for k in range(DEGREES + 3)])
    by_degree = sigma.hermite(DEGREES + 2) ** 2 / factorials
    by_degree = np.where(by_degree > ROUNDING * sigma.second_moment, by_degree, 0.0)
    resolved = float(by_degree.sum())
    complete = sigma.second_moment - resolved <= TAIL_ROUNDING * sigma.second_moment
    return DegreeEnergies(by_degree, resolved if complete else sigma.second_moment)


@functools.lru_cache(maxsize=64)
def ridge_kernel_energies(shape: KernelFunction) -> DegreeEnergies:
    """The powers F_k, and F(1)."""
    by_degree = np.array([shape.power(k) for k in range(DEGREES + 3)])
    return DegreeEnergies(by_degree, float(shape.profile(1.0)))


@functools.lru_cache(maxsize=64)
def ridge_target_energies(target: Target) -> DegreeEnergies:
    """|P_k g|^2, and E[g^2] with the noise inside the label."""
    return DegreeEnergies(
        target_energies(target, DEGREES), float(target_moments(target).second_moment)
    )


def check_powers(shape: KernelFunction, target: Target, reach: int, first: int = 1) -> None:
    """Refuse a kernel without a power that the target has and that is within reach."""
    energy = ridge_target_energies(target)
    for k in range(first, min(reach, DEGREES) + 1):
        share = float(energy.by_degree[k]) / energy.total if energy.total else 0.0
        if share > 1e-9 and shape.power(k) == 0:
            raise SettingsError(
                f"kernel = {shape.name!r} has no power {k}, so it never learns the degree-{k} part "
                f"of the target ({100 * share:.0f} % of its energy): use exp, or add t^{k}"
            )
