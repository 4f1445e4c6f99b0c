"""Inner-product kernels: series, profiles, positive definiteness, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from giantstep.errors import SettingsError
from giantstep.language.activations.kernels import kernel

NAMES = ("exp", "arccos0", "arccos1", "1+t+t^2/2+t^3/6", "1,0.5,0,2e-1")


@pytest.mark.parametrize("name", NAMES)
def test_series_and_profile_agree(name: str) -> None:
    shape = kernel(name)
    t = np.linspace(-0.6, 0.6, 7)
    assert np.polynomial.polynomial.polyval(t, shape.series) == pytest.approx(shape.profile(t))
    assert shape.total_above(1) == pytest.approx(
        shape.profile(1.0) - shape.power(0) - shape.power(1)
    )


def test_arc_cosine_kernels_are_those_of_random_neurons() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((3, 5))
    fields = rng.standard_normal((400_000, 5)) @ x.T / 5**0.5
    steps, relus = (fields > 0).astype(float), np.maximum(fields, 0)
    for name, neurons in (("arccos0", steps), ("arccos1", relus)):
        expected = 2 * neurons.T @ neurons / len(fields)
        assert kernel(name).matrix(x, x) == pytest.approx(expected, abs=0.01)


@settings(max_examples=40)
@given(st.sampled_from(NAMES), st.integers(0, 10**6), st.integers(2, 6))
def test_matrices_are_positive_semidefinite(name: str, seed: int, dim: int) -> None:
    x = np.random.default_rng(seed).standard_normal((12, dim))
    eigenvalues = np.linalg.eigvalsh(kernel(name).matrix(x, x))
    assert eigenvalues[0] >= -1e-10 * eigenvalues[-1]


@pytest.mark.parametrize(
    "text", ["1-t", "t^30", "x", "sin(t)", "1", "", "t^t", "1/0", "1,a", "+", "t^-1", "He2(t)"]
)
def test_what_is_not_a_kernel(text: str) -> None:
    with pytest.raises(SettingsError, match="kernel") as caught:
        kernel(text)
    assert "\n" not in str(caught.value)


def test_a_polynomial_is_an_expression_of_the_language() -> None:
    assert kernel("(1 + t)^2 + 0.5t").series.tolist() == [1.0, 2.5, 1.0]
