"""Approximate message passing on one data set, iterated to its fixed point."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Shaped

from giantstep.channels.preprocessing import Labels
from giantstep.settings.amp import Amp

#: Products in float32 leave this much unrest in the estimate.
_FLOAT32_TOLERANCE = 1e-5
#: Iterations before the stopping rule applies.
_LEAST = 10
#: Kept on the diagonal of V once nothing is left to learn: the square of what products resolve.
_FLOOR = {"float32": 1e-11, "float64": 1e-13}
#: Smallest eigenvalue allowed of I + A.
_SMALLEST = 0.1
#: Cosine of a step with the one before, below which it goes back.
_BACK = -0.5


class Messages(NamedTuple):
    """Where the iteration is: the estimates, their covariance, and g_out of the last step."""

    estimate: Float[np.ndarray, "d r"]
    covariance: Float[np.ndarray, "r r"]
    output: Float[np.ndarray, "n r"]


class PassedMessages(NamedTuple):
    """The last state; ``guarded`` if the guarded form of A led to it."""

    state: Messages
    iterations: int
    converged: bool
    guarded: bool


def pass_messages(
    x: Shaped[np.ndarray, "n d"], labels: Labels, begin: Messages, settings: Amp
) -> PassedMessages:
    """Iterate until the estimate rests; where the Hessian form of A does not, with the guarded one.

    If neither rests, the outcome is that of the first.
    """
    first = _iterate_to_rest(x, labels, begin, settings, guarded=settings.form == "guarded")
    if first.converged or settings.form != "auto":
        return first
    second = _iterate_to_rest(x, labels, begin, settings, guarded=True)
    return second if second.converged else first


def _iterate_to_rest(
    x: Shaped[np.ndarray, "n d"], labels: Labels, begin: Messages, settings: Amp, *, guarded: bool
) -> PassedMessages:
    """Iterate until the estimate rests; from a random start, until a second rest after a kick.

    A direction that is learned only once another is known has faded by then: its first rest is a
    saddle. The kick is the random start again, times what is still unknown of each direction.
    """
    damping, tolerance = settings.damping_for(begin.estimate.shape[1]), settings.tolerance
    if x.dtype == np.float32:
        tolerance = max(tolerance, _FLOAT32_TOLERANCE)
    state, kicks = begin, int(settings.start == "random")
    last = np.zeros_like(begin.estimate)
    for iteration in range(1, settings.iterations + 1):
        new = iterate_messages(x, labels, state, damping, guarded)
        step = new.estimate - state.estimate
        change = np.linalg.norm(step) / np.sqrt(x.shape[1])
        if not np.isfinite(change):
            return PassedMessages(state, iteration, False, guarded)
        if settings.damping is None and _messages_swing_back(step, last):
            damping = (1 + damping) / 2
            continue
        state, last = new, step
        if change < tolerance and iteration >= _LEAST:
            if not kicks:
                return PassedMessages(state, iteration, True, guarded)
            kicks -= 1
            values, vectors = _message_spectrum(state.covariance)
            unknown = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
            state = state._replace(estimate=state.estimate + begin.estimate @ unknown)
    return PassedMessages(state, settings.iterations, False, guarded)


def _messages_swing_back(step: Float[np.ndarray, "d r"], last: Float[np.ndarray, "d r"]) -> bool:
    """Whether a step reverses more than the previous step advanced.

    Units of a committee that have specialised do: precision and length of their estimates answer
    one another from one iteration to the next, the more strongly the more units there are.
    """
    before, now = np.linalg.norm(last), np.linalg.norm(step)
    return bool(now > before and np.vdot(last, step) < _BACK * before * now)


def iterate_messages(
    x: Shaped[np.ndarray, "n d"], labels: Labels, state: Messages, damping: float, guarded: bool
) -> Messages:
    r"""One iteration, with X~ = X / sqrt(d) and V the covariance of the last one.

    Omega = X~ W_hat - g V;  g = g_out(y, Omega, V);  A = -(1/d) sum dg;
    B = X~^T g + W_hat A;  V = (I + A)^-1;  W_hat = B V.
    """
    dim, rank = state.estimate.shape
    scale = 1 / np.sqrt(dim)
    cov = state.covariance + _FLOOR[x.dtype.name] * np.eye(rank)
    omega = _message_product(x, scale * state.estimate) - state.output @ cov
    gradient, hessian = labels.posteriors(omega, cov)
    precision = _message_precision(hessian, gradient, dim, guarded)
    pulled = _message_product(x.T, scale * gradient)
    covariance = _message_covariance(precision)
    estimate = (pulled + state.estimate @ precision) @ covariance
    # All three together: damping the estimate alone would leave the Onsager term g V wrong.
    new = Messages(estimate, covariance, gradient)
    return Messages(*(damping * a + (1 - damping) * b for a, b in zip(state, new, strict=True)))


def _message_product(x: Shaped[np.ndarray, "n d"], columns: Float[np.ndarray, "d r"]) -> np.ndarray:
    """X times a few columns, one after the other: faster than BLAS's product of two matrices."""
    rows = np.ascontiguousarray(columns.T, dtype=x.dtype)
    return np.stack([x @ row for row in rows], axis=1)


def _message_precision(
    hessian: Float[np.ndarray, "n r r"], output: Float[np.ndarray, "n r"], dim: int, guarded: bool
) -> Float[np.ndarray, "r r"]:
    """A: the Hessian form, or the average of its positive part with g^T g / d.

    The two agree in the limit. The second alone collapses on noiseless continuous labels, where
    it would exceed the first by far: there the average is not taken.
    """
    first = -np.sum(hessian, axis=0) / dim
    first = (first + first.T) / 2
    if not guarded:
        return first
    values, vectors = _message_spectrum(first)
    positive = (vectors * np.maximum(values, 0.0)) @ vectors.T
    second = output.T @ output / dim
    collapses = np.trace(second) >= 2 * max(np.trace(positive), 1e-3)
    return positive if collapses else (positive + second) / 2


def _message_covariance(precision: Float[np.ndarray, "r r"]) -> Float[np.ndarray, "r r"]:
    """(I + A)^-1, kept positive definite."""
    values, vectors = _message_spectrum(precision)
    return (vectors / np.maximum(1 + values, _SMALLEST)) @ vectors.T


def _message_spectrum(matrix: Float[np.ndarray, "r r"]) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors; NaN where the matrix is no longer finite."""
    if not np.isfinite(matrix).all():
        return np.full(len(matrix), np.nan), np.full(matrix.shape, np.nan)
    return np.linalg.eigh(matrix)
