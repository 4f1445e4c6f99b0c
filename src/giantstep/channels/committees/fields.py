r"""Characteristic functions of the links when the fields are N(omega, V), V permutation-symmetric.

V has the eigenvalue v+ on (1, .., 1)/sqrt(r) and v on the rest. Given one more variable its fields
are independent, for which

    phi_i(k, l) = E exp(i k u(h) + i l (h - omega_i)),   h ~ N(omega_i, v),   |phi_i| <= 1:

- v+ < v: N(h; omega, V) is the independent law times a Gaussian factor in T = sum(h_i - omega_i) of
  variance tau = r v v+/(v - v+), whose Fourier transform is an integral over l;
- v+ = v: l = 0;
- v+ > v: h_i = omega_i + sqrt(v_a) zeta + sqrt(v) xi_i with a real common zeta ~ N(0, 1), and
  v_a = (v+ - v)/r; phi_i is then a function of (k, zeta).

Sums over k and l of their products are Z(y, omega, V) and its derivatives in omega.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Complex, Float

from giantstep.channels.committees.sums import Panels, Sums, label_panels
from giantstep.numerics.quadrature import gauss_hermite

#: The integral over l stops where its Gaussian is exp(-_CUT^2/2), and has this period in T.
_CUT = 6.5
_PERIOD = 15.0
#: Nodes of a real common factor.
_FACTOR_NODES = 24
#: v+ and v closer than this are equal.
_EQUAL = 1e-9
#: Radians that one panel may turn by.
_TURN = 12.0


class Phi(NamedTuple):
    """phi and its moments E[(h - omega)^j exp(..)], j = 0, 1, 2, each of shape (n, k, l)."""

    zero: Complex[np.ndarray, "n k l"]
    one: Complex[np.ndarray, "n k l"]
    two: Complex[np.ndarray, "n k l"] | None


class Fields:
    """The fields of a committee whose covariance has the eigenvalues v (r - 1 times) and v+."""

    def __init__(
        self,
        sums: Sums,
        variance: float,
        along: float,
        cut: float = _CUT,
        period: float = _PERIOD,
    ) -> None:
        self.sums, self.variance, self.along = sums, variance, along
        rank = sums.committee.rank
        shared = (along - variance) / rank
        self.tau = np.inf
        if abs(shared) < _EQUAL:
            self.is_factor, self.second, self.masses = False, np.zeros(1), np.ones(1)
        elif shared < 0:
            self.is_factor = False
            self.tau = rank * variance * along / (variance - along)
            total = self.tau + rank * variance
            step = 2 * np.pi / (period * np.sqrt(total))
            reach = cut / np.sqrt(self.tau)
            if np.isfinite(sums.steepness):
                # Beyond this slope no phase is stationary: phi itself has decayed.
                steepest = sums.frequencies[-1] * sums.steepness
                reach = min(reach, cut / np.sqrt(variance) + steepest)
            count = int(np.ceil(reach / step))
            self.second = step * np.arange(-count, count + 1)
            gaussian = np.exp(-self.tau * self.second**2 / 2)
            self.masses = step / (2 * np.pi) * gaussian * np.sqrt(2 * np.pi * total)
        else:
            self.is_factor = True
            nodes, self.masses = gauss_hermite(_FACTOR_NODES)
            self.second = np.sqrt(shared) * nodes
        self._grid = self._panels()

    @property
    def slopes(self) -> Float[np.ndarray, " l"]:
        """l; zero where the second variable is a real factor, or none."""
        return np.zeros(len(self.second)) if self.is_factor else self.second

    @property
    def shape(self) -> tuple[int, int]:
        """Frequencies k, and values of the second variable."""
        return len(self.sums.frequencies), len(self.second)

    def _panels(self) -> Panels:
        turning = float(np.abs(self.slopes).max())
        if np.isfinite(self.sums.steepness):
            turning += float(self.sums.frequencies[-1] * self.sums.steepness)
        longest = min(2 * np.sqrt(self.variance), _TURN / max(turning, 1e-9))
        return label_panels(self.sums.committee.link, float(np.clip(longest, 0.12, 0.5)))

    def phi(self, omega: Float[np.ndarray, " n"], second: bool = False) -> Phi:
        """phi and its moments at each omega; the second ones on request."""
        grid, k = self._grid, self.sums.frequencies
        u = self.sums.units(grid.values)
        if self.is_factor:
            centres = (omega[:, None] + self.second[None, :]).ravel()
            wave = np.exp(1j * u[:, None] * k[None, :])
        else:
            centres = omega
            phase = u[:, None, None] * k[None, :, None] + (
                grid.nodes[:, None, None] * self.second[None, None, :]
            )
            wave = np.exp(1j * phase).reshape(len(u), -1)
        real, imaginary = np.ascontiguousarray(wave.real), np.ascontiguousarray(wave.imag)
        law, away = grid.conditional(centres, self.variance)

        def integral(weights: np.ndarray) -> np.ndarray:
            found = weights @ real + 1j * (weights @ imaginary)
            if self.is_factor:
                return found.reshape(len(omega), len(self.second), len(k)).transpose(0, 2, 1)
            back = np.exp(-1j * omega[:, None] * self.second[None, :])[:, None, :]
            return found.reshape(len(omega), *self.shape) * back

        two = integral(law * away**2) if second else None
        return Phi(integral(law), integral(law * away), two)

    def first_derivative(self, phi: Phi) -> Complex[np.ndarray, "n k l"]:
        """d phi / d omega = E[((h - omega)/v - i l) exp(..)]."""
        return phi.one / self.variance - 1j * self.slopes * phi.zero

    def second_derivative(self, phi: Phi) -> Complex[np.ndarray, "n k l"]:
        """The second derivative, E[(((h - omega)/v - i l)^2 - 1/v) exp(..)]."""
        assert phi.two is not None
        v, slopes = self.variance, self.slopes
        quadratic = phi.two / v**2 - 2j * slopes * phi.one / v - slopes**2 * phi.zero
        return quadratic - phi.zero / v


class PhiTable:
    """phi and its derivatives by Chebyshev polynomials in omega, up to |omega| <= ``reach``."""

    def __init__(
        self, fields: Fields, reach: float, derivatives: int, single: bool = False
    ) -> None:
        self._reach, self._parts = reach, derivatives + 1
        self._shape = fields.shape
        scale = 5.5 / np.sqrt(fields.variance)
        if not np.isfinite(fields.sums.steepness) or fields.sums.committee.link.kinks[0]:
            scale += 1.1 * float(np.abs(fields.slopes).max())
        count = int(np.clip(16 + scale * reach, 18, 300))
        angles = np.pi * (np.arange(count) + 0.5) / count
        phi = fields.phi(reach * np.cos(angles), second=derivatives > 1)
        parts = [phi.zero, fields.first_derivative(phi)]
        if derivatives > 1:
            parts.append(fields.second_derivative(phi))
        series = (2 / count) * np.cos(np.outer(np.arange(count), angles))
        series[0] /= 2
        found = series @ np.concatenate([part.reshape(count, -1) for part in parts], axis=1)
        self._dtype = np.dtype(np.float32 if single else np.float64)
        self._real = np.ascontiguousarray(found.real, dtype=self._dtype)
        self._imaginary = np.ascontiguousarray(found.imag, dtype=self._dtype)

    def at(self, omega: Float[np.ndarray, "n r"]) -> list[Complex[np.ndarray, "n r k l"]]:
        """phi and its derivatives at every omega."""
        angle = np.arccos(np.clip(omega.ravel() / self._reach, -1, 1))
        basis = np.cos(angle[:, None] * np.arange(len(self._real))).astype(self._dtype)
        both = np.result_type(self._dtype, np.complex64)
        found = np.empty((len(angle), self._real.shape[1]), dtype=both)
        found.real = basis @ self._real
        found.imag = basis @ self._imaginary
        parts = np.split(found, self._parts, axis=1)
        return [part.reshape(*omega.shape, *self._shape) for part in parts]


#: Complex numbers that are held at a time, in each of a few arrays.
_BLOCK = 4e5


class Partition(NamedTuple):
    """Z, its gradient in omega, and of its Hessian the trace and the sum of all entries."""

    value: Float[np.ndarray, "n y"]
    gradient: Float[np.ndarray, "n r y"]
    trace: Float[np.ndarray, "n y"] | None
    total: Float[np.ndarray, "n y"] | None


def committee_label_partitions(
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
    table = PhiTable(fields, reach, 2 if curvature else 1, single)
    size = max(4, int(_BLOCK / (fields.shape[0] * fields.shape[1] * omega.shape[1])))
    for first in range(0, len(omega), size):
        part = slice(first, first + size)
        labels = fields.sums.matrix if rows is None else rows[:, part]
        yield part, _block(fields, table.at(omega[part]), labels, paired=rows is not None)


def _block(fields: Fields, parts: list[np.ndarray], labels: np.ndarray, paired: bool) -> Partition:
    """At every label; or, where they are ``paired``, at one label for each omega."""
    phi, slope, *bend = parts
    count, rank = phi.shape[:2]
    masses = fields.masses.astype(phi.dtype)

    def summed(frequencies: np.ndarray) -> np.ndarray:
        """Over k: the density of the label."""
        if paired:
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
        if bend:
            trace += (others * bend[0][:, i]) @ masses
        after *= phi[:, i]
    if not bend:
        return Partition(value, summed(gradient), None, None)
    total = _label_partition_curvature(phi, slope, bend[0]) @ masses
    return Partition(value, summed(gradient), summed(trace), summed(total))


def _label_partition_curvature(phi: np.ndarray, slope: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """The second derivative of prod_i phi_i(omega_i + s) in s at 0."""
    zero, one, two = phi[:, 0].copy(), slope[:, 0].copy(), bend[:, 0].copy()
    for i in range(1, phi.shape[1]):
        two = two * phi[:, i] + 2 * one * slope[:, i] + zero * bend[:, i]
        one = one * phi[:, i] + zero * slope[:, i]
        zero = zero * phi[:, i]
    return two
