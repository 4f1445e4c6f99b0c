"""An experiment that is also a command: the same words make the settings and the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from giantstep.answer import Answer
from giantstep.asking.table import learner_to_ask
from giantstep.asking.verbs import predict, simulate
from giantstep.language.inputs import Gaussian
from giantstep.language.problem import Problem
from giantstep.settings.options import flag


@dataclass(frozen=True)
class ReportRun:
    """A learner on a problem; ``options`` are the words of the command line, one may be a range."""

    learner: str
    problem: Problem
    options: Mapping[str, str]
    seeds: int = 1
    seed: int = 0
    settings: Any = field(init=False)

    def __post_init__(self) -> None:
        settings_class: Any = learner_to_ask(self.learner).load("settings")
        object.__setattr__(self, "settings", settings_class(**self.options))

    def simulate(self, progress: Callable[[float], None] | None = None) -> Answer:
        """The runs of every seed, at each value if an option is a range."""
        return simulate(
            self.settings, self.problem, seeds=self.seeds, seed=self.seed, progress=progress
        )

    def predict(self) -> Answer:
        """What theory says; raises NoTheory where it does not."""
        return predict(self.settings, self.problem)

    def best(self, name: str) -> float:
        """Where theory finds the least error along a setting, be it at an end of its search."""
        law = predict(self.settings, self.problem, optimise=(name,)).prediction
        return float(law.settings[name])

    def command(self, verb: str, picture: str | None = None) -> str:
        """What to type for the same numbers."""
        words = ["giantstep", verb, self.learner, *report_problem_words(self.problem, "--target")]
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


def report_problem_words(problem: Problem, *before: str) -> list[str]:
    """The target, after the words that introduce it, and what is unusual about the problem."""
    noise = ["--noise", f"{problem.noise!r}"] if problem.noise else []
    inputs = [] if problem.inputs == Gaussian() else ["--inputs", str(problem.inputs)]
    return [*before, problem.target.text, *noise, *inputs]


def report_explain_command(problem: Problem, *more: str) -> str:
    """The command that explains the target."""
    return shlex.join(["giantstep", "explain", *report_problem_words(problem), *more])
