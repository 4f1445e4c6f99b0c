"""The Stieltjes transform of the features' Gram matrix, followed down to the real axis."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Complex

from giantstep.theory.one_step.spiked_gram import SpikedGram

#: Newton steps at one z. Next to an edge two solutions merge and steps only halve the error.
STEPS = 30
#: A Newton step this small relative to the unknowns leaves an error of its square.
LAST_STEP = 1e-7
#: Ratio of successive heights above the axis at first, and the one at which a point is given up.
DESCENT, CREEP = 0.1, 0.9
#: Height, relative to the mean eigenvalue, from which the last step goes to z itself.
LANDING = 1e-7


class SpectralState(NamedTuple):
    """chi and C of a Gram matrix at each z; only where ``converged`` are they solutions."""

    unknowns: Complex[np.ndarray, "z unknowns"]
    converged: Bool[np.ndarray, " z"]


class Transform(NamedTuple):
    """m(z) of the bulk at each z, and whether it was found there."""

    value: Complex[np.ndarray, " z"]
    converged: Bool[np.ndarray, " z"]


def feature_stieltjes(gram: SpikedGram, z: Complex[np.ndarray, " z"]) -> Transform:
    r"""The Stieltjes transform :math:`\frac1p\mathrm{tr}(\Phi^T\Phi/d - z)^{-1}` of the bulk.

    .. math:: m(z) = \frac1\beta\sum_a\chi_a(z)

    with :math:`\chi_a` as in :func:`spectral_state`.

    Symbols: chi, beta ``gram``.

    Assumes: as :func:`spectral_state`.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.finite_size import Blocks
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("tanh"), Blocks(2 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> np.round(feature_stieltjes(gram, np.array([0.3 + 0.1j])).value, 5).tolist()
    [(-1.42154+2.44091j)]
    """
    found = spectral_state(gram, z)
    return Transform(
        found.unknowns[:, : len(gram.widths)].sum(axis=1) / gram.width, found.converged
    )


def spectral_state(
    gram: SpikedGram,
    z: Complex[np.ndarray, " z"],
    near: Complex[np.ndarray, " unknowns"] | None = None,
) -> SpectralState:
    r"""The solution of the first-order equations that is the limit of the resolvent.

    .. math:: \chi_a(z) = \frac1d\sum_{j\in a}\big[(\Phi^T\Phi/d - z)^{-1}\big]_{jj}

    The equations, in :class:`SpikedGram`, have several solutions. Far above the real axis iteration
    finds the right one; it is followed down by Newton's method, in steps that shorten where
    Newton fails or where the solution found cannot be the resolvent of a positive matrix, which has
    :math:`\mathrm{Im}\,\chi_a\ge0`, :math:`\mathrm{Im}\,z\chi_a\ge0`, and grows along the real
    axis outside of the spectrum.

    Symbols: the features ``gram``; ``near``, the unknowns at a neighbouring z, saves the descent
    where Newton's method leads from them to such a solution.

    Assumes: d infinite; on the real axis the limit from above is meant.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Dandi et al. 2024, arXiv:2410.18938.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.theory.spiked_random_features.finite_size import Blocks
    >>> one = np.ones(1)
    >>> gram = SpikedGram.of(
    ...     activation("He2"), Blocks(0 * one, one, one), samples_ratio=2.0, width_ratio=1.0)
    >>> found = spectral_state(gram, np.array([-1.0 + 0j]))  # 2 chi^2 + 3 chi = 1
    >>> found.unknowns[0, 0].real.round(9).item(), found.converged.tolist()
    (0.280776406, [True])
    """
    upper = z.real + 1j * np.abs(z.imag)
    if near is not None:
        start = np.broadcast_to(near, (len(z), len(near)))
        state, arrived = _corrected(gram, upper, start)
        if not arrived.all():
            rest = spectral_state(gram, upper[~arrived])
            state[~arrived], arrived[~arrived] = rest
        return SpectralState(np.where(z.imag[:, None] < 0, state.conj(), state), arrived)
    # Twice the largest eigenvalue that the features' mean square allows: iteration contracts here.
    power = float(np.max((gram.slope**2 + gram.noise) @ gram.weights))
    height = np.maximum(4 * (gram.samples_ratio + gram.width) * power, upper.imag)
    state = gram.far_state(upper.real + 1j * height)
    with np.errstate(all="ignore"):
        for _ in range(20):
            state = (state + gram.image(upper.real + 1j * height, gram.resolvent(state))) / 2
    state, on_way = _corrected(gram, upper.real + 1j * height, state)
    arrived = on_way & (height <= upper.imag)
    ratio, landing = np.full(len(z), DESCENT), np.full(len(z), LANDING * gram.scale)
    while len(moving := np.flatnonzero(on_way & ~arrived)):
        target = upper.imag[moving]
        lower = np.maximum(height[moving] * ratio[moving], target)
        lower = np.where(height[moving] <= landing[moving], target, lower)
        tried, good = _corrected(gram, upper.real[moving] + 1j * lower, state[moving])
        kept, lost = moving[good], moving[~good]
        state[kept], height[kept] = tried[good], lower[good]
        arrived[kept] = lower[good] <= target[good]
        ratio[lost], landing[lost] = np.sqrt(ratio[lost]), landing[lost] / 30
        on_way[lost] = ratio[lost] < CREEP
    return SpectralState(np.where(z.imag[:, None] < 0, state.conj(), state), arrived)


def _corrected(gram: SpikedGram, z: np.ndarray, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Newton's method at each z, and whether it ended in a resolvent of a positive matrix."""
    state, waiting = np.array(state, dtype=complex), np.arange(len(z))
    converged = np.zeros(len(z), dtype=bool)
    # A point that runs away overflows to NaN, which no comparison below takes for convergence.
    with np.errstate(all="ignore"):
        for _ in range(STEPS):
            found = gram.resolvent(state[waiting])
            image = gram.image(z[waiting], found)
            slope = gram.jacobian(image, found) - np.eye(state.shape[1])
            step = _solutions(slope, image - state[waiting])
            state[waiting] -= step
            # Sizes multiply rather than divide: an unknown that is exactly zero has converged.
            small = np.all(np.abs(step) <= LAST_STEP * gram.sizes(found), axis=1)
            converged[waiting[small]] = True
            waiting = waiting[~small & np.isfinite(step).all(axis=1)]
            if not len(waiting):
                break
        return state, converged & _may_be_resolvent(gram, z, state)


def _may_be_resolvent(gram: SpikedGram, z: np.ndarray, state: np.ndarray) -> np.ndarray:
    """Whether a solution has the signs of the resolvent of a positive matrix, up to rounding."""
    blocks = len(gram.widths)
    found = gram.resolvent(state)
    chi, size = found.chi, np.abs(found.chi)
    image = gram.image(z, found)
    slope = np.eye(state.shape[1]) - gram.jacobian(image, found)
    pulled = np.zeros_like(state)
    pulled[:, :blocks] = image[:, :blocks] ** 2 / gram.widths
    growing = _solutions(slope, pulled)[:, :blocks].sum(axis=1).real > 0
    upper = chi.imag >= -1e-9 * size
    positive = (z[:, None] * chi).imag >= -1e-9 * np.abs(z)[:, None] * size
    off_spectrum = np.all(np.abs(chi.imag) <= 1e-6 * size, axis=1)
    return np.all(upper & positive, axis=1) & (growing | ~off_spectrum)


def _solutions(matrices: np.ndarray, sides: np.ndarray) -> np.ndarray:
    """The solution of each linear system; NaN for a singular one, which spoils no other."""
    try:
        return np.linalg.solve(matrices, sides[..., None])[..., 0]
    except np.linalg.LinAlgError:
        if len(matrices) == 1:
            return np.full_like(sides, np.nan)
        one_by_one = (slice(i, i + 1) for i in range(len(matrices)))
        return np.concatenate([_solutions(matrices[i], sides[i]) for i in one_by_one])
