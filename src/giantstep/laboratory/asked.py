"""What a request asks for, read from its JSON: short texts and small numbers, nothing else."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from giantstep.laboratory.limits import LabLimits
from giantstep.language.problem import FIELDS

#: How many values a range has.
_COUNT = re.compile(r":(\d+)(?:log)?\s*$")
#: Runs of a command or a program that is copied, where the page does not say.
_USUAL_SEEDS = 8
#: More options than any learner has.
_MOST_OPTIONS = 60


class Malformed(ValueError):
    """A request that the page would not send; the message says what is wrong with it."""


@dataclass(frozen=True)
class Given:
    """The JSON object of a request."""

    fields: dict[str, Any]
    limits: LabLimits

    @classmethod
    def read(cls, body: bytes, limits: LabLimits) -> Given:
        """The object in a body."""
        try:
            fields = json.loads(body)
        except (ValueError, RecursionError):
            raise Malformed("send one JSON object") from None
        if not isinstance(fields, dict):
            raise Malformed("send one JSON object")
        return cls(fields, limits)

    def target(self) -> str:
        """The text of a target."""
        return self._text(self.fields.get("target"), "target")

    def problem(self, optional: bool = False) -> dict[str, Any]:
        """Target, noise and inputs as texts, those that are given."""
        given = self.fields.get("problem", {})
        if not isinstance(given, dict) or not set(given) <= set(FIELDS):
            raise Malformed(f"problem: give {', '.join(FIELDS)}")
        if "target" not in given and not optional:
            raise Malformed("problem: give a target")
        return {name: self._text(given[name], name) for name in FIELDS if name in given}

    def question(self) -> dict[str, Any]:
        """A learner, its settings and its problem."""
        settings = self.fields.get("settings", {})
        if not isinstance(settings, dict) or len(settings) > _MOST_OPTIONS:
            raise Malformed("settings: give an object of texts")
        chosen = {
            self._text(name, "settings"): self._option(value, name)
            for name, value in settings.items()
        }
        return {
            "learner": self._text(self.fields.get("learner"), "learner"),
            "settings": self._known(chosen),
            "problem": self.problem(optional=True),
            "seeds": self.seeds(0) or _USUAL_SEEDS,
        }

    def seeds(self, fewest: int) -> int:
        """How many runs."""
        return self._whole("seeds", fewest, self.limits.seeds)

    def seed(self) -> int:
        """The number of the first run."""
        return self._whole("seed", 0, 2**31)

    def of(self) -> str:
        """Which spectrum."""
        return self._text(self.fields.get("of", "weights"), "of")

    def quick(self) -> bool:
        """Whether a report is to be made at small sizes."""
        return self.fields.get("quick", False) is True

    def _known(self, chosen: dict[str, Any]) -> dict[str, Any]:
        """The settings, which must be those of the learner: others have no meaning anywhere."""
        from giantstep.asking.table import LEARNERS
        from giantstep.settings.sweeps import setting_kinds

        rows = [row for row in LEARNERS if row.name == self.fields.get("learner")]
        if not rows:
            raise Malformed("learner: unknown")
        settings_class: Any = rows[0].load("settings")
        unknown = sorted(set(chosen) - set(setting_kinds(settings_class)))
        if unknown:
            raise Malformed(f"settings: {rows[0].name} has no {unknown[0][:40]!r}")
        return chosen

    def _option(self, value: Any, name: str) -> str | bool:
        if isinstance(value, bool):
            return value
        text = self._text(value, name)
        count = _COUNT.search(text)
        if count is not None and int(count[1]) > self.limits.points:
            raise Malformed(f"{name}: a range of the lab has at most {self.limits.points} values")
        return text

    def _text(self, value: Any, name: str) -> str:
        if isinstance(value, int | float) and not isinstance(value, bool):
            value = str(value)
        if not isinstance(value, str):
            raise Malformed(f"{name[:40]}: give a text")
        if len(value) > self.limits.text_characters:
            raise Malformed(
                f"{name[:40]}: {len(value)} characters, at most "
                f"{self.limits.text_characters} are read"
            )
        return value

    def _whole(self, name: str, low: int, high: int) -> int:
        value = self.fields.get(name, low)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise Malformed(f"{name}: give a whole number from {low} to {high}")
        return value
