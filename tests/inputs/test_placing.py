"""Inputs have the covariance that their law says, and the target reads standard variables."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import chi2

from giantstep.errors import SettingsError
from giantstep.inputs import Hypercube, Spiked
from giantstep.inputs.placing import place
from giantstep.learners.ridge.labelled_inputs import labelled_inputs
from giantstep.numerics.seeds import generator
from giantstep.problem import Problem

DIM = 6


@pytest.mark.parametrize(("strength", "cosine"), [(8.0, 0.5), (8.0, 1.0), (3.0, 0.0)])
def test_a_spike_has_its_covariance(strength: float, cosine: float) -> None:
    """Linear in x: the covariance is read off the images of the unit vectors, without noise."""
    law, rank = Spiked(strength, cosine), 2
    root = np.eye(DIM)
    latent = place(law, root, rank, DIM)
    spike = np.zeros(DIM)
    spike[0], spike[rank] = cosine, np.sqrt(1 - cosine**2)
    covariance = np.eye(DIM) + strength * np.outer(spike, spike)
    np.testing.assert_allclose(root.T @ root, covariance, atol=1e-12)
    np.testing.assert_allclose(latent.T @ latent, np.eye(rank), atol=1e-12)
    kappa = 1 + strength * cosine**2
    np.testing.assert_allclose(latent[:, 0] * np.sqrt(kappa), root[:, 0], atol=1e-12)


def test_labels_read_signs_of_the_hypercube() -> None:
    problem = Problem("sign(h1*h2*h3)", inputs=Hypercube("d"))
    drawn = labelled_inputs(problem, 4000, DIM, generator("hypercube test"))
    assert set(np.unique(drawn.labels)) == {-1.0, 1.0}
    np.testing.assert_allclose(np.abs(drawn.inputs[:, :3]), 1.0)
    np.testing.assert_allclose(np.abs(drawn.inputs[:, 3:]), DIM**-0.5)
    np.testing.assert_array_equal(np.sign(drawn.inputs[:, :3]).prod(axis=1), drawn.labels)
    # 64 corners, equally likely
    bits = (drawn.inputs > 0) @ (2 ** np.arange(DIM))
    counts = np.bincount(bits, minlength=2**DIM)
    statistic = ((counts - 4000 / 64) ** 2 / (4000 / 64)).sum()
    assert statistic < chi2.ppf(1 - 1e-4, 63)


def test_an_alignment_is_checked_at_the_dimension() -> None:
    law = Spiked(4, "2*d^-0.25")
    assert law.numbers(10_000) == (4, 0.2)
    with pytest.raises(SettingsError, match=r"alignment is 1\.12 at d = 10"):
        law.numbers(10)
    with pytest.raises(SettingsError, match="needs a dimension above 2"):
        place(Spiked(4, 0.5), np.zeros((3, 2)), 2, 2)
