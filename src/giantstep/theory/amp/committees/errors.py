"""What a committee's overlap means: the test error, the free entropy, the mutual information."""

from __future__ import annotations

import functools
import math

import numpy as np

from giantstep.channels.committees.core import Covered, committee_with_channel, has_lattice_votes
from giantstep.channels.committees.fields import Fields
from giantstep.channels.committees.sums import (
    channel_link_moment,
    channel_link_values,
    committee_label_sums,
    label_panels,
)
from giantstep.channels.structure import channel_structure
from giantstep.language.problem import Problem
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import Committee
from giantstep.numerics.quadrature import normal_points
from giantstep.theory.amp.committees.fixed_point import (
    CommitteeOverlap,
)

#: Fields that quadrature covers; beyond them a committee has no other theory.
_FEW = 3
#: Points for the entropy of a vote whose sum is noisy.
_POINTS = 2**14


@functools.lru_cache(maxsize=512)
def committee_link_kernel(link: Target, correlation: float) -> float:
    r"""How two fields of one link agree.

    .. math:: K(\rho) = E[g(h) g(h')], \qquad E[h h'] = \rho

    Symbols: g ``link``, :math:`\rho` ``correlation``.

    Assumes: h and h' standard normal, jointly Gaussian.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> round(committee_link_kernel(Target("relu(h1)"), 0.5) * 2 * np.pi, 6)
    1.913223
    """
    left = 1 - correlation**2
    if left < 1e-9:
        return channel_link_moment(link, 2)
    grid = label_panels(link, float(np.clip(2 * np.sqrt(left), 0.03, 0.5)))
    law = grid.conditional(correlation * grid.nodes, left)[0]
    mass = grid.conditional(np.zeros(1), 1.0)[0][0]
    return float(mass @ (grid.values * (law @ grid.values)))


def committee_test_error(found: CommitteeOverlap, added_noise: float = 0.0) -> float:
    r"""E(g - E[y | omega])^2, the error of the posterior mean.

    .. math::
        r (K(1) - K(q_d)) + r (r-1) (K(0) - K(q_a)), \qquad
        q_d = \frac{q_+ + (r-1) q_-}{r}, \quad q_a = \frac{q_+ - q_-}{r}

    for sums, plus the variance of the noise inside the label; for votes E[y^2] - E[E[y|omega]^2].

    Symbols: the label noise that is not counted, ``added_noise``.

    Assumes: as
    :func:`~giantstep.theory.amp.committees.fixed_point.committee_overlap`.
    Status: theorem.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> from giantstep.theory.amp.committees.fixed_point import committee_overlap
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(committee_test_error(committee_overlap(committee, 3.0), added_noise=0.1), 4)
    0.0722
    """
    committee = found.committee
    rank, link = committee.rank, committee.link
    if committee.vote is not None:
        return max(_second_moment(committee) - added_noise - found.averages.explained, 0.0)
    shared = (found.q_plus - found.q_minus) / rank
    own = committee_link_kernel(link, 1.0) - committee_link_kernel(link, found.q_minus + shared)
    cross = committee_link_kernel(link, 0.0) - committee_link_kernel(link, shared)
    inside = max(committee.noise - added_noise, 0.0)
    return max(rank * own + rank * (rank - 1) * cross, 0.0) + inside


def committee_free_entropy(found: CommitteeOverlap) -> float:
    r"""The replica free entropy per dimension at a fixed point.

    .. math::
        \Phi = \tfrac12 \big[(r-1)(\log(1 - q_-) + q_-) + \log(1 - q_+) + q_+\big]
        + \alpha\, E_\omega \int dy\, Z \log Z

    Assumes: as
    :func:`~giantstep.theory.amp.committees.fixed_point.committee_overlap`.
    Status: replica.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> from giantstep.theory.amp.committees.fixed_point import committee_overlap
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(committee_free_entropy(committee_overlap(committee, 3.0)), 3)
    -2.19
    """
    volume = sum(
        count * (math.log1p(-q) + q) / 2
        for count, q in ((found.committee.rank - 1, found.q_minus), (1, found.q_plus))
    )
    return volume + found.samples_ratio * found.averages.log_partition


def committee_information(found: CommitteeOverlap) -> float:
    r"""Mutual information between directions and labels, per dimension, in nats.

    .. math:: I/d = \alpha\, E[\log P(y \mid h)] - \Phi

    Assumes: as :func:`committee_free_entropy`, at the fixed point of largest free entropy.
    Status: replica.
    References: Aubin et al. 2018, arXiv:1806.05451.

    >>> from giantstep.language.targets.symmetry import target_as_committee
    >>> from giantstep.theory.amp.committees.fixed_point import committee_overlap
    >>> committee = target_as_committee(Target("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1"))
    >>> round(committee_information(committee_overlap(committee, 3.0)), 2)
    1.39
    """
    likelihood = _expected_log_likelihood(found.committee)
    return found.samples_ratio * likelihood - committee_free_entropy(found)


def _second_moment(committee: Committee) -> float:
    """E[y^2], noise included."""
    sums = committee_label_sums(committee)
    fields = Fields(sums, 1.0, 1.0)
    whole = fields.phi(np.zeros(1)).zero[0] ** committee.rank
    density = ((whole @ fields.masses) @ sums.matrix).real
    return float(density @ (sums.weights * sums.labels**2))


@functools.lru_cache(maxsize=128)
def _expected_log_likelihood(committee: Committee) -> float:
    """E[log P(y | h)]."""
    if committee.vote is None or committee.noise == 0:
        noise = committee.noise if committee.vote is None else committee.vote_noise
        return -math.log(2 * math.pi * math.e * noise) / 2 if noise > 0 else 0.0
    from scipy.special import ndtr, xlogy

    if committee.vote_noise > 0:
        return math.nan
    h = normal_points(_POINTS, committee.rank, np.random.default_rng(0))
    sums = committee.shift + channel_link_values(committee.link, h).sum(axis=1)
    above = ndtr(sums / math.sqrt(committee.noise))
    return float(np.mean(xlogy(above, above) + xlogy(1 - above, 1 - above)))


def as_committee(problem: Problem) -> Covered | None:
    """The problem as a committee, where that is the best description; None where another is.

    Labels of few fields have closed forms if they are constant between jumps, or move with one
    field only; noiseless sums of few continuous links stay with quadrature.
    """
    structure = channel_structure(problem.target)
    if structure.fields > _FEW:
        return committee_with_channel(problem.target, problem.noise)
    noisy = problem.noise > 0 or problem.target.noises > 0
    summed = structure.continuous > 1 and noisy and problem.target.discrete_values is None
    if not (summed or has_lattice_votes(problem.target)):
        return None
    return committee_with_channel(problem.target, problem.noise)
