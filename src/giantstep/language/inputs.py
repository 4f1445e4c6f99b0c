"""Where x comes from: the laws of the inputs, each a small frozen class with methods of its own."""

from __future__ import annotations

import abc
import dataclasses
import inspect
import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Float

from giantstep.errors import GiantstepError, SettingsError, shown
from giantstep.language.sizes import Size

if TYPE_CHECKING:
    from giantstep.language.targets import Target

Normals = Float[np.ndarray, "... columns"]
Latent = Float[np.ndarray, "... r"]
#: Coordinates of a parity on the hypercube whose 2^k corners are looked at.
LARGEST_PARITY = 12


@dataclass(frozen=True)
class Inputs(abc.ABC):
    """The law of x. The target's directions are its first ``rank`` axes, up to a rotation.

    A new law is one subclass: its ``name``, how it is written (``syntax``), its numbers as fields,
    and what of the methods below differs from an isotropic law of unit variance. Learners and
    theories list the laws they cover, and refuse any other.
    """

    name: ClassVar[str]
    syntax: ClassVar[str]
    #: Whether every projection of x is Gaussian.
    is_gaussian: ClassVar[bool] = False
    #: Whether |x| is the same for every sample.
    has_fixed_norm: ClassVar[bool] = False
    #: Whether the target reads signs.
    has_signs: ClassVar[bool] = False

    @property
    def spike(self) -> Spiked | None:
        """The law itself where one direction has a larger variance."""
        return None

    @abc.abstractmethod
    def place(self, normals: Normals, rank: int, dim: int) -> Latent:
        """Turn standard normals into inputs x, in place, and return what the target reads of them.

        Columns beyond the special ones may stand for any directions of a Gaussian law.
        """

    def special_directions(self, rank: int, dim: int) -> int:
        """How many of the first axes are unlike the others: the target's, and the spike's.

        >>> Spiked(4).special_directions(2, 50), Spiked(4, 0.5).special_directions(2, 50)
        (2, 3)
        """
        return rank

    def leading_direction(self, rank: int, dim: int) -> Float[np.ndarray, " d"]:
        """The direction of largest variance; the first axis where all are alike."""
        return np.eye(1, dim)[0]

    def covariance(self, rank: int, dim: int) -> Float[np.ndarray, "d d"]:
        """E[x x^T]."""
        return np.eye(dim)

    def check_target(self, target: Target) -> None:
        """Refuse a target that has no meaning under this law; most laws take any."""
        return

    def to_json(self) -> dict[str, Any]:
        """The law as plain values."""
        numbers = {field.name: str(getattr(self, field.name)) for field in dataclasses.fields(self)}
        return {"law": self.name, **numbers}

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Gaussian(Inputs):
    """x ~ N(0, I_d)."""

    name = "gaussian"
    syntax = "gaussian"
    is_gaussian = True

    def place(self, normals: Normals, rank: int, dim: int) -> Latent:
        """The normals themselves."""
        return normals[..., :rank]


@dataclass(frozen=True)
class Sphere(Inputs):
    """x uniform on the sphere of radius sqrt(d)."""

    name = "sphere"
    syntax = "sphere"
    has_fixed_norm = True

    def place(self, normals: Normals, rank: int, dim: int) -> Latent:
        """The normals, each row brought to the length sqrt(d)."""
        norms = np.linalg.norm(normals, axis=-1, keepdims=True)
        normals *= np.sqrt(dim, dtype=normals.dtype) / norms
        return normals[..., :rank]


