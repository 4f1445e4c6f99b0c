"""Roots of covariances."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.numerics.linear_algebra import symmetric_root


def test_the_symmetric_root_of_a_covariance_without_full_rank() -> None:
    half = np.random.default_rng(0).standard_normal((6, 4))
    covariance = half @ half.T
    root = symmetric_root(covariance)
    assert root @ root == pytest.approx(covariance, rel=1e-12, abs=1e-12)
    np.testing.assert_allclose(root, root.T, atol=1e-14)
    assert np.linalg.eigvalsh(root)[0] > -1e-7
