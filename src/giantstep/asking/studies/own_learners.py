"""Learners of one's own: a table in a study file that names code outside of the house.

To use one is to import and run that code, so a file or a store from a stranger must not do it
unasked.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, get_args, get_type_hints

from giantstep.asking import table
from giantstep.asking.metrics import Metric
from giantstep.asking.table import Learner, learner_to_ask
from giantstep.errors import GiantstepError, SettingsError, shown
from giantstep.settings.options import Settings

#: A name is a line of a table and the beginning of a file name.
MOST_CHARACTERS = 100
_EXAMPLE = (
    "learner = {name = 'mine', package = 'my_package', settings = 'module:Class', "
    "simulate = 'module:function', predict = 'module:function', ...}"
)


class Untrusted(GiantstepError):
    """A study that would import code of its own without permission."""


def study_learner(given: Any, *, trust: bool = True) -> Learner:
    """The learner of that name, or the one that a table describes."""
    if isinstance(given, Learner):
        return given
    if isinstance(given, str):
        return learner_to_ask(given)
    if not isinstance(given, Mapping):
        raise SettingsError(f"learner = {shown(given)}: give the name of a learner")
    row = _described_study_learner(given)
    if not trust and not is_shipped_learner(row):
        raise Untrusted(
            f"learner {shown(row.name)} is not one of giantstep: the study would import "
            f"{row.module('settings')!r} and run what is in it: read that code, then give --trust"
        )
    return row


def is_shipped_learner(row: Learner) -> bool:
    """Whether the learner is one of giantstep's own."""
    return row in table.LEARNERS


def study_settings_class(row: Learner) -> type[Settings]:
    """The class of a learner's settings."""
    found: Any = row.load("settings")
    if not (isinstance(found, type) and issubclass(found, Settings)):
        raise SettingsError(
            f"learner {row.name!r}: {row.settings!r} is no class of settings: "
            f"derive it from giantstep.settings.options.Settings"
        )
    return found


def stored_settings_class(row: Learner, names: Iterable[str]) -> type[Settings]:
    """A class of settings that holds what is written, and checks and imports nothing."""
    fields = [(name, Any, dataclasses.field(default=None)) for name in names]
    made = dataclasses.make_dataclass(
        "WrittenSettings", fields, bases=(Settings,), frozen=True, kw_only=True
    )
    settings_class: Any = made
    settings_class.learner = row.name
    return settings_class


def _described_study_learner(given: Mapping[str, Any]) -> Learner:
    """The row in that table, every field of its own type."""
    values = _fields(Learner, given, "learner")
    if "metrics" in values:
        values["metrics"] = tuple(
            Metric.of(item if isinstance(item, str) else _fields(Metric, item, "learner.metrics"))
            for item in values["metrics"]
        )
    for name in ("settings", "simulate", "predict"):
        if not _is_learner_code_place(values.get(name, "")):
            raise SettingsError(
                f"learner.{name} = {shown(values.get(name))}: give module:attribute"
            )
    if not (values["name"].isprintable() and 0 < len(values["name"]) <= MOST_CHARACTERS):
        raise SettingsError(f"learner.name = {shown(values['name'])}: give a short printable name")
    if not _is_learner_module(values.get("package", "giantstep")):
        raise SettingsError(f"learner.package = {shown(values['package'])}: give a package's name")
    return Learner(**values)


def _fields(kind: type, given: Any, place: str) -> dict[str, Any]:
    """The fields of a dataclass: all that are required, and none that it does not have."""
    if not isinstance(given, Mapping):
        raise SettingsError(f"{place} = {shown(given)} is no table: give {_EXAMPLE}")
    hints = get_type_hints(kind)
    known = {f.name: f for f in dataclasses.fields(kind)}
    for name, value in given.items():
        if name not in known:
            raise SettingsError(f"{place} has no field {shown(name)}: give {_EXAMPLE}")
        _check_study_type(f"{place}.{name}", value, hints[name])
    for name, declared in known.items():
        if name not in given and declared.default is dataclasses.MISSING:
            raise SettingsError(f"{place} has no {name}: give {_EXAMPLE}")
    return {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}


def _check_study_type(place: str, value: Any, hint: Any) -> None:
    if get_args(hint):
        # Metrics may be tables, which are looked at when they are read.
        kinds = (str,) if get_args(hint)[0] is str else (str, Mapping)
        if not isinstance(value, list | tuple) or not all(isinstance(v, kinds) for v in value):
            raise SettingsError(f"{place} = {shown(value)}: give a list of texts")
    elif not isinstance(value, hint):
        wanted = "true or false" if hint is bool else "a text"
        raise SettingsError(f"{place} = {shown(value)}: give {wanted}")


def _is_learner_code_place(text: str) -> bool:
    module, _, attribute = text.partition(":")
    return _is_learner_module(module) and attribute.isidentifier()


def _is_learner_module(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
