"""The gradient batches averaged out: reference numbers at given chi and C."""

from __future__ import annotations

import numpy as np
import pytest
from stepped_readouts import stepped_layer

from giantstep.numerics.solve import STEP
from giantstep.theory.giant_step.risk.pencil import Pencil, State
from giantstep.theory.giant_step.risk.sample_terms import ManyKinds, OneKind

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


def solved(given: Pencil, coupling: float) -> State:
    """The self-energies at chi = 1 and a given C."""
    k = given.kinds
    flat = tuple(np.zeros((2 * k, 2 * k)) for _ in range(given.steps))
    state = State(np.eye(k), flat, coupling * np.ones((k, k)))
    change = np.inf
    for _ in range(400):
        images = given.averages(state).energies
        change = max(np.max(np.abs(a - b)) for a, b in zip(images, state.energies, strict=True))
        if change < 1e-13:
            break
        pairs = zip(images, state.energies, strict=True)
        state = state._replace(energies=tuple((a + b) / 2 for a, b in pairs))
    assert change < 1e-11
    return state


@pytest.mark.parametrize(("target", "step_size", "samples", "expected"), REFERENCES)
def test_reference_numbers(
    target: str, step_size: float, samples: float, expected: tuple[float, ...]
) -> None:
    layer = stepped_layer("relu", target, [(step_size, samples)])
    given = Pencil(layer)
    state, width = solved(given, COUPLING), 1e-4
    up, down = (
        given.averages(solved(given, COUPLING + side * width)).bulk[0, 0] for side in (1, -1)
    )
    along = layer.means[0] / np.linalg.norm(layer.means[0])
    first = np.eye(len(along))[0]
    across = first - along[0] * along
    directions = np.stack([along, across / np.linalg.norm(across)], axis=1)
    # The coupling of v and t to the bulk is taken out of the overlaps, and put back here.
    freed = given.overlaps(state, directions)
    overlaps = np.linalg.inv(np.linalg.inv(freed) + np.diag([COUPLING, COUPLING, 0.0]))
    found = (
        layer.bulks[0, 0],
        layer.batches[0].lengths[0, 0],
        given.averages(state).bulk[0, 0],
        (down - up) / (2 * width),
        overlaps[0, 0],
        overlaps[0, 1],
        overlaps[1, 1],
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1.1e-6)


@pytest.mark.parametrize("sigma", ["relu", "identity"])
def test_one_kind_has_the_averages_of_many(sigma: str) -> None:
    """Closed forms against matrices at every node; a linear activation scatters no rows."""
    layer = stepped_layer(sigma, "sin(h1)", [(1.0, 2), (1.0, 3)])
    state, inside = solved(Pencil(layer), COUPLING), Pencil(layer).places[1]
    own, spread = Pencil(layer).resolvent(state)[None, inside, inside], state.bound[None]
    for batch in layer.batches:
        closed, direct = OneKind(batch), ManyKinds(batch)
        for turned in (own, own * (1 + 0.1j)):
            found, expected = (
                [*each(turned, spread), *each.in_forms(turned, spread)] for each in (closed, direct)
            )
            for one, many in zip(found, expected, strict=True):
                np.testing.assert_allclose(
                    one, many, rtol=0, atol=1e-13 * (1 + np.max(np.abs(many)))
                )
        # B^-1 moves too, and all by a complex step.
        moved = own * (1 + 1j * STEP), spread * (1 + 2j * STEP)
        slopes = (each.tangent(own, spread)(*moved) for each in (closed, direct))
        for one, many in zip(*slopes, strict=True):
            np.testing.assert_allclose(one.imag, many.imag, rtol=1e-11, atol=1e-13 * STEP)
