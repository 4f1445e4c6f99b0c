"""Test and train error of the readout fit: the fixed point found, and its two derivatives."""

from __future__ import annotations

import contextlib
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from giantstep.numerics.solve import STEP, linear_responses
from giantstep.theory.giant_step.risk.pencil import State
from giantstep.theory.giant_step.risk.readout import Fit, Readout

#: Iterations, half the way each, lead from the first guess until none of the unknowns changes by
#: more than a fraction; where Newton's iteration then fails, until it is smaller.
SETTLED, MOST_SETTLING = (0.2, 0.02), 300
#: Newton's iteration ends at this change, relative to the largest unknown, or after so many steps.
TOLERANCE, MOST_STEPS = 1e-10, 15
#: Up to so many unknowns the whole Jacobian is built; of more it is only applied, to directions in
#: which what is left of a step falls to its residual, or at first to this fraction.
DENSE, LOOSE = 100, 0.1
#: The penalty from which the solution is followed down where the direct iteration fails, the
#: factor by which it falls at first, and the slowest fall that is tried.
FAR_PENALTY, FALL, SLOWEST = 30.0, 0.3, 0.97
#: Symmetric parts that should be positive may miss zero by this fraction of their size.
ROUNDING = 1e-9
#: Parts of a state below this fraction of their natural size count as zero.
SMALL = 1e-3
#: Numbers held at once for fits that are solved together.
ENTRIES = 2_000_000
#: Of many fits, one in so many is solved first, and the others start from these.
STRIDE = 7
#: From so many kinds of neurons on one thread is faster: their many matrices are small.
MANY_KINDS = 4


class ReadoutRisk(NamedTuple):
    """Mean squared errors on noisy labels, and how the equations were solved.

    ``converged`` is False, and the errors are NaN, where no admissible solution was found.
    ``norm`` is |theta|^2 of the fitted readout, ``freedom`` the trace of the hat matrix per sample.
    """

    test: float
    train: float
    norm: float
    freedom: float
    residual: float
    iterations: int
    converged: bool
    state: State | None


def readout_risk(readout: Readout, fit: Fit, along: tuple[float, ...] = ()) -> ReadoutRisk:
    r"""Test and train error of the readout fitted to fresh samples.

    With :math:`\mathcal E(\bar\lambda, \epsilon)` the least value of the objective, over d, in
    which the population's error counts with the weight epsilon next to that of the samples,

    .. math:: \text{test} = \frac{\partial\mathcal E}{\partial\epsilon}\Big|_{\epsilon=0},\qquad
        \text{train} = \frac1\alpha\Big(\mathcal E
            - \bar\lambda\frac{\partial\mathcal E}{\partial\bar\lambda}\Big),\qquad
        |\theta|^2 = \frac{\partial\mathcal E}{\partial\bar\lambda} .

    The unknowns follow the two parameters by the implicit function theorem.

    Symbols: alpha, lambda-bar ``fit``; ``along``: further lambda-bar that will be asked for, solved
    together with this one.

    Assumes: n, p, d and n_0 proportional; Gaussian inputs; finitely many kinds of neurons.
    Status: heuristic (leave-one-out), verified by simulation.
    References: Cui et al. 2024, arXiv:2402.04980, and Dandi et al. 2024, arXiv:2410.18938, for
        one step and isotropic rows.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("sin(h1)"), activation("tanh")
    >>> layers = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[3.0, 3.0], samples_ratios=[2.0, 2.0])
    >>> risks = [readout_risk(Readout(problem, sigma, at), Fit.of(2, 1, 0.05)) for at in layers]
    >>> [round(risk.test, 4) for risk in risks]
    [0.2419, 0.1296, 0.0643]
    """
    if fit not in readout.solved:
        penalties = list(dict.fromkeys((fit.penalty, *along)))
        found = _together(readout, fit, np.array(penalties))
        fits = [fit._replace(penalty=penalty) for penalty in penalties]
        readout.solved.update(zip(fits, found, strict=True))
    return readout.solved[fit]


