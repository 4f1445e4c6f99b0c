"""Laws of the inputs as people write them: ``gaussian``, ``sphere``, ``spiked:d^0.5``."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from giantstep.errors import SettingsError
from giantstep.inputs.laws import Gaussian, Hypercube, Inputs, Sphere, Spiked

#: Every law by its name; what follows the colon in the text are the fields of its class.
LAWS: dict[str, type[Inputs]] = {law.name: law for law in (Gaussian, Sphere, Spiked, Hypercube)}
#: What the option --inputs says of itself.
SYNTAX = (
    "gaussian, sphere, spiked:STRENGTH with a strength such as 4 or d^0.5 along h1, "
    "spiked:strength=d^0.5,alignment=d^-0.25 beside it, or hypercube:boost=d^0.5"
)


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
    fields = _fields(given) if isinstance(given, str) else given
    if not isinstance(fields, Mapping) or fields.get("law") not in [*LAWS]:
        raise SettingsError(f"inputs = {_shown(given)} are unknown: use {SYNTAX}")
    law = LAWS[fields["law"]]
    numbers = {name: value for name, value in fields.items() if name != "law"}
    known = [field.name for field in dataclasses.fields(law)]
    unknown = [name for name in numbers if name not in known]
    if unknown:
        has = f"it has {', '.join(known)}" if known else "it has none"
        raise SettingsError(
            f"inputs = {_shown(given)}: {law.name} has no number {unknown[0]!r}, {has}"
        )
    given_by_default = [p.name for p in _parameters(law) if p.default is not p.empty]
    missing = [name for name in known if name not in (*numbers, *given_by_default)]
    if missing:
        raise SettingsError(f"inputs = {_shown(given)}: {missing[0]} is missing: use {SYNTAX}")
    return law(**numbers)


def _fields(text: str) -> dict[str, Any]:
    """The plain values of a text."""
    name, colon, rest = text.strip().partition(":")
    fields: dict[str, Any] = {"law": name.strip().lower()}
    if not colon:
        return fields
    law = LAWS.get(fields["law"])
    first = [field.name for field in dataclasses.fields(law)][:1] if law else []
    for position, part in enumerate(rest.split(",")):
        key, equals, value = part.partition("=")
        if equals:
            fields[key.strip()] = value.strip()
        else:
            fields[first[0] if first and position == 0 else part.strip()] = part.strip()
    return fields


def _parameters(law: type[Inputs]) -> list[inspect.Parameter]:
    return list(inspect.signature(law).parameters.values())


def _shown(given: Any) -> str:
    return repr(given) if len(repr(given)) <= 60 else repr(given)[:57] + "..."
