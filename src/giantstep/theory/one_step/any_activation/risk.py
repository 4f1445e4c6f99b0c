"""The risk after one giant step and a fit of the readout, for any activation."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from giantstep.numerics.complex_step import STEP, Root, anderson, newton, response
from giantstep.theory.one_step.any_activation.equations import (
    Fit,
    SteppedNetwork,
    batch_of,
    first_guess,
    mean_weight,
    next_state,
    objective,
)
from giantstep.theory.one_step.any_activation.pencil import averages
from giantstep.theory.one_step.any_activation.unknowns import Layout, State

#: Iterations, half the way each, lead from the first guess until none of the unknowns changes by
#: more than a fraction; where faster iterations then fail, until it is smaller.
SETTLED, MOST_SETTLING = (0.2, 0.02), 300
#: The penalty from which the solution is followed down where the direct iteration fails, the
#: factor by which it falls at first, and the slowest fall that is tried.
FAR_PENALTY, FALL, SLOWEST = 30.0, 0.3, 0.97
#: Symmetric parts that should be positive may miss zero by this fraction of their size.
ROUNDING = 1e-9


class AnyActivationRisk(NamedTuple):
    """Mean squared errors on noisy labels, and how the equations were solved.

    ``converged`` is False, and the errors are NaN, where no admissible solution was found.
    ``norm`` is |theta|^2 of the fitted readout, ``freedom`` the trace of the hat matrix per sample.
    ``state`` can start the solution of a neighbouring point.
    """

    test: float
    train: float
    norm: float
    freedom: float
    residual: float
    iterations: int
    converged: bool
    state: State | None


class _Solved(NamedTuple):
    root: Root
    layout: Layout


def any_activation_risk(
    network: SteppedNetwork, fit: Fit, *, near: State | None = None
) -> AnyActivationRisk:
    r"""Test and train error of the readout fitted to fresh samples.

    With :math:`\mathcal E(\bar\lambda, \epsilon)` the least value of the objective, over d, in
    which the population's error counts with the weight epsilon next to that of the samples,

    .. math:: \text{test} = \frac{\partial\mathcal E}{\partial\epsilon}\Big|_{\epsilon=0},\qquad
        \text{train} = \frac1\alpha\Big(\mathcal E
            - \bar\lambda\frac{\partial\mathcal E}{\partial\bar\lambda}\Big),\qquad
        |\theta|^2 = \frac{\partial\mathcal E}{\partial\bar\lambda} .

    The unknowns follow the two parameters by the implicit function theorem.

    Symbols: alpha, lambda-bar ``fit``; ``near``: the state of a neighbouring point, if known.

    Assumes: n, p, d and n_0 proportional; Gaussian inputs; finitely many readout values and
    biases.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, and Dandi et al. 2024, arXiv:2410.18938, for
        isotropic rows.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("relu(h1)"), activation("relu"), Start.of([1.0]), step_size=4,
    ...     samples_ratio=1)
    >>> fit = Fit(samples_ratio=3.0, width_ratio=0.5, penalty=0.025, dim=1e12)
    >>> risk = any_activation_risk(network, fit)
    >>> round(risk.test, 4), round(risk.train, 4)
    (0.2545, 0.1623)
    """
    solved = _solution(network, fit, near)
    if solved is None:
        return AnyActivationRisk(np.nan, np.nan, np.nan, np.nan, np.inf, 0, False, None)
    root, layout = solved
    probed = fit._replace(probe=1j * STEP)
    bound = fit._replace(penalty=fit.penalty + 1j * STEP)

    def image(vector: np.ndarray, given: Fit = fit) -> np.ndarray:
        return layout.packed(next_state(layout.state(vector), network, given))

    def value(vector: np.ndarray, given: Fit) -> complex:
        return objective(layout.state(vector), network, given)

    at = root.value + 0j
    sources = np.stack([image(at, given).imag / STEP for given in (probed, bound)], axis=1)
    moved = response(image, root.value, sources)
    test, slope = (
        value(at + 1j * STEP * change, given).imag / STEP
        for change, given in zip(moved.T, (probed, bound), strict=True)
    )
    least = value(root.value, fit)
    train = (least - fit.penalty * slope) / fit.samples_ratio
    finite = bool(np.isfinite(test) and np.isfinite(train))
    return AnyActivationRisk(
        float(test),
        float(train),
        float(slope),
        1 - mean_weight(layout.state(root.value), network, fit),
        root.residual,
        root.iterations,
        finite,
        layout.state(root.value),
    )


def _solution(network: SteppedNetwork, fit: Fit, near: State | None) -> _Solved | None:
    """The admissible fixed point: from the neighbour, from the first guess, from far."""
    if near is not None:
        solved = _found(newton, near, network, fit)
        if solved is not None:
            return solved
    return _from_guess(network, fit) or _from_far(network, fit)


def _from_guess(network: SteppedNetwork, fit: Fit) -> _Solved | None:
    state = first_guess(network, fit)
    for settled in SETTLED:
        state = _settled(state, network, fit, settled)
        if not all(np.all(np.isfinite(part)) for part in state):
            return None
        solved = _found(anderson, state, network, fit) or _found(newton, state, network, fit)
        if solved is not None:
            return solved
    return None


def _settled(state: State, network: SteppedNetwork, fit: Fit, change: float) -> State:
    for _ in range(MOST_SETTLING):
        pairs = list(zip(state, next_state(state, network, fit), strict=True))
        state = State(*((old + new) / 2 for old, new in pairs))
        if all(np.max(np.abs(new - old)) <= change * np.max(np.abs(new)) for old, new in pairs):
            break
    return state


def _from_far(network: SteppedNetwork, fit: Fit) -> _Solved | None:
    """Follow the solution from a large penalty, where it is unique and easy, to the given one."""
    penalty = max(fit.penalty, FAR_PENALTY)
    solved = _from_guess(network, fit._replace(penalty=penalty))
    fall = FALL
    while solved is not None and penalty > fit.penalty:
        lower = max(fit.penalty, penalty * fall)
        state = solved.layout.state(solved.root.value)
        below = _found(newton, state, network, fit._replace(penalty=lower))
        if below is not None:
            solved, penalty, fall = below, lower, fall**1.3
        elif fall > SLOWEST:
            return None
        else:
            fall = fall**0.5
    return solved


def _found(
    method: Callable[..., Root], state: State, network: SteppedNetwork, fit: Fit
) -> _Solved | None:
    """What a method finds from a state nearby, if it is a solution."""
    layout = Layout(network.rows.twins, state)

    def image(vector: np.ndarray) -> np.ndarray:
        return layout.packed(next_state(layout.state(vector), network, fit))

    try:
        root = method(image, layout.packed(state))
    except np.linalg.LinAlgError:
        return None
    if root.converged and admissible(layout.state(root.value), network, fit):
        return _Solved(root, layout)
    return None


def admissible(state: State, network: SteppedNetwork, fit: Fit) -> bool:
    r"""Whether a fixed point is the average of resolvents, which only one of them can be.

    .. math:: D + H > 0,\qquad G + G^T \ge 0

    Symbols: D + H ``state.bound``; G of
    :func:`~giantstep.theory.one_step.any_activation.pencil.averages`.

    Assumes: the state solves the equations.
    Status: theorem at given chi and C (uniqueness), heuristic otherwise.
    References: Helton et al. 2007, arXiv:math/0703510.

    >>> from giantstep.activations.activation import activation
    >>> from giantstep.problem import Problem
    >>> from giantstep.theory.one_step.any_activation.network import Start, network_after_step
    >>> network = network_after_step(
    ...     Problem.of("relu(h1)"), activation("relu"), Start.of([1.0]), step_size=4,
    ...     samples_ratio=1)
    >>> fit, one, flat = Fit(3.0, 0.5, 0.025, 1e12), np.ones((1, 1)), np.zeros((2, 2))
    >>> [admissible(State(bound, flat, one), network, fit) for bound in (one, -one)]
    [True, False]
    """
    if not np.all(np.linalg.eigvalsh(state.bound) > 0):
        return False
    mean = averages(state, batch_of(network, fit)).resolvent
    lowest = np.linalg.eigvalsh(mean + mean.T)[0] if np.all(np.isfinite(mean)) else -np.inf
    return bool(lowest >= -ROUNDING * np.max(np.abs(mean)))
