"""A committee's labels as message passing sees them: posteriors, one for each label."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from giantstep.channels.committees.fields import Fields, committee_label_partitions
from giantstep.channels.committees.sums import (
    channel_link_moment,
    committee_label_sums,
    label_lattice,
    label_panels,
)
from giantstep.errors import TargetError
from giantstep.language.targets import Target
from giantstep.language.targets.symmetry import Committee, target_as_committee

#: Label noise, as a share of the target's variance, of a noiseless target without a closed form.
SMALL_NOISE = 0.01
#: Smallest variance of a field, and smallest density that a gradient is divided by.
_SMALLEST, _RARE = 1e-3, 1e-5
#: Single labels forgive what averages do not: where their Gaussians end, and the period of T.
_CUT, _PERIOD = 5.0, 11.0
#: Means of labels that are evaluated at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class Committees:
    """P(y | h) of a committee, all noise included."""

    committee: Committee

    def labels(self, y: Float[np.ndarray, " n"], noise: float) -> Float[np.ndarray, " n"]:
        """The labels themselves; raises if one is impossible."""
        committee_label_sums(self.committee).rows(y[:1])
        return y

    def fields(self, cov: Float[np.ndarray, "r r"], exact: bool = False) -> Fields:
        """Fields whose covariance is the part of ``cov`` that no exchange of units changes."""
        rank = self.committee.rank
        along = float(cov.sum()) / rank
        across = (float(np.trace(cov)) - along) / (rank - 1)
        both = (max(across, _SMALLEST), max(along, _SMALLEST))
        if exact:
            return Fields(committee_label_sums(self.committee), *both)
        return Fields(committee_label_sums(self.committee, _CUT), *both, cut=_CUT, period=_PERIOD)

    def posteriors(
        self,
        y: Float[np.ndarray, " n"],
        omega: Float[np.ndarray, "n r"],
        cov: Float[np.ndarray, "r r"],
        exact: bool = False,
    ) -> tuple[Float[np.ndarray, "n r"], Float[np.ndarray, "n r r"]]:
        """g_out of every label, and the symmetric part a I + b 11^T of its derivative.

        ``exact`` is for averages; single labels forgive six digits.
        """
        rank = self.committee.rank
        gradient, hessian = np.empty(omega.shape), np.empty((*omega.shape, rank))
        fields = self.fields(cov, exact)
        rows = fields.sums.rows(y)
        for part, found in committee_label_partitions(
            fields, omega, rows, curvature=True, single=not exact
        ):
            assert found.trace is not None
            assert found.total is not None
            safe = np.maximum(found.value[:, 0], _RARE)
            slope = found.gradient[:, :, 0] / safe[:, None]
            trace = found.trace[:, 0] / safe - (slope**2).sum(axis=1)
            total = found.total[:, 0] / safe - slope.sum(axis=1) ** 2
            shared = (total - trace) / (rank * (rank - 1))
            own = trace / rank - shared
            gradient[part] = slope
            hessian[part] = own[:, None, None] * np.eye(rank) + shared[:, None, None]
        return gradient, hessian

    def label_means(
        self, omega: Float[np.ndarray, "n r"], cov: Float[np.ndarray, "r r"]
    ) -> Float[np.ndarray, " n"]:
        """E[y] at every omega."""
        if self.committee.vote is not None:
            fields = self.fields(cov)
            worth = fields.sums.weights * fields.sums.labels
            parts = committee_label_partitions(fields, omega, single=True)
            return np.concatenate([found.value @ worth for _, found in parts])
        grid, variance = label_panels(self.committee.link, 0.25), float(np.trace(cov)) / len(cov)
        flat = omega.ravel()
        means = [
            grid.conditional(flat[i : i + _BLOCK], max(variance, _SMALLEST))[0] @ grid.values
            for i in range(0, len(flat), _BLOCK)
        ]
        return self.committee.shift + np.concatenate(means).reshape(omega.shape).sum(axis=1)


@dataclass(frozen=True)
class Covered:
    """A committee with all its noise; ``noise`` is the part added to labels outside the target."""

    committee: Committee
    noise: float
    notes: tuple[str, ...] = ()
    altered: bool = False

    @property
    def settings(self) -> dict[str, float]:
        """What results must record: the noise, where it is not the problem's."""
        return {"channel_noise": self.noise} if self.altered else {}


def channel_noise_note(noise: float) -> str:
    """What to say of labels that got noise."""
    return (
        f"this noiseless target has no closed form: labels got noise of variance {noise:.4g}, "
        f"{SMALL_NOISE:.0%} of the target's"
    )


def has_lattice_votes(target: Target) -> bool:
    """Whether the label is a vote of links with finitely many values: no jump is along an axis.

    >>> has_lattice_votes(Target("sign(sign(h1) + sign(h2))"))
    True
    """
    found = target_as_committee(target)
    return found is not None and found.vote is not None and label_lattice(found.link) is not None


@functools.lru_cache(maxsize=128)
def committee_with_channel(target: Target, noise: float) -> Covered | None:
    """The target as a committee whose channel exists; None if it is no committee."""
    found = target_as_committee(target)
    if found is None:
        return None
    if label_lattice(found.link) is None and found.vote is not None and found.noise == 0:
        raise TargetError(
            f"target = {target.text!r} votes on a continuous sum without noise: write some into "
            "it, as in sign(tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4) + 0.1*z1)"
        )
    if label_lattice(found.link) is None and found.noise + noise == 0:
        link = found.link
        variance = found.rank * (channel_link_moment(link, 2) - channel_link_moment(link) ** 2)
        noise = SMALL_NOISE * variance
        return Covered(found.with_noise(noise), noise, (channel_noise_note(noise),), True)
    return Covered(found.with_noise(noise), noise)
