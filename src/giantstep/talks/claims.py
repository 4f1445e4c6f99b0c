"""A claim of a talk: what is said, the command that shows it, and what its answer must be."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources
from typing import Any

from giantstep.errors import GiantstepError, unknown_name_error

#: The talks in the order in which they are best read; each is a file of this folder.
TALKS = ("stephan", "moniri", "loureiro", "wu", "krzakala")
#: What can be found of a claim, and what that means.
VERDICTS = {
    "holds": "a computation or a simulation shows it, to the accuracy given",
    "holds as a scaling": "the exponent or the order is right; constants are not part of the claim",
    "holds as a bound": "no measured exponent passes it, and none comes near; both are given",
    "not visible at feasible size": "it is about a limit that no simulation here comes near",
    "open": "nobody knows, or nothing here can decide it",
    "misprint on the slide": "a slip of the slide; what holds instead is stated, and shown",
    "does not hold as stated": "a counterexample is shown, with what it takes and what is left",
}


@dataclass(frozen=True)
class Check:
    """A number or a word of an answer, and what it must be.

    ``value`` is the way to it in the JSON of the answer, joined by slashes; a star stands for every
    entry of a list. A number is to be ``about`` something ``within`` a distance, anything else to
    be ``equal``. With ``fit`` the numbers at the swept sizes are put together, and their exponent
    ("power"), their growth per logarithm of the size ("logarithm") or the rate at which they come
    to the last one ("decay") is what must be about that, measured to half of that distance at
    least; ``average`` says how runs become one number, there or, without a fit, of the runs of the
    last star. Where the last star runs along steps, ``reaches`` makes of each run the number of
    steps until then.
    """

    value: str
    equal: Any = None
    about: float | None = None
    within: float = 0.0
    fit: str = ""
    average: str = ""
    reaches: float | None = None

    def holds(self, answer: Any) -> bool:
        """Whether an answer has it."""
        found = self.found(answer)
        if self.about is None:
            return found == self.equal
        if self.fit and found is not None:
            return abs(found["slope"] - self.about) <= self.within >= 2 * found["sem"]
        return isinstance(found, int | float) and abs(found - self.about) <= self.within

    def found(self, answer: Any) -> Any:
        """What the answer has there: a number, a word, or the facts of a fit; none if nothing."""
        try:
            there = _claim_answer_part(answer, self.value.split("/"))
            if self.fit:
                return self._fitted(answer["sweep"]["values"], there)
            return self._averaged(there) if self.average else there
        except (LookupError, TypeError, ValueError):
            return None

    def _averaged(self, runs: Any) -> float:
        import numpy as np

        from giantstep.numerics.scaling import AVERAGES

        return AVERAGES[self.average](np.asarray(runs, float))[0]

    def _fitted(self, sizes: list[float], runs: Any) -> dict[str, Any]:
        from giantstep.numerics.scaling import first_step_of_size, power_fit_of_samples

        if self.reaches is not None:
            runs = first_step_of_size(runs, self.reaches)
        average = self.average or "mean"
        return power_fit_of_samples(sizes, runs, average=average, along=self.fit)._asdict()


def _claim_answer_part(answer: Any, words: Sequence[str]) -> Any:
    for number, word in enumerate(words):
        if word == "*":
            return [_claim_answer_part(entry, words[number + 1 :]) for entry in answer]
        answer = answer[int(word)] if isinstance(answer, list) else answer[word]
    return answer


@dataclass(frozen=True)
class Claim:
    """A definition, theorem, example or experiment of a talk.

    ``says`` is the statement in our notation, ``erratum`` what the slide prints instead where that
    is wrong. ``command`` shows it and ``checks`` read the answer; so does its ``figure``, whose
    caption checks itself. ``verdict`` is what is found where they pass, and ``why`` says what the
    verdict alone does not.
    """

    key: str
    slide: str
    kind: str
    says: str
    verdict: str
    erratum: str = ""
    command: str = ""
    figure: str = ""
    why: str = ""
    checks: tuple[Check, ...] = field(default=())

    def __post_init__(self) -> None:
        if self.verdict not in VERDICTS:
            raise GiantstepError(f"{self.key}: verdict = {self.verdict!r}: {', '.join(VERDICTS)}")
        if bool(self.command) != bool(self.checks):
            raise GiantstepError(f"{self.key}: a command needs checks that read its answer")
        if not self.is_shown and self.verdict != "open":
            raise GiantstepError(f"{self.key} needs a command or a figure that shows it")

    @property
    def is_shown(self) -> bool:
        """Whether something is run to decide it."""
        return bool(self.command or self.figure)

    def measured(self, answer: Mapping[str, Any], drawn: Mapping[str, bool]) -> dict[str, Any]:
        """What the command's answer has to say, then what the caption of the figure claims."""
        return {check.value: check.found(answer) for check in self.checks} | dict(drawn)

    def holds(self, answer: Mapping[str, Any], drawn: Mapping[str, bool]) -> bool:
        """Whether the command's answer, and the data of the figure, show it."""
        shown = bool(drawn) if self.figure else True
        return shown and all(drawn.values()) and all(check.holds(answer) for check in self.checks)


@functools.cache
def talk(name: str) -> tuple[str, tuple[Claim, ...]]:
    """The title of a talk and its claims, in the order of the slides."""
    if name not in TALKS:
        raise unknown_name_error("talk", name, TALKS)
    text = resources.files(__package__).joinpath(f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    return table["title"], tuple(_claim(row) for row in table["claim"])


def _claim(row: Mapping[str, Any]) -> Claim:
    checks = tuple(Check(**check) for check in row.get("check", ()))
    return Claim(**{key: value for key, value in row.items() if key != "check"}, checks=checks)
