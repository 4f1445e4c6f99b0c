"""Inputs have the covariance that their law says, and the target reads standard variables."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import chi2
from scipy.stats import t as student_t

from giantstep.errors import NoTheory, SettingsError
from giantstep.language.inputs import Gaussian, Hypercube, Inputs, Sphere, Spiked
from giantstep.language.problem import Problem
from giantstep.learners import kernel
from giantstep.numerics.seeds import generator
from giantstep.settings.kernel import Kernel
from giantstep.theory.kernel import predict

DIM = 6


@pytest.mark.parametrize(("strength", "cosine"), [(8.0, 0.5), (8.0, 1.0), (3.0, 0.0)])
def test_a_spike_has_its_covariance(strength: float, cosine: float) -> None:
    """Linear in x: the covariance is read off the images of the unit vectors, without noise."""
    law, rank = Spiked(strength, cosine), 2
    root = np.eye(DIM)
    latent = law.place(root, rank, DIM)
    spike = np.zeros(DIM)
    spike[0], spike[rank] = cosine, np.sqrt(1 - cosine**2)
    covariance = np.eye(DIM) + strength * np.outer(spike, spike)
    np.testing.assert_allclose(root.T @ root, covariance, atol=1e-12)
    np.testing.assert_allclose(law.covariance(rank, DIM), covariance, atol=1e-12)
    np.testing.assert_allclose(latent.T @ latent, np.eye(rank), atol=1e-12)
    kappa = 1 + strength * cosine**2
    np.testing.assert_allclose(latent[:, 0] * np.sqrt(kappa), root[:, 0], atol=1e-12)


def test_labels_read_signs_of_the_hypercube() -> None:
    problem = Problem("sign(h1*h2*h3)", inputs=Hypercube("d"))
    drawn = problem.draw(4000, DIM, generator("hypercube test"))
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
        Spiked(4, 0.5).place(np.zeros((3, 2)), 2, 2)


@pytest.mark.parametrize("law", [Gaussian(), Sphere(), Spiked(3, 0.6), Hypercube("d^0.5")], ids=str)
def test_samples_have_the_covariance_of_their_law(law: Inputs) -> None:
    samples = 200_000
    x = generator("covariance", str(law)).standard_normal((samples, DIM))
    law.place(x, 2, DIM)
    products = x[:, :, None] * x[:, None, :]
    errors = products.std(axis=0) / np.sqrt(samples)
    quantile = student_t.ppf(1 - 1e-4 / (2 * DIM**2), samples - 1)
    expected = law.covariance(2, DIM)
    assert np.all(np.abs(products.mean(axis=0) - expected) <= quantile * errors + 1e-12)
    # Power: half of the variance beside a spike or a boost would be seen.
    assert quantile * errors.max() < 0.05 * np.abs(expected).max()


@pytest.fixture
def forgotten() -> Iterator[None]:
    """Forget classes that a test defined: every law that exists can be read."""
    yield
    gc.collect()


@pytest.mark.usefixtures("forgotten")
def test_a_new_law_is_one_class() -> None:
    @dataclass(frozen=True)
    class Shell(Inputs):
        """x on a sphere of another radius."""

        radius: float = 1.0
        name = "shell"
        syntax = "shell:RADIUS"

        def place(self, normals: np.ndarray, rank: int, dim: int) -> np.ndarray:
            normals *= float(self.radius) / np.linalg.norm(normals, axis=-1, keepdims=True)
            return normals[..., :rank]

    problem = Problem("h1", inputs="shell:3")
    assert problem.inputs.to_json() == {"law": "shell", "radius": "3"}
    drawn = problem.draw(5, DIM, generator("shell"))
    np.testing.assert_allclose(np.linalg.norm(drawn.inputs, axis=1), 3)
    run = kernel.simulate(problem, Kernel(dim=6, samples=20, test_samples=10), seeds=2)
    assert np.all(np.isfinite(run.metrics["test_error"]))
    with pytest.raises(NoTheory, match="inputs = shell"):
        predict(problem, Kernel(dim=6, samples=20))
