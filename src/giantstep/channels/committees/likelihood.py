"""Z(y, omega, V) of a committee's label, and its derivatives in omega, for any number of fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from giantstep.channels.committees.fields import Fields, Table

#: Complex numbers that are held at a time, in each of a few arrays.
_BLOCK = 4e5


class Partition(NamedTuple):
    """Z, its gradient in omega, and of its Hessian the trace and the sum of all entries."""

    value: Float[np.ndarray, "n y"]
    gradient: Float[np.ndarray, "n r y"]
    trace: Float[np.ndarray, "n y"] | None
    total: Float[np.ndarray, "n y"] | None


def partitions(
    fields: Fields,
    omega: Float[np.ndarray, "n r"],
    rows: Complex[np.ndarray, "k n"] | None = None,
    *,
    curvature: bool = False,
    single: bool = False,
) -> Iterator[tuple[slice, Partition]]:
    """Z and its derivatives, block by block of omega.

    At every label of theory; or, given ``rows`` T(k, y_n), at one label for each omega, y = 1 then.
    ``single`` computes in single precision.
    """
    reach = max(float(np.abs(omega).max()) * 1.02, 0.3)
    table = Table(fields, reach, 2 if curvature else 1, single)
    size = max(4, int(_BLOCK / (fields.shape[0] * fields.shape[1] * omega.shape[1])))
    for first in range(0, len(omega), size):
        part = slice(first, first + size)
        labels = fields.sums.matrix if rows is None else rows[:, part]
        yield part, _partition(fields, table, omega[part], labels, rows is not None, curvature)


def _partition(
    fields: Fields,
    table: Table,
    omega: np.ndarray,
    labels: np.ndarray,
    one_each: bool,
    curvature: bool,
) -> Partition:
    phi, slope, *bend = table.at(omega)
    count, rank = omega.shape
    masses = fields.masses.astype(phi.dtype)

    def summed(frequencies: np.ndarray) -> np.ndarray:
        """Over k: the density of the label."""
        if one_each:
            return np.einsum("n...k,kn->n...", frequencies, labels).real[..., None]
        return (frequencies @ labels).real

    before = np.empty_like(phi)
    before[:, 0] = 1
    for i in range(1, rank):
        np.multiply(before[:, i - 1], phi[:, i - 1], out=before[:, i])
    value = summed((before[:, -1] * phi[:, -1]) @ masses)
    after = np.ones_like(phi[:, 0])
    gradient = np.empty((count, rank, fields.shape[0]), complex)
    trace = np.zeros((count, fields.shape[0]), complex)
    for i in reversed(range(rank)):
        others = before[:, i] * after
        gradient[:, i] = (others * slope[:, i]) @ masses
        if curvature:
            trace += (others * bend[0][:, i]) @ masses
        after *= phi[:, i]
    if not curvature:
        return Partition(value, summed(gradient), None, None)
    total = _second_order(phi, slope, bend[0]) @ masses
    return Partition(value, summed(gradient), summed(trace), summed(total))


def _second_order(phi: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The second derivative of prod_i phi_i(omega_i + s) in s at 0."""
    zero, one, two = phi[:, 0].copy(), slope[:, 0].copy(), bend[:, 0].copy()
    for i in range(1, phi.shape[1]):
        two = two * phi[:, i] + 2 * one * slope[:, i] + zero * bend[:, i]
        one = one * phi[:, i] + zero * slope[:, i]
        zero = zero * phi[:, i]
    return two
