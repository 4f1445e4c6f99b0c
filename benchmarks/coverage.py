"""Do errors bound what a user sees? Random settings of every learner with a prediction, simulated.

``python -m benchmarks.coverage COUNT [FIRST]`` asks COUNT random questions at two dimensions each
and prints, for each learner, how many numbers lie within 3 combined errors of the prediction, and
how many stated errors exceed half of the value.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from giantstep.asking.table import learner_named
from giantstep.asking.verbs import compare
from giantstep.errors import GiantstepError
from giantstep.language.problem import Problem

#: The two dimensions of each question, and the runs at each.
DIMS, SEEDS = (60, 120), 6
#: Two-sided chance of a deviation beyond 3 standard errors of a Gaussian.
RARE = 0.0027
#: A simulated standard error above this share of the value tests nothing.
USEFUL = 0.2

Settings = dict[str, Any]


class Number(NamedTuple):
    """One number that was measured and predicted."""

    learner: str
    question: int
    dim: int
    metric: str
    value: float
    error: float
    mean: float
    sem: float

    @property
    def covered(self) -> bool:
        """Whether the mean lies within 3 combined errors, Student's quantile for that of runs."""
        from scipy.stats import t

        reach = np.hypot(t.isf(RARE / 2, SEEDS - 1) * self.sem, 3 * self.error)
        return bool(abs(self.mean - self.value) <= reach + 1e-9 * abs(self.value))

    @property
    def vague(self) -> bool:
        """Whether the stated error exceeds half of the value."""
        return self.error > abs(self.value) / 2 + 1e-12


def _target(rng: np.random.Generator, rank: int = 2) -> str:
    c = rng.uniform(0.3, 1.5)
    one = [
        "sin({c:.2f}*h1)",
        "h1 + {c:.2f}*He2(h1)/2",
        "tanh({c:.2f}*h1)",
        "relu(h1) - {c:.2f}*h1/2",
    ]
    two = ["h1 + {c:.2f}*h1*h2", "h1 + {c:.2f}*h2", "tanh(h1 + {c:.2f}*h2)"]
    choices = one + (two if rank > 1 else [])
    return str(rng.choice(choices)).format(c=c)


def _size(rng: np.random.Generator, low: float, high: float) -> str:
    return f"{rng.uniform(low, high):.2f}d"


def _log(rng: np.random.Generator, low: float, high: float) -> float:
    return float(f"{np.exp(rng.uniform(np.log(low), np.log(high))):.3g}")


def _smooth(rng: np.random.Generator) -> str:
    return str(rng.choice(["tanh", "relu", "erf2", "gelu", "softplus"]))


def _giant_step(rng: np.random.Generator) -> Settings:
    given: Settings = {
        "activation": _smooth(rng),
        "samples": _size(rng, 1, 8),
        "step_size": _log(rng, 0.5, 3),
        "width": int(rng.choice([2, 4, 8, 16])),
        "steps": int(rng.integers(1, 4)),
        "readout": str(rng.choice(["symmetric-sign", "ones", "normal"])),
        "loss": str(rng.choice(["square", "correlation"])),
    }
    if rng.random() < 0.3:
        given |= {"biases": "normal"}
    return given


def _one_step_risk(rng: np.random.Generator) -> Settings:
    return {
        "activation": str(rng.choice(["tanh", "erf2"])),
        "samples": _size(rng, 2, 10),
        "readout_samples": _size(rng, 1, 4),
        "step_size": _log(rng, 0.5, 2),
        "width": _size(rng, 0.5, 2),
        "readout": "ones",
        "ridge": _log(rng, 0.03, 3),
    }


def _online(rng: np.random.Generator) -> Settings:
    return {
        "activation": _smooth(rng),
        "step_size": _log(rng, 0.2, 1),
        "times": "1,3",
        "start_overlap": "0.3",
        "loss": str(rng.choice(["square", "correlation"])),
    }


def _mean_field(rng: np.random.Generator) -> Settings:
    return {"activation": _smooth(rng), "times": "1,3", "width": 40}


