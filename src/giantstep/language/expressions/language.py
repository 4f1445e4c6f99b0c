"""What the language knows: its functions, each with all the facts about it, and its limits.

A new function is one entry here: of :data:`FUNCTIONS`, or of :data:`ABBREVIATIONS` if the others
can express it. Parser, normal form, quadrature, numpy, JAX, SymPy and LaTeX read the entry.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from giantstep.language.expressions.magnitude import (
    Magnitude,
    larger_magnitude,
    normal_magnitude,
    odd_magnitude,
    oscillation_magnitude,
    positive_magnitude,
    rectified_magnitude,
    sigmoid_magnitude,
    softplus_magnitude,
)

#: Longest text accepted, typed or canonical.
MAX_CHARACTERS = 4000
#: Deepest nesting of parentheses, bars, calls, signs and powers.
MAX_DEPTH = 60
#: Largest index of a direction h or of a noise z.
MAX_INDEX = 20
#: Largest degree of a Hermite polynomial.
MAX_HERMITE = 20
#: Largest exponent.
MAX_EXPONENT = 50
#: Largest degree at which a target may grow: E[h^200] = 199!! = 6.7e186.
MAX_DEGREE = 100
#: Largest constant, and one over the smallest.
MAX_NUMBER = 1e100
#: Most nodes of an abbreviation that is written out: nested ones double at each level.
MAX_WRITTEN_OUT = 500
#: Longest number accepted.
MAX_DIGITS = 120


@dataclass(frozen=True, kw_only=True)
class FunctionFacts:
    """The facts about one function.

    ``numpy`` computes it on arrays, ``jax`` and ``sympy`` do so given their module, ``magnitude``
    on signs and logarithms. ``growth``: how fast it grows with its argument. ``homogeneous``: k if
    f(c x) = c^k f(x) for c > 0. ``rising``: strictly. ``values``: where they lie. ``latex``: its
    name there, if that is not the operator's.
    """

    numpy: Callable[..., Any]
    jax: Callable[..., Any]
    sympy: Callable[..., Any]
    magnitude: Callable[..., Magnitude]
    growth: Literal["bounded", "linear", "logarithmic", "exponential"]
    parity: Literal["odd", "even", "none"] = "none"
    homogeneous: int | None = None
    rising: bool = False
    values: Literal["any", "nonnegative", "positive"] = "any"
    many_arguments: bool = False
    latex: str = ""
    aliases: tuple[str, ...] = ()

    @property
    def kink(self) -> bool:
        """Whether it has a kink or a jump where its argument is zero, or two arguments meet.

        A homogeneous function of one argument is a line or has one.
        """
        return self.homogeneous is not None or self.many_arguments

    @property
    def finite(self) -> bool:
        """Whether it takes finitely many values: those at -1, 0 and 1."""
        return self.homogeneous == 0

    @functools.cached_property
    def zero(self) -> Fraction | None:
        """Its value at 0 where that is rational, a whole number of halves."""
        with np.errstate(all="ignore"):
            value = float(self.numpy(0.0))
        return Fraction(value) if (2 * value).is_integer() else None


def _elementary(function: Callable[[Any, Any], Any], **facts: Any) -> FunctionFacts:
    """A function that has the same name in numpy, JAX and SymPy; it is given the module."""
    modules: dict[str, Any] = {
        "numpy": functools.partial(function, np),
        "jax": lambda jax, x: function(jax.numpy, x),
        "sympy": function,
    }
    return FunctionFacts(**(modules | facts))


def _erf(x: Any) -> Any:
    if isinstance(x, float):
        return math.erf(x)
    from scipy.special import erf

    return erf(x)


def _expression_phi(x: Any) -> Any:
    if isinstance(x, float):
        return math.erfc(-x / math.sqrt(2.0)) / 2
    from scipy.special import ndtr

    return ndtr(x)


def _sympy_phi(sympy: Any, x: Any) -> Any:
    return (1 + sympy.erf(x / sympy.sqrt(2))) / 2


FUNCTIONS: dict[str, FunctionFacts] = {
    "sign": _elementary(
        lambda module, x: module.sign(x),
        magnitude=lambda x: Magnitude.of(x.sign),
        growth="bounded",
        parity="odd",
        homogeneous=0,
        aliases=("sgn", "signum"),
    ),
    "step": FunctionFacts(
        numpy=lambda x: np.heaviside(x, 0.0 * x),
        jax=lambda jax, x: (x > 0).astype(x.dtype),
        sympy=lambda sympy, x: sympy.Heaviside(x, 0),
        magnitude=lambda x: Magnitude.of(np.where(x.sign > 0, 1.0, 0.0)),
        growth="bounded",
        homogeneous=0,
        values="nonnegative",
        aliases=("heaviside",),
    ),
    "relu": FunctionFacts(
        numpy=lambda x: np.maximum(x, 0.0),
        jax=lambda jax, x: jax.nn.relu(x),
        sympy=lambda sympy, x: sympy.Max(x, 0),
        magnitude=rectified_magnitude,
        growth="linear",
        homogeneous=1,
        values="nonnegative",
    ),
    "abs": _elementary(
        lambda module, x: module.abs(x),
        sympy=lambda sympy, x: sympy.Abs(x),
        magnitude=lambda x: Magnitude(np.abs(x.sign), x.log),
        growth="linear",
        parity="even",
        homogeneous=1,
        values="nonnegative",
        aliases=("absolute", "fabs"),
    ),
    "min": FunctionFacts(
        numpy=lambda *x: functools.reduce(np.minimum, x),
        jax=lambda jax, *x: functools.reduce(jax.numpy.minimum, x),
        sympy=lambda sympy, *x: sympy.Min(*x),
        magnitude=lambda *x: -functools.reduce(larger_magnitude, [-y for y in x]),
        growth="linear",
        many_arguments=True,
        latex=r"\min",
        aliases=("minimum",),
    ),
    "max": FunctionFacts(
        numpy=lambda *x: functools.reduce(np.maximum, x),
        jax=lambda jax, *x: functools.reduce(jax.numpy.maximum, x),
        sympy=lambda sympy, *x: sympy.Max(*x),
        magnitude=lambda *x: functools.reduce(larger_magnitude, x),
        growth="linear",
        many_arguments=True,
        latex=r"\max",
        aliases=("maximum",),
    ),
    "tanh": _elementary(
        lambda module, x: module.tanh(x),
        magnitude=odd_magnitude(np.tanh, 1.0),
        growth="bounded",
        parity="odd",
        rising=True,
        latex=r"\tanh",
    ),
    "erf": FunctionFacts(
        numpy=_erf,
        jax=lambda jax, x: jax.scipy.special.erf(x),
        sympy=lambda sympy, x: sympy.erf(x),
        magnitude=odd_magnitude(lambda x: np.tanh(1.1283792 * x + 0.10277 * x**3), 1.1283792),
        growth="bounded",
        parity="odd",
        rising=True,
    ),
    "sigmoid": FunctionFacts(
        numpy=lambda x: 0.5 * (1.0 + np.tanh(0.5 * x)),
        jax=lambda jax, x: jax.nn.sigmoid(x),
        sympy=lambda sympy, x: 1 / (1 + sympy.exp(-x)),
        magnitude=lambda x: positive_magnitude(sigmoid_magnitude(x.plain())),
        growth="bounded",
        rising=True,
        values="positive",
        aliases=("expit", "logistic"),
    ),
    "softplus": FunctionFacts(
        numpy=lambda x: np.logaddexp(x, 0.0 * x),
        jax=lambda jax, x: jax.nn.softplus(x),
        sympy=lambda sympy, x: sympy.log(1 + sympy.exp(x)),
        magnitude=softplus_magnitude,
        growth="linear",
        rising=True,
        values="positive",
    ),
    "gelu": FunctionFacts(
        numpy=lambda x: x * _expression_phi(x),
        jax=lambda jax, x: x * jax.scipy.special.ndtr(x),
        sympy=lambda sympy, x: x * _sympy_phi(sympy, x),
        magnitude=lambda x: x * positive_magnitude(normal_magnitude(x.plain())),
        growth="linear",
    ),
    "sin": _elementary(
        lambda module, x: module.sin(x),
        magnitude=odd_magnitude(oscillation_magnitude(np.sin), 1.0),
        growth="bounded",
        parity="odd",
        latex=r"\sin",
    ),
    "cos": _elementary(
        lambda module, x: module.cos(x),
        magnitude=lambda x: Magnitude.of(oscillation_magnitude(np.cos)(x.plain())),
        growth="bounded",
        parity="even",
        latex=r"\cos",
    ),
    "exp": _elementary(
        lambda module, x: module.exp(x),
        magnitude=lambda x: positive_magnitude(x.plain()),
        growth="exponential",
        rising=True,
        values="positive",
        latex=r"\exp",
    ),
    "log": _elementary(
        lambda module, x: module.log(x),
        magnitude=lambda x: Magnitude.of(np.where(x.sign < 0, np.nan, x.log)),
        growth="logarithmic",
        rising=True,
        latex=r"\log",
        aliases=("ln",),
    ),
    "Phi": FunctionFacts(
        numpy=_expression_phi,
        jax=lambda jax, x: jax.scipy.special.ndtr(x),
        sympy=_sympy_phi,
        magnitude=lambda x: positive_magnitude(normal_magnitude(x.plain())),
        growth="bounded",
        rising=True,
        values="positive",
        latex=r"\Phi",
    ),
}


@dataclass(frozen=True)
class Abbreviation:
    """A function of x that the others express, with a constant a that may be given behind x."""

    text: str
    constant: Fraction | None = None
    aliases: tuple[str, ...] = ()
    only_losses: bool = False


ABBREVIATIONS: dict[str, Abbreviation] = {
    "silu": Abbreviation("x*sigmoid(x)", aliases=("swish",)),
    "mish": Abbreviation("x*tanh(softplus(x))"),
    "elu": Abbreviation("relu(x) + a*(exp(-relu(-x)) - 1)", constant=Fraction(1)),
    "leaky_relu": Abbreviation(
        "relu(x) - a*relu(-x)", constant=Fraction(1, 100), aliases=("leakyrelu",)
    ),
    "hardtanh": Abbreviation("max(-1, min(x, 1))", aliases=("hard_tanh",)),
    # u^2/2 up to |u| = 1 and |u| - 1/2 beyond.
    "huber": Abbreviation("min(|x|, 1)*|x| - min(|x|, 1)**2/2", only_losses=True),
}

#: ``sqrt`` is read as the power 1/2 and ``He2``..``He20`` as ``He(2, .)``..``He(20, .)``.
SPELLINGS = (
    "sqrt",
    "He",
    *(f"He{degree}" for degree in range(MAX_HERMITE + 1)),
    *(name for name, short in ABBREVIATIONS.items() if not short.only_losses),
)
