"""The channel of a committee against integrals over two fields, and against differences."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.channels.channel import channel_of_problem
from giantstep.channels.committees.core import Committees, committee_with_channel
from giantstep.channels.committees.fields import Fields, committee_label_partitions
from giantstep.channels.committees.sums import committee_label_sums
from giantstep.errors import TargetError
from giantstep.language.problem import Problem
from giantstep.language.targets import Target

#: Covariances with v+ below, at and above v.
VARIANCES = ((0.6, 0.1), (0.6, 0.6), (0.4, 0.7))


def integrated(target: Target, y: float, omega: np.ndarray, cov: np.ndarray) -> np.ndarray:
    """Z, its gradient, and trace and total of its Hessian, by panels in both fields."""
    unit, mass = np.polynomial.legendre.leggauss(16)
    edges = np.linspace(-8, 8, 33)
    h = (edges[:-1, None] + (unit + 1) / 4).ravel()
    points = np.stack(np.meshgrid(h, h, indexing="ij"), axis=-1)
    weights = np.outer(np.tile(mass / 4, 32), np.tile(mass / 4, 32))
    precision = np.linalg.inv(cov)
    pull = (points - omega) @ precision
    exponent = np.einsum("abi,abi->ab", pull, points - omega) / 2
    law = weights * np.exp(-exponent) / (2 * np.pi * np.sqrt(np.linalg.det(cov)))
    committee = committee_with_channel(target, 0.0).committee
    values = committee.shift + committee.link.numpy(points[..., None]).sum(axis=-1)
    if committee.vote is not None:
        chance = (np.sign(values) == y).astype(float)
    else:
        chance = np.exp(-((y - values) ** 2) / (2 * committee.noise))
        chance /= np.sqrt(2 * np.pi * committee.noise)
    weight = law * chance
    second = np.einsum("ab,abi,abj->ij", weight, pull, pull) - precision * weight.sum()
    slope = np.einsum("ab,abi->i", weight, pull)
    return np.array([weight.sum(), *slope, np.trace(second), second.sum()])


@pytest.mark.parametrize(
    ("text", "y"),
    [
        ("(tanh(h1) + tanh(h2))/sqrt(2) + sqrt(0.1)*z1", 0.4),
        ("(relu(h1) + relu(h2))/sqrt(2) + 0.3 + sqrt(0.1)*z1", 0.9),
        ("sign(h1) + sign(h2) + sqrt(0.1)*z1", 1.8),
        ("sign(sign(h1) + sign(h2))", -1.0),
    ],
)
@pytest.mark.parametrize("variances", VARIANCES)
def test_two_fields_by_quadrature(text: str, y: float, variances: tuple[float, float]) -> None:
    target = Target(text)
    sums = committee_label_sums(committee_with_channel(target, 0.0).committee)
    cov = variances[0] * np.eye(2) + (variances[1] - variances[0]) / 2
    omega = np.array([[0.5, -0.8], [1.2, 0.3]])
    rows = sums.rows(np.array([y, y]))
    ((_, found),) = committee_label_partitions(
        Fields(sums, *variances), omega, rows, curvature=True
    )
    for i in range(2):
        ours = [found.value[i, 0], *found.gradient[i, :, 0], found.trace[i, 0], found.total[i, 0]]
        np.testing.assert_allclose(ours, integrated(target, y, omega[i], cov), atol=2e-8)


def test_six_fields_by_differences() -> None:
    """Gradient and the symmetric part of the Hessian are derivatives of log Z."""
    text = "(" + " + ".join(f"erf(h{i})" for i in range(1, 7)) + ")/2"
    core = channel_of_problem(Problem.of(text, noise=0.2)).likelihood.core
    assert isinstance(core, Committees)
    rng = np.random.default_rng(0)
    omega, y = rng.normal(size=(1, 6)) * 0.6, np.array([0.3])
    cov = 0.5 * np.eye(6) - 0.05
    sums = committee_label_sums(core.committee)

    def log_z(at: np.ndarray) -> float:
        ((_, found),) = committee_label_partitions(core.fields(cov, exact=True), at, sums.rows(y))
        return float(np.log(found.value[0, 0]))

    gradient, hessian = core.posteriors(y, omega, cov, exact=True)
    step = 1e-3
    moves = step * np.eye(6)
    slopes = [(log_z(omega + m) - log_z(omega - m)) / (2 * step) for m in moves]
    np.testing.assert_allclose(gradient[0], slopes, atol=1e-6)
    bends = [(log_z(omega + m) - 2 * log_z(omega) + log_z(omega - m)) / step**2 for m in moves]
    assert np.trace(hessian[0]) == pytest.approx(sum(bends), abs=1e-5)
    together = moves.sum(axis=0)
    whole = (log_z(omega + together) - 2 * log_z(omega) + log_z(omega - together)) / step**2
    assert hessian[0].sum() == pytest.approx(whole, abs=1e-5)
    fast = core.posteriors(y, omega, cov)
    np.testing.assert_allclose(fast[0], gradient, atol=1e-4)
    np.testing.assert_allclose(fast[1], hessian, atol=1e-3)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("h1*h2 + h3*h4", "at most 3, or a committee"),
        ("tanh(h1) + tanh(h2) + tanh(h3) + 2*tanh(h4)", "equal weights"),
        ("sign(tanh(h1) + tanh(h2) + tanh(h3) + tanh(h4))", "0.1*z1"),
    ],
)
def test_what_is_refused(text: str, said: str) -> None:
    with pytest.raises(TargetError, match=said.replace("*", r"\*")) as refusal:
        channel_of_problem(Problem.of(text, noise=0.1))
    assert "\n" not in str(refusal.value)


def test_impossible_labels_are_refused() -> None:
    text = "sign(" + " + ".join(f"sign(h{i})" for i in range(1, 6)) + ")"
    with pytest.raises(TargetError, match=r"none of this target's values: -1, 1"):
        channel_of_problem(Problem.of(text)).labels(np.array([0.5]))
