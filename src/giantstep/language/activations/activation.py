"""Activations by name, as an expression in z, or as any JAX function, with their moments."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from giantstep.errors import SettingsError, TargetError
from giantstep.language.expressions.language import ABBREVIATIONS, FUNCTIONS, MAX_HERMITE
from giantstep.language.expressions.tokens import ALIASES
from giantstep.numerics.float64 import by_blocks, elementwise_derivative, float64
from giantstep.numerics.hermite import hermite_values
from giantstep.numerics.quadrature import split_gaussian

#: Names of activations: functions of the language of one argument, Hermite polynomials, and two.
NAMED = {
    "erf2": "erf(z/sqrt(2))",
    "identity": "z",
    **{
        name: f"{name}(z)"
        for name, facts in FUNCTIONS.items()
        if facts.growth in ("bounded", "linear") and not facts.many_arguments
    },
    **{name: f"{name}(z)" for name, short in ABBREVIATIONS.items() if not short.only_losses},
    **{f"He{k}": f"He{k}(z)" for k in range(1, MAX_HERMITE + 1)},
}
#: Where functions are compared, and how closely: those of JAX are in single precision.
_PROBES, _ALIKE = np.linspace(-3.1, 3.3, 33), 1e-5


#: Distance from a kink at which its two sides are looked at, and the least difference that counts.
NEAR, NO_JUMP = 1e-6, 1e-7
#: Hermite coefficients below this share of the largest possible are zero: rounding, and the end
#: of the range of integration, leave less than 1e-12.
NO_COEFFICIENT = 1e-10


@dataclass(frozen=True, eq=False, repr=False)
class Activation:
    """A function of one variable, its derivative, and its Gaussian moments.

    ``numpy`` and ``jax`` evaluate it elementwise on arrays of any shape; ``derivative`` is the
    JAX derivative (0 at the jumps of `sign`, one of the one-sided values at a kink).
    """

    name: str
    numpy: Callable[[Any], Any]
    jax: Callable[[Any], Any]
    kinks: tuple[float, ...] = ()
    slope: Callable[[Any], Any] | None = None

    def __repr__(self) -> str:
        return f"Activation({self.name!r})"

    def shifted(self, bias: float) -> Activation:
        """The activation of a neuron with a bias: z -> sigma(z + bias)."""
        if bias == 0:
            return self
        return Activation(
            f"{self.name} shifted by {bias:.6g}",
            lambda z: self.numpy(z + bias),
            lambda z: self.jax(z + bias),
            tuple(kink - bias for kink in self.kinks),
            lambda z: self.numpy_derivative(z + bias),
        )

    def derivative(self, z: Any) -> Any:
        """sigma'(z) in JAX, elementwise."""
        return elementwise_derivative(self.jax, z)

    def numpy_derivative(self, z: np.ndarray) -> np.ndarray:
        """sigma'(z) in float64, elementwise; without JAX where ``slope`` was given."""
        z = np.asarray(z, dtype=np.float64)
        if self.slope is not None:
            return np.asarray(self.slope(z))
        if self.level_slopes is None:
            return by_blocks(self._compiled_derivatives[0], z)
        return self.level_slopes[self._piece(z)]

    def numpy_second_derivative(self, z: np.ndarray) -> np.ndarray:
        """sigma''(z) in float64, elementwise, between the kinks."""
        if self.level_slopes is not None:
            return np.zeros(np.shape(z))
        return by_blocks(self._compiled_derivatives[1], np.asarray(z, dtype=np.float64))

    @functools.cached_property
    def _compiled_derivatives(self) -> tuple[Callable[[Any], Any], Callable[[Any], Any]]:
        import jax

        def second(z: Any) -> Any:
            return elementwise_derivative(self.derivative, z)

        return jax.jit(self.derivative), jax.jit(second)

    @functools.cached_property
    def level_slopes(self) -> np.ndarray | None:
        """The slopes of straight pieces, with those at the kinks between them; None if it bends.

        >>> activation("leaky_relu(z, .1)").level_slopes[::2].tolist()
        [0.1, 1.0]
        """
        kinks = np.array(self.kinks)
        between = np.concatenate([kinks[:1] - 1, (kinks[1:] + kinks[:-1]) / 2, kinks[-1:] + 1])
        corners = np.sort(np.concatenate([between, kinks])) if len(kinks) else _PROBES[:1]
        slopes = by_blocks(self._compiled_derivatives[0], corners)
        probes = np.concatenate([_PROBES, 12 * _PROBES, kinks - 0.3, kinks + 0.3])
        found = by_blocks(self._compiled_derivatives[0], probes)
        return slopes if np.array_equal(slopes[self._piece(probes)], found) else None

    def _piece(self, z: np.ndarray) -> np.ndarray:
        """The number of the piece, or of the kink, that a value is on."""
        return np.searchsorted(self.kinks, z) + np.searchsorted(self.kinks, z, side="right")

    @functools.cached_property
    def slope_jumps(self) -> tuple[tuple[float, float], ...]:
        """The kinks, and by how much sigma' jumps across each: there sigma'' is a point mass.

        >>> activation("abs").slope_jumps
        ((0.0, 2.0),)
        """
        jumps = [(kink, _activation_jump(self.numpy_derivative, kink)) for kink in self.kinks]
        return tuple((kink, jump) for kink, jump in jumps if abs(jump) > NO_JUMP)

    @functools.cached_property
    def is_continuous(self) -> bool:
        """Whether sigma itself has no jump, unlike `sign`."""
        return all(abs(_activation_jump(self.numpy, kink)) < NO_JUMP for kink in self.kinks)

    @functools.cached_property
    def _rule(self) -> tuple[np.ndarray, np.ndarray]:
        # Panels of half a standard deviation resolve sharp smooth functions such as sin(9 z).
        return split_gaussian(self.kinks, panel_order=24, cutoff=11.0, panel_length=0.5)

    def _mean(self, values: np.ndarray) -> float:
        moment = float(self._rule[1] @ values)
        if not np.isfinite(moment):
            raise SettingsError(f"activation = {self.name!r} has no finite Gaussian moments")
        return moment

    @functools.lru_cache(maxsize=8)  # noqa: B019 - an activation lives as long as the process
    def hermite(self, degree: int = 8) -> np.ndarray:
        """mu_k = E[sigma(z) He_k(z)] for k = 0..degree.

        >>> [round(float(mu), 6) + 0.0 for mu in activation("relu").hermite(3)]
        [0.398942, 0.5, 0.398942, 0.0]
        """
        nodes, _ = self._rule
        values = self.numpy(nodes)
        result = np.array([self._mean(values * he) for he in hermite_values(nodes, degree)])
        result[np.abs(result) < 1e-13 * np.sqrt(max(self.second_moment, 1e-300))] = 0.0
        result.setflags(write=False)
        return result

    def degrees(self, highest: int = 8) -> tuple[int, ...]:
        """The k = 0..highest whose mu_k is not zero.

        Rounding grows as fast as the largest value that mu_k could have, sqrt(k! E[sigma^2]).

        >>> activation("relu").degrees(6)
        (0, 1, 2, 4, 6)
        """
        largest = np.sqrt([math.factorial(k) * self.second_moment for k in range(highest + 1)])
        there = np.abs(self.hermite(highest)) > NO_COEFFICIENT * largest
        return tuple(np.flatnonzero(there).tolist())

    @functools.cached_property
    def second_moment(self) -> float:
        """E[sigma(z)^2]."""
        return self._mean(self.numpy(self._rule[0]) ** 2)

    @functools.cached_property
    def derivative_second_moment(self) -> float:
        """E[sigma'(z)^2]."""
        return self._mean(self.numpy_derivative(self._rule[0]) ** 2)

    @property
    def mu_star_squared(self) -> float:
        """mu_*^2 = E[sigma^2] - mu_0^2 - mu_1^2, what Gaussian equivalence calls noise."""
        mu = self.hermite(1)
        return max(self.second_moment - float(mu @ mu), 0.0)


