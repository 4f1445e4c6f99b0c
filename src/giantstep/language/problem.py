"""What is to be learned, from which inputs, under how much label noise."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.errors import SettingsError, shown
from giantstep.language.inputs import Gaussian, Inputs, read_inputs
from giantstep.language.targets import Target, TreeTarget, any_target

#: The fields of a problem, as study files and results name them.
FIELDS = ("target", "noise", "inputs")
#: A variance beyond this overflows in the squares that follow.
MOST_NOISE = 1e30
#: How a law of the inputs may be given: see :func:`giantstep.language.inputs.read_inputs`.
GivenInputs = Inputs | str | Mapping[str, Any]
AnyTarget = TypeVar("AnyTarget", Target, TreeTarget)


class Labelled(NamedTuple):
    """Inputs x, latent projections h, labels without their noise, and labels with it."""

    inputs: Float[np.ndarray, "n d"]
    latent: Float[np.ndarray, "n r"]
    clean: Float[np.ndarray, " n"]
    labels: Float[np.ndarray, " n"]


@dataclass(frozen=True, init=False)
class _WithTarget(Generic[AnyTarget]):
    """What a problem is made of, whichever kind of target it has."""

    target: AnyTarget
    noise: float
    inputs: Inputs

    def __init__(
        self, target: AnyTarget | str, noise: float = 0.0, inputs: GivenInputs = "gaussian"
    ) -> None:
        law = read_inputs(inputs)
        read = self._read(target, law)
        for name, value in {"target": read, "noise": _read_noise(noise), "inputs": law}.items():
            object.__setattr__(self, name, value)

    @staticmethod
    def _read(target: Any, law: Inputs) -> Any:
        """The target, if it can be learned from inputs of this law."""
        raise NotImplementedError

    @classmethod
    def of(
        cls,
        given: _WithTarget[Any] | Target | TreeTarget | str,
        *,
        noise: float | None = None,
        inputs: GivenInputs | None = None,
    ) -> Self:
        """A problem from a target or its text; noise and inputs given here replace a problem's."""
        known = given if isinstance(given, _WithTarget) else None
        if isinstance(known, cls) and noise is None and inputs is None:
            return known
        target: Any = given if known is None else known.target
        return cls(
            target,
            (0.0 if known is None else known.noise) if noise is None else noise,
            ("gaussian" if known is None else known.inputs) if inputs is None else inputs,
        )

    def to_json(self) -> dict[str, Any]:
        """The problem as plain values."""
        return {"target": str(self.target), "noise": self.noise, "inputs": self.inputs.to_json()}


@dataclass(frozen=True, init=False)
class Problem(_WithTarget[Target]):
    """Labels ``y = g(h) + sqrt(noise) * xi`` of inputs x, with h = W* x the target's directions.

    ``target`` is an expression, the name of a catalogued target, or a :class:`Target`; ``noise``
    a variance; ``inputs`` a law of x or its text, such as ``"spiked:d^0.5"``. Nothing else knows
    the law of the inputs: learners and theories read it here.
    """

    @staticmethod
    def _read(target: Any, law: Inputs) -> Target:
        read = target if isinstance(target, Target) else Target(target)
        law.check_target(read)
        return read

    def draw(self, samples: int, dim: int, rng: np.random.Generator) -> Labelled:
        """Samples in float64, whatever the law of the inputs; h are the first axes."""
        x = rng.standard_normal((samples, dim))
        latent = self.inputs.place(x, self.target.rank, dim)
        noises = self.target.noises
        inner = rng.standard_normal((samples, noises)) if noises else None
        clean = np.broadcast_to(np.asarray(self.target.numpy(latent, inner), float), (samples,))
        noise = np.sqrt(self.noise) * rng.standard_normal(samples) if self.noise else 0.0
        return Labelled(x, latent, clean, clean + noise)


@dataclass(frozen=True)
class NoTarget:
    """A problem for learners whose settings say what is to be learned: only the noise is left."""

    noise: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "noise", _read_noise(self.noise))

    def to_json(self) -> dict[str, Any]:
        """The problem as plain values."""
        return {"noise": self.noise}


@dataclass(frozen=True, init=False)
class TreeProblem(_WithTarget[TreeTarget]):
    """Labels ``y = tree(x) + sqrt(noise) * xi`` of Gaussian inputs x.

    ``target`` is a :class:`TreeTarget`, its text or its name in the catalogue.
    """

    @staticmethod
    def _read(target: Any, law: Inputs) -> TreeTarget:
        read = any_target(target)
        if not isinstance(read, TreeTarget):
            raise SettingsError(
                f"target = {shown(read.text)} is no tree: write tree(tanh(2*u), He2(z)/sqrt(2)) "
                "with a function of a branch u and one of a leaf z, or a name such as tree-he2"
            )
        if law != Gaussian():
            raise SettingsError(
                f"inputs = {law}: a tree is learned from gaussian inputs alone (its branches are "
                "sums of independent leaves)"
            )
        return read


def read_problem(
    given: Mapping[str, Any], *, has_target: bool = True, has_tree: bool = False
) -> Problem | NoTarget | TreeProblem:
    """The problem with these plain values; ``noise`` and ``inputs`` may be left out.

    For a learner whose settings define the target, ``has_target`` is False and noise is all; for
    one that learns trees, ``has_tree`` is True.
    """
    known = FIELDS if has_target else ("noise",)
    unknown = sorted(set(given) - set(known))
    if unknown and not has_target and unknown[0] in FIELDS:
        raise SettingsError(
            f"problem has {unknown[0]} = {given[unknown[0]]!r}, but the settings of this learner "
            "say what is learned, from which inputs: give noise alone"
        )
    if unknown:
        raise SettingsError(f"problem has no field {unknown[0]!r}: use {', '.join(known)}")
    if not has_target:
        return NoTarget(**given)
    if "target" not in given:
        raise SettingsError("problem has no target: give one such as target = 'h1 + He2(h2)'")
    return TreeProblem(**given) if has_tree else Problem(**given)


def _read_noise(given: Any) -> float:
    try:
        noise = float(given)
    except (TypeError, ValueError, OverflowError):
        raise SettingsError(f"noise = {str(given)[:60]!r} is not a number") from None
    if isinstance(given, bool) or not 0 <= noise <= MOST_NOISE or math.isnan(noise):
        raise SettingsError(
            f"noise = {given!r} is a variance: give a number from 0 to {MOST_NOISE:g}"
        )
    return noise
