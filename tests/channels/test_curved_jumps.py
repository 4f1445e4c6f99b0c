"""Targets that jump on curved surfaces: the places of the jumps are followed from line to line."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from giantstep.channels.cells import LabelCells
from giantstep.channels.quadrature import Quadrature
from giantstep.channels.structure import channel_structure
from giantstep.language.problem import Problem
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import gauss_hermite


def _core(target: str, *counts: int) -> Quadrature:
    structure = channel_structure(Problem.of(target).target).across_jumps()
    return Quadrature(structure, counts, LabelCells((), (0,)), jumps=structure.crossings)


def _probability(core: Quadrature, mean: list[float], cov: list[float]) -> float:
    """P(y = 1) of fields with that mean and diagonal covariance."""
    with float64():
        given = jnp.asarray(mean), jnp.diag(jnp.asarray(cov)), jnp.asarray(1e-3)
        mixture = jax.jit(core.label_mixture)(*given)
    return float(np.exp(mixture.logs) @ (np.asarray(mixture.centres) > 0))


def test_a_latent_noise_inside_a_sign() -> None:
    """Nodes that ignore the jump were off by .02, and state evolution never came to rest."""
    core = _core("sign(tanh(h1)+tanh(h2)+z1/2)", 24, 24)
    assert core.jumps == 1
    from scipy.special import ndtr

    x, w = gauss_hermite(80)
    for mean in (np.array([0.3, -0.8]), np.array([1.0, 0.5])):
        first, second = (np.tanh(m + np.sqrt(0.6) * x) for m in mean)
        expected = w @ ndtr(2 * (first[:, None] + second)) @ w
        assert _probability(core, [*mean, 0.0], [0.6, 0.6, 1.0]) == pytest.approx(
            expected, abs=1e-5
        )


def test_a_circle() -> None:
    """|h|^2 is a noncentral chi-square: lines meet the jump twice, or not at all."""
    core = _core("sign(h1**2+h2**2-1)", 512)
    assert core.jumps == 2
    from scipy.stats import ncx2

    for mean in (np.array([0.3, -0.8]), np.array([1.0, 0.5])):
        expected = ncx2.sf(1 / 0.6, 2, mean @ mean / 0.6)
        assert _probability(core, [*mean], [0.6, 0.6]) == pytest.approx(expected, abs=1e-3)
