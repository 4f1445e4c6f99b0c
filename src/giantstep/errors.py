"""The errors a user can cause. Each message is one line: what was given, what would work."""

from __future__ import annotations

import difflib
import numbers
import re
from collections.abc import Iterable, Mapping
from typing import Any

#: A longer value is cut where a message shows it.
MOST_SHOWN = 60
#: No message of ours is longer.
MOST_SAID = 1200
#: Longer messages of other programs are cut where ours quote them.
MOST_QUOTED = 300
#: Of more names than this a message shows those that are like the given one, if any is.
MOST_LISTED = 20


_OPTION = re.compile(r"(?<!\S)--([a-z][a-z-]*)")


class GiantstepError(ValueError):
    """Something in the input cannot be used; the message says what and how to mend it.

    Remedies are written as options of the command line; Python reads the names of arguments.

    >>> error = GiantstepError("dim is missing: give --dim or --test-samples")
    >>> print(error)
    dim is missing: give dim or test_samples
    >>> error.at_the_prompt
    'dim is missing: give --dim or --test-samples'
    """

    @property
    def at_the_prompt(self) -> str:
        """The message for whoever types commands."""
        text = str(self.args[0]) if self.args else ""
        return text if len(text) <= MOST_SAID else text[: MOST_SAID - 3] + "..."

    def __str__(self) -> str:
        return _OPTION.sub(lambda found: found[1].replace("-", "_"), self.at_the_prompt)


class TargetError(GiantstepError):
    """A target expression that cannot be read, or that has no finite second moment."""


class SettingsError(GiantstepError):
    """A setting of a learner that is out of range or does not go with another one."""


class NoTheory(GiantstepError):
    """There is no prediction for these settings. The message says what is covered."""


def raise_refusal(refusals: Mapping[str, bool], error: type[GiantstepError] = NoTheory) -> None:
    """Raise the first error whose cause applies; ``refusals`` has the causes under their messages.

    >>> raise_refusal({"steps = 9: at most 8 are covered": False})
    """
    for reason, applies in refusals.items():
        if applies:
            raise error(reason)


def unknown_name_error(what: str, given: str, known: Iterable[str]) -> SettingsError:
    """The error for a name that is none of those known, with the nearest of them.

    >>> print(unknown_name_error("figure", "stairs", ["staircase", "hero"]))
    figure = 'stairs' is unknown: do you mean staircase? use one of staircase, hero
    """
    names = list(known)
    like = [name for name in names if given in name] if len(names) > MOST_LISTED else []
    guess = "" if like else nearest_name_hint(given, names)
    return SettingsError(
        f"{what} = {shown(given)} is unknown: {guess}use one of {', '.join(like or names)}"
    )


def nearest_name_hint(given: str, known: Iterable[str]) -> str:
    """The question whether another name is meant; nothing if none is near."""
    close = difflib.get_close_matches(given, list(known), n=1, cutoff=0.6)
    return f"do you mean {close[0]}? " if close else ""


def shown(value: object) -> str:
    r"""A value as a message shows it: on one line, and never too long.

    >>> shown("two\nlines"), shown(10**80)[:20]
    ("'two\\nlines'", '10000000000000000000')
    """
    try:
        text = repr(value)
    except ValueError:
        # Python refuses to write whole numbers of more than 4300 digits.
        return f"({type(value).__name__}: too many digits to show)"
    text = " ".join(text.split()) if "\n" in text else text
    return text if len(text) <= MOST_SHOWN else text[: MOST_SHOWN - 3] + "..."


def whole_or_error(name: str, value: Any, low: int) -> int:
    """The value, numpy's too, if it is a whole number of at least ``low`` and below 2**63."""
    is_whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not is_whole or not low <= value < 2**63:
        most = " and below 2**63" if is_whole and value >= 2**63 else ""
        raise SettingsError(f"{name} = {shown(value)}: give a whole number of at least {low}{most}")
    return int(value)


def error_in_one_line(error: BaseException) -> str:
    """What kind of error it is and what it says, for a message that quotes it."""
    return f"{type(error).__name__}: {one_line(str(error))}"


def one_line(text: str) -> str:
    """The text on one line, without characters that no terminal shows, and not too long."""
    text = " ".join(text.split())[:MOST_QUOTED]
    return "".join(character if character.isprintable() else "?" for character in text)