@dataclass(frozen=True, init=False)
class Spiked(Inputs):
    """x ~ N(0, I_d + strength * mu mu^T), with <mu, u> = alignment, u the target's first direction.

    The target reads the normalised projection h1 = <x, u> / sqrt(kappa), where
    kappa = 1 + strength * alignment^2, so that h stays standard normal. What of mu is not along u
    is orthogonal to all directions of the target. Both numbers may be expressions in d, such as
    ``d^0.5`` and ``d^-0.25``.
    """

    name = "spiked"
    syntax = (
        "spiked:STRENGTH with a strength such as 4 or d^0.5 along h1, "
        "spiked:strength=d^0.5,alignment=d^-0.25 beside it"
    )
    is_gaussian = True

    strength: Size
    alignment: Size

    def __init__(self, strength: Size | str | float, alignment: Size | str | float = 1.0) -> None:
        object.__setattr__(
            self, "strength", Size.or_zero(strength, "inputs: the strength of the spike")
        )
        cosine = Size.or_zero(alignment, "inputs: the alignment of the spike")
        if cosine.power > 0 or (cosine.power == 0 and cosine.coefficient > 1):
            raise SettingsError(
                f"inputs: alignment = {cosine} is the cosine of the spike with h1: give a number "
                "from 0 to 1, or a falling power such as d^-0.25"
            )
        object.__setattr__(self, "alignment", cosine)

    @property
    def spike(self) -> Spiked:
        """The law itself."""
        return self

    @property
    def is_aligned(self) -> bool:
        """Whether the spike lies along h1."""
        return self.alignment == Size(1.0)

    @property
    def depends_on_dim(self) -> bool:
        """Whether its numbers are powers of d."""
        return bool(self.strength.power or self.alignment.power)

    def numbers(self, dim: float) -> tuple[float, float]:
        """Strength theta and cosine c at dimension ``dim``."""
        cosine = self.alignment.at(dim)
        if cosine > 1:
            raise SettingsError(
                f"inputs = {self}: the alignment is {cosine:.3g} at d = {dim:g}, and a cosine is "
                "at most 1: lower its coefficient"
            )
        return self.strength.at(dim), cosine

    def target_variance(self, dim: float) -> float:
        """kappa = 1 + theta c^2, the variance of <x, u>.

        >>> Spiked(8, 0.5).target_variance(100)
        3.0
        """
        theta, cosine = self.numbers(dim)
        return 1 + theta * cosine**2

    def special_directions(self, rank: int, dim: int) -> int:
        """The target's, and that of a spike beside it."""
        if self.is_aligned:
            return rank
        if dim <= rank:
            raise SettingsError(
                f"inputs = {self}: a spike beside the target's {rank} directions needs a dimension "
                f"above {rank}, and dim = {dim}"
            )
        return rank + 1

    def leading_direction(self, rank: int, dim: int) -> Float[np.ndarray, " d"]:
        r"""The spike :math:`\mu = c\,e_1 + \sqrt{1-c^2}\,e_{r+1}`."""
        direction = np.eye(1, dim)[0]
        if self.special_directions(rank, dim) > rank:
            cosine = self.numbers(dim)[1]
            direction[0], direction[rank] = cosine, np.sqrt(1 - cosine**2)
        return direction

    def covariance(self, rank: int, dim: int) -> Float[np.ndarray, "d d"]:
        """I + theta mu mu^T."""
        direction = self.leading_direction(rank, dim)
        return np.eye(dim) + self.numbers(dim)[0] * np.outer(direction, direction)

    def place(self, normals: Normals, rank: int, dim: int) -> Latent:
        r"""x = :math:`z + (\sqrt{1+\theta} - 1)\langle\mu, z\rangle\mu`; h1 is normalised."""
        x, (theta, cosine) = normals, self.numbers(dim)
        gain = np.sqrt(1 + theta) - 1
        if self.special_directions(rank, dim) == rank:
            x[..., 0] *= np.asarray(1 + gain, x.dtype)
        else:
            sine = np.sqrt(1 - cosine**2)
            along = gain * (cosine * x[..., 0] + sine * x[..., rank])
            x[..., 0] += cosine * along
            x[..., rank] += sine * along
        latent = x[..., :rank].copy()
        latent[..., 0] /= np.asarray(np.sqrt(self.target_variance(dim)), x.dtype)
        return latent

    def to_json(self) -> dict[str, Any]:
        """The law as plain values; an alignment of one is what is meant without it."""
        values = super().to_json()
        if self.is_aligned:
            del values["alignment"]
        return values

    def __str__(self) -> str:
        if self.is_aligned:
            return f"{self.name}:{self.strength}"
        return f"{self.name}:strength={self.strength},alignment={self.alignment}"


@dataclass(frozen=True, init=False)
class Hypercube(Inputs):
    """x = A z with z = +-1/sqrt(d), A^2 = diag(boost on the target's coordinates, 1 elsewhere).

    The target reads the signs h = sqrt(d) z of the first coordinates, and is a parity of them.
    ``boost`` may be an expression in d: in ``d^0.5`` the exponent is the alpha of the theory.
    """

    name = "hypercube"
    syntax = "hypercube:boost=d^0.5"
    has_fixed_norm = True
    has_signs = True

    boost: Size

    def __init__(self, boost: Size | str | float = 1.0) -> None:
        size = Size.parse(boost, "inputs: the boost of the target's coordinates")
        object.__setattr__(self, "boost", size)

    def scales(self, dim: int) -> tuple[float, float]:
        """How far a coordinate of x is from 0: one of the target's, and any other.

        >>> Hypercube("d^0.5").scales(16)
        (0.5, 0.25)
        """
        return math.sqrt(self.boost.at(dim) / dim), 1 / math.sqrt(dim)

    def covariance(self, rank: int, dim: int) -> Float[np.ndarray, "d d"]:
        """A^2 / d."""
        own, other = self.scales(dim)
        return np.diag(np.where(np.arange(dim) < rank, own**2, other**2))

    def place(self, normals: Normals, rank: int, dim: int) -> Latent:
        """The signs of the normals, scaled."""
        x, (own, other) = normals, self.scales(dim)
        latent = np.where(x[..., :rank] < 0, -1.0, 1.0).astype(x.dtype)
        np.copysign(np.asarray(other, x.dtype), x, out=x)
        x[..., :rank] *= np.asarray(own / other, x.dtype)
        return latent

    def check_target(self, target: Target) -> None:
        """Refuse what is not, on signs h, the product of all coordinates h1..hr or minus that."""
        if target.rank <= LARGEST_PARITY and not target.is_random:
            corners = np.array(list(itertools.product((-1.0, 1.0), repeat=target.rank)))
            values = np.broadcast_to(target.numpy(corners), len(corners)) * corners.prod(axis=1)
            if abs(values[0]) == 1 and np.all(values == values[0]):
                return
        raise SettingsError(
            f"target = {shown(target.text)} is no parity of coordinates, and labels on the "
            f"hypercube are: write sign(h1*h2*...*hk) with k up to {LARGEST_PARITY}"
        )

    def __str__(self) -> str:
        return self.name if self.boost == Size(1.0) else f"{self.name}:boost={self.boost}"