def _together(
    readout: Readout, fit: Fit, penalties: Float[np.ndarray, " fits"]
) -> list[ReadoutRisk]:
    """Many penalties at once, as far as memory allows."""
    pencil = readout.pencil
    largest = max(pencil.columns**2, pencil.kinds**2 * len(readout.learned.weights))
    together = 1 + ENTRIES // largest
    one_thread: Any = contextlib.nullcontext()
    if pencil.kinds >= MANY_KINDS:
        from threadpoolctl import threadpool_limits

        one_thread = threadpool_limits(1, user_api="blas")
    found = []
    # What is not finite is reported as not found.
    with np.errstate(all="ignore"), one_thread:
        for some in np.array_split(penalties, -(-len(penalties) // together)):
            found += _risks(readout, fit._replace(penalty=some))
    return found


def _risks(readout: Readout, fit: Fit) -> list[ReadoutRisk]:
    missing = ReadoutRisk(np.nan, np.nan, np.nan, np.nan, np.inf, 0, False, None)
    solved = _risk_state(readout, fit)
    risks, found = [missing] * len(fit.penalty), np.flatnonzero(solved.found)
    if not len(found):
        return risks
    state, moved = (each.members(found) for each in (solved.state, solved.moved))
    penalty = fit.penalty[found]
    sides = 1j * STEP * np.eye(2)[..., None]
    values = readout.objective(moved, fit._replace(probe=sides[0], penalty=penalty + sides[1]))
    test, slope = values.imag / STEP
    train = (values[1].real - penalty * slope) / fit.samples_ratio
    taken = np.sum(readout.weights(state, fit), axis=-1) / fit.samples_ratio
    for i, at in enumerate(found.tolist()):
        if np.isfinite(test[i]) and np.isfinite(train[i]):
            risks[at] = ReadoutRisk(
                float(test[i]),
                float(train[i]),
                float(slope[i]),
                float(1 - taken[i]),
                float(solved.residual[at]),
                solved.iterations,
                True,
                state.members(i),
            )
    return risks


class StateLayout:
    """Where the independent entries of a state are kept, and in which units.

    The bound is zero between kinds with different first rows; each self-energy is [[P, Q],
    [-Q^T, R]], and all parts but Q are symmetric. ``like``: a state whose sizes are the units.
    """

    def __init__(self, twins: Bool[np.ndarray, "k k"], like: State) -> None:
        k, steps = len(twins), len(like.energies)
        corner, full = np.triu(np.ones((k, k), dtype=bool)), np.ones((k, k), dtype=bool)
        masks = [corner & twins, *[corner, full, corner] * steps, corner]
        bound, coupled = (np.max(np.abs(part), axis=(-2, -1)) for part in (like[0], like[2]))
        coupled = np.maximum(coupled, 1e-300)
        # Parts that vanish, by symmetry or to rounding, are measured by what they are added to.
        floors = [bound, *[1 / bound, np.ones_like(bound), coupled] * steps, coupled]
        units = [
            np.maximum(np.max(np.abs(part), axis=(-2, -1)), SMALL * floor)
            for part, floor in zip(_parts(like), floors, strict=True)
        ]
        self._shapes = [(k, k), *[(2 * k, 2 * k)] * steps, (k, k)]
        self._ends = np.cumsum([0, *(rows * columns for rows, columns in self._shapes)])
        #: Where each entry is, and where once more, in the matrices one after the other.
        places = self._matrices(np.arange(self._ends[-1]))
        self._places, self._mirrors = (
            np.concatenate([part[mask] for part, mask in zip(_parts(each), masks, strict=True)])
            for each in (State.of(places), State.of(place.T for place in places))
        )
        counts = [int(mask.sum()) for mask in masks]
        self._units = np.repeat(np.stack(units, axis=-1), counts, axis=-1)
        self._signs = np.repeat([1, *[1, -1, 1] * steps, 1], counts)

    def _matrices(self, flat: Any) -> list[Any]:
        ends = zip(self._ends, self._ends[1:], self._shapes, strict=False)
        return [flat[..., low:high].reshape(*flat.shape[:-1], *shape) for low, high, shape in ends]

    def packed(self, state: State) -> Any:
        """The independent entries, in their units."""
        flat = [part.reshape(*part.shape[:-2], -1) for part in state.matrices]
        return np.concatenate(flat, axis=-1)[..., self._places] / self._units

    def state(self, vector: Any) -> State:
        """The matrices of which these are the entries."""
        entries = vector * self._units
        flat = np.zeros((*entries.shape[:-1], self._ends[-1]), vector.dtype)
        flat[..., self._mirrors], flat[..., self._places] = self._signs * entries, entries
        return State.of(self._matrices(flat))


def _parts(state: State) -> list[Any]:
    k = state.bound.shape[-1]
    quarters = [
        part
        for energy in state.energies
        for part in (energy[..., :k, :k], energy[..., :k, k:], energy[..., k:, k:])
    ]
    return [state.bound, *quarters, state.coupling]


class _Solved(NamedTuple):
    """Fixed points of many fits, and which of them were ``found``.

    ``moved``: with imaginary parts, by which they follow the probe and the penalty.
    """

    state: State
    moved: State
    residual: Float[np.ndarray, " fits"]
    found: Bool[np.ndarray, " fits"]
    iterations: int = 0


def _risk_state(readout: Readout, fit: Fit) -> _Solved:
    """The admissible fixed points: from their first guesses, and where that fails from far."""
    solved = _between(readout, fit) or _risk_from_guess(readout, fit)
    for each in np.flatnonzero(~solved.found).tolist():
        alone = fit._replace(penalty=fit.penalty[each : each + 1])
        other = _risk_from_guess(readout, alone) if len(fit.penalty) > 1 else solved
        other = other if other.found[0] else _risk_from_far(readout, alone)
        if other.found[0]:
            for mine, its in ((solved.state, other.state), (solved.moved, other.moved)):
                for whole, part in zip(mine.matrices, its.matrices, strict=True):
                    whole[..., each : each + 1, :, :] = part
            solved.found[each], solved.residual[each] = True, other.residual[0]
    return solved


def _between(readout: Readout, fit: Fit) -> _Solved | None:
    """Many fixed points from splines through a few of them, if these are found."""
    from scipy.interpolate import CubicSpline

    order = np.argsort(fit.penalty)
    few = fit.penalty[order[np.arange(0, len(order) + STRIDE - 1, STRIDE).clip(max=len(order) - 1)]]
    if len(order) < 3 * STRIDE or not np.all(np.diff(few, prepend=0.0) > 0):
        return None
    known = _risk_from_guess(readout, fit._replace(penalty=few))
    if not known.found.all():
        return None
    at, places = np.log(few), np.log(fit.penalty)
    near = State.of(CubicSpline(at, part)(places) for part in known.state.matrices)
    return _newton(near, readout, fit)


def _risk_from_guess(readout: Readout, fit: Fit) -> _Solved:
    state = readout.first_guess(fit)
    for settled in SETTLED:
        try:
            state = _settled(state, readout, fit, settled)
        except np.linalg.LinAlgError:
            return _lost(state)
        solved = _newton(state, readout, fit)
        if solved.found.all():
            break
    return solved


def _lost(state: State) -> _Solved:
    moved = State.of(np.stack([part + 0j] * 2) for part in state.matrices)
    return _Solved(
        state, moved, np.full(len(state.bound), np.inf), np.zeros(len(state.bound), bool)
    )


def mean_risk_state(state: State, image: State) -> State:
    """The mean of two states."""
    return State.of((a + b) / 2 for a, b in zip(state.matrices, image.matrices, strict=True))


def _settled(state: State, readout: Readout, fit: Fit, change: float) -> State:
    settled, axes = np.zeros(len(fit.penalty), dtype=bool), (-2, -1)
    for _ in range(MOST_SETTLING):
        image = readout.next_state(state, fit)
        pairs = list(zip(_parts(state), _parts(image), strict=True))
        state = mean_risk_state(state, image)
        settled |= np.all(
            [np.max(np.abs(b - a), axes) <= change * np.max(np.abs(b), axes) for a, b in pairs], 0
        )
        if settled.all():
            break
    return state


def _risk_from_far(readout: Readout, fit: Fit) -> _Solved:
    """Follow the solution from a large penalty, where it is unique and easy, to the given one."""
    penalty = np.maximum(fit.penalty, FAR_PENALTY)
    solved, fall = _risk_from_guess(readout, fit._replace(penalty=penalty)), FALL
    while solved.found[0] and penalty > fit.penalty:
        lower = np.maximum(fit.penalty, penalty * fall)
        below = _newton(solved.state, readout, fit._replace(penalty=lower))
        if below.found[0]:
            solved, penalty, fall = below, lower, fall**1.3
        elif fall > SLOWEST:
            solved.found[0] = False
        else:
            fall = fall**0.5
    return solved


def _newton(state: State, readout: Readout, fit: Fit) -> _Solved:
    try:
        return _iterated(state, readout, fit)
    except np.linalg.LinAlgError:
        return _lost(state)


def _iterated(state: State, readout: Readout, fit: Fit) -> _Solved:
    """Newton's iteration from states nearby, which ends with the response to probe and penalty."""
    layout = StateLayout(readout.layer.neurons.twins, state)
    x = layout.packed(state)
    count = x.shape[-1]
    few = count <= DENSE
    # Each unknown by itself where there are few, then the probe, then the penalty.
    moved = 1j * STEP * np.eye(count + 2)[0 if few else count :, None]
    turned = fit._replace(
        probe=fit.probe + moved[..., count], penalty=fit.penalty + moved[..., count + 1]
    )
    for iteration in range(1, MOST_STEPS + 1):  # noqa: B007
        around = readout.near(layout.state(x), fit)

        def slope(step: Any, x: Any = x, around: Readout = around) -> Any:
            image = around.next_state(layout.state(x + 1j * STEP * step), fit)
            return layout.packed(image).imag / STEP

        image = layout.packed(around.next_state(layout.state(x + moved[..., :count]), turned))
        slopes = image.imag / STEP
        gap = image[0].real - x
        residual = np.max(np.abs(gap), axis=-1) / np.max(np.abs(x), axis=-1)
        sources = np.concatenate([gap[None], slopes[-2:]])
        if few:
            kernel = np.eye(count) - np.moveaxis(slopes[:-2], 0, -1)
            steps = np.moveaxis(np.linalg.solve(kernel, np.moveaxis(sources, 0, -1)), -1, 0)
        else:
            steps = linear_responses(slope, sources, np.clip(residual, TOLERANCE, LOOSE))
        far = residual > TOLERANCE
        # A NaN compares False: it ends, and is not found.
        if not np.any(far):
            break
        x = x + np.where(far[:, None], steps[0], 0.0)
    state = layout.state(x)
    found = (residual <= TOLERANCE) & is_risk_admissible(state, readout)
    return _Solved(state, layout.state(x + 1j * STEP * steps[1:]), residual, found, iteration)


def is_risk_admissible(state: State, readout: Readout) -> Any:
    r"""Whether a fixed point is the average of resolvents, which only one of them can be.

    .. math:: D + H > 0,\qquad G + G^T \ge 0

    Symbols: D + H ``state.bound``; G of :class:`~giantstep.theory.giant_step.risk.pencil.Pencil`.

    Assumes: the state solves the equations.
    Status: theorem at given chi and C (uniqueness), heuristic otherwise.
    References: Helton et al. 2007, arXiv:math/0703510.

    >>> from giantstep.language.activations.activation import activation
    >>> from giantstep.language.problem import Problem
    >>> from giantstep.theory.giant_step.risk.first_layer import Neurons
    >>> from giantstep.theory.giant_step.risk.gradient_step import limit_layers
    >>> problem, sigma = Problem.of("relu(h1)"), activation("relu")
    >>> layers = limit_layers(
    ...     problem, sigma, Neurons.of([1.0]), step_sizes=[4.0], samples_ratios=[1.0])
    >>> readout = Readout(problem, sigma, list(layers)[-1])
    >>> one, flat = np.ones((1, 1)), np.zeros((2, 2))
    >>> [bool(is_risk_admissible(State(bound, (flat,), one), readout)) for bound in (one, -one)]
    [True, False]
    """
    positive = _lowest(state.bound) > 0
    bound = np.where(positive[..., None, None], state.bound, np.eye(state.bound.shape[-1]))
    mean = readout.pencil.resolvent(state._replace(bound=bound))
    least = -ROUNDING * np.max(np.abs(mean), axis=(-2, -1))
    return positive & (_lowest(mean + mean.swapaxes(-1, -2)) >= least)


def _lowest(matrices: np.ndarray) -> Any:
    """The lowest eigenvalue of each matrix, and less than any where it is not finite."""
    finite = np.all(np.isfinite(matrices), axis=(-2, -1))
    lowest = np.linalg.eigvalsh(np.where(finite[..., None, None], matrices, 0.0))[..., 0]
    return np.where(finite, lowest, -np.inf)
