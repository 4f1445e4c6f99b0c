from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import NoTheory
from giantstep.language.activations.activation import activation
from giantstep.language.problem import Problem
from giantstep.theory.giant_step.reused_batch import reused_batch_two_steps

#: Published two-step cosines at n = 3d; they were sampled, to about 6e-4.
PUBLISHED = [
    ("tanh", "He3(h1)", 1.0, -0.1747),
    ("relu", "tanh(h1)", 0.3, 0.1978),
    ("relu", "He3(h1)", 0.1, -0.0064),
    ("relu", "He3(h1)", 0.3, -0.0315),
    ("relu", "He3(h1)", 0.6, -0.0333),
    ("relu", "He3(h1)", 1.0, -0.0090),
]


@pytest.mark.parametrize(("sigma", "target", "step_size", "cosine"), PUBLISHED)
def test_published_cosines(sigma: str, target: str, step_size: float, cosine: float) -> None:
    law = reused_batch_two_steps(
        Problem.of(target), activation(sigma), step_size=step_size, samples_ratio=3.0
    )
    assert law.cosines[1, 0] == pytest.approx(cosine, abs=6e-4)


def test_first_step_in_closed_form() -> None:
    """relu on tanh(h): E[D h*] = E[tanh']/2, E[D h0] = -1/2, E[D^2] = E[tanh^2]/2 + 1/2."""
    eta, alpha = 0.3, 3.0
    tanh = activation("tanh")
    m = eta * tanh.hermite(1)[1] / 2
    q = m**2 + (1 - eta / 2) ** 2 + eta**2 / alpha * (tanh.second_moment / 2 + 0.5)
    law = reused_batch_two_steps(
        Problem.of("tanh(h1)"), activation("relu"), step_size=eta, samples_ratio=alpha
    )
    assert law.squared_norms[0] == pytest.approx(q, abs=1e-12)
    assert law.cosines[0, 0] == pytest.approx(m / np.sqrt(q), abs=1e-12)
    # The sampled value in the literature is 0.1046.
    assert law.cosines[0, 0] == pytest.approx(0.1046, abs=3e-4)


def sampled(noise: float, seed: int, count: int = 500_000) -> np.ndarray:
    """The law itself, by plain sampling, for tanh learning h1 + h1^2 with label noise."""
    rng = np.random.default_rng(seed)
    h0, h, xi, label = rng.standard_normal((4, count))
    eta, alpha = 0.7, 2.0
    y = h + h**2 + np.sqrt(noise) * label

    def pull(field: np.ndarray) -> np.ndarray:
        return (y - np.tanh(field)) * (1 - np.tanh(field) ** 2)

    d0 = pull(h0)
    v = np.mean(d0**2)
    h1 = h0 + eta * (
        d0 / alpha + np.mean(d0 * h) * h + np.mean(d0 * h0) * h0 + np.sqrt(v / alpha) * xi
    )
    d1 = pull(h1)
    m2 = eta * (np.mean(d0 * h) + np.mean(d1 * h))
    both = np.mean(d1 * d0)
    q2 = (
        m2**2
        + (1 + eta * np.mean(d0 * h0) + eta * np.mean(d1 * h0)) ** 2
        + eta**2 * (np.sqrt(v / alpha) + np.mean(d1 * xi) + both / np.sqrt(v * alpha)) ** 2
        + eta**2 * (np.mean(d1**2) - both**2 / v) / alpha
    )
    return np.array([m2 / np.sqrt(q2), q2])


def test_label_noise_by_sampling_the_law() -> None:
    law = reused_batch_two_steps(
        Problem.of("h1 + h1**2", noise=0.5), activation("tanh"), step_size=0.7, samples_ratio=2.0
    )
    draws = np.array([sampled(0.5, seed) for seed in range(16)])
    error = draws.std(axis=0, ddof=1) / 4
    found = np.array([law.cosines[1, 0], law.squared_norms[1]])
    # Student's quantile for 15 degrees of freedom at 1e-4, two-sided.
    assert np.all(np.abs(draws.mean(axis=0) - found) <= 5.24 * error)
    assert np.all(5.24 * error < 0.02 * np.abs(found))


def test_three_directions_are_refused() -> None:
    with pytest.raises(NoTheory, match="at most two directions"):
        reused_batch_two_steps(
            Problem.of("h1*h2*h3"), activation("tanh"), step_size=1.0, samples_ratio=2.0
        )
