"""The system of overlaps for logistic, hinge and square loss."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest
from proportional_features import proportional_risk

from giantstep.language.activations.activation import activation
from giantstep.language.losses import loss_from_text
from giantstep.numerics.float64 import float64
from giantstep.numerics.quadrature import gauss_hermite, tensor_rule
from giantstep.theory.convex import convex_loss, fits
from giantstep.theory.convex.convex_loss import ConvexRisk, Features, convex_risk
from giantstep.theory.convex.labels import RealLabels, StudentLabels, student_label_lines


@functools.cache
def labels(name: str) -> StudentLabels:
    functions = {
        "sign": (lambda h: h[..., 0], 1, ((0.0,),)),
        "shifted": (lambda h: h[..., 0] - 0.5, 1, ((0.5,),)),
        "bent": (lambda h: h[..., 0] + 0.5 * h[..., 1] + h[..., 0] * h[..., 1], 2, ((), ())),
    }
    function, directions, kinks = functions[name]
    return student_label_lines(function, directions, 0, kinks)


@functools.cache
def features(name: str) -> Features:
    sigma = activation(name)
    mean, linear = sigma.hermite(1)
    return Features(float(linear**2), sigma.mu_star_squared, math.inf if mean else 0.0)


LOGISTIC = loss_from_text("logistic")


def solve(sigma: str, sizes: tuple[float, ...], teacher: str, loss: str) -> ConvexRisk:
    case = (*sizes, features(sigma), labels(teacher), loss_from_text(loss))
    with float64():
        found = jax.device_get(convex_risk(*case))
    assert found.converged
    return found


#: (activation, (samples, width, ridge), loss) -> test error, training loss, Q, M, V.
SIGN_TEACHER = {
    ("tanh", (3.0, 2.0, 0.1), "logistic"): (0.204747, 0.306469, 2.114786, 1.163619, 1.488643),
    ("tanh", (3.0, 2.0, 0.01), "logistic"): (0.182258, 0.118443, 11.86868, 2.895623, 7.137421),
    ("tanh", (3.0, 2.0, 1e-3), "logistic"): (0.182929, 0.0280741, 46.2214, 5.70650, 50.1797),
    ("erf", (2.0, 0.5, 0.01), "logistic"): (0.340886, 0.389218, 5.79246, 1.15359, None),
    ("relu", (3.0, 2.0, 0.01), "logistic"): (0.254168, 0.135168, 9.855304, 2.190575, None),
    ("sign", (1.5, 3.0, 0.01), "logistic"): (0.298760, 0.042994, 9.209008, 1.793261, None),
    ("tanh", (3.0, 2.0, 0.1), "hinge"): (0.1941704, 0.1497931, 1.987440, 1.155508, 0.786127),
    ("tanh", (3.0, 2.0, 0.01), "hinge"): (0.1933771, 0.0013808, 6.059826, 2.021206, None),
}


@pytest.mark.parametrize("case", SIGN_TEACHER, ids=str)
def test_sign_teacher(case: tuple[str, tuple[float, ...], str]) -> None:
    found = solve(*case[:2], "sign", case[2])
    o = found.overlaps
    values = (found.test_error, found.train_loss, o.q, o.m[0], o.v)
    # Small ridges and the hinge are known to four digits, the others to the digits given.
    coarse = case[2] == "hinge" or case[1][2] < 0.01
    for value, expected in zip(values, SIGN_TEACHER[case], strict=True):
        tolerance = {"rel": 1e-4} if coarse else {"rel": 1e-6, "abs": 5e-6}
        assert expected is None or value == pytest.approx(expected, **tolerance)
    # arccos(M / sqrt Q) / pi, for symmetric labels
    assert found.test_error == pytest.approx(np.arccos(o.m[0] / np.sqrt(o.q)) / np.pi, abs=1e-12)
    assert o.b == pytest.approx(0, abs=1e-12)


def test_norm_of_the_readout() -> None:
    found = solve("tanh", (3.0, 2.0, 0.1), "sign", "logistic")
    assert found.norm * 3 / 2 == pytest.approx(2.952736, abs=1e-6)


def test_asymmetric_labels_need_their_intercept() -> None:
    found = solve("relu", (3.0, 2.0, 0.05), "shifted", "logistic")
    assert found.test_error == pytest.approx(0.2190, abs=1e-3)
    assert found.train_loss == pytest.approx(0.2349, abs=1e-3)
    assert found.overlaps.q == pytest.approx(2.70, abs=0.03)
    assert found.overlaps.m[0] == pytest.approx(1.136, abs=0.01)
    assert found.overlaps.b == pytest.approx(-1.252, abs=0.015)
    with float64():
        ignored = features("relu")._replace(constant=0.0)
        wrong = convex_risk(3.0, 2.0, 0.05, ignored, labels("shifted"), LOGISTIC)
    assert float(wrong.test_error) == pytest.approx(0.304, abs=2e-3)


def test_two_directions() -> None:
    found = solve("relu", (3.0, 2.0, 0.05), "bent", "logistic")
    assert found.test_error == pytest.approx(0.288, abs=2e-3)
    assert found.train_loss == pytest.approx(0.305, abs=2e-3)
    assert found.overlaps.q == pytest.approx(2.32, abs=0.04)
    assert found.overlaps.m == pytest.approx([0.80, 0.54], abs=0.02)
    assert found.overlaps.b == pytest.approx(-0.600, abs=0.015)


def test_a_second_direction_without_influence_changes_nothing() -> None:
    two = student_label_lines(lambda h: h[..., 0], 2, 0, ((0.0,), ()))
    one = solve("tanh", (3.0, 2.0, 0.1), "sign", "logistic")
    with float64():
        found = convex_risk(3.0, 2.0, 0.1, features("tanh"), two, LOGISTIC)
    assert float(found.test_error) == pytest.approx(float(one.test_error), abs=1e-9)
    assert np.asarray(found.overlaps.m) == pytest.approx([float(one.overlaps.m[0]), 0], abs=1e-9)


def test_rotated_labels_have_rotated_overlaps() -> None:
    turned = student_label_lines(lambda h: 0.6 * h[..., 0] + 0.8 * h[..., 1], 2, 0, ((), ()))
    one = solve("tanh", (3.0, 2.0, 0.1), "sign", "logistic")
    with float64():
        found = convex_risk(3.0, 2.0, 0.1, features("tanh"), turned, LOGISTIC)
    length = float(one.overlaps.m[0])
    assert np.asarray(found.overlaps.m) == pytest.approx([0.6 * length, 0.8 * length], abs=1e-8)


def test_labels_that_oscillate_have_all_their_thresholds() -> None:
    found = student_label_lines(lambda h: np.sin(100 * h[..., 0]), 1, 0, ((),)).thresholds[0]
    places = np.pi / 100 * np.arange(-286, 287)
    np.testing.assert_allclose(found[np.abs(found) < 9], places, rtol=0, atol=1e-13)


def quadratic_labels(energy: float, noise: float) -> RealLabels:
    """y = 0.6 + 0.8 h1 - 0.5 h2 + sqrt(energy) He2(h1)/sqrt(2) + noise, its moments exact."""
    rule = tensor_rule([gauss_hermite(5), gauss_hermite(3), gauss_hermite(3)])
    h1, h2, z = rule.nodes.T
    clean = 0.6 + 0.8 * h1 - 0.5 * h2 + np.sqrt(energy / 2) * (h1**2 - 1)
    values, none = clean + np.sqrt(noise) * z, np.zeros((len(clean), 0))
    power = np.asarray(rule.weights @ clean**2)
    return RealLabels(values, clean, power, rule.nodes[:, :2], rule.weights, none, np.ones(2))


scalar_equation = jax.jit(
    functools.partial(proportional_risk, linear_target=0.8**2 + 0.5**2, mean=0.6)
)


@pytest.mark.parametrize("constant", [0.0, 0.7, math.inf])
def test_square_loss_is_the_scalar_equation(constant: float) -> None:
    rng = np.random.default_rng(1)
    half_square = loss_from_text("(y-f)^2/2")
    for _ in range(5):
        alpha, psi, ridge, m1, ms, nonlinear, noise = np.exp(rng.uniform(-1.2, 1.2, 7))
        teacher = quadratic_labels(nonlinear, noise)
        case = (alpha, psi, ridge, Features(m1, ms, constant), teacher)
        with float64():
            expected = scalar_equation(
                alpha, psi, ridge, noise, linear_features=m1, nonlinear_features=ms,
                nonlinear_target=nonlinear, constant=constant,
            )  # fmt: skip
            found, expected = jax.device_get((convex_risk(*case, half_square), expected))
        assert found.test_error == pytest.approx(expected.test_error, rel=1e-10)
        assert 2 * found.train_loss == pytest.approx(expected.train_error, rel=1e-10)
        assert found.norm == pytest.approx(expected.norm, rel=1e-10)
        slack = 1 / (1 + found.overlaps.v)
        assert slack == pytest.approx(1 - expected.degrees_of_freedom, rel=1e-10)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
@pytest.mark.parametrize("v", [0.05, 1.0, 40.0, 1e6])
def test_proximal_fit(loss: str, v: float) -> None:
    """The fit minimises loss(t) + (t - u)^2 / (2 V), by brute force."""
    from scipy.optimize import minimize_scalar

    losses = {"logistic": lambda t: np.logaddexp(0, -t), "hinge": lambda t: max(1 - t, 0.0)}
    known, one = loss_from_text(loss), np.ones(1)
    with float64():
        found = jax.device_get(
            fits.expected_fit_nodes(known, one, known.kinks(one), v, 0 * one, 30.0)
        )
    for u, force, value in list(zip(found.fields[0], found.force[0], found.loss[0], strict=True))[
        ::9
    ]:
        cost = lambda t, u=u: losses[loss](t) + (t - u) ** 2 / (2 * v)  # noqa: E731
        best = minimize_scalar(cost, bounds=(u - 1, u + v + 1), options={"xatol": 1e-10})
        assert cost(u + v * force) <= best.fun + 1e-12 * (1 + abs(best.fun))
        assert value == pytest.approx(losses[loss](u + v * force), abs=1e-9)


def test_quadrature_has_converged(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the nodes in the margin and in the spectrum change nothing."""
    case = ("tanh", (3.0, 2.0, 1e-3), "sign", "logistic")
    coarse = solve(*case)
    for name, order, axes in (("", 32, 3), ("_MISSED", 128, 2)):
        unit, mass = np.polynomial.legendre.leggauss(order)
        shape = (1,) * (axes - 1) + (order,)
        monkeypatch.setattr(fits, f"{name}_UNIT", unit.reshape(shape) / 2)
        monkeypatch.setattr(fits, f"{name}_MASS", mass.reshape(shape) / 2)
    monkeypatch.setattr(convex_loss, "SPECTRUM_ORDER", 120)
    with float64():
        again = jax.jit(lambda *numbers: convex_risk.__wrapped__(*numbers, LOGISTIC))
        fine = jax.device_get(again(*case[1], features("tanh"), labels("sign")))
    assert fine.overlaps.q == pytest.approx(coarse.overlaps.q, rel=1e-8)
    assert fine.test_error == pytest.approx(coarse.test_error, rel=1e-8)
