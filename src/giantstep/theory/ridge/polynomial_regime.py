"""Samples and features that grow as powers of d: which degrees are learned, and which half-way."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from giantstep.errors import NoTheory
from giantstep.language.sizes import Size
from giantstep.theory.ridge.degree_energies import DegreeEnergies
from giantstep.theory.ridge.deterministic_equivalent import Spectrum

#: Feature energies below this fraction of the whole are zeros blurred by quadrature.
NEGLIGIBLE = 1e-20


class Regime(NamedTuple):
    """The sizes in units of d^exponent, infinite where they grow faster, and the spectrum there."""

    samples: float
    width: float
    exponent: float
    spectrum: Spectrum


def polynomial_regime(
    samples: Size,
    width: Size | None,
    features: DegreeEnergies,
    target: DegreeEnergies,
    *,
    weak_modes: bool,
    spike: float = 0.0,
) -> Regime:
    r"""The spectrum that decides the risk at :math:`n = \alpha d^{k_1}`, :math:`p = \psi d^{k_2}`.

    Let :math:`\kappa = \min(k_1, k_2)`. Degrees below :math:`\kappa` are learned, those above
    act as noise, and the degree :math:`l = \kappa`, where it is whole, is learned in part:

    .. math:: N_l \to d^l/l!, \qquad N_l e_l \to \mu_l^2/l!, \qquad
        \tau = \textstyle\sum_{k > \kappa} \mu_k^2/k!, \qquad
        b_{tail} = \textstyle\sum_{k > \kappa} |P_k g|^2 .

    So :math:`R \to |P_{>\kappa} g|^2` between whole exponents, unless n and p are of one order.
    A degree k that the features lack is never learned; but where the neurons' norms fluctuate
    (``weak_modes``) it survives as a mode of eigenvalue :math:`\mu_{k+2}^2/(2 d^{k+1})`, as for
    the mean of a target and centred features.

    Symbols: n ``samples``, p ``width`` (None: infinite), :math:`\mu_k^2/k!` ``features`` (for a
    kernel, its power series), :math:`|P_k g|^2` ``target``. A ``spike`` of variance theta raises
    the eigenvalue of the linear part of h1 by 1 + theta (only when kappa = 1).

    Assumes: isotropic inputs up to the spike, a fixed ridge, d to infinity.
    Status: theorem
    References: Mei, Montanari 2019, arXiv:1908.05355; Ghorbani et al. 2019, arXiv:1904.12191; Mei
        et al. 2021, arXiv:2101.10588; Hu et al. 2024, arXiv:2403.08160 (whole exponents).

    >>> relu = DegreeEnergies(np.array([0.159155, 0.25, 0.079577, 0.0]), 0.5)
    >>> cubic = DegreeEnergies(np.array([0, 1, 0.5, 0.25]), 1.75)
    >>> found = polynomial_regime(Size(1, 1.5), Size(1, 3), relu, cubic, weak_modes=False)
    >>> found.samples, found.width, found.spectrum.tail_energy
    (1, inf, 0.75)
    """
    exponent = min(samples.power, math.inf if width is None else width.power)
    if exponent <= 0:
        raise NoTheory(
            f"samples = {samples}, width = {width}: a limit of large d needs both to grow with d; "
            "write them as 2d or d^1.5, or give --dim"
        )
    last = math.floor(exponent)
    if last + 2 >= len(features.by_degree) or last >= len(target.by_degree):
        raise NoTheory(f"samples or width of order d^{exponent:g}: the limit stops at degree 8")
    eigenvalues, multiplicities, learnable = [0.0], [0.0], [0.0]
    missed = target.total - float(np.sum(target.by_degree[: last + 1]))
    for k in range(last + 1):
        energy = float(target.by_degree[k])
        present = features.by_degree[k] > NEGLIGIBLE * features.total
        weak = math.factorial(k + 2) / 2 * float(features.by_degree[k + 2]) if weak_modes else 0.0
        if k == exponent:
            strength = math.factorial(k) * float(features.by_degree[k])
            eigenvalues.append(strength)
            multiplicities.append(1 / math.factorial(k))
            learnable.append(0.0 if spike else energy)
            if spike:
                eigenvalues[0], learnable[0] = strength * (1 + spike), energy
        elif not present and weak > 0 and k + 1 == exponent:
            eigenvalues.append(weak)
            multiplicities.append(0.0)
            learnable.append(energy)
        elif not present and not (weak > 0 and k + 1 < exponent):
            missed += energy
    padding = [0.0] * (3 - len(eigenvalues))
    spectrum = Spectrum(
        np.array(eigenvalues + padding),
        np.array(multiplicities + padding),
        np.array(learnable + padding),
        max(features.total - float(np.sum(features.by_degree[: last + 1])), 0.0),
        max(missed, 0.0),
    )
    return Regime(
        samples.coefficient if samples.power == exponent else math.inf,
        width.coefficient if width is not None and width.power == exponent else math.inf,
        exponent,
        spectrum,
    )
