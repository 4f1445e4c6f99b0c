"""Values and derivatives: numpy against JAX, against closed forms, and at kinks."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

from giantstep.channels.label_law.law import label_core
from giantstep.errors import TargetError
from giantstep.language.expressions.language import FUNCTIONS, FunctionFacts
from giantstep.language.expressions.magnitude import odd_magnitude
from giantstep.language.targets import ScalarFunction, Target
from giantstep.numerics.float64 import float64

H = np.random.default_rng(1).standard_normal((200, 3))
X = H[:, 0]

CLOSED_FORMS = {
    "sign(h1)": np.sign(X),
    "step(h1)": (X > 0) * 1.0,
    "relu(h1)": np.maximum(X, 0),
    "abs(h1)": np.abs(X),
    "min(h1, h2, 0.3)": np.minimum(np.minimum(X, H[:, 1]), 0.3),
    "max(h1, -h2)": np.maximum(X, -H[:, 1]),
    "tanh(h1)": np.tanh(X),
    "erf(h1)": special.erf(X),
    "sigmoid(h1)": special.expit(X),
    "softplus(h1)": np.log1p(np.exp(X)),
    "gelu(h1)": X * special.ndtr(X),
    "sin(h1)": np.sin(X),
    "cos(h1)": np.cos(X),
    "exp(h1)": np.exp(X),
    "log(|h1|)": np.log(np.abs(X)),
    "sqrt(|h1|)": np.sqrt(np.abs(X)),
    "Phi(h1)": special.ndtr(X),
    "|h1|**-0.3": np.abs(X) ** -0.3,
    "1/(1 + h1**2)": 1 / (1 + X**2),
    "He3(tanh(h1))": np.tanh(X) ** 3 - 3 * np.tanh(X),
    "h1**2*exp(-h1**2) + erf(h2)*h3": X**2 * np.exp(-(X**2)) + special.erf(H[:, 1]) * H[:, 2],
}


def points(target: Target) -> np.ndarray:
    return H[:, : target.rank]


@pytest.mark.parametrize("text", CLOSED_FORMS)
def test_numpy_and_jax_agree_with_closed_forms(text):
    target, expected = Target(text), CLOSED_FORMS[text]
    with float64():
        values = jax.jit(target.jax)(points(target))
        one_by_one = jax.vmap(target.jax)(points(target))
    # Terms that cancel leave the rounding of their own size.
    scale = np.abs(expected).max()
    for found in (target.numpy(points(target)), values, one_by_one):
        np.testing.assert_allclose(found, expected, rtol=1e-13, atol=1e-14 * scale)


@pytest.mark.parametrize("degree", range(21))
def test_hermite_polynomials_are_exact(degree):
    coefficients = np.zeros(degree + 1)
    coefficients[degree] = 1.0
    x = np.linspace(-8.0, 8.0, 101)
    value = Target(f"h1 + He{degree}(h1)").numpy(x[:, None]) - x
    expected = np.polynomial.hermite_e.hermeval(x, coefficients)
    np.testing.assert_allclose(value, expected, rtol=1e-12, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("text", ["sqrt(2)*h1 + pi*exp(1)*relu(h2)/3", "He3(h1)*step(h2)", "2**h1"])
def test_inputs_keep_their_dtype(text, dtype):
    target = Target(text)
    h = points(target).astype(dtype)
    assert target.numpy(h).dtype == dtype
    with float64():
        assert target.jax(jnp.asarray(h)).dtype == dtype


@pytest.mark.parametrize(
    ("text", "gradient"),
    [
        ("relu(h1)", 0.0),
        ("sign(h1)", 0.0),
        ("step(h1)", 0.0),
        ("sqrt(1 - cos(h1))", 0.0),
        ("|h1|**1.5", 0.0),
        ("h1**3 + h1", 1.0),
        ("sin(h1)", 1.0),
        ("softplus(h1)", 0.5),
        ("gelu(h1)", 0.5),
        ("h1*|h1|", 0.0),
        ("He3(h1)", -3.0),
    ],
)
def test_derivatives_at_zero_are_finite(text, gradient):
    with float64():
        value = jax.grad(lambda h: Target(text).jax(h))(jnp.zeros(1))
    np.testing.assert_allclose(value, [gradient], atol=1e-12)


@pytest.mark.parametrize("text", ["|h1|", "sqrt(h1**2)", "sqrt(h1**2 + h2**2)", "max(h1, -h1)"])
def test_derivatives_at_a_kink_are_one_sided_or_between(text):
    target = Target(text)
    gradient = jax.grad(lambda h: target.jax(h))(jnp.zeros(target.rank))
    assert np.all(np.abs(gradient) <= 1)


def test_gradient_agrees_with_differences():
    target = Target("tanh(h1*h2) + He4(h3)*sigmoid(h1) + log(1 + h2**2)")
    step = 1e-6
    with float64():
        gradient = jax.vmap(jax.grad(lambda h: target.jax(h)))(H)
    for i, unit in enumerate(np.eye(3)):
        slope = (target.numpy(H + step * unit) - target.numpy(H - step * unit)) / (2 * step)
        np.testing.assert_allclose(gradient[:, i], slope, rtol=1e-6, atol=1e-6)


def test_noises_enter_the_label():
    target = Target("sign(h1 + 0.5*z1)")
    z = H[:, 1:2]
    expected = np.sign(X + 0.5 * z[:, 0])
    assert (target.rank, target.noises, target.is_random) == (1, 1, True)
    np.testing.assert_array_equal(target.numpy(H[:, :1], z), expected)
    np.testing.assert_array_equal(target.jax(jnp.asarray(H[:, :1]), jnp.asarray(z)), expected)
    with pytest.raises(TargetError, match="needs noises z with a last axis of 1, got none"):
        target.numpy(H[:, :1])


def test_shapes():
    target = Target("h1*h2")
    assert target.numpy(np.ones(2)).shape == ()
    assert target.numpy(np.ones((4, 5, 2))).shape == (4, 5)
    assert target.jax(jnp.ones((4, 5, 2))).shape == (4, 5)
    with pytest.raises(TargetError, match="its last axis must be 2"):
        target.numpy(np.ones((4, 3)))


def global_state() -> tuple:
    legacy = np.random.get_state()  # noqa: NPY002 - the state that must not be touched
    return np.geterr(), legacy[1].tolist(), jax.config.jax_enable_x64


def test_no_global_state_is_left_changed():
    before = global_state()
    target = Target("log(|h1|) + 1/(1 + h2**2)")
    values = target.numpy(np.zeros((3, 2)))
    assert target.kinks == ((0.0,), ())
    assert np.all(np.isneginf(values))
    assert global_state() == before


def test_functions_of_one_variable():
    function = ScalarFunction("relu(z - 1) + 0.7*He2(z)")
    x = np.array([[0.0, 2.0], [-1.0, 3.0]])
    expected = np.maximum(x - 1, 0) + 0.7 * (x**2 - 1)
    np.testing.assert_allclose(function.numpy(x), expected, rtol=1e-14)
    np.testing.assert_allclose(function.jax(jnp.asarray(x)), expected, rtol=1e-6)
    assert function.kinks == (1.0,)
    assert function == ScalarFunction("0.7*z**2 - 0.7 + max(z - 1, 0)")
    with pytest.raises(TargetError, match="the language has z pi sign"):
        ScalarFunction("relu(y)")
    with pytest.raises(TargetError, match="it does not depend on z"):
        ScalarFunction("3")
    with pytest.raises(TargetError, match="its second moment is infinite"):
        ScalarFunction("exp(z**2)")


def test_a_function_of_the_language_is_one_entry(monkeypatch):
    facts = FunctionFacts(
        numpy=np.arctan,
        jax=lambda jax, x: jax.numpy.arctan(x),
        sympy=lambda sympy, x: sympy.atan(x),
        magnitude=odd_magnitude(np.arctan, 1.0),
        growth="bounded",
        parity="odd",
        rising=True,
        latex=r"\arctan",
    )
    monkeypatch.setitem(FUNCTIONS, "arctan", facts)
    target = Target("h2 - arctan(-2*h1) + arctan(0)")
    assert target.text == "h2 + arctan(2*h1)"
    assert target.latex == r"h_{2} + \arctan\left(2\, h_{1}\right)"
    h = np.array([[0.5, 1.0], [-2.0, 0.3]])
    expected = h[:, 1] + np.arctan(2 * h[:, 0])
    np.testing.assert_allclose(target.numpy(h), expected)
    np.testing.assert_allclose(target.jax(h), expected, rtol=1e-6)
    assert str(target.sympy()) == "h2 + atan(2*h1)"
    # What a strictly rising function tells is what its argument tells.
    assert label_core(Target("arctan(h1*h2)")).target == Target("h1*h2")
