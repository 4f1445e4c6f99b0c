from __future__ import annotations

import math

import numpy as np
import pytest

from giantstep.errors import GiantstepError
from giantstep.numerics.quadrature import gauss_hermite, split_gaussian, tensor_rule


@pytest.mark.parametrize("order", [1, 2, 20, 400, 600])
def test_gauss_hermite_is_exact_below_twice_its_order(order: int) -> None:
    nodes, weights = gauss_hermite(order)
    assert np.all(np.isfinite(nodes))
    assert weights.sum() == pytest.approx(1, abs=1e-14)
    for degree in range(0, min(2 * order, 20), 2):
        exact = math.prod(range(1, degree, 2))
        assert weights @ nodes**degree == pytest.approx(exact, rel=1e-11)


def test_order_zero_is_refused() -> None:
    with pytest.raises(GiantstepError, match="order"):
        gauss_hermite(0)


@pytest.mark.parametrize("kink", [0.0, 1.0, -2.3])
def test_split_rule_sees_the_kink(kink: float) -> None:
    nodes, weights = split_gaussian([kink])
    mass = 0.5 * math.erfc(kink / math.sqrt(2))
    density = math.exp(-(kink**2) / 2) / math.sqrt(2 * math.pi)
    assert weights @ (nodes > kink) == pytest.approx(mass, abs=1e-14)
    assert weights @ np.maximum(nodes - kink, 0) == pytest.approx(density - kink * mass, abs=1e-13)


def test_tensor_rule_is_the_product() -> None:
    rule = tensor_rule([gauss_hermite(6), split_gaussian([0.0])])
    x, y = rule.nodes.T
    assert rule.expectation(x**4 * abs(y)) == pytest.approx(3 * math.sqrt(2 / math.pi), rel=1e-13)
