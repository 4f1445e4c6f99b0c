"""The inner function of a tree by Hermite degree, and what the theorem asks of it."""

from __future__ import annotations

from typing import NamedTuple

from giantstep.language.targets import TreeTarget
from giantstep.language.targets.hermite import target_energies

#: Degrees at which the inner function is looked at, and shares of its variance that count.
INNER_DEGREE, VISIBLE_SHARE = 20, 1e-9


class InnerParts(NamedTuple):
    """Shares of the inner function's variance by Hermite degree, and its degree.

    ``degree`` is None where it is no polynomial.
    """

    shares: tuple[float, ...]
    degree: int | None

    @property
    def quadratic_share(self) -> float:
        """The share of He2; 0 where it is a rounding error."""
        return self.shares[2] if self.shares[2] > VISIBLE_SHARE else 0.0


def expected_inner_parts(tree: TreeTarget) -> InnerParts:
    """The parts of a tree's inner function."""
    parts = target_energies(tree.inner_link, INNER_DEGREE)
    shares = tuple(float(part) for part in parts / max(parts[1:].sum(), 1e-300))
    if not tree.inner_link.is_polynomial:
        return InnerParts(shares, None)
    return InnerParts(shares, max(k for k, share in enumerate(shares) if share > VISIBLE_SHARE))


def gap_of_the_theorem(tree: TreeTarget, parts: InnerParts) -> str:
    """Why the theorem says nothing about a tree; empty if it does."""
    if parts.degree is None:
        return "the inner function is no polynomial"
    if parts.shares[1] > VISIBLE_SHARE:
        return "the inner function has a linear part"
    if not parts.quadratic_share:
        return "the inner function has no part along He2"
    if not 0 < tree.leaves.power < 1 or tree.branches.power:
        return "leaves must be d^e with e between 0 and 1, and branches a number"
    return ""