def _features(rng: np.random.Generator) -> Settings:
    return {
        "activation": str(rng.choice(["tanh", "relu", "erf2"])),
        "samples": _size(rng, 0.5, 4),
        "width": _size(rng, 0.5, 3),
        "ridge": _log(rng, 0.03, 3),
    }


def _kernel(rng: np.random.Generator) -> Settings:
    return {"samples": _size(rng, 0.5, 4), "ridge": _log(rng, 0.03, 3)}


def _spiked(rng: np.random.Generator) -> Settings:
    given = _features(rng)
    given["readout_samples"] = given.pop("samples")
    return given | {"spike": rng.uniform(0.5, 2), "alignment": rng.uniform(0.3, 0.95)}


#: For each learner: settings, the largest rank of its target, and its inputs.
QUESTIONS: dict[str, tuple[Callable[[np.random.Generator], Settings], int, str]] = {
    "giant-step": (_giant_step, 2, "gaussian"),
    "giant-step, risk": (_one_step_risk, 1, "gaussian"),
    "online-sgd": (_online, 1, "gaussian"),
    "mean-field": (_mean_field, 1, "gaussian"),
    "repetition": (
        lambda rng: {"activation": _smooth(rng), "lookahead": rng.uniform(-0.5, 0.5)},
        1,
        "gaussian",
    ),
    "random-features": (_features, 2, "gaussian"),
    "spiked-random-features": (_spiked, 1, "gaussian"),
    "kernel": (_kernel, 2, "gaussian"),
    "pca": (
        lambda rng: {"samples": _size(rng, 1, 6), "degree": int(rng.integers(1, 6))},
        1,
        "spiked:strength=3,alignment=0.8",
    ),
    "spectral": (lambda rng: {"samples": _size(rng, 2, 6)}, 1, "gaussian"),
    "amp": (lambda rng: {"samples": _size(rng, 1, 4)}, 1, "gaussian"),
}


def question(number: int) -> tuple[str, Any, Problem]:
    """The random question of that number, without a dimension."""
    rng = np.random.default_rng([26, number])
    name = list(QUESTIONS)[number % len(QUESTIONS)]
    draw, rank, inputs = QUESTIONS[name]
    kind = learner_named(name.split(",")[0]).load("settings")
    noise = float(rng.choice([0.0, 0.1, 0.5]))
    problem = Problem(_target(rng, rank), noise=noise, inputs=inputs)
    return name, kind(dim=DIMS[0], **draw(rng)), problem


def numbers(number: int) -> Iterator[Number]:
    """Every number of that question that is measured and predicted, at both dimensions."""
    name, settings, problem = question(number)
    for dim in DIMS:
        laid = compare(settings.replace(dim=dim), problem, seeds=SEEDS, seed=1000 * number)
        for line in laid.compared():
            scale = max(abs(line.theory), line.error)
            if np.isfinite(line.mean) and line.sem <= USEFUL * max(scale, 1e-300):
                yield Number(
                    name, number, dim, line.metric, line.theory, line.error, line.mean, line.sem
                )


def main() -> int:
    """Ask, and print one line for each learner."""
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    found: list[Number] = []
    for number in range(first, first + count):
        began = time.perf_counter()
        try:
            own = list(numbers(number))
        except GiantstepError as error:
            print(f"# {number} {question(number)[0]}: {str(error)[:150]}", flush=True)
            continue
        found += own
        for each in own:
            if not each.covered or each.vague:
                print(f"# {'vague' if each.vague else 'off'} {each}", flush=True)
        print(f"# {number} {len(own)} {time.perf_counter() - began:.1f} s", file=sys.stderr)
    print("| learner | questions | numbers | within 3 errors | errors above half |")
    print("|---|---|---|---|---|")
    for name in [*QUESTIONS, "all"]:
        own = [each for each in found if name in (each.learner, "all")]
        if own:
            asked = len({each.question for each in own})
            inside = np.mean([each.covered for each in own])
            vague = np.mean([each.vague for each in own])
            print(f"| {name} | {asked} | {len(own)} | {inside:.1%} | {vague:.1%} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
