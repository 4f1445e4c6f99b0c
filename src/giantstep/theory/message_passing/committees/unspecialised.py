"""The branch of state evolution on which all units of a committee are alike: q- = 0."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from giantstep.channels.committees.fields import Fields
from giantstep.channels.committees.sums import sums_of
from giantstep.errors import NoTheory
from giantstep.numerics.bracketed_root import bracketed_root
from giantstep.targets.committee import Committee
from giantstep.theory.message_passing.averages.overlaps import logistic, logit

#: Points on omega_0, evenly up to this many standard deviations.
_POINTS, _WIDTH = 41, 6.5
#: Densities of labels below this are rounding.
_RARE = 1e-10
#: A label that tells less than this about the mean direction tells nothing.
_BLIND = 1e-9
#: Smallest overlap of the mean direction that is looked at where labels are blind to it.
_SMALL = 1e-4
#: Steps of the scans in log(q/(1 - q)), and where they end.
_STEP, _LAST = 1.0, 13.0


class Mean(NamedTuple):
    """Averages at q- = 0: E+ of the mean direction, E[gamma^2], Psi, and E[E[y | omega]^2]."""

    fisher: float
    growth: float
    log_partition: float
    explained: float


@functools.lru_cache(maxsize=512)
def mean_averages(committee: Committee, overlap: float) -> Mean:
    r"""Averages over labels when only the mean direction has an overlap q+.

    .. math::
        E_+ = \frac1r E\Big[\frac{(\partial_{\omega_0} Z)^2}{Z^2}\Big], \qquad
        1 + \gamma(y, \omega_0) = \frac1Z\,
        \mathrm{FT}\big[\phi^{r-2} (\phi_2 \phi - \phi_1^2)\big], \quad
        \phi_m = E[(h - \omega_0)^m e^{i k g(h) + i l (h - \omega_0)}],

    with omega_0 ~ N(0, q+/r) for every unit: one integral, whatever r. By Schur's lemma
    E[h h^T - I | y, omega_0] is gamma times the projector on the complement of (1, .., 1).

    Symbols: q+ ``overlap``.

    Assumes: isotropic Gaussian inputs, d to infinity at fixed r.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451; Troiani et al. 2024, arXiv:2405.15480.

    >>> from giantstep.targets import Target
    >>> from giantstep.targets.committee import committee_of
    >>> found = mean_averages(committee_of(Target("(tanh(h1) + tanh(h2))/sqrt(2) + z1")), 0.5)
    >>> round(found.fisher, 5), round(found.growth, 5)
    (0.30629, 0.0177)
    """
    sums, rank = sums_of(committee), committee.rank
    x = np.linspace(-_WIDTH, _WIDTH, _POINTS) if overlap > 0 else np.zeros(1)
    weights = np.exp(-(x**2) / 2)
    weights /= weights.sum()
    fields = Fields(sums, 1.0, 1.0 - overlap)
    phi = fields.phi(np.sqrt(overlap / rank) * x, second=True)
    assert phi.two is not None

    def density(values: np.ndarray) -> Float[np.ndarray, "x y"]:
        return ((values @ fields.masses) @ sums.matrix).real

    rest = phi.zero ** (rank - 2)
    z = density(rest * phi.zero**2)
    slope = rank * density(rest * phi.zero * fields.first_derivative(phi))
    second = density(rest * (phi.two * phi.zero - phi.one**2))
    seen, safe = z > _RARE, np.maximum(z, _RARE)
    mass = weights[:, None] * sums.weights * seen
    label_means = z @ (sums.weights * sums.labels)
    return Mean(
        float(np.sum(mass * slope**2 / safe)) / rank,
        float(np.sum(mass * z * (second / safe - 1) ** 2)),
        float(np.sum(mass * z * np.log(safe))),
        float(weights @ label_means**2),
    )


def unspecialised_ratio(committee: Committee, overlap: float) -> float:
    r"""The ratio n/d at which q+ is a fixed point with q- = 0.

    .. math:: \alpha(q_+) = \frac{q_+}{(1 - q_+)\, E_+(q_+)}

    Symbols: q+ ``overlap``.

    Assumes: as :func:`mean_averages`.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.targets import Target
    >>> from giantstep.targets.committee import committee_of
    >>> committee = committee_of(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(unspecialised_ratio(committee, 0.702365), 5)
    1.5
    """
    return overlap / ((1 - overlap) * max(mean_averages(committee, overlap).fisher, 1e-300))


def is_blind(committee: Committee) -> bool:
    """Whether labels tell nothing about the mean direction when nothing is known."""
    return mean_averages(committee, 0.0).fisher < _BLIND


def unspecialised_overlap(committee: Committee, samples_ratio: float) -> float:
    r"""The overlap q+ of the mean direction that message passing reaches while units are alike.

    .. math:: q_+ = \frac{\alpha E_+(q_+)}{1 + \alpha E_+(q_+)}, \text{ the smallest}

    Symbols: alpha ``samples_ratio``.

    Assumes: as :func:`mean_averages`.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.targets import Target
    >>> from giantstep.targets.committee import committee_of
    >>> committee = committee_of(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(unspecialised_overlap(committee, 1.5), 6)
    0.702365
    """

    def ahead(t: float) -> float:
        """log of the gain that q+ needs over the gain that it has: negative while q+ grows."""
        gain = samples_ratio * mean_averages(committee, logistic(t)).fisher
        return t - np.log(max(gain, 1e-300))

    if is_blind(committee):
        low = float(logit(np.array(_SMALL)))
        if ahead(low) >= 0:
            return 0.0
    else:
        # The map increases with q+: its image of zero is below every fixed point.
        low = float(np.log(samples_ratio * mean_averages(committee, 0.0).fisher))
    high = low + _STEP
    while ahead(high) < 0:
        low, high = high, high + _STEP
        if high > _LAST:
            raise NoTheory(
                f"samples = {samples_ratio:g}d: the mean direction is known almost perfectly, and "
                "averages lose their accuracy; fewer samples or more noise are covered"
            )
    return logistic(bracketed_root(ahead, low, high, absolute=1e-9).value)
