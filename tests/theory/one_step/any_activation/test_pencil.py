"""The gradient batch averaged out: reference numbers at given chi and C."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.activations.activation import activation
from giantstep.problem import Problem
from giantstep.theory.one_step.any_activation.network import Start, network_after_step
from giantstep.theory.one_step.any_activation.pencil import Batch, averages, probe_overlaps
from giantstep.theory.one_step.any_activation.unknowns import State

COUPLING = 0.7
#: Target, step size, n_0/d; c, Upsilon, N, -dN/dC, and N between v and v, v and t, t and t, all
#: for relu with chi = 1 and C = 0.7, from an independent implementation.
REFERENCES = [
    (
        *("relu(h1)", 4.0, 1.0),
        (4.678524, 15.786582, 0.800728, 0.718748, 1.340619, -0.020998, 0.668216),
    ),
    (
        *("h1 + He2(h1)/sqrt(2)", 1.5, 4.0),
        (1.281250, 0.567006, 0.576477, 0.390726, 1.068215, -0.007503, 0.618753),
    ),
]


def batch(target: str, step_size: float, samples: float) -> Batch:
    network = network_after_step(
        Problem.of(target), activation("relu"), Start.of([1.0]),
        step_size=step_size, samples_ratio=samples,
    )  # fmt: skip
    return Batch(network.rows, network.batch, np.ones(1))


def solved(given: Batch, coupling: float) -> State:
    """The self-energy at chi = 1 and a given C."""
    state = State(np.eye(1), np.zeros((2, 2)), coupling * np.eye(1))
    for _ in range(200):
        image = averages(state, given).energy
        if np.max(np.abs(image - state.energy)) < 1e-13:
            break
        state = state._replace(energy=(state.energy + image) / 2)
    assert np.max(np.abs(image - state.energy)) < 1e-11
    return state


@pytest.mark.parametrize(("target", "step_size", "samples", "expected"), REFERENCES)
def test_reference_numbers(
    target: str, step_size: float, samples: float, expected: tuple[float, ...]
) -> None:
    given = batch(target, step_size, samples)
    state, width = solved(given, COUPLING), 1e-4
    up, down = (
        averages(solved(given, COUPLING + side * width), given).bulk[0, 0] for side in (1, -1)
    )
    # The coupling of v and t to the bulk is taken out of the overlaps, and put back here.
    freed = probe_overlaps(state, given, 1)
    overlaps = np.linalg.inv(np.linalg.inv(freed) + np.diag([COUPLING, COUPLING, 0.0]))
    found = (
        given.rows.bulks[0, 0],
        given.rows.lengths[0, 0],
        averages(state, given).bulk[0, 0],
        (down - up) / (2 * width),
        overlaps[0, 0],
        overlaps[0, 1],
        overlaps[1, 1],
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.1e-6)