#: What the option --inputs says of itself.
SYNTAX = ", ".join(law.syntax for law in (Gaussian, Sphere, Spiked)) + f", or {Hypercube.syntax}"
Law = TypeVar("Law", bound=Inputs)


def read_inputs(given: Inputs | str | Mapping[str, Any]) -> Inputs:
    """The law that is meant by a text, or by the plain values of ``to_json``.

    After the colon stand the numbers of the law, by name or, the first one, without it.

    >>> read_inputs("spiked:d^0.5")
    Spiked(strength=Size(coefficient=1.0, power=0.5), alignment=Size(coefficient=1.0, power=0.0))
    >>> read_inputs("spiked:strength=d^0.5") == read_inputs({"law": "spiked", "strength": "d^0.5"})
    True
    """
    if isinstance(given, Inputs):
        return given
    laws = {law.name: law for law in Inputs.__subclasses__()}
    fields = _input_law_fields(given, laws) if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or fields.get("law") not in [*laws]:
        raise SettingsError(f"inputs = {shown(given)} are unknown: use {SYNTAX}")
    law = laws[fields["law"]]
    numbers = {name: value for name, value in fields.items() if name != "law"}
    known = [field.name for field in dataclasses.fields(law)]
    unknown = [name for name in numbers if name not in known]
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise SettingsError(
            f"inputs = {shown(given)}: {law.name} has no number {unknown[0]!r}, {has}"
        )
    parameters = inspect.signature(law).parameters.values()
    needed = [p.name for p in parameters if p.default is p.empty and p.name not in numbers]
    if needed:
        raise SettingsError(f"inputs = {shown(given)}: {needed[0]} is missing: use {SYNTAX}")
    return law(**numbers)


def _input_law_fields(text: str, laws: Mapping[str, type[Inputs]]) -> dict[str, Any]:
    """The plain values of a text."""
    name, colon, rest = text.strip().partition(":")
    fields: dict[str, Any] = {"law": name.strip().lower()}
    if not colon:
        return fields
    law = laws.get(fields["law"])
    first = [field.name for field in dataclasses.fields(law)][:1] if law else []
    for position, part in enumerate(rest.split(",")):
        key, equals, value = part.partition("=")
        if equals:
            fields[key.strip()] = value.strip()
        else:
            fields[first[0] if first and position == 0 else part.strip()] = part.strip()
    return fields


def checked_input_law(
    given: Inputs,
    laws: tuple[type[Law], ...],
    what: str,
    error: type[GiantstepError],
    why: str = "",
) -> Law:
    """The law, if it is one of those for which ``what`` can be said; otherwise raise, and ``why``.

    >>> from giantstep.errors import NoTheory
    >>> checked_input_law(Sphere(), (Gaussian,), "giant steps are predicted", NoTheory)
    Traceback (most recent call last):
    giantstep.errors.NoTheory: inputs = sphere: giant steps are predicted for gaussian inputs alone
    """
    if isinstance(given, laws):
        return given
    *first, last = (law.name for law in laws)
    names = f"{', '.join(first)} or {last}" if first else last
    isotropic = "isotropic inputs alone, " if laws == (Gaussian, Sphere) else ""
    covered = f"{isotropic}{names}" if len(laws) > 1 else f"{names} inputs alone"
    reason = f" ({why})" if why else ""
    remedy = "" if Gaussian in laws else f", such as --inputs {laws[0].syntax}"
    raise error(f"inputs = {given}: {what} for {covered}{remedy}{reason}")


def check_input_law_aligned(given: Inputs, what: str, error: type[GiantstepError]) -> None:
    """Raise ``error`` if there is a spike beside the target's direction.

    >>> from giantstep.errors import NoTheory
    >>> check_input_law_aligned(Spiked(4, 0.5), "a kernel is predicted", NoTheory)
    Traceback (most recent call last):
    giantstep.errors.NoTheory: inputs = spiked:strength=4,alignment=0.5: a kernel is predicted for a spike along h1 alone, of alignment 1 (its modes are split along one direction; simulate takes any alignment)
    """  # noqa: E501
    if given.spike is not None and not given.spike.is_aligned:
        raise error(
            f"inputs = {given}: {what} for a spike along h1 alone, of alignment 1 (its modes are "
            "split along one direction; simulate takes any alignment)"
        )