def _activation_jump(function: Callable[[np.ndarray], np.ndarray], kink: float) -> float:
    """f(kink+) - f(kink-), each side extrapolated linearly from two points near it."""
    left2, left, right, right2 = function(kink + NEAR * np.array([-2.0, -1.0, 1.0, 2.0]))
    return float(round(2 * right - right2 - 2 * left + left2, 12))


@functools.lru_cache(maxsize=128)
def _from_text(text: str) -> Activation:
    from giantstep.language.targets import ScalarFunction

    try:
        function = ScalarFunction(NAMED.get(ALIASES.get(text, text), text), variable="z")
    except TargetError as error:
        names = ", ".join(name for name in NAMED if not name.startswith("He"))
        raise SettingsError(
            f"activation = {text[:60]!r} is unknown: use one of {names}, He1..He20, or an "
            f"expression in z such as relu(z-1) ({error})"
        ) from None
    return Activation(text, function.numpy, function.jax, function.kinks)


def recognised_activation(function: Callable[[Any], Any]) -> str | Callable[[Any], Any]:
    """Our name of a function of numpy, SciPy or JAX; the function itself if it has none here.

    >>> [recognised_activation(function) for function in (np.tanh, np.absolute, len)]
    ['tanh', 'abs', <built-in function len>]
    """
    called = str(getattr(function, "__name__", ""))
    name = ALIASES.get(called.lower(), called)
    if name not in NAMED:
        return function
    try:
        values = np.asarray(function(_PROBES), dtype=float)
    except Exception:
        return function
    ours = _from_text(name).numpy(_PROBES)
    alike = values.shape == ours.shape and np.allclose(values, ours, rtol=_ALIKE, atol=_ALIKE)
    return name if alike else function


@functools.lru_cache(maxsize=128)
def _from_callable(given: Callable[[Any], Any]) -> Activation:
    import jax
    import jax.numpy as jnp

    name = str(getattr(given, "__name__", "custom"))
    function = getattr(jnp, name, given) if isinstance(given, np.ufunc) else given
    try:
        shape = jax.eval_shape(function, jax.ShapeDtypeStruct(_PROBES.shape, np.float32)).shape
    except Exception as error:
        raise SettingsError(
            f"activation = {name}: JAX cannot follow this function ({type(error).__name__}): "
            "write it with jax.numpy, or give a name such as tanh or an expression in z"
        ) from None
    if shape != _PROBES.shape:
        raise SettingsError(
            f"activation = {name}: it turns an array of shape {_PROBES.shape} into one of shape "
            f"{shape}: give a function that acts on each entry"
        )

    def numpy(z: np.ndarray) -> np.ndarray:
        with float64():
            return np.asarray(function(np.asarray(z, dtype=np.float64)))

    # Kinks of an arbitrary function are unknown; most activations have theirs at the origin.
    return Activation(name, numpy, function, (0.0,))


def activation(given: Any) -> Activation:
    """The activation of that name, of that expression in z, or of that function.

    Functions of numpy, SciPy and JAX that have a name here are taken by it; any other function
    must be one that JAX can follow.

    >>> round(activation("erf2").second_moment, 12) == round(1 / 3, 12)
    True
    """
    if isinstance(given, Activation):
        return given
    if callable(given):
        given = recognised_activation(given)
    if isinstance(given, str):
        return _from_text(given.strip())
    if callable(given):
        return _from_callable(given)
    raise SettingsError(f"activation = {given!r}: give a name, an expression in z or a function")
