"""`Study`: a learner over a grid of settings and seeds."""

from __future__ import annotations

import dataclasses
import itertools
import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from giantstep.errors import SettingsError, shown
from giantstep.inputs import Inputs
from giantstep.problem import FIELDS, NoTarget, Problem, TreeProblem, read_problem
from giantstep.settings.options import Settings
from giantstep.settings.sweeps import PROBLEM_KINDS, axis_values, coordinate, kinds_of
from giantstep.sizes import Size
from giantstep.studies.cells import PREDICT, SIMULATE, VERBS, Block, seed_blocks
from giantstep.studies.code_version import code_version
from giantstep.studies.fields import check_plain, study_name, study_verbs, table, whole_number
from giantstep.studies.own_learners import is_ours, learner_row, settings_class
from giantstep.targets import Target, TreeTarget
from giantstep.targets.tree_text import is_tree
from giantstep.twins.table import TWINS

if TYPE_CHECKING:
    from giantstep.studies.results import Results

#: A grid beyond this is a slip of the keyboard.
MOST_CELLS = 2_000_000
#: Seeds that one call of a learner computes together.
SEEDS_TOGETHER = 8


@dataclass(frozen=True, kw_only=True)
class Study:
    """A learner over every combination of its axes' values, simulated for each seed and predicted.

    ``learner`` is a name, or the :class:`Twin` of a learner of one's own. ``problem`` is a
    :class:`Problem`, a target, or a mapping with ``target``, ``noise`` and ``inputs``;
    ``settings`` is a settings object or a mapping. ``axes`` maps a setting of the learner, or
    ``target``, ``noise`` or ``inputs``, to a list of values or to a range (``1d:8d:8``,
    ``1e-4:10:50log``). ``verbs`` says what to compute at each point. ``together`` is the number
    of seeds that one call computes (see :mod:`giantstep.studies.cells`): 1 for long cells, more
    for short ones.

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
        self._set("name", study_name(self.name))
        for name, low in (("seeds", 1), ("seed", 0), ("together", 1)):
            self._set(name, whole_number(name, getattr(self, name), low))
        self._set("verbs", study_verbs(self.verbs))
        self._set("learner", learner_row(self.learner))
        self._set("problem", _problem_fields(self.problem))
        self._set("settings", _setting_fields(self.settings))
        kinds = self._kinds()
        given = table("axes", self.axes, "axes = {samples = '1d:8d:8'}")
        for name in given:
            if name not in kinds:
                known = ", ".join(kinds)
                raise SettingsError(
                    f"axis {shown(name)} is no setting of {self.learner.name}: use {known}"
                )
        self._set("axes", {name: axis_values(name, v, kinds[name]) for name, v in given.items()})
        if self.size > MOST_CELLS:
            raise SettingsError(f"study {self.name!r} has {self.size} cells, over {MOST_CELLS}")

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    @classmethod
    def read(cls, path: str | Path, *, trust: bool = False) -> Study:
        """A study from a TOML file; without ``name`` it takes the file's.

        A learner that is not one of giantstep's would be imported and run: that needs ``trust``.
        """
        return cls.from_json(_read_toml(Path(path)), trust=trust)

    @staticmethod
    def name_in(path: str | Path) -> str:
        """The name of the study in a TOML file, which is not looked at any further."""
        return study_name(_read_toml(Path(path))["name"])

    @classmethod
    def from_json(cls, given: Mapping[str, Any], *, trust: bool = False) -> Study:
        """A study from plain values, as :meth:`to_json` gives them; see :meth:`read`."""
        check_plain(table("the study", given, "{learner = 'giant-step', ...}"))
        known = [f.name for f in dataclasses.fields(cls)]
        unknown = sorted(set(given) - set(known))
        if unknown:
            raise SettingsError(f"a study has no field {shown(unknown[0])}: use {', '.join(known)}")
        if "learner" not in given:
            names = ", ".join(row.name for row in TWINS)
            raise SettingsError(f"the study names no learner: use one of {names}")
        return cls(**{"name": "", **given, "learner": learner_row(given["learner"], trust=trust)})

    def to_json(self) -> dict[str, Any]:
        """The study as plain values; a learner of the house by its name alone."""
        fields = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        own = not is_ours(self.learner)
        fields["learner"] = dataclasses.asdict(self.learner) if own else self.learner.name
        return json.loads(json.dumps(fields))

    @property
    def size(self) -> int:
        """Number of cells."""
        points = 1
        for values in self.axes.values():
            points *= len(values)
        return points * sum(self.seeds if verb == SIMULATE else 1 for verb in self.verbs)

    def blocks(self) -> list[Block]:
        """Every cell, in blocks, in the order of the axes; wrong settings are found here."""
        blocks = list(self._blocks())
        keys = [key for block in blocks for key in block.keys]
        if len(set(keys)) < len(keys):
            raise SettingsError(f"study {self.name!r}: an axis has the same value twice")
        return blocks

    def run(self, **how: Any) -> Results:
        """Compute what the store does not have yet; see :func:`giantstep.studies.run.run`."""
        from giantstep.studies.run import run

        return run(self, **how)

    def _kinds(self) -> dict[str, Any]:
        problem = PROBLEM_KINDS if self.learner.has_target else {"noise": float}
        return {**kinds_of(settings_class(self.learner)), **problem}

    def _blocks(self) -> Iterator[Block]:
        seeds: dict[str, list[tuple[int, ...]]] = {
            SIMULATE: seed_blocks(self.seed, self.seeds, self.together),
            PREDICT: [()],
        }
        versions = {verb: code_version(self.learner, verb) for verb in self.verbs}
        kinds = self._kinds()
        for values in itertools.product(*self.axes.values()):
            chosen = dict(zip(self.axes, values, strict=True))
            problem, settings = self._problem_at(chosen), self._settings_at(chosen)
            both = {**settings, **problem}
            place = {name: coordinate(both[name]) for name in self.axes}
            fixed = {name: value for name, value in both.items() if kinds.get(name) is not float}
            for verb in self.verbs:
                for block in seeds[verb]:
                    shape = json.dumps([verb, len(block), fixed])
                    code = versions[verb]
                    yield Block(self.learner, verb, problem, settings, block, code, place, shape)

    def _problem_at(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        given = {**self.problem, **{n: v for n, v in chosen.items() if n in FIELDS}}
        return read_problem(
            given, has_target=self.learner.has_target, has_tree=self.learner.has_tree
        ).to_json()

    def _settings_at(self, chosen: Mapping[str, Any]) -> dict[str, Any]:
        """The settings of one point as plain values, from which a worker builds them again."""
        own = {name: value for name, value in chosen.items() if name not in FIELDS}
        given = {**self.settings, **own}
        own_class = settings_class(self.learner)
        unknown = sorted(set(given) - {f.name for f in dataclasses.fields(own_class)})
        if unknown:
            known = ", ".join(f.name for f in dataclasses.fields(own_class))
            raise SettingsError(
                f"{self.learner.name} has no setting {shown(unknown[0])}: use {known}"
            )
        point = own_class(**given).to_json()
        for name, value in point.items():
            if not _is_plain(value):
                raise SettingsError(
                    f"{name} = {shown(value)} cannot be kept in a store: give a number or a text, "
                    f"such as activation = 'relu(z-1)'"
                )
        return json.loads(json.dumps(point))


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


def _problem_fields(given: Any) -> dict[str, Any]:
    if not isinstance(given, Mapping):
        if isinstance(given, TreeTarget) or (isinstance(given, str) and is_tree(given)):
            return TreeProblem(given).to_json()
        if isinstance(given, TreeProblem):
            return given.to_json()
        if not isinstance(given, Problem | NoTarget | Target | str):
            raise SettingsError(
                f"problem = {shown(given)}: give a target, or a table such as {{target = 'h1'}}"
            )
        return (given if isinstance(given, NoTarget) else Problem.of(given)).to_json()
    return {name: _plain_value(value) for name, value in given.items()}


def _setting_fields(given: Settings | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, Settings):
        return given.to_json()
    fields = table("settings", given, "settings = {dim = 500}")
    return {name: _plain_value(value) for name, value in fields.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, Target):
        return value.text
    if isinstance(value, Inputs):
        return value.to_json()
    if isinstance(value, Size):
        return str(value)
    return value.item() if isinstance(value, np.generic) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, str | bool | int | float)
