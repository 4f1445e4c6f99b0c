"""An experiment that is also a command: the same words make the settings and the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from giantstep.inputs import Gaussian
from giantstep.problem import Problem
from giantstep.results import Prediction, Run
from giantstep.settings.options import Settings, flag
from giantstep.settings.sweeps import swept
from giantstep.sweep import Sweep
from giantstep.twins.table import twin
from giantstep.twins.verbs import predict, simulate


@dataclass(frozen=True)
class Experiment:
    """A learner on a problem; ``options`` are the words of the command line, one may be a range."""

    learner: str
    problem: Problem
    options: Mapping[str, str]
    seeds: int = 1
    seed: int = 0
    settings: Settings | Sweep[Settings] = field(init=False)

    def __post_init__(self) -> None:
        settings_class: Any = twin(self.learner).load("settings")
        object.__setattr__(self, "settings", swept(settings_class, self.options))

    def simulate(self, progress: Callable[[float], None] | None = None) -> Run:
        """The runs of every seed."""
        return simulate(
            self._point(), self.problem, seeds=self.seeds, seed=self.seed, progress=progress
        )

    def predict(self) -> Prediction:
        """What theory says; raises NoTheory where it does not."""
        return predict(self._point(), self.problem)

    def best(self, name: str) -> float:
        """Where theory finds the least error along a setting, be it at an end of its search."""
        law = predict(self._point(), self.problem, optimise=(name,))
        return float(law.settings[name])

    def simulate_along(self, progress: Callable[[float], None] | None = None) -> Sweep[Run]:
        """The runs of every seed at each value of the range."""
        return simulate(
            self.sweep, self.problem, seeds=self.seeds, seed=self.seed, progress=progress
        )

    def predict_along(self) -> Sweep[Prediction]:
        """What theory says at each value of the range."""
        return predict(self.sweep, self.problem)

    @property
    def sweep(self) -> Sweep[Settings]:
        """The settings along the range; there must be one."""
        assert isinstance(self.settings, Sweep), "no option is a range"
        return self.settings

    def positions(self) -> np.ndarray:
        """The values of the range, sizes as multiples of their power of d."""
        return np.array([*self.sweep.positions.of.values()])

    def command(self, verb: str, picture: str | None = None) -> str:
        """What to type for the same numbers."""
        words = ["giantstep", verb, self.learner, *problem_words(self.problem, "--target")]
        for name, value in self.options.items():
            words += [flag(name), value]
        if verb != "predict":
            words += ["--seeds", str(self.seeds), "--seed", str(self.seed)]
        if picture is not None:
            words += ["--out", picture]
        return shlex.join(words)

    def described(self) -> str:
        """The settings in words, for a caption."""
        return ", ".join(f"{name.replace('_', ' ')} {v}" for name, v in self.options.items())

    def _point(self) -> Settings:
        assert isinstance(self.settings, Settings), "one option is a range"
        return self.settings


def problem_words(problem: Problem, *before: str) -> list[str]:
    """The target, after the words that introduce it, and what is unusual about the problem."""
    noise = ["--noise", f"{problem.noise!r}"] if problem.noise else []
    inputs = [] if isinstance(problem.inputs, Gaussian) else ["--inputs", str(problem.inputs)]
    return [*before, problem.target.text, *noise, *inputs]


def explain_command(problem: Problem, *more: str) -> str:
    """The command that explains the target."""
    return shlex.join(["giantstep", "explain", *problem_words(problem), *more])
