"""`Study`: a question written down: a learner, a grid of settings, seeds, what to compute."""

from __future__ import annotations

import dataclasses
import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.answer import Answer
from giantstep.asking.questions import Grid, problem_of_question, read_question_grid
from giantstep.asking.studies.cells import Block, study_blocks, study_seed_blocks
from giantstep.asking.studies.own_learners import (
    MOST_CHARACTERS,
    is_shipped_learner,
    stored_settings_class,
    study_learner,
    study_settings_class,
)
from giantstep.asking.table import LEARNERS, Learner
from giantstep.asking.verbs import SIMULATE, VERBS
from giantstep.errors import SettingsError, shown, whole_or_error
from giantstep.language.inputs import Inputs
from giantstep.language.problem import FIELDS, NoTarget, Problem, TreeProblem
from giantstep.language.sizes import Size
from giantstep.language.targets import Target, TreeTarget
from giantstep.settings.options import Settings, Values
from giantstep.settings.sweeps import PROBLEM_KINDS, is_swept, setting_kinds, setting_values

#: A grid beyond this is a slip of the keyboard.
MOST_CELLS = 2_000_000
#: Seeds that one call of a learner computes together.
SEEDS_TOGETHER = 8
#: Whole numbers beyond this are beyond float64 too, and no setting can use them.
_LARGEST = 2**1023


