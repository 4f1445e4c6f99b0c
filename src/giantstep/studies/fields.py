"""The fields of a study as people give them, each checked: one line says which is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from giantstep.errors import SettingsError, shown
from giantstep.studies.cells import VERBS

#: A name is a line of a table and the beginning of a file name.
MOST_CHARACTERS = 100
#: Whole numbers beyond this are beyond float64 too, and no setting can use them.
_LARGEST = 2**1023


def study_name(given: Any) -> str:
    """The name of a study: it is shown, and files are named after it."""
    remedy = "give the study a name of printable characters"
    if not isinstance(given, str) or not given.strip():
        raise SettingsError(f"name = {shown(given)}: {remedy}")
    if not given.isprintable() or len(given) > MOST_CHARACTERS or given.startswith("-"):
        rule = f"at most {MOST_CHARACTERS} of them, that does not begin with a minus sign"
        raise SettingsError(f"name = {given[:40]!a}: {remedy}, {rule}")
    if "/" in given or "\\" in given:
        raise SettingsError(f"name = {shown(given)}: {remedy}, without slashes")
    return given


def whole_number(name: str, given: Any, low: int) -> int:
    """A count or a seed."""
    if isinstance(given, bool) or not isinstance(given, int) or not low <= given < 2**62:
        raise SettingsError(f"{name} = {shown(given)}: give a whole number of at least {low}")
    return given


def study_verbs(given: Any) -> tuple[str, ...]:
    """What to compute at each point, in the order of the house."""
    verbs = [given] if isinstance(given, str) else given
    if not isinstance(verbs, Sequence) or not verbs or any(verb not in VERBS for verb in verbs):
        raise SettingsError(f"verbs = {shown(given)}: use some of {', '.join(VERBS)}")
    return tuple(verb for verb in VERBS if verb in verbs)


def table(name: str, given: Any, example: str) -> dict[str, Any]:
    """A field that holds fields of its own."""
    if not isinstance(given, Mapping):
        raise SettingsError(f"{name} = {shown(given)} is no table: give one such as {example}")
    return dict(given)


def check_plain(given: Any, place: str = "the study") -> None:
    """Refuse what a study file may hold but no setting can use: dates, gigantic numbers."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            check_plain(value, str(name) if place == "the study" else f"{place}.{name}")
    elif isinstance(given, list | tuple):
        for value in given:
            check_plain(value, place)
    elif isinstance(given, int) and not -_LARGEST < given < _LARGEST:
        raise SettingsError(f"{place} has a whole number of {given.bit_length()} bits: too large")
    elif given is not None and not isinstance(given, str | int | float):
        raise SettingsError(f"{place} = {shown(given)} is neither a number nor a text")
