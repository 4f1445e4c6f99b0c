"""Flows with error control: a step that is far too long is shortened, and nothing is said."""

from __future__ import annotations

import numpy as np
from scipy.integrate import quad

from giantstep.numerics.ode import integrate


def test_a_first_step_that_overflows_is_shortened() -> None:
    """Steps grow while y is small; at 10 its rate is 1e40, and the stages after it overflow."""

    def rate(y: np.ndarray) -> np.ndarray:
        return 1e-3 + y**40

    found = integrate(rate, np.zeros((1, 1)), np.inf, event=lambda y: y[0] - 2)
    expected, _ = quad(lambda y: 1 / (1e-3 + y**40), 0, 2, points=[0.7, 0.85, 1], limit=200)
    assert found.finished[0]
    assert found.reached[0]
    np.testing.assert_allclose(found.time[0], expected, rtol=1e-6)
