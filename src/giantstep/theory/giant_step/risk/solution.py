"""Test and train error of the readout fit: the fixed point found, and its two derivatives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool

from giantstep.numerics.solve import STEP, Solution, iterate, newton, relative_change, response
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.readout import Fit, Readout

#: Iterations, half the way each, lead from the first guess until none of the unknowns changes by
#: more than a fraction; where faster iterations then fail, until it is smaller.
SETTLED, MOST_SETTLING = (0.2, 0.02), 300
#: The penalty from which the solution is followed down where the direct iteration fails, the
#: factor by which it falls at first, and the slowest fall that is tried.
FAR_PENALTY, FALL, SLOWEST = 30.0, 0.3, 0.97
#: Symmetric parts that should be positive may miss zero by this fraction of their size.
ROUNDING = 1e-9
#: Parts of a state below this fraction of their natural size count as zero.
SMALL = 1e-3
#: Anderson's iteration: from a neighbour, and from a guess half the way at first.
from_near = functools.partial(
    iterate, tolerance=1e-10, max_iterations=30, memory=7, residual_of=relative_change
)
anderson = functools.partial(from_near, max_iterations=100, half_steps=4)


class ReadoutRisk(NamedTuple):
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
    root: Solution[np.ndarray]
    layout: Layout


def readout_risk(readout: Readout, fit: Fit, *, near: State | None = None) -> ReadoutRisk:
    r"""Test and train error of the readout fitted to fresh samples.

    With :math:`\mathcal E(\bar\lambda, \epsilon)` the least value of the objective, over d, in
    which the population's error counts with the weight epsilon next to that of the samples,

    .. math:: \text{test} = \frac{\partial\mathcal E}{\partial\epsilon}\Big|_{\epsilon=0},\qquad
        \text{train} = \frac1\alpha\Big(\mathcal E
            - \bar\lambda\frac{\partial\mathcal E}{\partial\bar\lambda}\Big),\qquad
        |\theta|^2 = \frac{\partial\mathcal E}{\partial\bar\lambda} .

    The unknowns follow the two parameters by the implicit function theorem.

    Symbols: alpha, lambda-bar ``fit``; ``near``: the state of a neighbouring point, if known.

    Assumes: n, p, d and n_0 proportional; Gaussian inputs; finitely many kinds of neurons.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, and Dandi et al. 2024, arXiv:2410.18938, for
        one step and isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("sin(h1)"), activation("tanh")
    >>> layers = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[3.0, 3.0], samples_ratios=[2.0, 2.0])
    >>> risks = [readout_risk(Readout(problem, sigma, at), Fit.of(2, 1, 0.05)) for at in layers]
    >>> [round(risk.test, 4) for risk in risks]
    [0.2419, 0.1296, 0.0643]
    """
    nothing = ReadoutRisk(np.nan, np.nan, np.nan, np.nan, np.inf, 0, False, None)
    solved = _solution(readout, fit, near)
    if solved is None:
        return nothing
    root, layout = solved
    probed = fit._replace(probe=1j * STEP)
    bound = fit._replace(penalty=fit.penalty + 1j * STEP)

    around = readout.near(layout.state(root.value), fit)

    def image(vector: np.ndarray, given: Fit = fit) -> np.ndarray:
        return layout.packed(around.next_state(layout.state(vector), given))

    at = root.value + 0j
    sources = np.stack([image(at, given).imag / STEP for given in (probed, bound)], axis=1)
    moved = response(image, root.value, sources)
    if not np.all(np.isfinite(moved)):
        return nothing
    probes, bounds = (
        readout.objective(layout.state(at + 1j * STEP * change), given)
        for change, given in zip(moved.T, (probed, bound), strict=True)
    )
    test, slope, least = probes.imag / STEP, bounds.imag / STEP, bounds.real
    state = layout.state(root.value)
    train = (least - fit.penalty * slope) / fit.samples_ratio
    taken = float(np.sum(readout.weights(state, fit))) / fit.samples_ratio
    finite = bool(np.isfinite(test) and np.isfinite(train))
    return ReadoutRisk(
        float(test),
        float(train),
        float(slope),
        1 - taken,
        root.residual,
        root.iterations,
        finite,
        state,
    )


class Layout:
    """Where the independent entries of a state are kept, and in which units.

    The bound is zero between kinds with different first rows; each self-energy is [[P, Q],
    [-Q^T, R]], and all parts but Q are symmetric. ``like``: a state whose sizes are the units.
    """

    def __init__(self, twins: Bool[np.ndarray, "k k"], like: State) -> None:
        k, steps = len(twins), len(like.energies)
        corner, full = np.triu(np.ones((k, k), dtype=bool)), np.ones((k, k), dtype=bool)
        masks = [corner & twins, *[corner, full, corner] * steps, corner]
        bound = float(np.max(np.abs(like.bound)))
        coupled = max(float(np.max(np.abs(like.coupling))), 1e-300)
        # Parts that vanish, by symmetry or to rounding, are measured by what they are added to.
        floors = [bound, *[1 / bound, 1.0, coupled] * steps, coupled]
        units = [
            max(float(np.max(np.abs(part))), SMALL * floor)
            for part, floor in zip(_parts(like), floors, strict=True)
        ]
        self._shapes = [like.bound.shape, *[(2 * k, 2 * k)] * steps, like.coupling.shape]
        self._ends = np.cumsum([0, *(rows * columns for rows, columns in self._shapes)])
        #: Where each entry is, and where once more, in the matrices one after the other.
        first, *middle, last = self._matrices(np.arange(self._ends[-1]))
        turned = State(first.T, tuple(energy.T for energy in middle), last.T)
        self._places, self._mirrors = (
            np.concatenate([part[mask] for part, mask in zip(_parts(each), masks, strict=True)])
            for each in (State(first, tuple(middle), last), turned)
        )
        counts = [int(mask.sum()) for mask in masks]
        self._units = np.repeat(units, counts)
        self._signs = np.repeat([1, *[1, -1, 1] * steps, 1], counts)

    def _matrices(self, flat: Any) -> list[Any]:
        ends = zip(self._ends, self._ends[1:], self._shapes, strict=False)
        return [flat[low:high].reshape(shape) for low, high, shape in ends]

    def packed(self, state: State) -> Any:
        """The independent entries, in their units."""
        parts = (state.bound, *state.energies, state.coupling)
        return np.concatenate([part.ravel() for part in parts])[self._places] / self._units

    def state(self, vector: Any) -> State:
        """The matrices of which these are the entries."""
        flat, entries = np.zeros(self._ends[-1], vector.dtype), vector * self._units
        flat[self._mirrors], flat[self._places] = self._signs * entries, entries
        bound, *energies, coupling = self._matrices(flat)
        return State(bound, tuple(energies), coupling)


def _parts(state: State) -> list[Any]:
    k = len(state.bound)
    quarters = [
        part
        for energy in state.energies
        for part in (energy[:k, :k], energy[:k, k:], energy[k:, k:])
    ]
    return [state.bound, *quarters, state.coupling]


def _solution(readout: Readout, fit: Fit, near: State | None) -> _Solved | None:
    """The admissible fixed point: from the neighbour, from the first guess, from far."""
    if near is not None:
        # Newton's Jacobian costs as much as many iterations.
        solved = _found(from_near, near, readout, fit) or _found(newton, near, readout, fit)
        if solved is not None:
            return solved
    return _from_guess(readout, fit) or _from_far(readout, fit)


def _from_guess(readout: Readout, fit: Fit) -> _Solved | None:
    state = readout.first_guess(fit)
    for settled in SETTLED:
        state = _settled(state, readout, fit, settled)
        if not all(np.all(np.isfinite(part)) for part in _parts(state)):
            return None
        solved = _found(anderson, state, readout, fit) or _found(newton, state, readout, fit)
        if solved is not None:
            return solved
    return None


def halfway(state: State, image: State) -> State:
    """The mean of two states."""
    pairs = zip(state.energies, image.energies, strict=True)
    return State(
        (state.bound + image.bound) / 2,
        tuple((a + b) / 2 for a, b in pairs),
        (state.coupling + image.coupling) / 2,
    )


def _settled(state: State, readout: Readout, fit: Fit, change: float) -> State:
    for _ in range(MOST_SETTLING):
        image = readout.next_state(state, fit)
        pairs = list(zip(_parts(state), _parts(image), strict=True))
        state = halfway(state, image)
        if all(np.max(np.abs(new - old)) <= change * np.max(np.abs(new)) for old, new in pairs):
            break
    return state


def _from_far(readout: Readout, fit: Fit) -> _Solved | None:
    """Follow the solution from a large penalty, where it is unique and easy, to the given one."""
    penalty = max(fit.penalty, FAR_PENALTY)
    solved = _from_guess(readout, fit._replace(penalty=penalty))
    fall = FALL
    while solved is not None and penalty > fit.penalty:
        lower = max(fit.penalty, penalty * fall)
        state = solved.layout.state(solved.root.value)
        below = _found(newton, state, readout, fit._replace(penalty=lower))
        if below is not None:
            solved, penalty, fall = below, lower, fall**1.3
        elif fall > SLOWEST:
            return None
        else:
            fall = fall**0.5
    return solved


def _found(
    method: Callable[..., Solution[np.ndarray]], state: State, readout: Readout, fit: Fit
) -> _Solved | None:
    """What a method finds from a state nearby, if it is a solution."""
    layout = Layout(readout.layer.neurons.twins, state)

    def image(vector: np.ndarray) -> np.ndarray:
        return layout.packed(readout.next_state(layout.state(vector), fit))

    try:
        root = method(image, layout.packed(state))
    except np.linalg.LinAlgError:
        return None
    if root.converged and admissible(layout.state(root.value), readout):
        return _Solved(root, layout)
    return None


def admissible(state: State, readout: Readout) -> bool:
    r"""Whether a fixed point is the average of resolvents, which only one of them can be.

    .. math:: D + H > 0,\qquad G + G^T \ge 0

    Symbols: D + H ``state.bound``; G of :class:`~giantstep.theory.giant_step.risk.pencil.Pencil`.

    Assumes: the state solves the equations.
    Status: theorem at given chi and C (uniqueness), heuristic otherwise.
    References: Helton et al. 2007, arXiv:math/0703510.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import first_layers
    >>> problem, sigma = Problem.of("relu(h1)"), activation("relu")
    >>> layers = first_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[4.0], samples_ratios=[1.0])
    >>> readout = Readout(problem, sigma, list(layers)[-1])
    >>> one, flat = np.ones((1, 1)), np.zeros((2, 2))
    >>> [admissible(State(bound, (flat,), one), readout) for bound in (one, -one)]
    [True, False]
    """
    if not np.all(np.linalg.eigvalsh(state.bound) > 0):
        return False
    mean = readout.pencil.resolvent(state)
    lowest = np.linalg.eigvalsh(mean + mean.T)[0] if np.all(np.isfinite(mean)) else -np.inf
    return bool(lowest >= -ROUNDING * np.max(np.abs(mean)))
