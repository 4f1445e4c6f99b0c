"""What the second layer cannot fit: error floors after giant steps, by regime of n and p."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np

from giantstep.language.expressions.printing import directions_text
from giantstep.language.targets import Target
from giantstep.language.targets.expansion import HermiteSeries, target_series
from giantstep.language.targets.hermite import conditional_target_energy, target_moments
from giantstep.numerics.estimate import Estimate
from giantstep.numerics.linear_algebra import Rows
from giantstep.theory.learnability.staircase import predicted_subspaces

#: Powers of d: samples of a step and of the readout fit, and neurons.
SAMPLE_POWERS = (1, 2)
WIDTH_POWERS = (0, 1, 2)


@dataclasses.dataclass(frozen=True, eq=False)
class Floor:
    """A lower bound on the test error, in one regime after some giant steps."""

    sample_power: int
    width_power: int
    steps: int
    directions: Rows
    kappa: int
    fitted: str
    floor: Estimate


def second_layer_floors(target: Target, steps: int = 3) -> tuple[Floor, ...]:
    r"""Error floors of the readout for n ~ d, d^2 and p ~ 1, d, d^2 after 0..``steps`` giant steps.

    .. math::
        E (g - \hat f)^2 \ge \|P_{U,>\kappa}\, g\|^2, \qquad \kappa = \min(k_1, k_2)
        \quad (n \sim d^{k_1},\ p \sim d^{k_2})

    where U is what the first layer has learned and :math:`P_{U,\le\kappa}` keeps any dependence on
    h_U together with total Hermite degree at most kappa in the other directions.

    Symbols: g ``target``; k_1 ``sample_power``, k_2 ``width_power``, U ``directions``.

    Assumes: isotropic Gaussian inputs, fresh batches, an activation without parity, a readout
    fitted on fresh samples; each step with n ~ d^k learns all leaps up to k.
    Status: conjecture (a theorem for p of order 1).
    References: Dandi et al. 2023, arXiv:2305.18270, conjecture 3.

    >>> target = Target("h1 + He2(h2) + He2(h1)*h2")
    >>> row = next(f for f in second_layer_floors(target) if (f.width_power, f.steps) == (1, 1))
    >>> row.fitted, row.floor.value
    ('h1, He2(h1)*h2', 2.0)
    """
    floors = []
    known: dict[tuple[bytes, int], Estimate] = {}
    variance = target_moments(target).variance
    for sample_power in SAMPLE_POWERS:
        spaces = predicted_subspaces(target, steps, sample_power)
        for width_power, (step, learned) in itertools.product(WIDTH_POWERS, enumerate(spaces)):
            kappa = min(sample_power, width_power)
            key = (learned.round(9).tobytes(), kappa)
            if key not in known:
                known[key] = conditional_target_energy(target, learned, kappa)
            floor = known[key]
            everything = floor.value <= max(floor.error, 1e-12 * variance)
            if everything:
                # What is nothing is 0, not what rounding left of it.
                floor = dataclasses.replace(floor, value=0.0)
            fitted = "everything" if everything else _predicted_floor_energy(target, learned, kappa)
            floors.append(Floor(sample_power, width_power, step, learned, kappa, fitted, floor))
    return tuple(floors)


def _predicted_floor_energy(target: Target, learned: np.ndarray, kappa: int) -> str:
    series = target_series(target)
    axes = np.flatnonzero(np.abs(learned).sum(axis=0))
    if series is not None and np.array_equal(np.abs(learned), np.eye(target.rank)[axes]):
        return _predicted_floor_terms(series, target.rank, set(axes.tolist()), kappa)
    if not len(learned):
        return f"degree <= {kappa}" if kappa else "the mean"
    rest = f", times degree <= {kappa} in the rest" if kappa else ""
    return f"any function of {directions_text(learned)}{rest}"


def _predicted_floor_terms(series: HermiteSeries, rank: int, known: set[int], kappa: int) -> str:
    """The Hermite monomials of a polynomial that are fitted."""
    names = []
    latent = {index[:rank] for index in series.terms if any(index[:rank])}
    for index in sorted(latent, key=lambda j: (sum(j), tuple(-k for k in j))):
        if sum(k for axis, k in enumerate(index) if axis not in known) <= kappa:
            factors = [
                f"h{axis + 1}" if k == 1 else f"He{k}(h{axis + 1})"
                for axis, k in enumerate(index)
                if k
            ]
            names.append("*".join(factors))
    return ", ".join(names) or "the mean"
