"""One way through the theory of a learner, and what is called on it."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from cProfile import Profile
from typing import Any, NamedTuple

from giantstep.answer import Prediction
from giantstep.asking.table import Learner
from giantstep.asking.verbs import predict


class Source(NamedTuple):
    """A function of `theory`, and words of that clause of its status which covers the case."""

    function: str
    where: str = ""

    def load(self) -> Callable[..., Any]:
        """The function itself."""
        if ":" in self.function:
            module, _, name = self.function.partition(":")
            return getattr(importlib.import_module(module), name)
        module, _, name = self.function.rpartition(".")
        return getattr(importlib.import_module(f"giantstep.theory.{module}"), name)


class Path(NamedTuple):
    """One way through a learner's theory: settings, problem, and where its metrics come from.

    ``sources`` maps metrics, several of them separated by blanks, to what they are made of;
    ``*`` stands for those that are not named. ``known`` are numbers known exactly, which the
    errors that are quoted must cover.
    """

    settings: dict[str, Any]
    sources: Mapping[str, tuple[Source, ...]]
    target: str | None = "h1"
    optimise: tuple[str, ...] = ()
    problem: Mapping[str, Any] = {}
    known: Mapping[str, float] = {}


class Walked(NamedTuple):
    """What was predicted, and the functions of the package that were called on the way."""

    law: Prediction
    called: frozenset[tuple[str, str]]


def walk(row: Learner, path: Path) -> Walked:
    """Predict, and note every function of the package that is called."""
    settings, profile = row.load("settings")(**path.settings), Profile(builtins=False)
    with profile:
        law = predict(settings, path.target, optimise=path.optimise, **path.problem)
    codes = [entry.code for entry in profile.getstats() if not isinstance(entry.code, str)]
    names = [(code.co_filename, code.co_name) for code in codes]
    return Walked(law, frozenset(name for name in names if "giantstep" in name[0]))