@dataclass(frozen=True, kw_only=True)
class Study:
    """A learner over every combination of its axes' values, simulated for each seed and predicted.

    ``learner`` is a name, or the :class:`Learner` of a learner of one's own. ``problem`` is a
    :class:`Problem`, a target, or a mapping with ``target``, ``noise`` and ``inputs``;
    ``settings`` is a settings object or a mapping. ``axes`` maps a setting of the learner, or
    ``target``, ``noise`` or ``inputs``, to a list of values or to a range (``1d:8d:8``,
    ``1e-4:10:50log``); a range or a list may as well stand in the settings or the problem
    themselves. ``verbs`` says what to compute at each point. ``together`` is the number
    of seeds that one call computes (see :mod:`~giantstep.asking.studies.cells`): 1 for long cells,
    more for short ones.

    >>> study = Study(
    ...     name="overlap", learner="giant-step", problem="h1 + h1*h2", settings={"dim": 200},
    ...     axes={"samples": "1d:8d:8", "steps": [1, 2]}, seeds=4, verbs=["simulate"],
    ... )
    >>> study.size
    64
    """

    name: str
    learner: Any
    problem: Any = field(default_factory=dict)
    settings: Any = field(default_factory=dict)
    axes: Mapping[str, Any] = field(default_factory=dict)
    seeds: int = 8
    seed: int = 0
    verbs: Sequence[str] = VERBS
    together: int = SEEDS_TOGETHER

    def __post_init__(self) -> None:
        self._set("name", _study_name(self.name))
        for name, low in (("seeds", 1), ("seed", 0), ("together", 1)):
            whole_or_error(name, getattr(self, name), low)
        self._set("verbs", _study_verbs(self.verbs))
        self._set("learner", study_learner(self.learner))
        self._set("problem", _study_problem_fields(self.learner, self.problem))
        self._set("settings", _study_setting_fields(self.settings))
        problem = PROBLEM_KINDS if self.learner.has_target else {"noise": float}
        kinds = {**setting_kinds(study_settings_class(self.learner)), **problem}
        given = _study_table("axes", self.axes, "axes = {samples = '1d:8d:8'}")
        for name in (*given, *self.settings):
            if name not in kinds:
                known = ", ".join(kinds)
                raise SettingsError(
                    f"{self.learner.name} has no setting {shown(name)}: use {known}"
                )
        for fields in (self.problem, self.settings):
            ranges = [n for n in fields if n in kinds and _is_study_range(fields[n], kinds[n])]
            given |= {name: fields.pop(name) for name in ranges}
        self._set("axes", {name: setting_values(name, v, kinds[name]) for name, v in given.items()})
        if self.size > MOST_CELLS:
            raise SettingsError(f"study {self.name!r} has {self.size} cells, over {MOST_CELLS}")

    def __repr__(self) -> str:
        axes = " x ".join(f"{len(values)} {name}" for name, values in self.axes.items())
        over = f" over {axes}" if axes else ""
        return f"Study {self.name!r}: {self.learner.name}{over}, {self.seeds} seeds"

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def of(cls, grid: Grid, **fields: Any) -> Study:
        """The study that asks the questions of a grid."""
        first = grid.questions[0]
        problem, settings = first.problem.to_json(), first.settings.to_json()
        axes = {name: list(axis.labels) for name, axis in grid.axes.items()}
        return cls(
            learner=grid.learner,
            problem={name: value for name, value in problem.items() if name not in axes},
            settings={name: value for name, value in settings.items() if name not in axes},
            axes=axes,
            **fields,
        )

    @classmethod
    def read(cls, path: str | Path, *, trust: bool = False) -> Study:
        """A study from a TOML file; without ``name`` it takes the file's.

        A learner that is not one of giantstep's would be imported and run: that needs ``trust``.
        """
        return cls.from_json(_read_toml(Path(path)), trust=trust)

    @staticmethod
    def name_in(path: str | Path) -> str:
        """The name of the study in a TOML file, which is not looked at any further."""
        return _study_name(_read_toml(Path(path))["name"])

    @classmethod
    def from_json(cls, given: Mapping[str, Any], *, trust: bool = False) -> Study:
        """A study from plain values, as :meth:`to_json` gives them; see :meth:`read`."""
        _check_plain_study(_study_table("the study", given, "{learner = 'giant-step', ...}"))
        known = [f.name for f in dataclasses.fields(cls)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise SettingsError(f"a study has no field {shown(unknown[0])}: use {', '.join(known)}")
        if "learner" not in given:
            names = ", ".join(row.name for row in LEARNERS)
            raise SettingsError(f"the study names no learner: use one of {names}")
        return cls(**{"name": "", **given, "learner": study_learner(given["learner"], trust=trust)})

    def to_json(self) -> dict[str, Any]:
        """The study as plain values; a learner of the house by its name alone."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        own = not is_shipped_learner(self.learner)
        fields["learner"] = dataclasses.asdict(self.learner) if own else self.learner.name
        return json.loads(json.dumps(fields))

    @property
    def size(self) -> int:
        """Number of cells."""
        points = math.prod(map(len, self.axes.values()))
        return points * sum(self.seeds if verb == SIMULATE else 1 for verb in self.verbs)

    def grid(self) -> Grid:
        """The questions; wrong settings are found here."""
        own = {"axes": self.axes, "settings": self.settings, "problem": self.problem}
        return study_grid(own, trust=True, learner=self.learner)

    def blocks(self, grid: Grid | None = None) -> list[Block]:
        """Every cell, in blocks, in the order of the axes."""
        seeds = study_seed_blocks(self.seed, self.seeds, self.together)
        return list(study_blocks(grid or self.grid(), self.verbs, seeds))

    def run(self, **how: Any) -> Answer:
        """Compute what the store lacks; see :func:`giantstep.asking.studies.run.run_study`."""
        from giantstep.asking.studies.run import run_study

        return run_study(self, **how)


def study_grid(definition: Mapping[str, Any], *, trust: bool, learner: Any = None) -> Grid:
    """The questions of a study; without ``trust`` the code of a learner of one's own stays shut."""
    row = learner or study_learner(definition["learner"])
    axes = {name: tuple(values) for name, values in definition["axes"].items()}
    own = {name: Values(values) for name, values in axes.items() if name not in FIELDS}
    given = {**definition["settings"], **own}
    if trust or is_shipped_learner(row):
        kind: Any = study_settings_class(row)
        known = [f.name for f in dataclasses.fields(kind)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise SettingsError(
                f"{row.name} has no setting {shown(unknown[0])}: use {', '.join(known)}"
            )
    else:
        kind = stored_settings_class(row, given)
    swept = {name: values for name, values in axes.items() if name in FIELDS}
    return read_question_grid(row, kind(**given), definition["problem"], swept)


def _read_toml(path: Path) -> dict[str, Any]:
    """What a study file says; without ``name`` it takes the file's."""
    try:
        text = path.read_bytes()
    except (OSError, ValueError) as error:
        cause = getattr(error, "strerror", None) or error
        raise SettingsError(f"cannot read the study {str(path)!r}: {cause}") from None
    try:
        return {"name": path.stem, **tomllib.loads(text.decode())}
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"study {str(path)!r} is not TOML: {error}") from None


def _study_name(given: Any) -> str:
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


def _study_verbs(given: Any) -> tuple[str, ...]:
    """What to compute at each point, in the order of the house."""
    verbs = [given] if isinstance(given, str) else given
    if not isinstance(verbs, Sequence) or not verbs or any(verb not in VERBS for verb in verbs):
        raise SettingsError(f"verbs = {shown(given)}: use some of {', '.join(VERBS)}")
    return tuple(verb for verb in VERBS if verb in verbs)


def _study_table(name: str, given: Any, example: str) -> dict[str, Any]:
    """A field that holds fields of its own."""
    if not isinstance(given, Mapping):
        raise SettingsError(f"{name} = {shown(given)} is no table: give one such as {example}")
    return dict(given)


def _check_plain_study(given: Any, place: str = "the study") -> None:
    """Refuse what a study file may hold but no setting can use: dates, gigantic numbers."""
    if isinstance(given, Mapping):
        for name, value in given.items():
            _check_plain_study(value, str(name) if place == "the study" else f"{place}.{name}")
    elif isinstance(given, list | tuple):
        for value in given:
            _check_plain_study(value, place)
    elif isinstance(given, int) and not -_LARGEST < given < _LARGEST:
        raise SettingsError(f"{place} has a whole number of {given.bit_length()} bits: too large")
    elif given is not None and not isinstance(given, str | int | float):
        raise SettingsError(f"{place} = {shown(given)} is neither a number nor a text")


def _is_study_range(value: Any, kind: Any) -> bool:
    """Whether a setting holds several values; a list that stands for one text does not."""
    return kind in (Size, float, int, Inputs) and is_swept(value, kind)


def _study_problem_fields(row: Learner, given: Any) -> dict[str, Any]:
    if isinstance(given, Mapping):
        return {name: _plain_study_value(value) for name, value in given.items()}
    kinds = Problem | TreeProblem | NoTarget | Target | TreeTarget | str
    if not isinstance(given, kinds):
        raise SettingsError(
            f"problem = {shown(given)}: give a target, or a table such as {{target = 'h1'}}"
        )
    return problem_of_question(row, given).to_json()


def _study_setting_fields(given: Settings | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, Settings):
        return given.to_json()
    fields = _study_table("settings", given, "settings = {dim = 500}")
    return {name: _plain_study_value(value) for name, value in fields.items()}


def _plain_study_value(value: Any) -> Any:
    if isinstance(value, Target):
        return value.text
    if isinstance(value, Inputs):
        return value.to_json()
    if isinstance(value, Size):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value
